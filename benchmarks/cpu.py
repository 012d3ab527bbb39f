# SPDX-License-Identifier: BSD-3-Clause
"""CPU time of a small message in streaming: user, system and softirq, both ends."""

from benchmarks import compare
from benchmarks.compare import Comparison
from benchmarks.context import Context
from benchmarks.figure import Figure, Results
from beowire.units import size_text

SUMMARY = "CPU time of a message up to 1 KiB in streaming, against blocking TCP"
SECONDS = 90.0

_SIZES = (8, 64, 256, 1024)
_AT_MOST = 0.5

#: A CPU time has no interval within a launch: it comes from the order of so many.
_LAUNCHES = 6


def run(context: Context) -> Results:
    """One comparison of several launches."""
    names = ("beowire", "tcp", "tcp-spin")
    comparison = Comparison.of(
        context.part("stream"),
        call_cost=context.call_cost,
        drivers=names,
        sizes=_SIZES,
        seconds=context.seconds,
        pattern="stream",
        launches=_LAUNCHES,
    )
    record = comparison.run()
    results = Results()
    for size in _SIZES:
        ratio = compare.ratio_of(record, "beowire", "tcp", size, compare.cpu)
        if ratio is None:
            why = compare.absence(record, ("beowire", "tcp"), size, compare.cpu)
            results.problems.append(f"{size_text(size)}: {why}, or its softirq time is not known")
            continue
        values = compare.values_text(record, size, names, compare.cpu, "time")
        results.figures.append(
            Figure(
                f"{size_text(size)} CPU time of a message: beowire / tcp",
                ratio,
                comparison.command,
                at_most=_AT_MOST,
                detail=f"{size_text(size)}: {values}",
            )
        )
    return results
