# SPDX-License-Identifier: BSD-3-Clause
"""Virtual machines of PVM in a lab: what is refused, and how daemons get into nodes. That they
start: tests/system/test_pvm_programs.py."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from beowire.errors import BeowireError
from beowire.places.lab import cluster, processes, pvm
from beowire.places.lab.options import LabOptions
from beowire.places.lab.processes import Namespaces
from beowire.places.lab.state import LabFiles, LabNode, LabState


@pytest.fixture(name="lab")
def make_lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LabState:
    """The state of a lab in which nothing runs."""
    monkeypatch.setenv("BEOWIRE_RUNTIME_DIR", str(tmp_path / "r"))
    here = processes.this_process()
    node = LabNode("node0", here, Namespaces(1, 2), "10.77.0.1", "", "", None)
    return LabState(
        name="lab",
        keeper=here,
        boot_id=processes.boot_id(),
        ephemeral=False,
        options=LabOptions(),
        nodes=(node, replace(node, name="node1", address="10.77.0.2")),
        switch=replace(node, name="switch", address=""),
        delay_by="",
    )


def test_up__without_pvm(lab: LabState, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pvm, "_PROGRAMS", ("no-such-daemon",))
    with pytest.raises(BeowireError, match="Debian: pvm"):
        pvm.up(lab)


def test_up__a_daemon_that_ends__its_words_and_nothing_left(
    lab: LabState, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon = tmp_path / "pvmd"
    daemon.write_text("#!/bin/sh\necho no such host\nexit 1\n", encoding="ascii")
    daemon.chmod(0o700)
    monkeypatch.setattr(pvm, "_PROGRAMS", (str(daemon),))
    monkeypatch.setattr(cluster, "command_in", lambda node, words, *, pin: list(words))
    with pytest.raises(BeowireError, match="do not start: no such host"):
        pvm.up(lab)
    assert not LabFiles.of("lab").machine.exists()


def test_up__a_directory_with_a_long_name(
    lab: LabState, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pvm, "_PROGRAMS", ("/bin/true",))
    monkeypatch.setenv("BEOWIRE_RUNTIME_DIR", str(tmp_path / ("x" * 90)))
    with pytest.raises(BeowireError, match="set BEOWIRE_RUNTIME_DIR to a shorter one"):
        pvm.up(lab)


def test_down__there_is_none(lab: LabState) -> None:
    with pytest.raises(BeowireError, match="beowire lab pvm up"):
        pvm.down(lab)


def test_variables__of_a_node_with_a_daemon_only(lab: LabState) -> None:
    assert pvm.variables(lab, lab.nodes[1]) == {}
    place = LabFiles.of("lab").machine / "node1"
    place.mkdir(parents=True)
    assert pvm.variables(lab, lab.nodes[1]) == {"PVM_TMP": str(place), "PVM_ALLOW_ROOT": "1"}
    assert pvm.variables(lab, lab.switch) == {}
    LabFiles.of("lab").remove()
    assert not place.exists()


def test_agent_script__enters_the_node_that_is_named(
    lab: LabState, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def say(node: LabNode, words: list[str], *, pin: bool) -> list[str]:
        assert pin
        return ["env", f"NODE={node.name}", *words]

    monkeypatch.setattr(cluster, "command_in", say)
    agent = tmp_path / "agent"
    nodes = {node.name: node for node in lab.nodes}
    places = {name: tmp_path / f"a place/{name}" for name in nodes}
    agent.write_text(pvm.agent_script(nodes, places), encoding="utf-8")
    for words in (["node1"], ["10.77.0.2"], ["node1", "-l", "user"]):
        done = subprocess.run(
            ["sh", agent, *words, 'echo "$NODE $PVM_TMP"; exit 3'],
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stdout) == (3, f"node1 {places['node1']}\n"), done.stderr
    done = subprocess.run(
        ["sh", agent, "node7", "true"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 255
    assert "no node node7" in done.stderr
