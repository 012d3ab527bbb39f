# SPDX-License-Identifier: BSD-3-Clause
"""Ping-pong between two processes of one host, against Intel MPI's own shared memory.

IMB prints hundredths of microseconds, and has no launches inside a run: both are run again and
again in turns, on the same two cores. It prints means, so ours are means as well here: a median
would not see what a busy machine does to both.
"""

import os

from benchmarks import compare, impi
from benchmarks.compare import Comparison
from benchmarks.context import Context
from benchmarks.figure import Figure, Results, of_launches
from beowire.errors import BeowireError
from beowire.record.reader import Record
from beowire.units import rate_text, size_text, time_text

SUMMARY = "8 B, 64 KiB and 4 MiB between processes of one host, against Intel MPI's shared memory"
SECONDS = 90.0

_SMALL = 8
_LARGE = (65536, 4 << 20)

#: 0.4 us where Intel MPI takes 0.35.
_AT_MOST = 0.4 / 0.35
_AT_LEAST = 1.0

_TURNS = 6
_LEAST_S = 3.0
_DRIVERS = ("beowire", "shm")


def run(context: Context) -> Results:
    """Turns of Intel MPI and `compare` between two processes of this host."""
    cores = sorted(os.sched_getaffinity(0))[:2]
    if len(cores) < 2:
        return Results(problems=["two cores are needed, and this process may use one"])
    try:
        home = impi.install()
    except BeowireError as error:
        return Results(problems=[str(error)])
    turns = max(1, min(_TURNS, int(context.seconds / _LEAST_S)))
    theirs: list[dict[int, impi.PingPong]] = []
    ours: list[Record] = []
    context.directory.mkdir(parents=True, exist_ok=True)
    for turn in range(turns):
        sizes = (_SMALL, *_LARGE)
        theirs.append({s: impi.measure(home, cores, s, context.directory) for s in sizes})
        comparison = Comparison.of(
            context.part(f"turn{turn + 1}"),
            where=(),
            drivers=_DRIVERS,
            sizes=sizes,
            seconds=context.seconds / turns,
            launches=1,
        )
        ours.append(comparison.run())
    return figures(theirs, ours, comparison.command)


def figures(theirs: list[dict[int, impi.PingPong]], ours: list[Record], command: str) -> Results:
    """Ratios turn by turn, of the transport and of the evaluator's own bare queue."""
    results = Results()
    for size in (_SMALL, *_LARGE):
        small = size == _SMALL
        for driver in _DRIVERS:
            found = [
                compare.typical(record, driver, size, compare.mean_half_rtt) for record in ours
            ]
            times = [
                (one.value, turn[size].half_rtt_ns)
                for one, turn in zip(found, theirs, strict=True)
                if one is not None
            ]
            # A large message takes longer than IMB's rounding, so both come from the time.
            pairs = times if small else [(size * 1e9 / a, size * 1e9 / b) for a, b in times]
            what = f"{size_text(size)} {'half round trip' if small else 'throughput'}, one host"
            if not pairs:
                results.problems.append(f"{what}: {compare.missing(ours[0], driver)}")
                continue
            text = time_text if small else rate_text
            asked = driver == "beowire"
            results.figures.append(
                Figure(
                    f"{what}: {driver} / Intel MPI",
                    of_launches([mine / other for mine, other in pairs]),
                    command,
                    at_most=_AT_MOST if asked and small else None,
                    at_least=_AT_LEAST if asked and not small else None,
                    detail=f"{what}: {driver} {text(pairs[0][0])}, Intel MPI {text(pairs[0][1])}"
                    " in the first turn",
                )
            )
    return results
