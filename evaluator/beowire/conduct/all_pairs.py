# SPDX-License-Identifier: BSD-3-Clause
"""All pairs: a ping-pong and a stream between each two nodes, one pair after the other, so that
each has the network to itself; and which link is slower than the others.

Each node has two engines, one that initiates and one that responds, whose sessions are opened to
one other node after the other. On one kernel all that initiate are on one core, all that respond on
another: so no pair is quicker than another for the cores that it happens to be on.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from beowire.conduct.base import Conductor, Stage, Turn
from beowire.conduct.fleet import names, of_pair
from beowire.conduct.incast import ends_of
from beowire.conduct.session import Round, RoundShape, Session
from beowire.conduct.survey import end_engines, greet, start_engine
from beowire.errors import BeowireError
from beowire.places.engine import EngineError, EngineProcess
from beowire.plan.patterns import PATTERNS
from beowire.record.histogram import Histogram

#: The streams: of so many messages at first, then of about as many as go in this time.
_STREAM_MESSAGES = 16
_STREAM_SKIPPED = 4
_STREAM_NS = 5e6
_MOST_STREAMED = 4096

#: A link is slow when it takes so many times what the quicker ones do, and more than they do in
#: nine of ten rounds; and, while rounds are so few that nobody knows, twice that.
_SLOW = 1.3
_USUAL = 0.9
_BEYOND_USUAL = 1.1
_KNOWN_ROUNDS = 5
_UNKNOWN = 2.0

#: Opening a session takes longer than measuring: so it is measured so often while it is open.
_REPEATS = 3

#: From so many nodes on it can be told whether it is the node rather than the link.
_LEAST_NODES = 4


@dataclass(frozen=True)
class _Visit:
    """What one pair took in a round: half a round trip, and a stream's rate."""

    half_rtt_ns: float
    rate_bytes_per_s: float


