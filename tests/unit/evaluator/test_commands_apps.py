# SPDX-License-Identifier: BSD-3-Clause
"""`beowire apps`: what is refused before anything is started, and what is listed."""

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from beowire.commands import apps
from beowire.errors import BeowireError
from beowire.places.mpi import installation
from beowire.places.mpi.installation import Installation


def application() -> typer.Typer:
    app = typer.Typer()
    apps.register(app)
    return app


@pytest.fixture(autouse=True)
def one_mpi(monkeypatch: pytest.MonkeyPatch) -> None:
    def find(name: str, prefix: Path | None = None) -> Installation:
        installation.kind_of(name)
        if name != "openmpi4":
            raise BeowireError(f"there is no {name} here")
        return Installation(name, "4.1.4", Path("/usr/bin/mpirun"), Path("/usr/bin/mpicc"))

    monkeypatch.setattr(installation, "find", find)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "name a program of `beowire apps list`"),
        ("nosuch --lab", "no program is called 'nosuch'"),
        ("cg", "name where to run: --lab"),
        ("cg --lab --hosts a,b", "exclude each other"),
        ("cg --lab --class Q", "no class is called 'Q'"),
        ("cg --lab --mpi foo", "no MPI is called 'foo'"),
        ("cg --lab --mpi intel", "there is no intel here"),
        ("cg --lab --over x,y", "no way is called 'x'"),
        ("cg --lab --load heavy", "cannot read --load 'heavy'"),
        ("cg --lab --ranks 0", "--ranks is 1 to"),
        ("cg --lab --launches 0", "--launches is 1 to"),
        ("cg --lab --timeout 0", "--timeout is more than 0"),
        ("cg --lab --npb /nowhere", "there is no such directory"),
        ("cg --mtu 9000", "--mtu describes a lab: add --lab"),
        ("cg --lab --ssh-option Port=1", "--ssh-option needs --hosts"),
        ("cg --lab -- sleep 1", "not both"),
        ("--lab -- ./nosuchprogram", "there is no program ./nosuchprogram here"),
        ("cg --hosts a", "two different hosts are needed"),
    ],
)
def test_run__refused(words: str, message: str) -> None:
    result = CliRunner().invoke(application(), ["apps", "run", *words.split()])
    assert isinstance(result.exception, BeowireError), result.output
    assert message in str(result.exception)


def test_mpis__the_first_that_is_here_if_none_is_named() -> None:
    found, absent = apps._mpis(None, None)
    assert ([mpi.name for mpi in found], absent) == (["openmpi4"], [])


def test_mpis__unknown_and_absent_ones_do_not_stop_the_others() -> None:
    found, absent = apps._mpis("openmpi4,intel,foo", None)
    assert [mpi.name for mpi in found] == ["openmpi4"]
    assert [one.mpi for one in absent] == ["intel", "foo"]
    assert apps._mpis("all", None)[1] == []


def test_apps__all_means_what_can_use_the_ranks() -> None:
    found, _ = apps._apps(["all"], [], npb=True, ranks=2)
    assert "npb-bt" not in [app.name for app in found]
    found, _ = apps._apps(["bt"], [], npb=True, ranks=2)
    assert [app.name for app in found] == ["npb-bt"]


def test_list__as_text_and_as_json() -> None:
    text = CliRunner().invoke(application(), ["apps", "list"])
    assert text.exit_code == 0
    assert "absent: there is no intel here" in text.output
    listed = json.loads(CliRunner().invoke(application(), ["apps", "list", "--json"]).output)
    assert {"cg", "sweep", "climate"} <= {one["name"] for one in listed["apps"]}
    assert {one["name"]: one["ready"] for one in listed["mpis"]}["openmpi4"] is True
