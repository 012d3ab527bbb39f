# SPDX-License-Identifier: BSD-3-Clause
"""The data of reports: for each driver and pattern a curve of cells over size.

Nothing is estimated again. A cell of one launch has the figures of the record. A cell of several
launches has the median of the launches' medians, and an interval that spans those of all
launches.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import median
from typing import Literal

from beowire.analysis import layers
from beowire.plan.patterns import PATTERNS, Pattern
from beowire.record.histogram import bucket_index, bucket_width
from beowire.record.lines import CpuCost, Result, Summary
from beowire.record.reader import Record
from beowire.visible import visible

#: Wider intervals, relative to the median, are marked.
WIDE = 0.05


#: The driver that a comparison is about, and those to compare with: TCP as applications use it, and
#: the lower bound.
SUBJECT = "beowire"
BASELINE = "tcp-spin"
FLOOR = "packet"


@dataclass(frozen=True)
class Cell:
    """One driver, pattern and size, with the launches that have a figure."""

    size: int
    launches: tuple[Result, ...]
    time: Summary | None
    """The quantity of a pattern that reports times, such as half a round trip."""
    rate_bytes_per_s: Summary

    @property
    def messages(self) -> int:
        """Measured messages of all launches."""
        return sum(result.n for result in self.launches)

    @property
    def lost(self) -> int:
        """Lost messages of all launches."""
        return sum(result.lost for result in self.launches)

    @property
    def stopped_by(self) -> str:
        """The rules that ended the cell in its launches."""
        return ", ".join(sorted({result.stopped_by for result in self.launches}))

    def overlap(self, end: Literal["send", "receive"]) -> float | None:
        """Share of a transfer hidden by computing at this end; the median of the launches."""
        shares = [getattr(one, f"overlap_{end}") for one in self.launches]
        return median_or_none(shares)

    @property
    def cpu_ns_per_message(self) -> float | None:
        """CPU time of both ends, including softirq; the median of the launches."""
        known = [cost for one in self.launches if (cost := one.cpu_ns_per_message) is not None]
        return median(known) if len(known) == len(self.launches) else None

    @property
    def service_demand_us_per_kb(self) -> float | None:
        """CPU time of both ends per 1024 bytes; the median of the launches."""
        return median_or_none([one.service_demand_us_per_kb for one in self.launches])

    def figure(self, name: str, end: int) -> float | None:
        """A probe's figure at an end; the median of the launches."""
        return median_or_none([one.figures(end).get(name) for one in self.launches])

    def figure_reach(self, name: str, end: int) -> float | None:
        """How far the interval of a probe's figure reaches: probe_reach() of all launches."""
        return probe_reach(self.launches, name, end)

    def cpu(self, end: int) -> CpuCost | None:
        """CPU time per message at the initiator (0) or responder (1), of the median launch."""
        costs = [result.cpu[end] for result in self.launches if end < len(result.cpu)]
        costs.sort(key=lambda cost: cost.user_ns + cost.system_ns)
        return costs[len(costs) // 2] if costs else None


@dataclass(frozen=True)
class Curve:
    """One driver's cells of one pattern in one record, by rising size."""

    record: int
    """Index of the record in the report."""
    label: str
    """Name in legends: the driver, and the record if there are several."""
    driver: str
    pattern: str
    one_way: bool
    """Without another end a sample is one message, not a round trip."""
    cells: tuple[Cell, ...]
    load: str | None = None
    """Load of the nodes; None: no known load."""

    @property
    def name(self) -> str:
        """The driver, and its load: `tcp`, `tcp +hog:19`."""
        return f"{self.driver} +{self.load}" if self.load else self.driver

    def is_beside(self, other: "Curve") -> bool:
        """Both were measured in the same record, with the same load."""
        return (self.record, self.load) == (other.record, other.load)

    @property
    def kind(self) -> Pattern:
        """What its pattern is."""
        return PATTERNS[self.pattern]

    def at(self, size: int) -> Cell | None:
        """The cell of that size, if it was measured."""
        return self._by_size.get(size)

    @cached_property
    def _by_size(self) -> dict[int, Cell]:
        return {cell.size: cell for cell in self.cells}


def record_labels(records: Sequence[Record]) -> list[str]:
    """A short unique name for each record: of its directory, or its file.

    A single record has none, so that its path does not change the report.
    """
    if len(records) == 1:
        return [""]
    labels: list[str] = []
    for record in records:
        path = record.path.resolve()
        name = path.parent.name if path.name == "record.jsonl" else path.stem
        name = visible(name)
        label, number = name, 1
        while label in labels:
            number += 1
            label = f"{name} ({number})"
        labels.append(label)
    return labels


def curves(records: Sequence[Record], pattern: str) -> list[Curve]:
    """All curves of a pattern: drivers in the palette's order, records in the order given."""
    labels = record_labels(records)
    found: list[Curve] = []
    for index, record in enumerate(records):
        cells: dict[tuple[str, str | None], dict[int, list[Result]]] = {}
        for result in record.results:
            if result.pattern == pattern and _rate(result) is not None:
                of_driver = cells.setdefault((result.driver, result.load), {})
                of_driver.setdefault(result.size, []).append(result)
        one_way = {info.name for info in record.meta.drivers if info.placement == "process"}
        for (driver, load), by_size in cells.items():
            curve = Curve(
                record=index,
                label="",
                driver=driver,
                pattern=pattern,
                one_way=driver in one_way,
                cells=tuple(_cell(size, by_size[size]) for size in sorted(by_size)),
                load=load,
            )
            label = f"{curve.name} · {labels[index]}" if labels[index] else curve.name
            found.append(replace(curve, label=label))
    return sorted(
        found, key=lambda curve: (layers.rank(curve.driver), curve.record, curve.load or "")
    )


def idle_of(curve: Curve, found: Sequence[Curve]) -> Curve | None:
    """The same driver in the same record without load; None: it has no load."""
    if curve.load is None:
        return None
    same = (one for one in found if (one.driver, one.record) == (curve.driver, curve.record))
    return next((one for one in same if one.load is None), None)


def reach(summary: Summary) -> float:
    """How far the 95 % interval reaches from the median, relative to it; infinite without one."""
    if summary.ci95 is None or summary.median <= 0:
        return math.inf
    return max(summary.median - summary.ci95[0], summary.ci95[1] - summary.median) / summary.median


def probe_reach(launches: Sequence[Result], name: str, end: int) -> float | None:
    """The reach of the 95 % interval of a probe's figure at an end, relative to the figure; of
    several launches it spans their intervals. Infinite: too few rounds. None: this figure, or an
    old record, has no interval."""
    value = median_or_none([one.figures(end).get(name) for one in launches])
    of_end = [one.probes_ci95[end] for one in launches if end < len(one.probes_ci95)]
    intervals = [one[name] for one in of_end if name in one]
    if not value or len(intervals) < len(launches):
        return None
    known = [one for one in intervals if one is not None]
    if len(known) < len(intervals):
        return math.inf
    return max(value - min(low for low, _ in known), max(high for _, high in known) - value) / value


def all_sizes(found: Sequence[Curve]) -> list[int]:
    """Every size that some curve has, rising."""
    return sorted({cell.size for curve in found for cell in curve.cells})


def telling_sizes(sizes: Sequence[int], count: int = 4) -> list[int]:
    """At most `count` of the sizes: the ends, and between them evenly by rank. One: the first."""
    if len(sizes) <= count:
        return list(sizes)
    if count < 2:
        return list(sizes[:count])
    last = len(sizes) - 1
    return [sizes[round(step * last / (count - 1))] for step in range(count)]


def distribution(curve: Curve, cell: Cell) -> list[tuple[float, float]]:
    """(the pattern's time in ns, share of messages up to it) at the buckets' upper edges.

    Thinned: each step has 10 % of the remaining slower messages, so that the tail keeps its shape.
    Empty without a histogram.
    """
    counts: dict[int, int] = {}
    for result in cell.launches:
        for lower, count in result.histogram.buckets if result.histogram else ():
            counts[lower] = counts.get(lower, 0) + count
    if not counts:
        return []
    per_message = 1.0 if curve.one_way else 1 / curve.kind.share
    total = sum(counts.values())
    points = [(min(counts) / per_message, 0.0)]
    below, shown = 0, 0.0
    for number, lower in enumerate(sorted(counts), start=1):
        below += counts[lower]
        share = below / total
        if 1 - share <= 0.9 * (1 - shown) or number == len(counts):
            upper = lower + bucket_width(bucket_index(lower))
            points.append((upper / per_message, share))
            shown = share
    return points


def _rate(result: Result) -> Summary | None:
    """The throughput of a result; if a ping-pong has none, size / half round trip."""
    if result.rate_bytes_per_s is not None:
        return result.rate_bytes_per_s if result.rate_bytes_per_s.median > 0 else None
    half = result.time()
    if half is None or min(half.median, half.min) <= 0 or result.size < 1:
        return None

    def rate(time_ns: float) -> float:
        return result.size / time_ns * 1e9

    return Summary(
        median=rate(half.median),
        ci95=None if half.ci95 is None else (rate(half.ci95[1]), rate(max(half.ci95[0], half.min))),
        p90=None if half.p90 is None else rate(half.p90),
        p99=None if half.p99 is None else rate(half.p99),
        min=rate(half.max),
        max=rate(half.min),
    )


def _cell(size: int, results: Sequence[Result]) -> Cell:
    times = [time for result in results if (time := result.time()) is not None]
    rates = [rate for result in results if (rate := _rate(result)) is not None]
    return Cell(size, tuple(results), combined(times) if times else None, combined(rates))


def combined(launches: Sequence[Summary]) -> Summary:
    """One summary of at least one launch: the median of the medians, and an interval that spans
    all."""
    if len(launches) == 1:
        return launches[0]
    intervals = [launch.ci95 for launch in launches if launch.ci95 is not None]
    whole = len(intervals) == len(launches)
    return Summary(
        median=median(launch.median for launch in launches),
        ci95=(min(low for low, _ in intervals), max(high for _, high in intervals))
        if whole
        else None,
        p90=median_or_none([launch.p90 for launch in launches]),
        p99=median_or_none([launch.p99 for launch in launches]),
        min=min(launch.min for launch in launches),
        max=max(launch.max for launch in launches),
    )


def median_or_none(values: Sequence[float | None]) -> float | None:
    """The median of values that are all known."""
    known = [value for value in values if value is not None]
    return median(known) if len(known) == len(values) else None


@dataclass(frozen=True)
class Ratio:
    """A quotient of two medians, and its interval."""

    value: float
    low: float | None
    high: float | None


def ratio(cell: Summary, base: Summary) -> Ratio:
    """`cell` / `base`, with a conservative interval from both intervals."""
    low = high = None
    if cell.ci95 and base.ci95 and min(*cell.ci95, *base.ci95) > 0:
        low, high = cell.ci95[0] / base.ci95[1], cell.ci95[1] / base.ci95[0]
    return Ratio(cell.median / base.median, low, high)


def under_groups(pingpong: Sequence[Curve]) -> list[tuple[str, list[Curve]]]:
    """The curves by the titles of their groups; without title if they are few."""
    names = [curve.driver for curve in pingpong]
    if len(set(names)) <= layers.FEW:
        return [("", list(pingpong))]
    return [
        (group.title, [curve for curve in pingpong if curve.driver in group.drivers])
        for group in layers.grouped(names)
    ]


def quantity_of(cell: Cell, pattern: Pattern) -> Summary:
    """What a cell of the pattern is compared by: a time, or a rate."""
    time = cell.time if pattern.is_times else None
    return time if time is not None else cell.rate_bytes_per_s


def overlap(one: Summary, other: Summary) -> bool:
    """Whether their intervals do, or one has none."""
    if one.ci95 is None or other.ci95 is None:
        return True
    return one.ci95[0] <= other.ci95[1] and other.ci95[0] <= one.ci95[1]
