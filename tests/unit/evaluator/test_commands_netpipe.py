# SPDX-License-Identifier: BSD-3-Clause
"""`beowire netpipe`: where it measures, and what it does for a receiver. Measuring itself is in
tests/system/test_compare.py."""

import socket

import pytest

from beowire.cli import main
from beowire.commands import netpipe as command
from beowire.compare.netpipe import parse
from beowire.places.lab.options import LabOptions, read_lab_options
from beowire.places.launch.lab import LabLauncher
from beowire.places.launch.local import LocalLauncher
from beowire.places.launch.machines import MachinesLauncher
from beowire.places.launch.ssh import SshLauncher


def run(monkeypatch: pytest.MonkeyPatch, line: str) -> int:
    monkeypatch.setattr("sys.argv", ["beowire", "netpipe", *line.split()])
    try:
        main()
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


def test_netpipe__a_receiver__has_nothing_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "NPtcp -u 64 -P 5002") == 0
    said = capsys.readouterr().err.splitlines()
    assert said[0].startswith("netpipe: -P changes nothing")
    assert "a receiver need not be started" in said[1]


def test_netpipe__what_cannot_be_read__is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "NPtcp -h nodeB -Q") == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("beowire: netpipe: NetPIPE has no option -Q")


def test_netpipe__minus_h__alone_is_help(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "-h") == 0
    assert capsys.readouterr().out.startswith("Usage: beowire netpipe ")
    assert run(monkeypatch, "NPtcp -h") == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("beowire: netpipe: -h needs a value: ")


def test_launcher__hosts__are_this_one_and_the_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    found = command._launcher(parse(["-h", "nodeB"]), None, [])
    assert isinstance(found, SshLauncher)
    assert found.hosts == (socket.gethostname(), "nodeB")
    named = command._launcher(parse(["-h", "nodeA,nodeB"]), None, [])
    assert isinstance(named, SshLauncher) and named.hosts == ("nodeA", "nodeB")


def test_launcher__this_host_or_a_lab__needs_no_ssh() -> None:
    assert isinstance(command._launcher(parse(["-h", "localhost"]), None, []), LocalLauncher)
    namespaces, machines = LabOptions(), read_lab_options(backend="vm")
    assert type(command._launcher(parse([]), namespaces, [])) is LabLauncher
    assert type(command._launcher(parse([]), machines, [])) is MachinesLauncher


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("-h localhost --time 0", "--time is more than 0"),
        ("-h localhost -O 4096", "-O is at most"),
        ("-h localhost -b 16", "-b is 4096 to"),
        ("-h localhost -b much", "'much' is not a size"),
        ("--lab --mtu 1", "the MTU is"),
        ("--lab --backend xen", "no back end 'xen'"),
        ("-h localhost --backend vm", "--backend describes a lab: add --lab"),
    ],
)
def test_netpipe__what_cannot_be__is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], line: str, said: str
) -> None:
    assert run(monkeypatch, line) == 2
    (shown,) = capsys.readouterr().err.splitlines()
    assert said in shown
