# SPDX-License-Identifier: BSD-3-Clause
"""Runs `beowire apps run` and takes ratios out of its record.

The command is run as a user would run it, so the one that is printed is the one that was run.
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import built
from benchmarks.figure import of_launches
from beowire.analysis.statistics import Estimate
from beowire.apps.catalogue import App
from beowire.apps.record import AppsRecord, read_apps_record
from beowire.apps.results import Cell, Key, cells, failures, speedup
from beowire.errors import BeowireError
from beowire.places.mpi import installation, ways
from beowire.places.mpi.installation import KINDS, Installation

OURS = "beowire"

#: From six on there is an interval.
LAUNCHES = 6

#: What the slowest launch may take; a run ends by itself then.
_LAUNCH_S = 120.0
_SPARE_S = 300.0


@dataclass(frozen=True)
class Programs:
    """One `beowire apps run`: what it is given, and the directory that it writes."""

    arguments: tuple[str, ...]
    directory: Path
    most_s: float
    slowed: tuple[str, ...] = ()
    """What is put in front of the command, so that its system calls cost more."""

    @classmethod
    def of(
        cls,
        directory: Path,
        names: Sequence[str],
        *,
        mpi: str,
        over: Sequence[str],
        where: Sequence[str] = (),
        letter: str = "S",
        launches: int = LAUNCHES,
        ranks: int = 2,
        call_cost: str | None = None,
    ) -> "Programs":
        """`where` are options of the lab. `call_cost`: as Context has it."""
        arguments = (
            *names,
            *("--lab", *where),
            *("--mpi", mpi, "--over", ",".join(over), "--class", letter),
            *("--ranks", str(ranks), "--launches", str(launches)),
            *("--timeout", f"{_LAUNCH_S:g}", "--no-profile"),
        )
        turns = len(names) * len(over) * (launches + 1)
        most_s = turns * _LAUNCH_S + _SPARE_S
        return cls(arguments, directory, most_s, built.slowed(call_cost))

    @property
    def command(self) -> str:
        """What a person types to measure the same."""
        slowed = [built.relative(Path(word)) if "/" in word else word for word in self.slowed]
        return shlex.join([*slowed, "./beowire", "apps", "run", *self.arguments])

    def run(self) -> AppsRecord:
        """Measures. BeowireError with what the command said last if there is no record."""
        words = ("apps", "run", *self.arguments)
        most_s, before = self.most_s, self.slowed
        return read_apps_record(built.recorded(words, self.directory, most_s, self.command, before))


def mpis() -> list[Installation]:
    """Those that are here. BeowireError if none is."""
    found = []
    for name in KINDS:
        try:
            found.append(installation.find(name))
        except BeowireError:
            continue
    if not found:
        raise BeowireError("there is no MPI here: install Debian's packages of Open MPI")
    return found


def over_tcp(mpi: Installation) -> list[str]:
    """All ways over TCP that an MPI has."""
    return ["tcp", *ways.others_over_tcp(mpi)]


def cell_of(found: dict[Key, Cell], app: str, mpi: str, over: str) -> Cell | None:
    """A program over a way, without load."""
    return found.get((app, mpi, over, "idle"))


def against_best(
    record: AppsRecord, app: App, mpi: str, others: Sequence[str]
) -> tuple[Estimate, str] | None:
    """How many times as fast a program is as over whichever way over TCP has the best median, round
    by round, and the medians. None: one of them gave nothing."""
    found = cells(record.launches, record.meta.apps)
    ours = cell_of(found, app.name, mpi, OURS)
    theirs = [
        cell
        for over in others
        if (cell := cell_of(found, app.name, mpi, over)) is not None and cell.median is not None
    ]
    if ours is None or ours.median is None or not theirs:
        return None
    best = max(theirs, key=lambda cell: cell.median or 0.0)
    ratio = speedup(ours, best)
    if ratio is None:
        return None
    values = [f"{cell.over} {cell.median:.5g}" for cell in [ours, *theirs]]
    return ratio, f"{app.name}, {mpi}: {', '.join(values)} {app.unit}"


def difference(
    record: AppsRecord, app: App, mpi: str, other: str = "tcp"
) -> tuple[Estimate, str] | None:
    """By how much the figure over Beowire is greater, round by round, and the medians: for shares,
    which may be none."""
    found = cells(record.launches, record.meta.apps)
    ours, theirs = cell_of(found, app.name, mpi, OURS), cell_of(found, app.name, mpi, other)
    if ours is None or theirs is None or ours.median is None or theirs.median is None:
        return None
    rounds = [number for number in ours.figures if number in theirs.figures]
    if not rounds:
        return None
    values = f"{OURS} {ours.median:.4g}, {other} {theirs.median:.4g} {app.unit}"
    return (
        of_launches([ours.figures[one] - theirs.figures[one] for one in rounds]),
        f"{app.name}, {mpi}: {values}",
    )


def problems_of(record: AppsRecord) -> list[str]:
    """What failed in it."""
    return failures(record)
