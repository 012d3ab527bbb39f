# SPDX-License-Identifier: BSD-3-Clause
"""Sessions of one driver between many nodes, and rounds of several of them at the same moment.

All responders are told first, and each says that it is ready; then every initiator is told when to
begin, by its own clock. On one kernel that is one clock. Of another host it is asked over the
control channel what time it is there: known as well as half the shortest answer takes.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from beowire.conduct.base import Stage, Turn
from beowire.conduct.session import Round, RoundShape, Session
from beowire.errors import BeowireError
from beowire.places.engine import EngineError, EngineProcess

#: From the moment when all are told until they begin: more for each that has to be told.
_AHEAD_NS = 1_000_000
_AHEAD_EACH_NS = 300_000

#: How often another host is asked for its time.
_ASKED = 5


@dataclass(frozen=True)
class Together:
    """What sessions did at the same time; None where nothing happened."""

    rounds: list[Round | None]
    skew_ns: float
    """Between the first and the last to begin, as far as can be told."""


class Fleet:
    """Sessions between pairs of nodes (initiator, responder), by their number."""

    def __init__(self, stage: Stage, pairs: Sequence[tuple[int, int]]) -> None:
        """Starts nothing yet."""
        self._stage = stage
        self._pairs = pairs
        self._sessions: list[Session] = []

    def run(
        self,
        turn: Turn,
        shape: RoundShape,
        number: int | None = None,
        interval_ns: int = 0,
    ) -> Together:
        """One run of the first `number` sessions, or of all, begun at the same moment.

        EngineError or BeowireError as Session.start() and Session.run() have them.
        """
        self._start()
        chosen = self._sessions[: number or len(self._sessions)]
        if turn.is_over():
            return Together([None] * len(chosen), 0.0)
        try:
            rounds, ahead = self._run(chosen, turn, shape, interval_ns)
        except EngineError as error:
            if not error.fatal:  # one has refused, and others wait for what never comes
                self.end()
            raise
        begun = [
            one.started_ns - offset_ns
            for one, (_, offset_ns) in zip(rounds, ahead, strict=True)
            if one is not None
        ]
        return Together(rounds, float(max(begun) - min(begun)) if begun else 0.0)

    def _run(
        self, chosen: Sequence[Session], turn: Turn, shape: RoundShape, interval_ns: int
    ) -> tuple[list[Round | None], list[tuple[int, int]]]:
        """What came of each, and what _ahead_ns() says of it."""
        words = {"interval_ns": interval_ns}
        for session in chosen:
            session.prepare(turn.pattern, turn.size, shape, turn.deadline_s, words)
        ahead = [self._ahead_ns(session.initiator) for session in chosen]
        slowest_ns = max(took_ns for took_ns, _ in ahead)
        begin_ns = time.monotonic_ns() + _AHEAD_NS + _AHEAD_EACH_NS * len(chosen) + slowest_ns
        for session, (_, offset_ns) in zip(chosen, ahead, strict=True):
            session.go({"start_ns": begin_ns + offset_ns})
        rounds = [
            session.finish(turn.pattern, turn.size, turn.deadline_s, turn.stop_at)
            for session in chosen
        ]
        return rounds, ahead

    def request_end(self) -> None:
        """Asks the engines to exit, without waiting."""
        for session in self._sessions:
            session.request_end()

    def end(self) -> None:
        """Ends the engines, bounded in time."""
        sessions, self._sessions = self._sessions, []
        for session in sessions:
            session.end()

    def _start(self) -> None:
        stage = self._stage
        for places in self._pairs[len(self._sessions) :]:
            session = Session(
                stage.info, stage.launcher, stage.interrupts, stage.how.offsets, places
            )
            self._sessions.append(session)
            session.start(
                stage.survey,
                (None, None),
                stage.largest,
                stage.how.loss_timeout_ms,
                stage.how.settings,
            )

    def _ahead_ns(self, engine: EngineProcess) -> tuple[int, int]:
        """What asking the engine for its time took, and what its clock is ahead of ours."""
        if self._stage.one_clock:
            return 0, 0
        answers = []
        for _ in range(_ASKED):
            asked_ns = time.monotonic_ns()
            there_ns = engine.request("clock", "clock").get("now_ns")
            if not isinstance(there_ns, int):
                raise EngineError(engine.node, "the engine's clock says no time", code="GARBAGE")
            took_ns = time.monotonic_ns() - asked_ns
            answers.append((took_ns, there_ns - asked_ns - took_ns // 2))
        return min(answers)


def names(stage: Stage) -> list[str]:
    """Of all nodes, in the launcher's order."""
    return [node.name for node in stage.launcher.nodes]


def of_pair(error: EngineError | BeowireError, stage: Stage, pair: tuple[int, int]) -> EngineError:
    """The error, with the pair at which it came."""
    known = names(stage)
    where = f"{known[pair[0]]} to {known[pair[1]]}"
    if isinstance(error, EngineError):
        return EngineError(error.node, f"{where}: {error}", fatal=error.fatal, code=error.code)
    return EngineError(known[pair[0]], f"{where}: {error}")
