# SPDX-License-Identifier: BSD-3-Clause
"""One driver's session: the engines at its ends, opened once, idle between its rounds."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from beowire.conduct.survey import (
    Survey,
    add_call_cost,
    end_engines,
    end_options,
    greet,
    start_engine,
)
from beowire.interrupts import Interrupts
from beowire.places.engine import (
    ANSWER_TIMEOUT_S,
    EngineError,
    EngineProcess,
    Event,
    wait_for_events,
)
from beowire.places.launch.base import Launcher, Node, one_machine
from beowire.plan.patterns import Pattern
from beowire.record.histogram import Histogram
from beowire.record.lines import DriverInfo, NodeEnd

#: How long both ends may take to find each other.
CONNECT_TIMEOUT_S = 20.0

#: An engine counts as hung if it is silent for this long after `stop` or its own deadline. On a
#: busy core, answers took more than two seconds.
_GRACE_S = 10.0

#: How long to wait for the other end's process to end, before this one is blamed.
_BLAME_S = 0.5

#: How long late messages of an unreliable stream may still arrive.
_STREAM_GRACE_S = 0.05


@dataclass(frozen=True)
class RoundShape:
    """A round: `skip` messages that are not measured, then `count`."""

    count: int
    skip: int
    batch: int = 1
    probes: tuple[str, ...] = ()
    """Probes that count in it, besides the default ones."""


#: Counts of probes at one end during a round, by name; None: not available there. `window_ns` is
#: the time in which they counted.
Counts = Mapping[str, int | None]

#: The probe that must run only once per CPU.
_SOAKER = "soaker"


@dataclass(frozen=True)
class Round:
    """The results of one round. `histogram` is empty for rates, and if all messages were lost."""

    count: int
    """Measured messages sent, in each direction."""
    messages: int
    """Measured messages that were answered (times) or arrived (rates)."""
    lost: int
    elapsed_ns: int
    moved_bytes: int
    """Payload in `elapsed_ns`, of all directions of the pattern (rates only)."""
    histogram: Histogram
    counts: Sequence[Counts] = field(default_factory=list)
    """Of the initiator, and of the responder if there is one."""
    walk_bytes: int | None = None
    cache_bytes: int | None = None
    """As in the record."""
    clock: tuple[int, int] | None = None
    """How far the responder's clock is ahead of the initiator's, at least and at most, in ns."""
    late: int = 0
    """Measured messages that were sent more than an interval late."""
    finished_ns: list[int] = field(default_factory=list)
    """Time of the first messages from when they were due until they were answered."""
    started_ns: int = 0
    """When `elapsed_ns` began, by the clock of the end that measured."""
    consecutive: bool = True
    """Each sample begins when the one before ends: their sum is `elapsed_ns`."""
    flows: int = 1
    """Messages per sample, sent at the same time by as many nodes."""
    detail: Any = None
    """Other results of the pattern's conductor (conduct/)."""
    overlap: tuple[int, int, int, int] | None = None
    """Medians in ns of transfers alone, and of their time beyond simultaneous computing: of those
    sent, and of those received.
    """

    def message_ns(self) -> float:
        """Mean time of a message, without the slowest sample if samples are known, so that one
        stall does not determine the number of messages of the next round.
        """
        samples = self.histogram.total
        if samples < 2 or not self.consecutive:
            return self.elapsed_ns / self.count
        batch = self.messages / samples
        rest_ns = self.elapsed_ns - self.histogram.maximum_ns * batch
        return max(rest_ns, 0.0) / (self.count - batch)


#: What makes the session of a family of drivers (`mpi` of `mpi:mpich/tcp`), if not Session: who
#: has one enters it.
SESSIONS: dict[str, "type[Session]"] = {}


