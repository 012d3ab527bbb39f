# SPDX-License-Identifier: BSD-3-Clause
"""Incast: many nodes send to the first one at the same moments, and each is answered.

Each sender has a session of its own to the receiving node, where as many processes receive. A burst
is done when the last sender has its answer; it counts from the moment at which all were to send.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from beowire.analysis.summaries import time_summary
from beowire.conduct.base import Conductor, Stage, Turn
from beowire.conduct.fleet import Fleet, Together
from beowire.conduct.session import Counts, Round, RoundShape
from beowire.record.histogram import Histogram

#: Bursts of a round; an engine reports no more one by one.
_MOST_BURSTS = 32

#: The next burst is due when the slowest so far would have been done long ago.
_PATIENCE = 2
_PAUSE_NS = 50_000

#: What probes count of the whole machine, or of time, and not of one process.
_OF_MACHINE = ("irq_ns", "softirq_ns", "interrupts", "softirqs", "card_interrupts", "window_ns")


@dataclass(frozen=True)
class _Step:
    """What so many senders took, burst by burst."""

    senders: int
    size: int
    finished: Histogram
    skew_ns: float


class Incast(Conductor):
    """Rounds of several numbers of senders, up to all."""

    def __init__(self, stage: Stage) -> None:
        """Starts nothing yet."""
        super().__init__(stage)
        self._all = len(stage.launcher.nodes) - 1
        self._fleet = Fleet(stage, [(node, 0) for node in range(1, self._all + 1)])
        self._longest_ns: dict[tuple[int, int], int] = {}

    def round(self, turn: Turn) -> Round | None:
        """Bursts of each number of senders; the round's own figures are those of all."""
        steps = []
        elapsed_ns = 0
        for senders in steps_to(self._all):
            together = self._burst(turn, senders)
            done = [one for one in together.rounds if one is not None and one.finished_ns]
            if len(done) < senders:
                return None
            worst = [max(each) for each in zip(*(one.finished_ns for one in done), strict=False)]
            self._longest_ns[turn.size, senders] = max(worst)
            elapsed_ns += max(one.elapsed_ns for one in done)
            steps.append(_Step(senders, turn.size, Histogram.of_values(worst), together.skew_ns))
        last = steps[-1].finished
        return Round(
            last.total,
            last.total,
            0,
            max(1, elapsed_ns),
            last.total * turn.size * self._all,
            last,
            ends_of(done),
            consecutive=False,
            flows=self._all,
            detail=steps,
        )

    def request_end(self) -> None:
        """Asks the engines to exit, without waiting."""
        self._fleet.request_end()

    def end(self) -> None:
        """Ends the engines, bounded in time."""
        self._fleet.end()

    @staticmethod
    def details(rounds: Sequence[Round]) -> dict[str, Any]:
        """Time and goodput by the number of senders."""
        by_step = zip(*(one.detail for one in rounds), strict=True)
        return {
            "senders": [_step(steps) for steps in by_step],
            "start_skew_ns": median(one.detail[-1].skew_ns for one in rounds),
        }

    def _burst(self, turn: Turn, senders: int) -> Together:
        longest_ns = self._longest_ns.get((turn.size, senders))
        if longest_ns is None:
            return self._fleet.run(turn, RoundShape(1, 1), senders)
        count = min(turn.shape.count, _MOST_BURSTS)
        interval_ns = _PATIENCE * longest_ns + _PAUSE_NS
        return self._fleet.run(turn, RoundShape(count, 1), senders, interval_ns)


def steps_to(most: int) -> list[int]:
    """1, 2, 4 and so on, and all of them."""
    return [*(1 << power for power in range(most.bit_length()) if 1 << power < most), most]


def ends_of(rounds: Sequence[Round]) -> list[Counts]:
    """What all initiators used together, and all responders."""
    return [_sum([one.counts[end] for one in rounds]) for end in (0, 1)]


def _sum(ends: Sequence[Counts]) -> Counts:
    names = [name for name in ends[0] if all(name in end for end in ends)]
    return {name: _total(name, [end[name] for end in ends]) for name in names}


def _total(name: str, counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    if len(known) < len(counts):
        return None
    # The machine's, which each of them has seen: those that run at the same time see the same.
    return max(known) if name in _OF_MACHINE else sum(known)


def _step(steps: Sequence[_Step]) -> dict[str, Any]:
    summary = time_summary([step.finished for step in steps])
    senders, size = steps[0].senders, steps[0].size
    return {
        "senders": senders,
        "time_ns": summary,
        "goodput_bytes_per_s": senders * size * 1e9 / max(1.0, summary["median"]),
    }
