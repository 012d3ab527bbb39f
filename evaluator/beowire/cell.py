# SPDX-License-Identifier: BSD-3-Clause
"""A cell of the table: one driver, pattern, size and launch, and what was measured of it so far."""

from dataclasses import dataclass, field
from statistics import median
from typing import Any, Literal

from beowire import statistics
from beowire.conduct import conductor_of
from beowire.histogram import Histogram
from beowire.patterns import PATTERNS, Pattern
from beowire.record import Result
from beowire.session import CpuUse, Round, RoundShape
from beowire.statistics import Estimate
from beowire.summaries import interval, time_summary

StoppedBy = Literal["precise", "time", "rounds", "error"]

#: Rounds that say how long the next will take.
_RECENT_ROUNDS = 5

#: A cell is kept again when it has so many times the rounds: bounds the lines of the record.
_KEEP_GROWTH = 1.25

#: More rounds of a cell are not worth their time.
MAXIMUM_ROUNDS = 400


@dataclass
class Cell:
    """Collects rounds; says when they are enough; becomes a `Result`."""

    driver: str
    pattern: str
    size: int
    launch: int
    one_way: bool = False
    """There is no other end: a sample is one message, not a round trip."""
    one_kernel: bool = True
    """Both ends are on one machine, whose softirq time both see."""
    shape: RoundShape | None = None
    """How its rounds are made; None before the warm-up."""
    rounds: list[Round] = field(default_factory=list)
    empty_rounds: int = 0
    """Rounds in a row, up to the last one, in which every message was lost."""
    lost_alone: int = 0
    """Messages that were lost in rounds in which nothing arrived."""
    written: bool = False
    """It is in the record; nothing is added any more."""
    kept_rounds: int = 0
    """As many of its rounds are in the record for the case that the run is killed."""
    _pooled: Histogram = field(default_factory=Histogram)
    _next_check: int = statistics.MINIMUM_ROUNDS

    @property
    def kind(self) -> Pattern:
        """What its pattern is."""
        return PATTERNS[self.pattern]

    @property
    def share(self) -> float:
        """How much of a sample the pattern's quantity is."""
        return 1.0 if self.one_way else self.kind.share

    def add(self, one: Round) -> None:
        """Adds a measured round."""
        self.rounds.append(one)
        self._pooled.merge(one.histogram)

    def message_ns(self) -> float:
        """What a message takes on average in a usual round: the median of the last few."""
        recent = [one.message_ns() for one in self.rounds[-_RECENT_ROUNDS:]]
        return sorted(recent)[len(recent) // 2]

    def median(self) -> Estimate:
        """A sample's time in ns (of a ping-pong the round trip), or a rate in bytes per second."""
        if not self.kind.is_times:
            return statistics.rate_estimate(self._rates())
        return statistics.median_estimate(
            self._pooled, [one.histogram.quantile(0.5) for one in self.rounds]
        )

    def finished(self) -> StoppedBy | None:
        """`precise` or `rounds` once nothing more has to be measured. Cheap between checks."""
        count = len(self.rounds)
        if count < self._next_check:
            return None
        self._next_check = count + max(2, count // 10)
        if self.median().half_width() <= statistics.PRECISE_MEDIAN and self._p99_is_precise():
            return "precise"
        return "rounds" if count >= MAXIMUM_ROUNDS else None

    def result(self, stopped_by: StoppedBy, status: str = "ok") -> Result:
        """The line of the record. At least one round must have been measured."""
        quantities = self._times() if self.kind.is_times else self._rates_of_rounds()
        return Result.model_validate(
            {
                "driver": self.driver,
                "pattern": self.pattern,
                "size": self.size,
                "launch": self.launch,
                "n": sum(one.messages for one in self.rounds),
                "rounds": len(self.rounds),
                "batch": self.shape.batch if self.shape else 1,
                "lost": sum(one.lost for one in self.rounds) + self.lost_alone,
                "status": status,
                "stopped_by": stopped_by,
                "cpu": (cpu := self._cpu()),
                "cpu_ns_per_message": self._message_cpu_ns(cpu),
                "elapsed_ns": float(sum(one.elapsed_ns for one in self.rounds)),
                "walk_bytes": self.rounds[-1].walk_bytes,
                "cache_bytes": self.rounds[-1].cache_bytes,
                "overlap_send": self._overlapped(0),
                "overlap_receive": self._overlapped(2),
                **quantities,
                **conductor_of(self.pattern).details(self.rounds),
            }
        )

    def partial(self) -> Result | None:
        """The line that stands for the cell if the run is killed from now on; None while the one
        that is in the record says nearly the same.
        """
        if len(self.rounds) < max(1.0, _KEEP_GROWTH * self.kept_rounds):
            return None
        self.kept_rounds = len(self.rounds)
        return self.result("error", "the run was cut short").model_copy(update={"type": "partial"})

    def _rates(self) -> list[float]:
        return [one.moved_bytes * 1e9 / one.elapsed_ns for one in self.rounds]

    def _p99_is_precise(self) -> bool:
        if not self.kind.is_times:
            return True
        p99 = self._percentile(0.99)
        return p99 is not None and p99.half_width() <= statistics.PRECISE_P99

    def _percentile(self, probability: float) -> Estimate | None:
        return statistics.quantile_estimate(
            self._pooled, [one.histogram for one in self.rounds], probability
        )

    def _times(self) -> dict[str, Any]:
        factor = self.share
        time = time_summary([one.histogram for one in self.rounds], factor, self._pooled)
        medians = [one.histogram.quantile(0.5) * factor for one in self.rounds]
        return {
            self.kind.field: time,
            "rate_bytes_per_s": self._rate_of(time),
            "round_medians": medians,
            "histogram": {"buckets": self._pooled.buckets()},
            "settled": statistics.mser(medians).settled,
        }

    def _rate_of(self, time: dict[str, Any]) -> dict[str, Any] | None:
        """Size over time; None where the clock cannot tell the time from nothing."""
        if time["min"] <= 0:
            return None
        nanobytes = self.size * 1e9 * self.rounds[-1].flows
        within = time["ci95"]
        return {
            "median": nanobytes / time["median"],
            "ci95": within and [nanobytes / within[1], nanobytes / within[0]],
            "p90": None if time["p90"] is None else nanobytes / time["p90"],
            "p99": None if time["p99"] is None else nanobytes / time["p99"],
            "min": nanobytes / time["max"],
            "max": nanobytes / time["min"],
        }

    def _rates_of_rounds(self) -> dict[str, Any]:
        rates = self._rates()
        median = statistics.rate_estimate(rates)
        in_bytes: dict[str, Any] = {
            "median": median.value,
            "ci95": interval(median, 1.0),
            "p90": statistics.slow_tail(rates, 0.90),
            "p99": statistics.slow_tail(rates, 0.99),
            "min": min(rates),
            "max": max(rates),
            "mean": statistics.mean_rate(
                [one.moved_bytes for one in self.rounds],
                [one.elapsed_ns for one in self.rounds],
            ),
        }
        return {
            "rate_bytes_per_s": in_bytes,
            "rate_messages_per_s": {
                name: _divided(value, self.size) for name, value in in_bytes.items()
            },
            "round_medians": rates,
            "settled": statistics.mser(rates).settled,
        }

    def _overlapped(self, at: int) -> float | None:
        """Share of a transfer's time alone that it did not cost beside computing: the median round
        says what each of the two is.
        """
        rounds = [one.overlap for one in self.rounds if one.overlap is not None]
        if not rounds or not (alone := median(one[at] for one in rounds)):
            return None
        return min(1.0, max(0.0, 1 - median(one[at + 1] for one in rounds) / alone))

    def _cpu(self) -> list[dict[str, float | None]]:
        ends = max(len(one.cpu) for one in self.rounds)
        return [
            {name: self._mean_use(end, name) for name in CpuUse.__dataclass_fields__}
            for end in range(ends)
        ]

    def _mean_use(self, end: int, name: str) -> float | None:
        """A message's share; None where one of the rounds does not know."""
        uses = [getattr(one.cpu[end], name) for one in self.rounds]
        if None in uses:
            return None
        return float(sum(uses)) / sum(one.messages for one in self.rounds)

    def _message_cpu_ns(self, cpu: list[dict[str, float | None]]) -> float | None:
        """All of both ends; the softirq time of a machine that both are on counts once."""
        softirq = [end["softirq_ns"] for end in (cpu[:1] if self.one_kernel else cpu)]
        own = [end[name] for end in cpu for name in ("user_ns", "system_ns")]
        known = [value for value in (*own, *softirq) if value is not None]
        return sum(known) if known and len(known) == len(own) + len(softirq) else None


def _divided(value: Any, by: int) -> Any:
    if isinstance(value, list):
        return [part / by for part in value]
    return None if value is None else value / by