class AllPairs(Conductor):
    """Rounds of all pairs in turn."""

    def __init__(self, stage: Stage) -> None:
        """Starts nothing yet."""
        super().__init__(stage)
        self._pairs = list(combinations(range(len(stage.launcher.nodes)), 2))
        self._engines: list[EngineProcess] = []
        """Of each node the one that initiates, then the one that responds."""
        self._streamed: dict[tuple[int, tuple[int, int]], int] = {}

    def round(self, turn: Turn) -> Round | None:
        """A visit to each pair; the round's own figures are of all ping-pongs."""
        self._start()
        visited = len(self._pairs) * _REPEATS
        each = max(1, turn.shape.count // visited // turn.shape.batch) * turn.shape.batch
        known = names(self.stage)
        pooled = Histogram()
        visits: dict[tuple[str, str], list[_Visit]] = {}
        done: list[Round] = []
        for pair in self._pairs:
            if turn.is_over():
                return None
            try:
                found = self._visit(turn, pair, each)
            except (EngineError, BeowireError) as error:
                raise of_pair(error, self.stage, pair) from None
            if found is None:
                return None
            visits[known[pair[0]], known[pair[1]]] = [
                _Visit(
                    pingpong.histogram.quantile(0.5) * turn.pattern.share,
                    stream.moved_bytes * 1e9 / stream.elapsed_ns,
                )
                for pingpong, stream in found
            ]
            done += [pingpong for pingpong, _ in found]
        for one in done:
            pooled.merge(one.histogram)
        messages = sum(one.messages for one in done)
        return Round(
            messages + sum(one.lost for one in done),
            messages,
            sum(one.lost for one in done),
            sum(one.elapsed_ns for one in done),
            messages * turn.size,
            pooled,
            ends_of(done),
            consecutive=False,
            detail=visits,
        )

    def request_end(self) -> None:
        """Asks the engines to exit, without waiting."""
        for engine in self._engines:
            engine.request_end()

    def end(self) -> None:
        """Ends the engines, bounded in time."""
        engines, self._engines = self._engines, []
        end_engines(engines)

    @staticmethod
    def details(rounds: Sequence[Round]) -> dict[str, Any]:
        """Each pair's medians, and the links that are slow."""
        visits = {
            pair: [visit for one in rounds for visit in one.detail[pair]]
            for pair in rounds[-1].detail
        }
        return {
            "pairs": [
                {
                    "a": a,
                    "b": b,
                    "half_rtt_ns": float(np.median([one.half_rtt_ns for one in visits[a, b]])),
                    "rate_bytes_per_s": float(
                        np.median([one.rate_bytes_per_s for one in visits[a, b]])
                    ),
                }
                for a, b in visits
            ],
            "slow": slow_links(
                {pair: [one.half_rtt_ns for one in each] for pair, each in visits.items()},
                {
                    pair: [1 / max(one.rate_bytes_per_s, 1e-9) for one in each]
                    for pair, each in visits.items()
                },
            ),
        }

    def _start(self) -> None:
        stage = self.stage
        cores = _cores() if stage.one_clock else (None, None)
        wanted = [(node, core) for node in stage.launcher.nodes for core in cores]
        for node, core in wanted[len(self._engines) :]:
            greet(start_engine(stage.launcher, node, stage.interrupts, self._engines, core))

    def _visit(
        self, turn: Turn, pair: tuple[int, int], count: int
    ) -> list[tuple[Round, Round]] | None:
        """Ping-pongs and streams of a pair; None if nothing arrived."""
        stage = self.stage
        session = Session(stage.info, stage.launcher, stage.interrupts, stage.how.offsets, pair)
        session.adopt((self._engines[2 * pair[0]], self._engines[2 * pair[1] + 1]))
        session.open(stage.survey, stage.largest, stage.how.loss_timeout_ms, stage.how.settings)
        try:
            found = self._measure(turn, pair, count, session)
        except EngineError as error:
            if not error.fatal:  # the engines go on, with the next pair
                session.close()
            raise
        session.close()
        return found

    def _measure(
        self, turn: Turn, pair: tuple[int, int], count: int, session: Session
    ) -> list[tuple[Round, Round]] | None:
        shape = RoundShape(count, turn.shape.skip, turn.shape.batch)
        if (turn.size, pair) not in self._streamed:
            self._stream(turn, pair, session)  # which says how many are enough
        found: list[tuple[Round, Round]] = []
        if turn.is_over():
            return None
        for _ in range(_REPEATS):
            pingpong = session.run(turn.pattern, turn.size, shape, turn.deadline_s, turn.stop_at)
            if turn.is_over() or pingpong is None or not pingpong.messages:
                return None
            stream = self._stream(turn, pair, session)
            if turn.is_over() or stream is None or not stream.messages:
                return None
            found.append((pingpong, stream))
        return found

    def _stream(self, turn: Turn, pair: tuple[int, int], session: Session) -> Round | None:
        messages = self._streamed.get((turn.size, pair), _STREAM_MESSAGES)
        shape = RoundShape(messages, _STREAM_SKIPPED)
        one = session.run(PATTERNS["stream"], turn.size, shape, turn.deadline_s, turn.stop_at)
        if one is not None and one.messages:
            wanted = round(_STREAM_NS * one.count / max(1, one.elapsed_ns))
            self._streamed[turn.size, pair] = max(_STREAM_MESSAGES, min(wanted, _MOST_STREAMED))
        return one


Costs = dict[tuple[str, str], list[float]]


def slow_links(*kinds: Costs) -> list[str]:
    """The links that cost more than the others by one of the kinds of cost, each a pair's costs
    round by round. A node all of whose links do is named in their place."""
    slow = {pair for costs in kinds for pair in _slow_by(costs)}
    if not kinds or not slow:
        return []
    pairs = list(kinds[0])
    nodes = list(dict.fromkeys(name for pair in pairs for name in pair))
    named = []
    for node in nodes if len(nodes) >= _LEAST_NODES else []:
        own = {pair for pair in pairs if node in pair}
        if own <= slow:
            named.append(f"every link of {node}")
            slow -= own
    return named + [f"{a} – {b}" for a, b in pairs if (a, b) in slow]


def _slow_by(costs: Costs) -> set[tuple[str, str]]:
    """By what each pair takes when nothing disturbs it: the quicker quarter of its rounds."""
    usual = {pair: float(np.quantile(each, 0.25)) for pair, each in costs.items()}
    # Of one slow node in three, two pairs of three are slow: the quicker ones are the measure.
    quick = sorted(usual, key=usual.__getitem__)[: len(usual) // 2]
    if not quick:
        return set()
    rounds = np.concatenate([costs[pair] for pair in quick])
    reference = float(np.median([usual[pair] for pair in quick]))
    limit = max(_SLOW * reference, _BEYOND_USUAL * float(np.quantile(rounds, _USUAL)))
    if min(len(each) for each in costs.values()) < _KNOWN_ROUNDS:
        limit *= _UNKNOWN
    return {pair for pair, cost in usual.items() if cost > limit}


def _cores() -> tuple[str | None, str | None]:
    """Two that may be used here, if there are two."""
    cores = sorted(os.sched_getaffinity(0))
    return (str(cores[0]), str(cores[1])) if len(cores) > 1 else (None, None)
