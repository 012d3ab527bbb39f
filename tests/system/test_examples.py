# SPDX-License-Identifier: BSD-3-Clause
"""The example programs, started by the launchers of the distribution."""

import os
import re
import shutil
import subprocess

import pytest

from system.conftest import ROOT

EXAMPLES = ROOT / "build" / "release" / "examples"

#: As root, and with more processes than cores: what Open MPI has to be told for that.
OPEN_MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": "slot:oversubscribe",
}

LAUNCHERS = {"openmpi": "mpiexec.openmpi", "mpich": "mpiexec.hydra"}


def start(launcher: str, processes: int, example: str) -> "subprocess.CompletedProcess[str]":
    program = shutil.which(LAUNCHERS[launcher])
    assert program is not None, "scripts/install-packages test brings it"
    return subprocess.run(
        [program, "-n", str(processes), str(EXAMPLES / example)],
        env={**os.environ, **OPEN_MPI},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_pingpong__started_by_an_mpiexec(launcher: str) -> None:
    done = start(launcher, 2, "pingpong")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert [int(line.split()[0]) for line in lines] == [8, 64, 512, 4096, 32768]
    assert all(re.fullmatch(r" *\d+ bytes: +\d+\.\d\d us", line) for line in lines), lines


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_heat__started_by_an_mpiexec(launcher: str) -> None:
    done = start(launcher, 4, "heat")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("4 processes, 4000 cells, 500 steps: largest error ")


def test_pingpong__not_two_processes() -> None:
    # Not by an mpiexec: Hydra loses the words of processes that end as soon as they have begun.
    done = subprocess.run(
        [str(ROOT / "beowire"), "run", "-n", "3", str(EXAMPLES / "pingpong")],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode != 0
    assert "pingpong: this takes two processes: beowire run -n 2 pingpong\n" in done.stderr


def test_heat__alone() -> None:
    done = subprocess.run(
        [str(EXAMPLES / "heat")], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("1 processes, 1000 cells")
