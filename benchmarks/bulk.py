# SPDX-License-Identifier: BSD-3-Clause
"""Ping-pong of long messages on a link as fast as the machine, against the best TCP."""

from benchmarks import compare
from benchmarks.compare import Comparison
from benchmarks.context import TCP, Context, drivers
from benchmarks.figure import Figure, Results
from beowire.units import size_text

SUMMARY = "64 KiB to 4 MiB ping-pong throughput at MTU 1500 and 9000, against the best TCP"
SECONDS = 120.0

_KIB = 1024
_AT_LEAST = {64 * _KIB: 1.0, 256 * _KIB: 1.0, 1024 * _KIB: 1.5, 4096 * _KIB: 1.5}


def run(context: Context) -> Results:
    """Both MTUs, one after the other."""
    results = Results()
    tcp = drivers(*TCP)
    for mtu in (1500, 9000):
        comparison = Comparison.of(
            context.part(f"mtu{mtu}"),
            where=("--lab", "--mtu", str(mtu)),
            drivers=("beowire", *tcp),
            sizes=list(_AT_LEAST),
            seconds=context.seconds / 2,
        )
        record = comparison.run()
        for size, at_least in _AT_LEAST.items():
            at = f"{size_text(size)}, MTU {mtu}"
            rates = {name: compare.typical(record, name, size, compare.rate) for name in tcp}
            known = {name: rate.value for name, rate in rates.items() if rate is not None}
            best = max(known, key=lambda name: known[name], default="tcp")
            ratio = compare.ratio_of(record, "beowire", best, size, compare.rate)
            if ratio is None:
                why = compare.absence(record, ("beowire", best), size, compare.rate)
                results.problems.append(f"{at}: {why}")
                continue
            values = compare.values_text(record, size, ("beowire", *tcp), compare.rate, "rate")
            results.figures.append(
                Figure(
                    f"{at}: beowire / {best}, the fastest TCP",
                    ratio,
                    comparison.command,
                    at_least=at_least,
                    detail=f"{at}: {values}",
                )
            )
    return results
