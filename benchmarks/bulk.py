# SPDX-License-Identifier: BSD-3-Clause
"""Ping-pong of long messages on a link as fast as the machine, against TCP and two copies.

Whoever gets a message out of one process and into another without a card's help copies twice.
"""

from benchmarks import compare
from benchmarks.compare import Comparison
from benchmarks.context import TCP, Context, drivers
from benchmarks.figure import Figure, Results, scaled
from beowire.units import size_text

SUMMARY = "64 KiB to 4 MiB ping-pong throughput, MTU 1500 and 9000, against TCP and two copies"
SECONDS = 120.0

_KIB = 1024
_COPY = "memcpy"
_SIZES = (64 * _KIB, 256 * _KIB, 1024 * _KIB, 4096 * _KIB)
_COPIED = _SIZES[-2:]
"""Only these are compared with copies: a copy of shorter ones finds all of it in the cache."""


def run(context: Context) -> Results:
    """Both MTUs, one after the other."""
    results = Results()
    tcp = drivers(*TCP)
    for mtu in (1500, 9000):
        comparison = Comparison.of(
            context.part(f"mtu{mtu}"),
            call_cost=context.call_cost,
            where=("--lab", "--mtu", str(mtu)),
            drivers=("beowire", _COPY, *tcp),
            sizes=list(_SIZES),
            seconds=context.seconds / 2,
        )
        record = comparison.run()
        for size in _SIZES:
            at = f"{size_text(size)}, MTU {mtu}"
            rates = {name: compare.typical(record, name, size, compare.rate) for name in tcp}
            known = {name: rate.value for name, rate in rates.items() if rate is not None}
            best = max(known, key=lambda name: known[name], default="tcp")
            ratio = compare.ratio_of(record, "beowire", best, size, compare.rate)
            if ratio is None:
                why = compare.absence(record, ("beowire", best), size, compare.rate)
                results.problems.append(f"{at}: {why}")
                continue
            values = compare.values_text(
                record, size, ("beowire", _COPY, *tcp), compare.rate, "rate"
            )
            results.figures.append(
                Figure(
                    f"{at}: beowire / {best}, the fastest TCP",
                    ratio,
                    comparison.command,
                    at_least=1.0,
                    detail=f"{at}: {values}",
                )
            )
            copies = compare.ratio_of(record, "beowire", _COPY, size, compare.rate)
            if size in _COPIED and copies is not None:
                results.figures.append(
                    Figure(
                        f"{at}: beowire / two bare copies",
                        scaled(copies, 2),
                        comparison.command,
                        at_least=0.95,
                    )
                )
    return results
