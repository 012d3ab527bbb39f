# SPDX-License-Identifier: BSD-3-Clause
"""`beowire lab pvm`: what it says."""

from types import SimpleNamespace

import pytest

from beowire.commands import lab_pvm
from beowire.places.lab import cluster, pvm


@pytest.fixture(autouse=True)
def no_lab(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Labs that were asked for."""
    asked: list[str] = []

    def find(name: str) -> SimpleNamespace:
        asked.append(name)
        return SimpleNamespace(name=name)

    monkeypatch.setattr(cluster, "find", find)
    monkeypatch.setattr(pvm, "up", lambda lab: ("10.77.0.1", "10.77.0.2"))
    monkeypatch.setattr(pvm, "down", lambda lab: None)
    return asked


def test_up__says_its_hosts_and_what_to_do(
    no_lab: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    lab_pvm.up(name="x")
    first, second = capsys.readouterr().out.splitlines()
    assert first == "the virtual machine of lab x is up: 10.77.0.1, 10.77.0.2"
    assert "beowire lab exec --name x node0 -- env $(beowire pvm-env --words) ./program" in second
    assert no_lab == ["x"]


def test_down(capsys: pytest.CaptureFixture[str]) -> None:
    lab_pvm.down(name="x")
    assert capsys.readouterr().out == "the virtual machine of lab x is ended\n"
