# SPDX-License-Identifier: BSD-3-Clause
"""What carries out the rounds of a pattern over a driver: one run of its session, or more."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from beowire.conduct.load import Backgrounds
from beowire.conduct.session import Round, RoundShape, Session
from beowire.conduct.survey import Survey
from beowire.interrupts import Interrupts
from beowire.places.launch.base import Launcher, one_machine
from beowire.plan import plan as planning
from beowire.plan.patterns import Pattern
from beowire.record.lines import DriverInfo


@dataclass(frozen=True)
class Loading:
    """Loads that can be put aside, and how rounds are beside one."""

    background: Backgrounds
    loads: Sequence[str]
    """As `--load` takes each."""
    deadline_s: float
    longest_round_ns: float


@dataclass(frozen=True)
class How:
    """What holds for every session of a run."""

    seed: int = 0
    """Of the order in which drivers take turns."""
    pins: tuple[str | None, str | None] = (None, None)
    """CPUs of the initiators and responders; None: as the launcher says."""
    loss_timeout_ms: int = 20
    """An unreliable driver counts an answer as lost after this time."""
    deadline_s: float = 10.0
    """A round is cut short after this time, and ends its driver if nothing has moved."""
    offsets: tuple[int, int] = (0, 0)
    """Bytes from a page to where messages begin: sent, received."""
    longest_round_ns: float = planning.LONGEST_ROUND_NS
    """Rounds of cells that have time are planned to take this long."""
    message_rate: float | None = None
    """Messages a second of `open-loop`; None: shares of the loss-free rate."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """More words for the engines' `open`."""
    probes: tuple[str, ...] = ()
    """Those that disturb and are wanted all the same: they count in rounds of their own."""
    load: Loading | None = None
    """Measure everything several times, in turns: idle, and beside each of these."""


@dataclass(frozen=True)
class Stage:
    """What a conductor has at hand, for as long as the driver is measured."""

    info: DriverInfo
    session: Session
    """Between the first two nodes; its owner ends it."""
    launcher: Launcher
    survey: Survey
    interrupts: Interrupts
    how: How
    largest: int
    """Bytes of the longest message."""

    @property
    def one_clock(self) -> bool:
        """All nodes are on one kernel, so a time of one is a time of the other."""
        return one_machine(self.launcher)


@dataclass(frozen=True)
class Turn:
    """A round that is due."""

    pattern: Pattern
    size: int
    shape: RoundShape
    deadline_s: float
    """After this a run is cut short."""
    stop_at: float
    """Monotonic: the round is cut short then."""

    def is_over(self) -> bool:
        """No run may begin any more: the one before may have been cut short inside a message."""
        return time.monotonic() >= self.stop_at


class Conductor:
    """The usual one: a round is a run of the session."""

    def __init__(self, stage: Stage) -> None:
        """Starts nothing yet."""
        self.stage = stage

    def round(self, turn: Turn) -> Round | None:
        """Carries out a round, as Session.run() does, with its errors."""
        return self.run(turn)

    def run(
        self,
        turn: Turn,
        shape: RoundShape | None = None,
        words: Mapping[str, object] | None = None,
        size: int | None = None,
    ) -> Round | None:
        """One run of the session, of another shape or size than the round's if that is given."""
        if turn.is_over():
            return None
        return self.stage.session.run(
            turn.pattern,
            size or turn.size,
            shape or turn.shape,
            turn.deadline_s,
            turn.stop_at,
            words=words,
        )

    def request_end(self) -> None:
        """Asks engines of its own to exit, without waiting."""

    def end(self) -> None:
        """Ends engines of its own, bounded in time."""

    @staticmethod
    def details(rounds: Sequence[Round]) -> dict[str, Any]:
        """What the rounds have found besides, as fields of the record's `Result`."""
        del rounds
        return {}
