# SPDX-License-Identifier: BSD-3-Clause
"""`beowire info`, `--version` and `-h`."""

import importlib
import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from beowire import __version__, cli
from beowire.commands import info
from beowire.conduct.survey import known_drivers
from unit.evaluator.command_line import whole

ROOT = Path(__file__).resolve().parents[3]

FOUND: dict[str, Any] = {
    "version": "1.2.3",
    "engine_version": "1.2.3",
    "engine": "/there/engine",
    "package": "/there/beowire",
    "python": "3.11.2",
    "kernel": "6.1",
    "machine": "aarch64",
    "libc": "2.36",
    "compiler": "12.2",
    "user": "user 1000",
    "may_send_frames": False,
    "frames_program": "/opt/beowire/bin/beowire-frames",
    "lanes": {"udp": "", "packet": "it needs CAP_NET_RAW"},
    "provider": {"path": None, "reason": "not built"},
    "pvm_library": {"path": "/there/libbeowire-pvm.so", "reason": None},
    "libraries": {"UCX": "built without UCX", "libfabric": ""},
    "headers_at_build": {"libfabric": "1.17.0", "pvm3.h": "absent", "ucx": "1.13.1"},
    "headers_now": {"libfabric": "2.1.0", "pvm3.h": "present", "ucx": "unknown"},
    "mpis": [
        {"title": "MPICH", "version": "4", "launcher": "/m", "caution": "it has no libfabric"},
        {"title": "MPICH", "version": "5", "launcher": "/n", "caution": "MPICH 5 (/n) is not ours"},
    ],
}


def test_show__says_what_is_there_and_why_not() -> None:
    lines = list(info.show(FOUND))
    assert "beowire      1.2.3, /there/beowire" in lines
    assert "lane udp     can be used" in lines
    assert "lane packet  it needs CAP_NET_RAW" in lines
    assert "provider     absent: not built" in lines
    assert "UCX          cannot be used: built without UCX" in lines
    assert "libfabric    found" in lines
    assert "built with   libfabric 1.17.0, pvm3.h absent, ucx 1.13.1" in lines
    assert "             now libfabric 2.1.0, pvm3.h present: `make` builds with that" in lines
    assert "MPI          MPICH 4, /m: it has no libfabric" in lines
    assert "MPI          MPICH 5, /n: it is not ours" in lines
    user = next(line for line in lines if line.startswith("user "))
    assert "may not send Ethernet frames; programs that /opt/beowire/bin/beowire-frames" in user


def test_show__an_engine_of_another_version_is_named() -> None:
    lines = list(info.show({**FOUND, "engine_version": "1.2.2"}))
    assert lines[0].startswith("beowire      1.2.3 (its engine is 1.2.2: build it again)")


def test_info__of_this_host(capsys: pytest.CaptureFixture[str]) -> None:
    info.info(as_json=True)
    found = json.loads(capsys.readouterr().out)
    assert found["version"] == found["engine_version"] == __version__
    assert set(found["lanes"]) == set(info.LANES)
    assert found["lanes"]["shm"] == ""  # needs nothing that a test has not
    assert "was not built" not in "".join([*found["lanes"].values(), *found["libraries"].values()])
    assert all(info.show(found))
    assert found["headers_at_build"]["libsodium"] == found["headers_now"]["libsodium"] != "absent"


@pytest.mark.parametrize(
    ("library", "file"), [("libfabric", "fi"), ("UCX", "ucx"), ("libibverbs", "verbs")]
)
def test_of_drivers__library_that_is_missing__is_no_driver_that_was_not_built(
    library: str, file: str
) -> None:
    broken = {"file": f"beowire-driver-{file}.so", "reason": "libother.so.0: no such file"}
    drivers = known_drivers({"drivers": [], "broken": [broken]})
    found = info._of_drivers(info.LIBRARIES, drivers)
    assert found[library] == "it cannot be loaded: libother.so.0: no such file"
    assert found["PVM"] == "it was not built"


def test_version__is_the_same_everywhere() -> None:
    meson = re.search(r"version: '([\d.]+)'", (ROOT / "meson.build").read_text())
    assert meson is not None
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {meson[1], project["version"]} == {__version__}


def test_version_option__loads_no_command(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr(sys, "argv", ["beowire", "--version"])
    monkeypatch.setattr(importlib, "import_module", pytest.fail)
    cli.main()
    assert capsys.readouterr().out == f"beowire {__version__}\n"


@pytest.mark.parametrize("words", [["-h"], ["info", "-h"], ["lab", "-h"], ["lab", "up", "-h"]])
def test_short_help__is_the_long_one(words: list[str]) -> None:
    short = CliRunner().invoke(whole(), words)
    long = CliRunner().invoke(whole(), [*words[:-1], "--help"])
    assert (short.exit_code, short.stdout) == (0, long.stdout)
    assert "-h, --help" in short.stdout


@pytest.mark.parametrize("words", [["lab", "mpirun"], ["lab", "exec"]])
def test_short_help__where_words_are_handed_on__counts_as_the_first_word(words: list[str]) -> None:
    short = CliRunner().invoke(whole(), [*words, "-h"])
    long = CliRunner().invoke(whole(), [*words, "--help"])
    assert (short.exit_code, short.stdout) == (0, long.stdout)
    handed = CliRunner().invoke(whole(), [*words, "--name", "no-such", "node0", "df", "-h"])
    assert handed.exit_code != 0 and "Usage" not in handed.stdout


def test_lanes__are_all_that_the_transport_has() -> None:
    kinds = (ROOT / "transport" / "frame" / "lane_kinds.h").read_text(encoding="utf-8")
    assert list(info.LANES) == re.findall(r"KIND\([A-Z]+, (\w+), \d+, LANE_OF_\w+\)", kinds)
