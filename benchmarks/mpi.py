# SPDX-License-Identifier: BSD-3-Clause
"""MPI over Beowire against the ways of the same MPI over TCP, in turns on one cable of the lab.

The program is benchmarks/mpi_speed.c, compiled with that MPI's own compiler wrapper. Open MPI of
the distribution is measured; `BEOWIRE_BENCH_MPI=mpich` (openmpi5, intel) names another.
"""

import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import built
from benchmarks.context import Context
from benchmarks.figure import Figure, Results, of_launches
from beowire.errors import BeowireError
from beowire.places.lab import cluster
from beowire.places.lab.options import LabOptions
from beowire.places.lab.state import LabState
from beowire.places.mpi import environment, installation
from beowire.places.mpi import in_lab as mpirun
from beowire.places.mpi.installation import Installation
from beowire.places.mpi.ways import others_over_tcp
from beowire.plan.call_cost import OPTION
from beowire.units import size_text, time_text

SUMMARY = "MPI programs, against the fastest way of the same MPI over TCP"
SECONDS = 200.0

_SOURCE = Path(__file__).with_name("mpi_speed.c")
_COMPILE_S = 60.0
_MOST_TURNS = 9
_OURS = "beowire"
_SMALL = 2048
_KIB = 1024
_COLLECTIVES = ("allreduce", "alltoall", "bcast")

#: What is done in one turn of one way: ranks, and what they measure.
_RUNS = ((2, ("pingpong", "rate")), (4, ("collectives",)))

#: What a turn of one way takes, both of its runs, as a rule.
_TURN_S = 6.0

#: One thing that is measured, and for which size.
Cell = tuple[str, int]


def ways(mpi: Installation) -> dict[str, dict[str, str]]:
    """Beowire, and every way over TCP that this MPI has, with its variables."""
    tcp = environment.variables(mpi, "tcp")
    found = {_OURS: environment.variables(mpi, _OURS)}
    usual = "ob1-tcp" if mpi.is_open_mpi else "ofi-tcp"
    return {**found, usual: tcp, **others_over_tcp(mpi)}


@dataclass
class Turns:
    """Nanoseconds of each cell, way and turn; what a turn does not have has failed."""

    taken: dict[Cell, dict[str, dict[int, float]]] = field(default_factory=dict)

    def add(self, turn: int, way: str, cells: Mapping[Cell, float]) -> None:
        """What one run printed."""
        for cell, nanoseconds in cells.items():
            self.taken.setdefault(cell, {}).setdefault(way, {})[turn] = nanoseconds

    def ratios(self, cell: Cell) -> list[float]:
        """Time over Beowire over that of the fastest other way, turn by turn."""
        ways_taken = self.taken.get(cell, {})
        others = [turns for way, turns in ways_taken.items() if way != _OURS]
        found = []
        for turn, ours in ways_taken.get(_OURS, {}).items():
            theirs = [turns[turn] for turns in others if turn in turns]
            if theirs:
                found.append(ours / min(theirs))
        return found

    def text(self, cell: Cell) -> str:
        """The median time of each way."""
        parts = []
        for way, turns in self.taken.get(cell, {}).items():
            middle = sorted(turns.values())[len(turns) // 2]
            parts.append(f"{way} {time_text(middle)}")
        return f"{cell[0]} {size_text(cell[1])}: {', '.join(parts)}"


def run(context: Context) -> Results:
    """Turns of all ways, as many as there is time for."""
    name = os.environ.get("BEOWIRE_BENCH_MPI", "openmpi4")
    try:
        mpi = installation.find(name)
        program = _compile(mpi, context.directory / "mpi_speed")
        chosen = ways(mpi)
        slowed = built.slowed(context.call_cost)
    except BeowireError as error:
        return Results(problems=[str(error)])
    count = max(1, min(_MOST_TURNS, int(context.seconds / (_TURN_S * len(chosen)))))
    turns = Turns()
    problems: dict[str, str] = {}
    lab = cluster.up_ephemeral(LabOptions(), f"bench-{os.getpid()}")
    try:
        for turn in range(count):
            for way, variables in chosen.items():
                if way in problems:
                    continue
                for ranks, what in _RUNS:
                    try:
                        cells = _measure(
                            lab.state, mpi, variables, ranks, [*slowed, str(program), *what]
                        )
                        turns.add(turn, way, cells)
                    except BeowireError as error:
                        problems[way] = f"{way}, {ranks} ranks: {error}"
    finally:
        lab.close()
    command = f"BEOWIRE_BENCH_MPI={name} scripts/bench mpi --time {context.seconds:g}"
    if context.call_cost is not None:
        command += f" {OPTION} {context.call_cost}"
    found = figures(turns, command)
    found.problems += problems.values()
    return found


def figures(turns: Turns, command: str) -> Results:
    """The ratios that were asked for, and all sizes beside them."""
    results = Results()

    def add(what: str, cell: Cell, *, at_most: float = 0, at_least: float = 0) -> None:
        ratios = turns.ratios(cell)
        if not ratios:
            results.problems.append(f"{what}: not measured")
            return
        if at_least:
            ratios = [1 / one for one in ratios]
        results.figures.append(
            Figure(
                what,
                of_launches(ratios),
                command,
                at_most=at_most or None,
                at_least=at_least or None,
                detail=turns.text(cell),
            )
        )

    add("8 B half round trip", ("pingpong", 8), at_most=0.5)
    for size in (_KIB * _KIB, 4 * _KIB * _KIB):
        add(f"{size_text(size)} throughput", ("pingpong", size), at_least=1)
    add("8 B messages per second", ("rate", 8), at_least=1.5)
    for what, size in sorted(turns.taken):
        if what == "pingpong" and size not in (8, _KIB * _KIB, 4 * _KIB * _KIB):
            add(f"{size_text(size)} half round trip", (what, size), at_most=1)
    for what in _COLLECTIVES:
        for one, size in sorted(turns.taken):
            if one == what:
                small = size <= _SMALL
                add(f"{what} {size_text(size)}, 4 ranks", (one, size), at_least=1.5 if small else 1)
    return results


def parse(text: str) -> dict[Cell, float]:
    """The lines `WHAT BYTES NANOSECONDS` of mpi_speed."""
    found: dict[Cell, float] = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) == 3 and words[1].isdecimal():
            found[words[0], int(words[1])] = float(words[2])
    return found


def _compile(mpi: Installation, program: Path) -> Path:
    compiler = str(installation.compiler_of(mpi))
    done = subprocess.run(
        [compiler, "-O2", "-o", str(program), str(_SOURCE)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=_COMPILE_S,
    )
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()
        raise BeowireError(f"{compiler} fails: {said[-1] if said else done.returncode}")
    return program.resolve()


def _measure(
    lab: LabState,
    mpi: Installation,
    variables: Mapping[str, str],
    ranks: int,
    program: Sequence[str],
) -> dict[Cell, float]:
    with tempfile.TemporaryFile() as output:
        # A way that hangs must not stop the others.
        bounded = ["timeout", "60", *program]
        status = mpirun.run(lab, mpi, variables, ranks=ranks, program=bounded, output=output)
        output.seek(0)
        text = output.read().decode(errors="replace")
    found = parse(text)
    if status != 0 or not found:
        said = [line for line in text.splitlines() if line.strip(" -")]
        raise BeowireError(said[-1] if said else f"ended with {status}", exit_code=1)
    return found
