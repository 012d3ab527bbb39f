# SPDX-License-Identifier: BSD-3-Clause
"""A cell: one driver, pattern, size and launch, with its measured rounds."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Literal

from beowire.analysis import statistics
from beowire.analysis.statistics import Estimate
from beowire.analysis.summaries import interval, time_summary
from beowire.conduct import conductor_of
from beowire.conduct.session import Counts, Round, RoundShape
from beowire.plan.patterns import PATTERNS, Pattern
from beowire.plan.plan import MINIMUM_ROUNDS
from beowire.record.histogram import Histogram
from beowire.record.lines import CpuCost, ProbeInfo, Result

StoppedBy = Literal["precise", "time", "rounds", "error"]

#: Number of last rounds that predict the time of the next.
_RECENT_ROUNDS = 5

#: An unfinished cell is written again when its rounds have grown by this factor, which limits the
#: lines of the record.
_KEEP_GROWTH = 1.25

#: Bytes to which a service demand refers, as in netperf.
_KB = 1024

#: Two measurements of CPU time differ if they do by more than these shares of the larger, and of
#: the time measured; less may come from any other process.
_METHODS_DIFFER = 0.05
_METHODS_FLOOR = 0.01

#: Maximum number of rounds of a cell.
MAXIMUM_ROUNDS = 400


@dataclass
class Cell:
    """Collects rounds, says when they are enough, and makes the `Result`."""

    driver: str
    pattern: str
    size: int
    launch: int
    one_way: bool = False
    """Without another end a sample is one message, not a round trip."""
    one_kernel: bool = True
    """Both ends are on one machine, whose softirq time both count."""
    load: str | None = None
    """The load of the nodes."""
    probes: Sequence[ProbeInfo] = ()
    """What is counted."""
    shape: RoundShape | None = None
    """How its rounds are made; None before the warm-up."""
    rounds: list[Round] = field(default_factory=list)
    probed: list[Round] = field(default_factory=list)
    """Rounds with probes that disturb, of which only the counts are used."""
    empty_rounds: int = 0
    """Rounds in a row, up to the last one, in which every message was lost."""
    lost_alone: int = 0
    """Messages lost in rounds in which nothing arrived."""
    written: bool = False
    """It is in the record, and takes no more rounds."""
    kept_rounds: int = 0
    """Number of its rounds in the record in case the run is killed."""
    _pooled: Histogram = field(default_factory=Histogram)
    _next_check: int = MINIMUM_ROUNDS

    @property
    def kind(self) -> Pattern:
        """What its pattern is."""
        return PATTERNS[self.pattern]

    @property
    def share(self) -> float:
        """The pattern's quantity as a share of a sample."""
        return 1.0 if self.one_way else self.kind.share

    def add(self, one: Round) -> None:
        """Adds a measured round."""
        self.rounds.append(one)
        self._pooled.merge(one.histogram)

    def close(self) -> None:
        """Frees the rounds: the cell is in the record."""
        self.written = True
        self.rounds, self.probed, self._pooled = [], [], Histogram.of_buckets([])

    def message_ns(self) -> float:
        """Mean time of a message in a typical round: the median of the last few rounds."""
        recent = [one.message_ns() for one in self.rounds[-_RECENT_ROUNDS:]]
        return sorted(recent)[len(recent) // 2]

    def median(self) -> Estimate:
        """A sample's time in ns (of a ping-pong the round trip), or a rate in bytes per second."""
        if not self.kind.is_times:
            return statistics.rate_estimate(self._rates())
        return statistics.median_estimate(self._pooled, [one.histogram for one in self.rounds])

    def finished(self) -> StoppedBy | None:
        """`precise` or `rounds` when no more needs to be measured. Cheap between checks."""
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
                "load": self.load,
                **self._costs(),
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
        """The line for the record in case the run is killed; None while the one in the record is
        nearly the same.
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
        """Size divided by time; None if the time is below the clock's resolution."""
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
        """Share of a transfer's time that computing hides: from the median round."""
        rounds = [one.overlap for one in self.rounds if one.overlap is not None]
        if not rounds or not (alone := median(one[at] for one in rounds)):
            return None
        return min(1.0, max(0.0, 1 - median(one[at + 1] for one in rounds) / alone))

    def _costs(self) -> dict[str, Any]:
        """The cost of a message at the ends, by all probes."""
        ends = range(max(len(one.counts) for one in self.rounds))
        plain = [_figures(self.rounds, end, self.probes) for end in ends]
        probed = [_figures(self.probed, end, self.probes) if self.probed else {} for end in ends]
        of_cpu = CpuCost.model_fields
        cpu = [{name: value for name, value in end.items() if name in of_cpu} for end in plain]
        message_ns = self._message_cpu_ns(cpu)
        crossed = self.kind.crossings * self.size if not self.one_way else self.size
        return {
            "cpu": cpu,
            "cpu_ns_per_message": message_ns,
            "service_demand_us_per_kb": message_ns / crossed * _KB / 1e3
            if message_ns is not None and crossed
            else None,
            "bytes_per_system_s": [
                crossed * 1e9 / used if (used := end.get("system_ns")) else None for end in cpu
            ]
            if crossed
            else [],
            "probes": [
                {name: value for name, value in (own | end).items() if name not in of_cpu}
                for own, end in zip(probed, plain, strict=True)
            ],
            "probes_ci95": [
                _intervals(self.probed, end, self.probes, probed[end])
                | _intervals(self.rounds, end, self.probes, plain[end])
                for end in ends
            ],
            "probed_rounds": len(self.probed),
            "cpu_methods": self._cpu_methods(probed),
        }

    def _cpu_methods(self, probed: Sequence[dict[str, float | None]]) -> dict[str, Any] | None:
        """Both measurements of CPU time, of the rounds that had both; None: there are none."""
        taken = [end["taken_ns"] for end in probed if "taken_ns" in end]
        accounted = self._message_cpu_ns(probed) if taken else None
        known = [value for value in taken if value is not None]
        if accounted is None or len(known) < len(taken):
            return None
        messages = sum(one.messages for one in self.probed)
        looked_at = sum(_total(self.probed, end, "window_ns") or 0 for end in range(len(taken)))
        apart = abs(accounted - sum(known))
        differ = apart > max(
            _METHODS_DIFFER * max(accounted, sum(known)), _METHODS_FLOOR * looked_at / messages
        )
        return {"accounted_ns": accounted, "taken_ns": sum(known), "differ": differ}

    def _message_cpu_ns(self, ends: Sequence[dict[str, float | None]]) -> float | None:
        """CPU time of both ends; if they are on one machine, its softirq time counts once."""
        softirq = [end.get("softirq_ns") for end in (ends[:1] if self.one_kernel else ends)]
        # If the kernel does not account interrupts separately, their time is in the others.
        irq = [end.get("irq_ns") or 0.0 for end in (ends[:1] if self.one_kernel else ends)]
        own = [end.get(name) for end in ends for name in ("user_ns", "system_ns")]
        known = [value for value in (*own, *softirq) if value is not None]
        return sum(known) + sum(irq) if known and len(known) == len(own) + len(softirq) else None


def _figures(
    rounds: Sequence[Round], end: int, probes: Sequence[ProbeInfo]
) -> dict[str, float | None]:
    """Each figure of an end per message or per second; None: a round lacks it."""
    per_second = {info.name for info in probes if info.per == "second"}
    names = dict.fromkeys(name for counts in _counts_of(rounds, end) for name in counts)
    messages = sum(one.messages for one in rounds)
    seconds = (_total(rounds, end, "window_ns") or 0) / 1e9
    found: dict[str, float | None] = {}
    for name in names:
        total = _total(rounds, end, name)
        of = seconds if name in per_second else messages
        if name != "window_ns":
            found[name] = None if total is None or not of else total / of
    return found


def _intervals(
    rounds: Sequence[Round],
    end: int,
    probes: Sequence[ProbeInfo],
    figures: dict[str, float | None],
) -> dict[str, list[float] | None]:
    """The 95 % interval of each figure per second, from its values in each round, widened to
    contain the figure over all rounds. None: too few rounds."""
    found: dict[str, list[float] | None] = {}
    for name in (info.name for info in probes if info.per == "second"):
        value = figures.get(name)
        if value is None:
            continue
        of_rounds = [
            count * 1e9 / window_ns
            for counts in _counts_of(rounds, end)
            if (count := counts.get(name)) is not None and (window_ns := counts.get("window_ns"))
        ]
        estimate = statistics.rate_estimate(of_rounds) if of_rounds else Estimate(value, None, None)
        within = interval(estimate, 1.0)
        found[name] = within and [min(within[0], value), max(within[1], value)]
    return found


def _total(rounds: Sequence[Round], end: int, name: str) -> int | None:
    values = [counts.get(name) for counts in _counts_of(rounds, end)]
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _counts_of(rounds: Sequence[Round], end: int) -> list[Counts]:
    return [one.counts[end] for one in rounds if end < len(one.counts)]


def _divided(value: Any, by: int) -> Any:
    if isinstance(value, list):
        return [part / by for part in value]
    return None if value is None else value / by
