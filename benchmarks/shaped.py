# SPDX-License-Identifier: BSD-3-Clause
"""Streams on links of a known rate: how much of what their frames can carry is carried."""

from benchmarks import compare
from benchmarks.compare import Comparison
from benchmarks.context import Context
from benchmarks.figure import Figure, Results, exactly, ratio
from beowire.analysis.statistics import Estimate
from beowire.units import size_text

SUMMARY = "64 KiB to 4 MiB streaming at 1 and 10 Gbit/s, against what frames of the MTU can carry"
SECONDS = 160.0

_KIB = 1024
_SIZES = (64 * _KIB, 256 * _KIB, 1024 * _KIB, 4096 * _KIB)
_AT_LEAST = 0.97
_LINKS = (("1g", 1500), ("1g", 9000), ("10g", 1500), ("10g", 9000))


def run(context: Context) -> Results:
    """Each rate and MTU, one after the other; TCP's share is printed beside."""
    results = Results()
    for rate, mtu in _LINKS:
        comparison = Comparison.of(
            context.part(f"{rate}-mtu{mtu}"),
            call_cost=context.call_cost,
            where=("--lab", "--rate", rate, "--mtu", str(mtu)),
            drivers=("beowire", "tcp"),
            sizes=_SIZES,
            seconds=context.seconds / len(_LINKS),
            pattern="stream",
        )
        record = comparison.run()
        wire = record.meta.wire
        assert wire is not None  # a shaped lab has one
        limit = exactly(wire.payload_bytes_per_s)
        for size in _SIZES:
            for driver, at_least in (("beowire", _AT_LEAST), ("tcp", None)):
                at = f"{size_text(size)} at {rate}, MTU {mtu}: {driver}"
                measured: Estimate | None = compare.typical(record, driver, size, compare.rate)
                if measured is None:
                    results.problems.append(f"{at}: {compare.missing(record, driver)}")
                    continue
                results.figures.append(
                    Figure(
                        f"{at} / payload of the wire",
                        ratio(measured, limit),
                        comparison.command,
                        at_least=at_least,
                    )
                )
    return results
