# SPDX-License-Identifier: BSD-3-Clause
import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from beowire.commands import drivers
from beowire.errors import BeowireError
from beowire.mpi import drivers as mpi_drivers
from beowire.record.lines import DriverInfo
from unit.evaluator import fake_engine, fake_launcher

MPIS = [
    DriverInfo(
        name="mpi:intel",
        summary="",
        placement="pair",
        reliable=True,
        spins=True,
        min_size=1,
        max_size=1,
        ready=False,
        reason="there is none",
    )
]


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> typer.Typer:
    monkeypatch.setenv("BEOWIRE_ENGINE_DIR", str(fake_launcher.write_engine(tmp_path / "engine")))
    monkeypatch.setattr(mpi_drivers, "every", lambda: iter(MPIS))
    made = typer.Typer()
    made.callback()(lambda: None)
    drivers.register(made)
    return made


def test_drivers__says_what_is_ready_and_why_the_rest_is_not(app: typer.Typer) -> None:
    done = CliRunner().invoke(app, ["drivers"])
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert any(line.split()[:2] == ["steady", "ready"] for line in lines)
    (absent,) = (number for number, line in enumerate(lines) if line.startswith("absent "))
    assert lines[absent].split()[1] == "absent"
    assert lines[absent + 1].strip() == "install libabsent"


def test_drivers__in_a_terminal_what_several_lack_is_said_once() -> None:
    names = ("tcp", "mpi-get-fence:intel/beowire", "mpi-put:intel")
    one, *absent = (MPIS[0].model_copy(update={"name": name, "summary": "x"}) for name in names)
    found = [one.model_copy(update={"ready": True, "reason": ""}), *absent]
    assert list(drivers._lines(found, 80, 24)) == [
        "tcp                       ready   x",
        "mpi-get-fence:intel/beowire  absent  x",
        "mpi-put:intel             absent  x",
        "                                  all 2: there is none",
    ]
    # Elsewhere each has it all, for programs that look for it.
    said = [line.split() for line in drivers._lines(found, 80, None)]
    assert said[2] == said[4] == ["there", "is", "none"]


def test_drivers__json_is_for_programs(app: typer.Typer) -> None:
    done = CliRunner().invoke(app, ["drivers", "--json"])
    found = {one["name"]: one for one in json.loads(done.stdout)["drivers"]}
    assert set(found) == {*fake_engine.DRIVERS, "mpi:intel"}
    assert found["mpi:intel"]["reason"] == "there is none"
    assert found["absent"]["ready"] is False
    assert found["absent"]["reason"] == "install libabsent"
    assert found["tiny"]["placement"] == "process"


BROKEN = [
    {"file": "beowire-driver-crashes.so", "reason": "it ends the process that tries it: SIGSEGV"},
    {"file": "beowire-driver-steady.so", "reason": "a driver of the same name was found before it"},
    {"file": "notes.so", "reason": "file too short"},
]


def test_drivers__one_that_cannot_be_loaded_is_absent(
    app: typer.Typer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BEOWIRE_FAKE_BROKEN", json.dumps(BROKEN))
    done = CliRunner().invoke(app, ["drivers"])
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["crashes", "absent"] in lines
    assert "it cannot be loaded: it ends the process that tries it: SIGSEGV" in done.stdout
    assert ["notes.so", "absent"] in lines
    assert [line[1] for line in lines if line[0] == "steady"] == ["ready"]


def test_drivers__an_interface_that_is_not_there(app: typer.Typer) -> None:
    done = CliRunner().invoke(app, ["drivers", "--interface", "eth99"])
    assert isinstance(done.exception, BeowireError)
    assert str(done.exception).startswith("no network interface is called 'eth99' here: ")
    assert "lo" in str(done.exception)
    assert CliRunner().invoke(app, ["drivers", "--interface", "lo"]).exit_code == 0
