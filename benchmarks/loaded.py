# SPDX-License-Identifier: BSD-3-Clause
"""Half round trips on nodes whose every core computes something else."""

from benchmarks import compare
from benchmarks.compare import Comparison
from benchmarks.context import Context
from benchmarks.figure import Figure, Results
from beowire.units import size_text

SUMMARY = "median and 99th percentile beside a hog on every core, against blocking TCP"
SECONDS = 120.0

_SIZES = (8, 65536)
_AT_MOST = 1.0
_QUANTITIES = (("median", compare.half_rtt), ("p99", compare.half_rtt_p99))


def run(context: Context) -> Results:
    """Hogs that give way, then hogs that do not."""
    results = Results()
    names = ("beowire", "tcp")
    for nice in (19, 0):
        comparison = Comparison.of(
            context.part(f"nice{nice}"),
            call_cost=context.call_cost,
            where=("--lab", "--load", f"hog:{nice}"),
            drivers=names,
            sizes=_SIZES,
            seconds=context.seconds / 2,
        )
        record = comparison.run()
        for size in _SIZES:
            for what, quantity in _QUANTITIES:
                at = f"{size_text(size)} half round trip, hogs at nice {nice}, {what}"
                ratio = compare.ratio_of(record, "beowire", "tcp", size, quantity)
                if ratio is None:
                    why = compare.absence(record, names, size, quantity)
                    results.problems.append(f"{at}: {why}")
                    continue
                values = compare.values_text(record, size, names, quantity, "time")
                results.figures.append(
                    Figure(
                        f"{at}: beowire / tcp",
                        ratio,
                        comparison.command,
                        at_most=_AT_MOST,
                        detail=f"{at}: {values}",
                    )
                )
    return results
