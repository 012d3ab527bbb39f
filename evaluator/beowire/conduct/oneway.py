# SPDX-License-Identifier: BSD-3-Clause
"""The time of one way, and how far it may be wrong.

On one kernel all read the same clock, and what reading it takes is the bound. Between hosts each
round is made between two looks at both clocks (pattern_oneway.c): as one may run faster than the
other, but evenly over some milliseconds, what the offset is during the round lies within what it
is before and after it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from beowire.conduct.base import Conductor, Turn
from beowire.conduct.session import Round, RoundShape
from beowire.places.engine import EngineError
from beowire.units import time_text

#: Short messages that look at the clocks, before and after each round, and how many rounds may find
#: them known too badly before the size is given up.
_LOOK = RoundShape(count=64, skip=8)
_TRIES = 3

_MODULUS = 1 << 64


@dataclass(frozen=True)
class _Offset:
    """Of the responder's clock against the initiator's: at least and at most, in ns."""

    low: int
    high: int

    @property
    def middle(self) -> int:
        """The estimate."""
        return (self.low + self.high) // 2

    def hull(self, other: "_Offset") -> "_Offset":
        """What holds if either may."""
        return _Offset(min(self.low, other.low), max(self.high, other.high))


class OneWay(Conductor):
    """Runs whose samples are of one way."""

    def round(self, turn: Turn) -> Round | None:
        """A run with its bound. EngineError, not fatal, where the bound is more than the time."""
        if self.stage.one_clock:
            one = self.run(turn, words={"clock_offset_ns": 0})
            return (
                None if one is None else replace(one, consecutive=False, detail=self._reading_ns())
            )
        for _ in range(_TRIES):
            before = self._look(turn)
            if before is None:
                return None
            one = self.run(turn, words={"clock_offset_ns": before.middle % _MODULUS})
            after = self._look(turn)
            if one is None or not one.messages:
                return one
            if after is None:  # the time is over, or all of it was lost: nobody knows the bound
                return None
            offset = before.hull(after)
            bound_ns = max(offset.high - before.middle, before.middle - offset.low)
            median_ns = one.histogram.quantile(0.5)
            if bound_ns < median_ns:
                return replace(one, consecutive=False, detail=float(bound_ns))
        raise EngineError(
            self.stage.session.initiator.node,
            f"the two clocks are known to ±{time_text(bound_ns)}, which is more than a message"
            f" takes one way ({time_text(median_ns)}): measure longer messages, or pingpong",
            fatal=False,
        )

    @staticmethod
    def details(rounds: Sequence[Round]) -> dict[str, Any]:
        """The worst bound of all rounds."""
        return {"clock_bound_ns": max(one.detail for one in rounds)}

    def _reading_ns(self) -> float:
        """What reading the clock at both ends may take."""
        clocks = [end.clock for end in self.stage.survey.ends if end.clock is not None]
        return sum(max(clock.overhead_ns, clock.overhead_p99_ns or 0.0) for clock in clocks)

    def _look(self, turn: Turn) -> _Offset | None:
        size = max(turn.pattern.min_size, self.stage.info.min_size)
        one = self.run(turn, _LOOK, {"clock_offset_ns": 0}, size)
        return None if one is None or one.clock is None else _Offset(*one.clock)
