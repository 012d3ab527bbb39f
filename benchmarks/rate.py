# SPDX-License-Identifier: BSD-3-Clause
"""Messages per second of a stream of small messages, many under way at once."""

from benchmarks import compare
from benchmarks.compare import Comparison
from benchmarks.context import TCP, Context, drivers
from benchmarks.figure import Figure, Results

SUMMARY = "8 B windowed streaming, messages per second against TCP"
SECONDS = 60.0

_SIZE = 8
_AT_LEAST = 2.0


def run(context: Context) -> Results:
    """One comparison."""
    names = drivers("beowire", *TCP, "packet")
    comparison = Comparison.of(
        context.part("stream"),
        call_cost=context.call_cost,
        drivers=names,
        sizes=[_SIZE],
        seconds=context.seconds,
        pattern="stream",
    )
    record = comparison.run()
    detail = compare.values_text(record, _SIZE, names, compare.rate, "count")
    results = Results()
    for other in names[1:]:
        ratio = compare.ratio_of(record, "beowire", other, _SIZE, compare.rate)
        if ratio is None:
            pair = ("beowire", other)
            results.problems.append(compare.absence(record, pair, _SIZE, compare.rate))
            continue
        results.figures.append(
            Figure(
                f"8 B messages per second: beowire / {other}",
                ratio,
                comparison.command,
                at_least=_AT_LEAST if other == "tcp-spin" else None,
                detail=detail,
            )
        )
    return results
