# SPDX-License-Identifier: BSD-3-Clause
"""Whether others' programs find the same: half a round trip of the same protocol, in the same lab,
on the same cores, launch by launch in turns.

Like is compared with like: with a mean the mean of all our messages, with a median our median, and
with NetPIPE's, which is the mean of the best of its trials, our median as well, for we choose none.
"""

import shlex
from collections.abc import Sequence

from benchmarks.anchors import ANCHORS, MEAN
from benchmarks.compare import Comparison, half_rtt, mean_half_rtt, missing
from benchmarks.context import Context
from benchmarks.figure import Figure, Results, of_launches
from beowire import isolated
from beowire.record.lines import Result
from beowire.record.reader import Record
from beowire.units import size_text, time_text

SUMMARY = "half a round trip as NPtcp, sockperf, qperf, fi_pingpong, ucx_perftest and IMB find it"
SECONDS = 90.0

_SIZES = (1, 1024, 65536, 1 << 20)
_LAUNCHES = 6
_WITHIN = 0.03


def run(context: Context) -> Results:
    """One comparison of our drivers and of the programs that are here."""
    obstacles = [text for anchor in ANCHORS.values() if (text := anchor.obstacle())]
    here = [name for name, anchor in ANCHORS.items() if not anchor.obstacle()]
    if not here:
        return Results(problems=obstacles)
    drivers = dict.fromkeys(ANCHORS[name].driver for name in here)
    words = [
        word
        for name in here
        for word in ("--driver-command", f"{name}={shlex.join(_command(name))}")
    ]
    comparison = Comparison.of(
        context.part("turns"),
        where=("--lab", *words),
        drivers=tuple(drivers),
        sizes=_SIZES,
        seconds=context.seconds,
        launches=_LAUNCHES,
    )
    results = figures(comparison.run(), here)
    results.problems += obstacles
    return results


def figures(record: Record, names: Sequence[str]) -> Results:
    """Ratios launch by launch."""
    results = Results()
    for name in names:
        anchor = ANCHORS[name]
        for size in _SIZES:
            if not anchor.least_bytes <= size <= anchor.most_bytes:
                continue
            ours = _halves(record, anchor.driver, size, mean=anchor.says == MEAN)
            theirs = _halves(record, name, size)
            both = [(ours[one], theirs[one]) for one in ours if one in theirs]
            what = f"{size_text(size)}: {anchor.driver} / {anchor.program}"
            if not both:
                absent = name if ours else anchor.driver
                results.problems.append(f"{what}: {missing(record, absent)}")
                continue
            mine, other = zip(*both, strict=True)
            results.figures.append(
                Figure(
                    f"{what} ({anchor.says})",
                    of_launches([a / b for a, b in both]),
                    "scripts/bench agreement",
                    within=_WITHIN,
                    detail=f"{what}: {_values(mine)} / {_values(other)}",
                )
            )
    return results


def _command(name: str) -> list[str]:
    return [*isolated.command("benchmarks.anchors"), name]


def _halves(record: Record, driver: str, size: int, *, mean: bool = False) -> dict[int, float]:
    """Half a round trip in ns, by launch: the median, or the mean of all messages."""
    quantity = mean_half_rtt if mean else half_rtt
    return {
        result.launch: found.value
        for result in record.results
        if _is_whole(result) and (result.driver, result.size) == (driver, size)
        if (found := quantity(result)) is not None
    }


def _is_whole(result: Result) -> bool:
    return result.status == "ok" and result.pattern == "pingpong"


def _values(times_ns: Sequence[float]) -> str:
    """The median launch, and from which to which they reach."""
    low, middle, high = min(times_ns), of_launches(times_ns).value, max(times_ns)
    return f"{time_text(middle)} ({time_text(low)} to {time_text(high)})"
