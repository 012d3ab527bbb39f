# SPDX-License-Identifier: BSD-3-Clause
"""Programs that people run, as the distribution has them, over Beowire by its Open MPI: two ranks
on two nodes, for seconds."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from system.conftest import RunBeowire
from system.mpi_jobs import OPEN_MPI

#: The distribution's, which has these packages; not one that the tests run by.
PYTHON = "/usr/bin/python3"

#: Each task is a matched probe of a synchronous send; objects are pickled.
FUTURES = """
from mpi4py import MPI
from mpi4py.futures import MPICommExecutor

world = MPI.COMM_WORLD
with MPICommExecutor(world, root=0) as executor:
    if executor is not None:
        assert sum(executor.map(abs, range(200))) == 19900
        assert list(executor.map(len, ["x" * size for size in (0, 9000, 300000)])) == [
            0, 9000, 300000]
known = world.allgather({world.rank: "y" * 40000})
assert [list(one) for one in known] == [[rank] for rank in range(world.size)]
print(f"PASS {world.rank}\\n", end="")  # one write: both ranks print at once
"""

#: All ranks write one file, at once and each by itself, and read what the others have written.
HDF5 = """
import sys
import numpy
from mpi4py import MPI
import h5py

world = MPI.COMM_WORLD
mine = numpy.arange(100000, dtype="i8") * 3 + world.rank
with h5py.File(sys.argv[1], "w", driver="mpio", comm=world) as file:
    table = file.create_dataset("table", (world.size, mine.size), dtype="i8")
    with table.collective:
        table[world.rank, ::2] = mine[::2]
    table[world.rank, 1::2] = mine[1::2]
    file.attrs["ranks"] = world.size
world.Barrier()
with h5py.File(sys.argv[1], "r", driver="mpio", comm=world) as file:
    assert file.attrs["ranks"] == world.size
    for rank in range(world.size):
        assert (file["table"][rank, :] == mine - world.rank + rank).all(), rank
print(f"PASS {world.rank}\\n", end="")
"""

#: Lennard-Jones, an argon-like melt of 2,048 atoms: boundaries are exchanged in each step.
LENNARD_JONES = """
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 8 0 8 0 8
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
fix 1 all nve
thermo 50
run 200
"""

#: Step, temperature, energies and pressure of all atoms together.
_ENERGIES = re.compile(r"^ +[0-9]+(?: +[-+.0-9e]+){5} *$", re.MULTILINE)

RunMpi = Callable[..., str]


@pytest.fixture(name="run_mpi")
def make_run(run_beowire: RunBeowire) -> Iterator[RunMpi]:
    """Runs a program on the nodes of a lab: `run_mpi("beowire", "lmp", ...)`."""
    options = ("--mpi", OPEN_MPI, "--prefix", "/usr", "-n", "2")
    assert run_beowire("lab", "up").returncode == 0

    def run(over: str, *program: str) -> str:
        done = run_beowire("lab", "mpirun", *options, "--over", over, "--", *program)
        assert done.returncode == 0, (done.stdout, done.stderr)
        return done.stdout

    yield run
    run_beowire("lab", "down", "--all")


def test_mpi4py_futures(run_mpi: RunMpi) -> None:
    said = run_mpi("beowire", PYTHON, "-c", FUTURES)
    assert sorted(said.split("\n")) == ["", "PASS 0", "PASS 1"]


def test_hdf5(run_mpi: RunMpi, tmp_path: Path) -> None:
    said = run_mpi("beowire", PYTHON, "-c", HDF5, str(tmp_path / "table.h5"))
    assert sorted(said.split("\n")) == ["", "PASS 0", "PASS 1"]


def test_lammps__has_the_results_of_tcp(run_mpi: RunMpi, tmp_path: Path) -> None:
    script = tmp_path / "lj.in"
    script.write_text(LENNARD_JONES, encoding="ascii")
    tcp, beowire = (
        _ENERGIES.findall(run_mpi(over, "lmp", "-in", str(script), "-log", "none"))
        for over in ("tcp", "beowire")
    )
    assert len(tcp) == 5
    assert beowire == tcp
