# SPDX-License-Identifier: BSD-3-Clause
"""Whole programs over Beowire against the best way over TCP of the same MPI, in turns.

All that `beowire apps run all` has, at class S and W with two ranks on two nodes, over a direct
cable and through a switch at 1 Gbit/s, with every MPI that is here. `BEOWIRE_BENCH_MPI=mpich` names
one of them.
"""

import os
from dataclasses import dataclass

from benchmarks import programs
from benchmarks.context import Context
from benchmarks.figure import Figure, Results, exactly
from benchmarks.programs import Programs
from beowire.apps import catalogue
from beowire.apps.record import AppsRecord
from beowire.apps.results import geometric_mean
from beowire.errors import BeowireError
from beowire.places.mpi import installation
from beowire.places.mpi.installation import Installation

SUMMARY = "whole programs, against the best way of the same MPI over TCP"
SECONDS = 1800.0

_CLASSES = ("S", "W")
_LINKS = {
    "direct": ("--link", "direct"),
    "1 Gbit/s": ("--link", "switch", "--rate", "1g"),
}
_MEAN_AT_LEAST = {"direct": 1.05, "1 Gbit/s": 1.15}
#: Where fronts and halos are worth more than not being slower.
_WAVES = ("sweep", "halo", "halo-overlap")
_WAVES_AT_LEAST = {"direct": 1.0, "1 Gbit/s": 1.1}

#: What a launch takes, as a rule, with its launcher: so many fit into the time.
_LAUNCH_S = 1.2


def chosen_mpis() -> list[Installation]:
    """The MPIs to measure. BeowireError if there are none."""
    name = os.environ.get("BEOWIRE_BENCH_MPI")
    return [installation.find(name)] if name else programs.mpis()


def launches_for(seconds: float, launches: int) -> int:
    """How often each way is launched, if all once takes so many launches."""
    return max(1, min(programs.LAUNCHES, int(seconds / (_LAUNCH_S * launches)) - 1))


def run(context: Context) -> Results:
    """A run of all programs for each MPI, link and class; each MPI has the time that is given."""
    try:
        mpis = chosen_mpis()
    except BeowireError as error:
        return Results(problems=[str(error)])
    names = [app.name for app in catalogue.OWN if app.in_all]
    results = Results()
    for mpi in mpis:
        ways = len(programs.over_tcp(mpi)) + 1
        count = launches_for(context.seconds, len(names) * ways * len(_LINKS) * len(_CLASSES))
        for link, where in _LINKS.items():
            for letter in _CLASSES:
                part = Part(mpi, link, letter)
                measured = Programs.of(
                    context.part(part.directory),
                    names,
                    mpi=mpi.name,
                    over=["beowire", *programs.over_tcp(mpi)],
                    where=where,
                    letter=letter,
                    launches=count,
                    call_cost=context.call_cost,
                )
                try:
                    add(results, part, measured.run(), measured.command)
                except BeowireError as error:
                    results.problems.append(f"{part.text}: {error}")
    return results


@dataclass(frozen=True)
class Part:
    """One run of all programs."""

    mpi: Installation
    link: str
    letter: str

    @property
    def text(self) -> str:
        """For people."""
        return f"{self.mpi.name}, {self.link}, class {self.letter}"

    @property
    def directory(self) -> str:
        """The name of its directory."""
        return f"{self.mpi.name}-{self.link.split()[0]}-{self.letter}"


def add(results: Results, part: Part, record: AppsRecord, command: str) -> None:
    """The figures of one run: each program, and their geometric mean."""
    others = programs.over_tcp(part.mpi)
    ratios = []
    for app in catalogue.OWN:
        found = programs.against_best(record, app, part.mpi.name, others) if app.in_all else None
        if found is None:
            continue
        ratio, detail = found
        ratios.append(ratio.value)
        results.figures.append(
            Figure(
                f"{app.name}, {part.text}",
                ratio,
                command,
                at_least=_WAVES_AT_LEAST[part.link] if app.name in _WAVES else 1.0,
                detail=f"{part.link}, class {part.letter}, {detail}",
                reaching=True,
            )
        )
    mean = geometric_mean(ratios)
    if mean is not None:
        results.figures.append(
            Figure(
                f"geometric mean, {part.text}",
                exactly(mean),
                command,
                at_least=_MEAN_AT_LEAST[part.link],
            )
        )
    # Ways over TCP that an MPI was built without cost nothing.
    lines = [line for line in programs.problems_of(record) if _concerns(line)]
    results.problems += [f"{part.text}: {line}" for line in lines]


def _concerns(line: str) -> bool:
    return not any(f"over {other}" in line for other in ("ofi-tcp", "ucx-tcp"))
