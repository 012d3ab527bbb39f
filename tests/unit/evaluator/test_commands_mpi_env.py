# SPDX-License-Identifier: BSD-3-Clause
"""`beowire mpi-env`: what it prints."""

import json
import subprocess
from pathlib import Path

import pytest

from beowire.commands import mpi_env
from beowire.places.mpi import environment, installation
from beowire.places.mpi.installation import Installation


@pytest.fixture(autouse=True)
def one_mpi(monkeypatch: pytest.MonkeyPatch) -> None:
    """An MPI with one variable."""

    def find(name: str, prefix: Path | None) -> Installation:
        return Installation(name, "4.2", Path("/opt/bin/mpirun"), Path("/opt/bin/mpicc"))

    def variables(mpi: Installation, over: str) -> dict[str, str]:
        return {"VARIABLE": f"a 'b' {over}"}

    monkeypatch.setattr(installation, "find", find)
    monkeypatch.setattr(environment, "variables", variables)


def test_plain__a_shell_can_read_it(capsys: pytest.CaptureFixture[str]) -> None:
    mpi_env.mpi_env(mpi="mpich")
    script = capsys.readouterr().out + 'printf %s "$VARIABLE"'
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "a 'b' beowire"


def test_plain__a_caution_is_seen_beside_eval(capsys: pytest.CaptureFixture[str]) -> None:
    mpi_env.mpi_env(mpi="openmpi5")
    said = capsys.readouterr()
    assert "MPI_Mrecv" in said.err
    assert "MPI_Mrecv" not in said.out
    mpi_env.mpi_env(mpi="openmpi5", over="tcp")
    mpi_env.mpi_env(mpi="mpich")
    assert capsys.readouterr().err == ""


def test_print_cc(capsys: pytest.CaptureFixture[str]) -> None:
    mpi_env.mpi_env(mpi="mpich", print_cc=True)
    assert capsys.readouterr().out == "/opt/bin/mpicc\n"


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    mpi_env.mpi_env(mpi="mpich", over="tcp", as_json=True)
    assert json.loads(capsys.readouterr().out) == {
        "mpi": "mpich",
        "version": "4.2",
        "launcher": "/opt/bin/mpirun",
        "compiler": "/opt/bin/mpicc",
        "over": "tcp",
        "variables": {"VARIABLE": "a 'b' tcp"},
    }
