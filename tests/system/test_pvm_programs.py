# SPDX-License-Identifier: BSD-3-Clause
"""PVM programs over Beowire: they find what they find over PVM's own routes (pvm_tasks.c)."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from beowire.lab import cluster, network
from beowire.lab.options import LabOptions
from system.pvm_machines import LIBRARY, PROGRAM, Machine, preloaded

#: Messages of one run that can go over Beowire, of the parent.
CARRIED_MIN = 50


@pytest.fixture(name="machine")
def one_host(tmp_path: Path) -> Iterator[Machine]:
    """A virtual machine of this host alone, whose tasks use its memory and no network."""
    machine = Machine(tmp_path)
    try:
        yield machine
    finally:
        machine.end()


def carried(done: "subprocess.CompletedProcess[str]") -> int:
    """How many messages of the parent went over Beowire. It has said nothing else."""
    assert done.returncode == 0, done.stdout + done.stderr
    (line,) = done.stderr.splitlines()
    return int(line.removeprefix("carried "))


def test_all_messages__the_same_results_as_over_the_stock_routes(machine: Machine) -> None:
    stock = machine.run(str(PROGRAM))
    over = machine.run(str(PROGRAM), variables=preloaded(BEOWIRE_LANES="shm"))
    assert over.stdout == stock.stdout
    assert carried(stock) == 0
    assert carried(over) >= CARRIED_MIN
    assert len(stock.stdout.splitlines()) > 40


@pytest.mark.parametrize("parent", [True, False], ids=["parent", "children"])
def test_some_tasks_have_the_stock_library__it_all_works(tmp_path: Path, parent: bool) -> None:
    ours = {"LD_PRELOAD": str(LIBRARY), "BEOWIRE_LANES": "shm"}
    machine = Machine(tmp_path, variables={} if parent else ours)
    try:
        done = machine.run(str(PROGRAM), variables=ours if parent else {})
    finally:
        machine.end()
    assert carried(done) == 0
    assert done.stdout.splitlines()[-1] == "end: child 2"


def test_two_nodes_and_lost_frames__the_same_results(tmp_path: Path) -> None:
    lab = cluster.up_ephemeral(LabOptions(loss=0.001), "pvm")
    machine = None
    try:
        hosts = []
        for index in range(2):
            node = cluster.node_of(lab.state, f"node{index}")
            hosts.append((network.node_address(index), cluster.command_in(node, [], pin=False)))
        machine = Machine(tmp_path, hosts)
        words = (str(PROGRAM), "all", hosts[1][0])
        over = machine.run(*words, variables=preloaded(BEOWIRE_INTERFACE="eth0"))
    finally:
        if machine is not None:
            machine.end()
        lab.close()
    assert carried(over) >= CARRIED_MIN
    assert over.stdout.splitlines()[-1] == "end: child 2"


def test_no_way_for_beowire__says_so_and_goes_the_stock_way(machine: Machine) -> None:
    done = machine.run(str(PROGRAM), "receive", variables=preloaded(BEOWIRE_INTERFACE="nowhere0"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("receive: ")
    said = [line for line in done.stderr.splitlines() if "Beowire" in line]
    assert len(said) == 1
    assert "nowhere0" in said[0]


def test_no_daemon__the_error_is_pvms_own(tmp_path: Path) -> None:
    environment = {**os.environ, "PVM_TMP": str(tmp_path), "PVM_ALLOW_ROOT": "1"}
    said = []
    for variables in ({}, preloaded(BEOWIRE_LANES="shm")):
        done = subprocess.run(
            [str(PROGRAM)],
            env={**environment, **variables},
            capture_output=True,
            text=True,
            check=False,
            timeout=20,
        )
        assert done.returncode == 1
        said.append(done.stdout)
    assert said[0] == said[1]
    assert "pvm_mytid() > 0" in said[0]


def test_a_program_without_pvm__is_left_alone() -> None:
    done = subprocess.run(
        ["/bin/echo", "as ever"],
        env={**os.environ, **preloaded()},
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("as ever\n", "")
