# SPDX-License-Identifier: BSD-3-Clause
"""The programs of apps/ with Open MPI 5, MPICH 4 and 5, and Intel MPI: they compile without a
warning, find what they should on two nodes, and their messages are counted."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from system.apps_jobs import (
    PROGRAMS,
    Done,
    compile_with,
    compiled,
    compiled_profile,
    profile_of,
    result_of,
)
from system.conftest import ROOT, RunBeowire
from system.mpi_jobs import Mpi


@pytest.fixture(name="mpi")
def make_mpi(library: Mpi) -> Iterator[Mpi]:
    """Each MPI in turn, and a lab of two nodes."""
    done = library.run_beowire("lab", "up")
    assert done.returncode == 0, done.stderr
    yield library
    library.run_beowire("lab", "down", "--all")


def label(mpi: Mpi) -> str:
    return mpi.name if mpi.prefix is None else mpi.prefix.name


def compiler(mpi: Mpi) -> str:
    asked = [str(ROOT / "beowire"), "mpi-env", "--mpi", mpi.name, "--print-cc"]
    if mpi.prefix is not None:
        asked += ["--prefix", str(mpi.prefix)]
    return subprocess.run(
        asked, capture_output=True, text=True, check=True, timeout=60
    ).stdout.strip()


def run(mpi: Mpi, program: Path, *words: str, library: Path | None = None) -> Done:
    """Runs a program on two nodes; with a library in front of its MPI, if one is named."""
    before = () if library is None else ("env", f"LD_PRELOAD={library}")
    options = ["lab", "mpirun", "--mpi", mpi.name, "-n", "2"]
    if mpi.prefix is not None:
        options += ["--prefix", str(mpi.prefix)]
    return mpi.run_beowire(*options, "--", *before, str(program), *words)


@pytest.mark.parametrize("name", PROGRAMS)
def test_class_s__is_right_on_two_nodes(mpi: Mpi, name: str) -> None:
    done = run(mpi, compiled(name, compiler(mpi), label(mpi)))
    assert (done.returncode, result_of(done)["verified"]) == (0, True), done.stderr


def test_messages__are_counted(mpi: Mpi) -> None:
    library = compiled_profile(compiler(mpi), label(mpi))
    found = profile_of(run(mpi, compiled("cg", compiler(mpi), label(mpi)), library=library))
    assert found["sizes"] == {"8": 2 * 16 * 52, "16": 2 * 16, "8192": 2 * 16 * 52}


def test_messages_of_fortran__are_counted_once(run_beowire: RunBeowire) -> None:
    """Intel MPI's functions of Fortran call those of C by the names that are wrapped, too. (The
    other MPIs of PyPI come without Fortran.)"""
    mpi = Mpi(run_beowire, "intel")
    source = str(ROOT / "tests" / "system" / "apps_messages.c")
    fortran = ("-DWITH_FORTRAN", source, "-lmpifort")
    program = compile_with(compiler(mpi), "messages", *fortran, label=label(mpi))
    library = compiled_profile(compiler(mpi), label(mpi))
    assert run_beowire("lab", "up").returncode == 0
    try:
        found = profile_of(run(mpi, program, "fortran", library=library))
    finally:
        run_beowire("lab", "down", "--all")
    assert found["sizes"] == {"8": 1, "32": 2}
    assert found["collectives"]["sizes"] == {"16": 2}
    assert found["calls"]["MPI_Send"]["count"] == 2
