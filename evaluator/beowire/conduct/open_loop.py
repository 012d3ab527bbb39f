# SPDX-License-Identifier: BSD-3-Clause
"""Open loop: messages at a given rate, whatever becomes of those before.

First the highest rate is looked for at which nothing is lost and the clock is kept, over the same
session and in the same way; then each round has a run at each share of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from beowire.analysis.summaries import time_summary
from beowire.conduct.base import Conductor, Stage, Turn
from beowire.conduct.session import Round, RoundShape

#: Of the loss-free rate.
SHARES = (0.1, 0.5, 0.9)

#: The one of them that charts show.
MAIN_SHARE = 0.5

#: A rate is known from so many seconds of it.
_FLOOD_S = 0.01
_TRIAL_S = 0.02
_FLOOD_MESSAGES = 64
_FLOOD_GROWTH = 8
_MOST_MESSAGES = 1 << 22

#: The rate is lowered by steps, so often at most; one at which so much of it arrives is kept.
_STEP = 0.85
_TRIALS = 14
_KEPT_SHARE = 0.97


@dataclass(frozen=True)
class _Level:
    """One run at one rate."""

    share: float | None
    rate: float
    one: Round


@dataclass(frozen=True)
class _Found:
    """A rate in messages a second, and whether nothing is lost at it."""

    rate: float
    loss_free: bool


class OpenLoop(Conductor):
    """Runs at shares of the loss-free rate, or at the rate that the user asks for."""

    def __init__(self, stage: Stage) -> None:
        """Starts nothing yet."""
        super().__init__(stage)
        self._found: dict[int, _Found] = {}

    def round(self, turn: Turn) -> Round | None:
        """A run at each share; the round's own figures are those of the main one."""
        wanted = self.stage.how.message_rate
        if wanted is not None:
            return self._levels(turn, _Found(wanted, loss_free=False), ((None, 1.0),))
        if turn.size not in self._found:
            found = self._look(turn)
            if found is None:
                return None
            self._found[turn.size] = found
        return self._levels(turn, self._found[turn.size], [(share, share) for share in SHARES])

    @staticmethod
    def details(rounds: Sequence[Round]) -> dict[str, Any]:
        """The levels, and the rate that they are shares of."""
        found: _Found = rounds[-1].detail[0]
        by_share = list(zip(*(one.detail[1] for one in rounds), strict=True))
        return {
            "levels": [_level(levels) for levels in by_share],
            "loss_free_messages_per_s": found.rate if found.loss_free else None,
        }

    def _levels(
        self, turn: Turn, found: _Found, shares: Sequence[tuple[float | None, float]]
    ) -> Round | None:
        main_share = MAIN_SHARE if len(shares) > 1 else 1.0
        levels = []
        for share, part in shares:
            # All levels take the same time.
            count = max(1, round(turn.shape.count * part / main_share))
            one = self._at(turn, found.rate * part, count)
            if one is None or not one.messages:
                return one
            levels.append(_Level(share, found.rate * part, one))
        main = next(level for level in levels if level.share in (None, MAIN_SHARE))
        elapsed_ns = sum(level.one.elapsed_ns for level in levels)
        return replace(main.one, elapsed_ns=elapsed_ns, consecutive=False, detail=(found, levels))

    def _at(self, turn: Turn, rate: float | None, count: int) -> Round | None:
        """A run of `rate` messages a second; None: as many as can be."""
        shape = RoundShape(count, min(turn.shape.skip, max(1, count // 4)))
        words: dict[str, object] = {}
        if self.stage.one_clock:
            words["clock_offset_ns"] = 0
        if rate is None:
            return self.run(turn, shape, words)
        words["interval_ns"] = max(1, round(1e9 / rate))
        # That messages are far apart is no reason to cut the run short.
        takes_s = (shape.skip + count) / rate
        return self.run(replace(turn, deadline_s=turn.deadline_s + takes_s), shape, words)

    def _look(self, turn: Turn) -> _Found | None:
        """The loss-free rate; None if nothing arrives."""
        flood = self._flood(turn)
        if flood is None:
            return None
        rate = flood
        for _ in range(_TRIALS):
            if turn.is_over():
                break
            count = max(_FLOOD_MESSAGES, round(rate * _TRIAL_S))
            one = self._at(turn, rate, count)
            if one is None or not one.messages:
                return None
            arrived = one.messages * 1e9 / one.elapsed_ns
            if not one.lost and arrived >= _KEPT_SHARE * rate:
                return _Found(rate, loss_free=True)
            rate = max(_STEP * rate, min(arrived, rate / _KEPT_SHARE) * _STEP)
        return _Found(flood, loss_free=False)

    def _flood(self, turn: Turn) -> float | None:
        count = _FLOOD_MESSAGES
        while True:
            one = self._at(turn, None, count)
            if one is None or not one.messages:
                return None
            enough = one.elapsed_ns >= _FLOOD_S * 1e9 or count * _FLOOD_GROWTH > _MOST_MESSAGES
            if enough or turn.is_over():
                return one.messages * 1e9 / one.elapsed_ns
            count *= _FLOOD_GROWTH


def _level(runs: Sequence[_Level]) -> dict[str, Any]:
    messages = sum(run.one.messages for run in runs)
    return {
        "share": runs[0].share,
        "rate_messages_per_s": median(run.rate for run in runs),
        "n": messages,
        "lost": sum(run.one.lost for run in runs),
        "late": sum(run.one.late for run in runs),
        "time_ns": time_summary([run.one.histogram for run in runs]),
    }
