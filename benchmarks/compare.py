# SPDX-License-Identifier: BSD-3-Clause
"""Runs `beowire compare` and takes quantities out of its record.

The command is run as a user would run it, so the one that is printed is the one that was run.
"""

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import built, figure
from beowire.analysis.statistics import Estimate
from beowire.plan.call_cost import OPTION
from beowire.record.lines import Result
from beowire.record.reader import Record, read_record
from beowire.sizes import format_size
from beowire.units import count_rate_text, rate_text, time_text

#: What a comparison may take beside measuring: setting up a lab, starting engines, the report.
_SPARE_S = 120.0

#: Launches of one comparison: each has new processes, other memory, other luck.
_LAUNCH_S = 12.0
_LAUNCHES = 5

Quantity = Callable[[Result], Estimate | None]


def launches_for(seconds: float) -> int:
    """How many launches there is time for."""
    return max(1, min(_LAUNCHES, int(seconds / _LAUNCH_S)))


@dataclass(frozen=True)
class Comparison:
    """One `beowire compare`: what it is given, and the directory that it writes."""

    arguments: tuple[str, ...]
    directory: Path

    @classmethod
    def of(
        cls,
        directory: Path,
        *,
        drivers: Sequence[str],
        sizes: Sequence[int],
        seconds: float,
        pattern: str = "pingpong",
        launches: int | None = None,
        where: Sequence[str] = ("--lab",),
        call_cost: str | None = None,
    ) -> "Comparison":
        """`where` are the options of the lab, or nothing for two ends on this host. `call_cost`: as
        Context has it."""
        count = launches_for(seconds) if launches is None else launches
        arguments = (
            *where,
            *("--drivers", ",".join(drivers), "--pattern", pattern),
            *("--sizes", ",".join(format_size(size).replace(" ", "") for size in sizes)),
            *("--time", f"{seconds:g}", "--launches", str(count)),
            *(() if call_cost is None else (OPTION, call_cost)),
        )
        return cls(arguments, directory)

    @property
    def command(self) -> str:
        """What a person types to measure the same."""
        return shlex.join(["./beowire", "compare", *self.arguments])

    def run(self) -> Record:
        """Measures. BeowireError with what `compare` said last if that fails."""
        seconds = float(self.arguments[self.arguments.index("--time") + 1])
        words = ("compare", *self.arguments)
        limit_s = 2 * seconds + _SPARE_S
        return read_record(built.recorded(words, self.directory, limit_s, self.command))


def half_rtt(result: Result) -> Estimate | None:
    """Half round trip, ns."""
    return None if result.half_rtt_ns is None else figure.of_summary(result.half_rtt_ns)


def half_rtt_p99(result: Result) -> Estimate | None:
    """Its 99th percentile, ns; None where there were too few messages for one."""
    half = result.half_rtt_ns
    if half is None or half.p99 is None:
        return None
    interval = (half.model_extra or {}).get("p99_ci95") or (None, None)
    return Estimate(half.p99, interval[0], interval[1])


def mean_half_rtt(result: Result) -> Estimate | None:
    """Half of all time over all round trips, ns, as programs measure that have no histogram."""
    if result.half_rtt_ns is None or result.n == 0:
        return None
    return Estimate(result.elapsed_ns / result.n / 2, None, None)


def rate(result: Result) -> Estimate | None:
    """Bytes per second: median."""
    summary = result.rate_bytes_per_s
    return None if summary is None else figure.of_summary(summary)


def mean_rate(result: Result) -> Estimate | None:
    """Bytes per second of a stream: all bytes over all time, stalls included."""
    mean = (
        (result.rate_bytes_per_s.model_extra or {}).get("mean")
        if (result.rate_bytes_per_s)
        else None
    )
    return None if mean is None else Estimate(float(mean), None, None)


def cpu(result: Result) -> Estimate | None:
    """CPU time of a message, ns, both ends."""
    cost = result.cpu_ns_per_message
    return None if cost is None else Estimate(cost, None, None)


def cells(record: Record, driver: str, size: int) -> list[Result]:
    """The launches of one driver and size, in order: beside the load, if there was one."""
    load = record.meta.options.get("load")
    wanted = (driver, size, "ok", load.get("load") if isinstance(load, dict) else None)
    found = [
        one for one in record.results if (one.driver, one.size, one.status, one.load) == wanted
    ]
    return sorted(found, key=lambda one: one.launch)


def typical(record: Record, driver: str, size: int, quantity: Quantity) -> Estimate | None:
    """The quantity over all launches; None if a launch does not have it."""
    found = [quantity(one) for one in cells(record, driver, size)]
    known = [one for one in found if one is not None]
    return figure.hull(known) if known and len(known) == len(found) else None


def ratio_of(
    record: Record, one: str, other: str, size: int, quantity: Quantity
) -> Estimate | None:
    """The quantity of driver `one` over that of `other`, launch by launch: the same moment, the
    same machine. None if one of them was not measured."""
    others = {cell.launch: quantity(cell) for cell in cells(record, other, size)}
    ratios = []
    for cell in cells(record, one, size):
        mine, theirs = quantity(cell), others.get(cell.launch)
        if mine is not None and theirs is not None:
            ratios.append(figure.ratio(mine, theirs))
    if not ratios:
        return None
    if all(one.low is None for one in ratios):
        return figure.of_launches([one.value for one in ratios])
    return figure.hull(ratios)


def values_text(
    record: Record, size: int, drivers: Sequence[str], quantity: Quantity, kind: str
) -> str:
    """`beowire 2.17 µs, packet 1.96 µs`: the quantity of each driver that was measured."""
    texts = {"time": time_text, "rate": rate_text, "count": count_rate_text}
    parts = []
    for driver in drivers:
        value = typical(record, driver, size, quantity)
        if value is not None:
            amount = value.value / size if kind == "count" else value.value
            parts.append(f"{driver} {texts[kind](amount)}")
    return ", ".join(parts)


def absence(record: Record, drivers: Sequence[str], size: int, quantity: Quantity) -> str:
    """Why there is no ratio of these drivers: the reason of the first that gave nothing."""
    absent = [name for name in drivers if typical(record, name, size, quantity) is None]
    return missing(record, absent[0] if absent else drivers[0])


def missing(record: Record, driver: str) -> str:
    """Why a driver gave nothing, in a line."""
    reasons = [one.reason for one in record.skipped if one.driver == driver]
    results = [one for one in record.results if one.driver == driver]
    reasons += [one.status for one in results if one.status != "ok"]
    if results and not reasons:
        return f"{driver}: too little was measured for this quantity: raise --time"
    return f"{driver}: {reasons[0] if reasons else 'it was not measured'}"
