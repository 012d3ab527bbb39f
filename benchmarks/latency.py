# SPDX-License-Identifier: BSD-3-Clause
"""Half round trip of a small message, against bare frames: what reliability costs."""

from benchmarks import compare
from benchmarks.compare import Comparison
from benchmarks.context import TCP, Context, drivers
from benchmarks.figure import Figure, Results

SUMMARY = "8 B half round trip, direct and through a switch, against bare frames"
SECONDS = 60.0

_SIZE = 8
_AT_MOST = 1.25


def run(context: Context) -> Results:
    """Both labs, one after the other."""
    results = Results()
    names = drivers("beowire", "packet", *TCP)
    for link in ("direct", "switch"):
        comparison = Comparison.of(
            context.part(link),
            call_cost=context.call_cost,
            where=("--lab", "--link", link),
            drivers=names,
            sizes=[_SIZE],
            seconds=context.seconds / 2,
        )
        record = comparison.run()
        detail = compare.values_text(record, _SIZE, names, compare.half_rtt, "time")
        for other in names[1:]:
            ratio = compare.ratio_of(record, "beowire", other, _SIZE, compare.half_rtt)
            if ratio is None:
                why = compare.absence(record, ("beowire", other), _SIZE, compare.half_rtt)
                results.problems.append(f"{link}: {why}")
                continue
            results.figures.append(
                Figure(
                    f"8 B half round trip, {link}: beowire / {other}",
                    ratio,
                    comparison.command,
                    at_most=_AT_MOST if other == "packet" else None,
                    detail=f"{link}: {detail}",
                )
            )
    return results