def session_of(
    info: DriverInfo,
    launcher: Launcher,
    interrupts: Interrupts,
    offsets: tuple[int, int] = (0, 0),
) -> "Session":
    """The session of a driver, whichever it is. `offsets`: as Session has them."""
    kind = SESSIONS.get(info.name.partition(":")[0], Session)
    return kind(info, launcher, interrupts, offsets)


class Session:
    """A driver with its engines. `end()` must be called after `start()`, whatever happened."""

    def __init__(
        self,
        info: DriverInfo,
        launcher: Launcher,
        interrupts: Interrupts,
        offsets: tuple[int, int] = (0, 0),
        places: tuple[int, int] = (0, 1),
    ) -> None:
        """Starts nothing yet. `offsets`: offsets of messages in a page, sent and received.
        `places`: which of the launcher's nodes initiates, which responds.
        """
        self.info = info
        self._places = places
        self._offsets = offsets
        self.connect_timeout_s = CONNECT_TIMEOUT_S
        self._runs = 0
        self._asked: dict[str, object] = {}
        self._launcher = launcher
        self._interrupts = interrupts
        self._engines: list[EngineProcess] = []
        self._cpus: list[int | None] = []
        self._pids: list[int] = []

    @property
    def name(self) -> str:
        """The driver's."""
        return self.info.name

    def start(
        self,
        survey: Survey,
        pins: tuple[str | None, str | None],
        max_size: int,
        loss_timeout_ms: int,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        """Starts the engines, opens and connects both ends. EngineError or BeowireError.

        `settings`: more words for `open`, settings of the user for some drivers.
        """
        self.start_engines(pins)
        self._add_call_cost(survey)
        self.open(survey, max_size, loss_timeout_ms, settings)

    def adopt(self, engines: tuple[EngineProcess, EngineProcess]) -> None:
        """Uses running engines instead of starting some; the caller ends them."""
        self._engines = list(engines)

    def open(
        self,
        survey: Survey,
        max_size: int,
        loss_timeout_ms: int,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        """Opens and connects both ends of running engines, as start() does."""
        ends = self._ends(survey)
        for engine, end, role in zip(self._engines, ends, ("initiator", "responder"), strict=False):
            words = {
                "driver": self.engine_driver,
                "role": role,
                "max_size": min(max_size, self.info.max_size),
                "loss_timeout_ms": loss_timeout_ms,
                **(settings or {}),
                **end_options(end),
            }
            engine.send("open", words)
        # Both at once: opening may need the other end, as MPI_Init does.
        opened = self._collect("open", time.monotonic() + ANSWER_TIMEOUT_S)
        addresses = [str(event.get("address", "")) for event in opened]
        if len(self._engines) == 2:
            for engine, peer in zip(self._engines, reversed(addresses), strict=True):
                engine.send("connect", {"peer": peer})
            self._collect("connected", time.monotonic() + self.connect_timeout_s)

    def close(self) -> None:
        """Closes both ends, but does not end the engines."""
        for engine in self._engines:
            engine.send("close")
        self._collect("closed", time.monotonic() + ANSWER_TIMEOUT_S)
        self._engines = []

    @property
    def initiator(self) -> EngineProcess:
        """The engine that initiates, if it was started."""
        return self._engines[0]

    @property
    def responder(self) -> EngineProcess:
        """The engine that responds, if it was started."""
        return self._engines[-1]

    @property
    def cpus(self) -> list[int | None]:
        """CPUs that the engines are pinned to, initiator first; None: not pinned."""
        return list(self._cpus)

    @property
    def pids(self) -> list[int]:
        """Process ids of the engines, if known."""
        return list(self._pids)

    @property
    def engine_driver(self) -> str:
        """The driver's name, as its engines know it."""
        return self.info.name

    def start_engines(self, pins: tuple[str | None, str | None]) -> None:
        """Starts an engine at each end. EngineError or BeowireError."""
        nodes = [self._launcher.nodes[place] for place in self._places]
        self._add_engine(nodes[0], pins[0])
        if self.info.placement == "host":
            self._add_engine(nodes[0], self._other_cpu(pins))
        elif self.info.placement == "pair":
            self._add_engine(nodes[1], pins[1])

    def run(
        self,
        pattern: Pattern,
        size: int,
        shape: RoundShape,
        deadline_s: float,
        stop_at: float,
        *,
        words: Mapping[str, object] | None = None,
    ) -> Round | None:
        """One round: prepare(), go() and finish()."""
        self.prepare(pattern, size, shape, deadline_s, words)
        self.go()
        return self.finish(pattern, size, deadline_s, stop_at)

    def finish(
        self, pattern: Pattern, size: int, deadline_s: float, stop_at: float
    ) -> Round | None:
        """The round that was begun, or its measured part after `deadline_s` or at `stop_at`
        (monotonic). None if nothing was measured; without messages if all were lost.

        EngineError: fatal (an end died, hangs or sends invalid lines, or no message moved until the
        deadline) or not (this size is not possible).
        """
        results = self._finish(pattern, time.monotonic() + deadline_s + _GRACE_S, stop_at)
        try:
            one = self._round(pattern, size, results)
            cut_short = results[0]["stopped"] and time.monotonic() < stop_at
            if one is None and cut_short and self.info.reliable:
                raise self._explain(self._silent(deadline_s))
            return one
        except (KeyError, TypeError, ValueError) as error:
            raise EngineError(
                self._engines[0].node,
                f"the engine's result makes no sense: {error}",
                code="GARBAGE",
            ) from None

    def prepare(
        self,
        pattern: Pattern,
        size: int,
        shape: RoundShape,
        deadline_s: float,
        words: Mapping[str, object] | None = None,
    ) -> None:
        """Has the responder prepare a round; go() begins it."""
        asked: dict[str, object] = {
            "pattern": pattern.carried_by,
            "size": size,
            "count": shape.count,
            "skip": shape.skip,
            "batch": shape.batch,
            "deadline_ms": round(deadline_s * 1000),
            "serial": self._runs,
            "send_offset": self._offsets[0],
            "receive_offset": self._offsets[1],
            **(words or {}),
        }
        self._runs += 1
        self._asked = asked | self._probes_word(shape.probes, 0)
        try:
            for engine in self._engines[1:]:
                engine.request("run", "ready", asked | self._probes_word(shape.probes, 1))
        except EngineError as error:
            raise self._not_begun(error, deadline_s) from None

    def go(self, words: Mapping[str, object] | None = None) -> None:
        """Begins the prepared round. `words`: further words, for the initiator only."""
        try:
            self._engines[0].send("run", {**self._asked, **(words or {})})
        except EngineError as error:
            raise self._not_begun(error, float(str(self._asked["deadline_ms"])) / 1e3) from None

    def _not_begun(self, error: EngineError, deadline_s: float) -> EngineError:
        if error.code == "ESTALE":  # the round before was cut short in the middle of a message
            error = self._silent(deadline_s)
        return self._explain(error)

    def request_end(self) -> None:
        """Asks the engines to exit, without waiting."""
        for engine in self._engines:
            engine.request_end()

    def end(self) -> None:
        """Ends the engines, bounded in time."""
        engines, self._engines = self._engines, []
        end_engines(engines)

    def _ends(self, survey: Survey) -> list[NodeEnd]:
        ends = [survey.nodes[place] for place in self._places]
        return [ends[0], ends[0]] if self.info.placement == "host" else ends

    def _add_call_cost(self, survey: Survey) -> None:
        """Adds the cost of system calls that the survey has determined, the same for all
        drivers."""
        for engine, end in zip(self._engines, self._ends(survey), strict=False):
            if end.call_cost is not None:
                add_call_cost(engine, {"steps": end.call_cost.steps})

    def _add_engine(self, node: Node, cpu: str | None) -> None:
        engine = start_engine(self._launcher, node, self._interrupts, self._engines, cpu)
        self.add_cpu(greet(engine))

    def add_cpu(self, hello: Mapping[str, object]) -> None:
        """Takes CPU and process id of the next engine from its `hello`."""
        cpu, pid = hello.get("cpu"), hello.get("pid")
        self._cpus.append(cpu if isinstance(cpu, int) else None)
        if isinstance(pid, int):
            self._pids.append(pid)

    def _probes_word(self, probes: Sequence[str], end: int) -> dict[str, object]:
        """The word of `run`. Two ends with the same CPUs have one soaker, at the first."""
        shared = one_machine(self._launcher) or self.info.placement == "host"
        if end > 0 and shared and len(set(self._cpus)) < len(self._cpus):
            probes = [name for name in probes if name != _SOAKER]
        return {"probes": ",".join(probes)} if probes else {}

    def _other_cpu(self, pins: tuple[str | None, str | None]) -> str | None:
        """A CPU for the second engine on the first node: that of the other node if both are one
        machine, otherwise a neighbour of the first engine's; None: unknown.
        """
        first = self._cpus[-1]
        if one_machine(self._launcher):
            wanted = pins[1] or self._launcher.nodes[self._places[1]].cpu
            if wanted not in (None, "auto", str(first)):
                return wanted
        return str(first - 1) if isinstance(first, int) and first > 0 else None

    def _collect(self, expected: str, deadline: float) -> list[Event]:
        """The event `expected` from every engine, in any order."""
        answers: dict[EngineProcess, Event] = {}
        while len(answers) < len(self._engines):
            waiting = [engine for engine in self._engines if engine not in answers]
            self._take(waiting, expected, answers)
            left = deadline - time.monotonic()
            if left <= 0 and len(answers) < len(self._engines):
                raise self._explain(self._hung(waiting[0]))
            waiting = [engine for engine in self._engines if engine not in answers]
            if waiting:
                self._wait(waiting, left)
        return [answers[engine] for engine in self._engines]

    def _take(
        self, waiting: list[EngineProcess], expected: str, answers: dict[EngineProcess, Event]
    ) -> None:
        for engine in waiting:
            try:
                event = engine.take()
                if event is not None:
                    answers[engine] = engine.check(event, expected)
            except EngineError as error:
                raise self._explain(error) from None

    def _wait(self, engines: list[EngineProcess], timeout_s: float) -> None:
        try:
            wait_for_events(engines, timeout_s)
        except EngineError as error:
            raise self._explain(error) from None

    def _finish(self, pattern: Pattern, hung_at: float, stop_at: float) -> list[Event]:
        """Waits for the results of both ends, and stops an end if necessary."""
        answers: dict[EngineProcess, Event] = {}
        stopped = False
        # A responder cannot know that no more messages come, because the initiator has stopped or
        # the rest was lost.
        release_at: float | None = None
        while len(answers) < len(self._engines):
            waiting = [engine for engine in self._engines if engine not in answers]
            try:
                self._take(waiting, "result", answers)
            except EngineError as error:
                if not error.fatal:
                    self._abandon_round()
                raise
            waiting = [engine for engine in self._engines if engine not in answers]
            now = time.monotonic()
            if not waiting:
                break
            near = answers.get(self._engines[0])
            over = near is not None and (near.get("stopped") or not self.info.reliable)
            if over and release_at is None:
                release_at = now + (0.0 if pattern.samples_at_initiator else _STREAM_GRACE_S)
            if release_at is not None and now >= release_at:
                waiting[-1].send("stop")
                release_at = float("inf")
            if not stopped and now >= stop_at:
                for engine in waiting:
                    engine.send("stop")
                stopped = True
                hung_at = min(hung_at, now + _GRACE_S)
            if now >= hung_at:
                raise self._explain(self._hung(waiting[0]))
            times = [hung_at, *([] if stopped else [stop_at])]
            if release_at is not None:
                times.append(release_at)
            self._wait(waiting, min(times) - now)
        return [answers[engine] for engine in self._engines]

    def _abandon_round(self) -> None:
        """One end has refused; stops the other, and drops its answer."""
        for engine in self._engines:
            engine.send("stop")
        end = time.monotonic() + _BLAME_S
        while (left := end - time.monotonic()) > 0:
            if wait_for_events(self._engines, left):
                for engine in self._engines:
                    if engine.take() is not None:
                        return

    def _silent(self, deadline_s: float) -> EngineError:
        """The initiator's deadline has passed without any answer."""
        near, far = self._engines[0].node, self._engines[-1].node
        return EngineError(near, f"no answer from {far} within {deadline_s:.3g} s", code="TIMEOUT")

    def _hung(self, engine: EngineProcess) -> EngineError:
        return EngineError(engine.node, "the engine hangs: no answer in time", code="TIMEOUT")

    def _explain(self, error: EngineError) -> EngineError:
        """The cause of `error`: a reset connection often means that the other end died."""
        if error.code == "DIED" or not error.fatal:
            return error
        for engine in self._engines:
            if engine.node != error.node and engine.has_died(_BLAME_S):
                return engine.died()
        return error

    def _round(self, pattern: Pattern, size: int, results: list[Event]) -> Round | None:
        near, far = results[0], results[-1]
        if not pattern.is_times and self.info.reliable and near["stopped"]:
            return None  # without the answer at its end nobody knows what has arrived
        histogram = Histogram()
        if pattern.is_times:
            # If messages are not answered, the receiver has the samples.
            answered = near["histogram"]["buckets"] or pattern.answered
            source = near if answered else far
            buckets = source["histogram"]["buckets"]
            if buckets:
                histogram = Histogram.of_buckets(buckets, source["min_ns"], source["max_ns"])
            messages, lost = source["received"], near["lost"]
            if source is far and not self.info.reliable:
                lost = max(0, near["sent"] - messages)
            elapsed_ns = source["elapsed_ns"]
        else:
            # An unreliable stream counts only messages that arrived.
            source = near if self.info.reliable else far
            messages = near["sent"] if self.info.reliable else far["received"]
            lost = max(0, near["sent"] - messages)
            messages += near["received"] if pattern.ways > 1 else 0
            elapsed_ns = source["elapsed_ns"]
        if messages < 1 and lost > 0 and not self.info.reliable:
            return Round(lost, 0, lost, max(0, elapsed_ns), 0, Histogram())
        if messages < 1 or elapsed_ns <= 0 or (pattern.is_times and not histogram.total):
            return None
        counts = [_counts(result["probes"]) for result in results]
        count = (messages + lost) // pattern.ways
        return Round(
            count,
            messages,
            lost,
            elapsed_ns,
            messages * size,
            histogram,
            counts,
            near.get("walk_bytes"),
            near.get("cache_bytes"),
            clock=_clock(near.get("clock")),
            late=near.get("late", 0),
            finished_ns=[int(one) for one in near.get("finished_ns", [])],
            started_ns=near.get("started_ns", 0),
            overlap=_overlap(near.get("overlap")),
        )


def _clock(bounds: dict[str, int] | None) -> tuple[int, int] | None:
    return None if bounds is None else (bounds["low_ns"], bounds["high_ns"])


def _counts(said: Mapping[str, int | None]) -> dict[str, int | None]:
    """The checked counts of probes. TypeError: not an object of numbers."""
    counts = dict(said)
    for name, value in counts.items():
        if value is not None and (not isinstance(value, int) or value < 0):
            raise TypeError(f"{name} is {value!r}")
    return counts


def _overlap(medians: dict[str, int] | None) -> tuple[int, int, int, int] | None:
    if medians is None:
        return None
    return (
        medians["send_alone_ns"],
        medians["send_beside_ns"],
        medians["receive_alone_ns"],
        medians["receive_beside_ns"],
    )
