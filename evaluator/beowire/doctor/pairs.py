# SPDX-License-Identifier: BSD-3-Clause
"""What goes between each two of several hosts: each of Beowire's ways by itself, and full frames.

An engine on each host visits pair after pair, and way after way: it opens a session, bounces some
messages, closes it. Pairs that have no host in common are visited at the same time, so the time
grows with the number of hosts, not of pairs. Where something fails both engines are started anew,
since a session that broke may leave an end in the middle of a message.
"""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from beowire.conduct.session import RoundShape, Session
from beowire.conduct.survey import Survey, end_engines, greet, known_drivers, start_engine
from beowire.doctor.facts import Facts
from beowire.errors import BeowireError
from beowire.interrupts import Interrupts
from beowire.places.engine import EngineError, EngineProcess
from beowire.places.launch.base import Launcher
from beowire.plan.patterns import PATTERNS
from beowire.record.lines import DriverInfo, NodeEnd

#: What IP and UDP have in front of a datagram's data.
UDP_HEADER_BYTES = 28

#: What is open connects within milliseconds.
_CONNECT_S = 2.0

_LOSS_TIMEOUT_MS = 50
_DEADLINE_S = 3.0
_MESSAGES = 200
_SKIPPED = 20


@dataclass(frozen=True)
class Way:
    """A way between two hosts."""

    driver: str
    name: str
    """For people."""
    size: int
    """Bytes of the messages that are bounced; 0: as long as frames may be."""
    needs: str = ""
    """The way without which this one cannot be open either."""


#: The short one of a way tells its speed; all are also the proof that something gets through.
WAYS = (
    Way("beowire-packet", "frames", 8),
    Way("beowire-tso", "cut frames", 262144),
    Way("beowire-udp", "UDP", 8),
    Way("udp", "full frames", 0, needs="UDP"),
)


@dataclass(frozen=True)
class Bounced:
    """What came of messages there and back."""

    half_rtt_ns: float | None = None
    """The median; None: nothing came back."""
    why: str = ""
    """Why not; or, where it was not tried, why not that."""
    tried: bool = True
    lost: int = 0

    @property
    def works(self) -> bool:
        """All that was sent came back."""
        return self.half_rtt_ns is not None


@dataclass(frozen=True)
class Pair:
    """Two hosts, and what goes between them."""

    hosts: tuple[str, str]
    ways: dict[str, Bounced] = field(default_factory=dict)
    """By the names of WAYS."""


