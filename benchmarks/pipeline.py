# SPDX-License-Identifier: BSD-3-Clause
"""Rows sent between pieces of work (apps/pipeline.c): how near to the ideal a sweep and a halo
exchange are, against the same over TCP, and which share of the rows is there within 10 us.

`BEOWIRE_BENCH_MPI` names another MPI than Open MPI of the distribution.
"""

import os

from benchmarks import programs
from benchmarks.context import Context
from benchmarks.figure import Figure, Results
from benchmarks.programs import Programs
from beowire.apps import catalogue
from beowire.apps.record import AppsRecord
from beowire.errors import BeowireError
from beowire.places.mpi import installation
from beowire.units import time_text

SUMMARY = "rows between pieces of work, against the ideal and the same over TCP"
SECONDS = 600.0

_BYTES = (8, 1320, 20000)
_WORK_NS = (2000, 20000, 200000)
_PATTERNS = ("pipeline", "pipeline-halo", "pipeline-lag")
_LAG = "pipeline-lag"
_OVER = ("beowire", "tcp")

#: What a launch takes, as a rule, with its launcher.
_LAUNCH_S = 1.0


def cells() -> dict[str, tuple[str, int, int]]:
    """Names of all runs of the program, and what they stand for: pattern, bytes, work in ns."""
    return {
        f"{pattern}:bytes={size},work={work}": (pattern, size, work)
        for pattern in _PATTERNS
        for size in _BYTES
        for work in _WORK_NS
    }


def run(context: Context) -> Results:
    """One run of all patterns, sizes and pieces of work."""
    name = os.environ.get("BEOWIRE_BENCH_MPI", "openmpi4")
    names = list(cells())
    once_s = _LAUNCH_S * len(names) * len(_OVER)
    count = max(1, min(programs.LAUNCHES, int(context.seconds / once_s) - 1))
    measured = Programs.of(
        context.part("pipeline"),
        names,
        mpi=name,
        over=_OVER,
        launches=count,
        call_cost=context.call_cost,
    )
    try:
        installation.find(name)
        record = measured.run()
    except BeowireError as error:
        return Results(problems=[str(error)])
    return figures(record, name, measured.command)


def figures(record: AppsRecord, mpi: str, command: str) -> Results:
    """For sweep and halo the ratio to TCP of how near to the ideal they are; for rows in time, by
    how many per cent of all rows there are more."""
    results = Results(problems=programs.problems_of(record))
    chosen, _ = catalogue.choose(list(cells()), npb=False)
    for app in chosen:
        pattern, size, work = cells()[app.name]
        at = f"{size} B, work of {time_text(work)}"
        if pattern == _LAG:
            found = programs.difference(record, app, mpi)
            if found is not None:
                more, detail = found
                results.figures.append(
                    Figure(
                        f"rows in time, more than over TCP, {at}",
                        more,
                        command,
                        at_least=0.0,
                        unit=" %",
                        detail=detail,
                        reaching=True,
                    )
                )
            continue
        found = programs.against_best(record, app, mpi, ["tcp"])
        if found is not None:
            what = "halo" if pattern.endswith("halo") else "sweep"
            ratio, detail = found
            results.figures.append(
                Figure(f"{what}, {at}", ratio, command, at_least=1.0, detail=detail, reaching=True)
            )
    return results
