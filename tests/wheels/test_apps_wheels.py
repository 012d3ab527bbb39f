# SPDX-License-Identifier: BSD-3-Clause
"""The programs of apps/ with Open MPI 5, MPICH 4 and 5, and Intel MPI: they compile without a
warning, find what they should on two nodes, and their messages are counted."""

import subprocess
from collections.abc import Iterator

import pytest

from system.apps_jobs import PROGRAMS, compiled, compiled_profile, profile_of, result_of
from system.conftest import ROOT
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


def run(mpi: Mpi, name: str, *before: str) -> "subprocess.CompletedProcess[str]":
    words = ["lab", "mpirun", "--mpi", mpi.name, "-n", "2"]
    if mpi.prefix is not None:
        words += ["--prefix", str(mpi.prefix)]
    program = compiled(name, compiler(mpi), label(mpi))
    return mpi.run_beowire(*words, "--", *before, str(program))


@pytest.mark.parametrize("name", PROGRAMS)
def test_class_s__is_right_on_two_nodes(mpi: Mpi, name: str) -> None:
    done = run(mpi, name)
    assert (done.returncode, result_of(done)["verified"]) == (0, True), done.stderr


def test_messages__are_counted(mpi: Mpi) -> None:
    library = compiled_profile(compiler(mpi), label(mpi))
    found = profile_of(run(mpi, "cg", "env", f"LD_PRELOAD={library}"))
    assert found["sizes"] == {"8": 2 * 16 * 52, "16": 2 * 16, "8192": 2 * 16 * 52}