class Visits:
    """Engines on several hosts. `close()` has to be called."""

    def __init__(self, launcher: Launcher, found: Sequence[Facts], interrupts: Interrupts) -> None:
        """Starts nothing yet. `found`: of the launcher's nodes, in their order."""
        self._launcher = launcher
        self._found = found
        self._interrupts = interrupts
        self._engines: list[EngineProcess | None] = [None] * len(launcher.nodes)
        self._interrupted = False
        ends = [
            NodeEnd(node=node.name, interface=one.interface, address=_address(one))
            for node, one in zip(launcher.nodes, found, strict=True)
        ]
        self._survey = Survey(ends[:2], [], ends[2:])
        self._infos: dict[str, DriverInfo] = {}

    def pairs(self) -> list[Pair]:
        """Visits each pair once. They are in the order of the hosts."""
        visited: dict[tuple[int, int], Pair] = {}
        with ThreadPoolExecutor(max(1, len(self._found) // 2)) as pool:
            try:
                for places in rounds(len(self._found)):
                    visited |= zip(places, pool.map(self._pair, places), strict=True)
            except BaseException:
                # Ctrl-C: a thread that waits for an engine hears that it has ended.
                self._interrupted = True
                for engine in self._engines:
                    if engine is not None:
                        engine.process.terminate()
                raise
        return [visited[places] for places in sorted(visited)]

    def _pair(self, places: tuple[int, int]) -> Pair:
        ends = [self._found[place] for place in places]
        pair = Pair((ends[0].host, ends[1].host))
        for way in WAYS:
            needed = pair.ways.get(way.needs)
            if needed is not None and needed.tried and not needed.works:
                pair.ways[way.name] = Bounced(why=f"{way.needs} does not pass", tried=False)
            else:
                pair.ways[way.name] = self._bounce(way, places)
        return pair

    def close(self) -> None:
        """Ends all engines."""
        with self._interrupts.held():
            engines = [engine for engine in self._engines if engine is not None]
            self._engines = [None] * len(self._engines)
            end_engines(engines)

    def _bounce(self, way: Way, places: tuple[int, int]) -> Bounced:
        ends = [self._found[place] for place in places]
        for end in ends:
            reason = end.drivers.get(way.driver, "this engine does not have the driver")
            if reason:
                return Bounced(why=f"{end.host}: {reason}", tried=False)
        size = way.size
        if size == 0:
            mtus = [end.number("interface_mtu") or 0 for end in ends]
            size = min(mtus) - UDP_HEADER_BYTES
            if size <= 0:
                return Bounced(why="the MTU is not known", tried=False)
        try:
            return self._visit(way.driver, size, places)
        except (EngineError, BeowireError) as error:
            self._forget(places)
            return Bounced(why=f"{getattr(error, 'node', '')}: {error}".removeprefix(": "))

    def _visit(self, driver: str, size: int, places: tuple[int, int]) -> Bounced:
        engines = self._engine(places[0]), self._engine(places[1])
        session = Session(
            self._info(driver, engines[0]), self._launcher, Interrupts(), places=places
        )
        session.connect_timeout_s = _CONNECT_S
        session.adopt(engines)
        try:
            session.open(self._survey, max(size, 1 << 12), _LOSS_TIMEOUT_MS)
        except EngineError as error:
            if error.code != "TIMEOUT":
                raise
            self._forget(places)
            return Bounced(why="nothing came through")  # neither end has heard of the other
        one = session.run(
            PATTERNS["pingpong"],
            size,
            RoundShape(_MESSAGES, _SKIPPED),
            _DEADLINE_S,
            time.monotonic() + _DEADLINE_S,
        )
        session.close()
        if one is None or not one.messages:
            return Bounced(why="nothing comes back", lost=one.lost if one else 0)
        return Bounced(one.histogram.quantile(0.5) / 2, lost=one.lost)

    def _engine(self, place: int) -> EngineProcess:
        engine = self._engines[place]
        if engine is None:
            if self._interrupted:
                raise BeowireError("interrupted")
            # Signals interrupt the main thread alone, which waits for this one.
            engine = start_engine(self._launcher, self._launcher.nodes[place], Interrupts(), [])
            self._engines[place] = engine
            greet(engine)
        return engine

    def _info(self, driver: str, engine: EngineProcess) -> DriverInfo:
        if not self._infos:
            answer = engine.request("drivers", "drivers")
            self._infos = {one.name: one for one in known_drivers(answer)}
        return self._infos[driver]

    def _forget(self, places: tuple[int, int]) -> None:
        engines = [self._engines[place] for place in places]
        for place in places:
            self._engines[place] = None
        end_engines([engine for engine in engines if engine is not None])


def rounds(hosts: int) -> list[list[tuple[int, int]]]:
    """All pairs, in as few rounds as there can be in which no host is twice: one stays where it is
    and the others move round the table."""
    seats = list(range(hosts + hosts % 2))  # of an odd number one more, who is nobody
    found = []
    for _ in seats[1:]:
        facing = zip(seats[: len(seats) // 2], reversed(seats), strict=False)
        found.append([(min(two), max(two)) for two in facing if max(two) < hosts])
        seats[1:] = [seats[-1], *seats[1:-1]]
    return found


def _address(found: Facts) -> str | None:
    """The card's first IPv4 address."""
    for line in found.lines("addresses"):
        words = line.split()
        if len(words) > 3 and words[1] == found.interface:
            return words[3].partition("/")[0]
    return None
