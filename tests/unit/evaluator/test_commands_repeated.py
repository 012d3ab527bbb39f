# SPDX-License-Identifier: BSD-3-Clause
"""`beowire lab mpirun` with several ways or runs: what it hands on, and what it refuses."""

from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from beowire.commands import lab, speedup
from beowire.commands.repeated import Wanted
from beowire.errors import BeowireError
from beowire.places.launch.lab import LabLauncher
from beowire.places.mpi import installation
from beowire.places.mpi.installation import Installation
from unit.evaluator.test_mpi_linkage import program


@pytest.fixture(name="carried")
def what_is_carried_out(monkeypatch: pytest.MonkeyPatch) -> list[Wanted]:
    carried: list[Wanted] = []

    def carry_out(_place: object, wanted: Wanted, *, here: bool) -> None:
        assert here
        carried.append(wanted)

    monkeypatch.setattr(speedup, "carry_out", carry_out)
    monkeypatch.setattr(LabLauncher, "attach", lambda name: name)
    found = Installation("openmpi4", "4.1.4", Path("/usr/bin/mpirun"), None)
    monkeypatch.setattr(installation, "find", lambda _name, _prefix: found)
    return carried


def mpirun(*words: str) -> Result:
    app = typer.Typer()
    lab.register(app)
    return CliRunner().invoke(app, ["lab", "mpirun", *words])


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--over", "tcp,beowire"), {"over": "tcp,beowire", "repeat": None, "ranks": 2}),
        (("--repeat", "5", "-n", "4"), {"over": "beowire", "repeat": 5, "ranks": 4}),
        (
            ("--over", "tcp,shm", "--check-output", "--ignore", "x", "--json"),
            {"check_output": True, "ignore": "x", "as_json": True},
        ),
    ],
)
def test_mpirun__several_runs(
    carried: list[Wanted], words: tuple[str, ...], expected: dict[str, Any]
) -> None:
    result = mpirun("--mpi", "openmpi4", *words, "--", "./a", "1")
    assert result.exception is None, result.exception
    (wanted,) = carried
    assert list(wanted.words) == ["./a", "1"]
    assert {name: getattr(wanted, name) for name in expected} == expected


@pytest.mark.parametrize("word", ["--check-output", "--json"])
def test_mpirun__one_run_has_nothing_to_compare(carried: list[Wanted], word: str) -> None:
    result = mpirun("--mpi", "openmpi4", word, "--", "./a")
    assert isinstance(result.exception, BeowireError)
    assert "one run cannot be compared: add --repeat N" in str(result.exception)
    assert carried == []


@pytest.mark.usefixtures("carried")
def test_mpirun__a_program_of_another_mpi_is_refused(tmp_path: Path) -> None:
    path = str(program(tmp_path / "a", ["libmpi.so.12"]))
    result = mpirun("--mpi", "openmpi4", "--", path)
    assert isinstance(result.exception, BeowireError)
    assert "is a program of MPICH or Intel MPI (libmpi.so.12)" in str(result.exception)
