# SPDX-License-Identifier: BSD-3-Clause
"""PVM programs over Beowire: they find what they find over PVM's own routes (pvm_tasks.c)."""

import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from beowire.places.lab import network
from system.conftest import RunBeowire
from system.pvm_machines import (
    LIBRARY,
    NEEDS_PVM,
    PROGRAM,
    Machine,
    found_first,
    preloaded,
)

pytestmark = NEEDS_PVM

#: Messages of one run that can go over Beowire, of the parent.
CARRIED_MIN = 50

#: PvmHostFail.
HOST_FAILED = -22

OURS = preloaded(BEOWIRE_LANES="shm")


@pytest.fixture(name="machine", scope="module")
def one_machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A virtual machine of this host alone, whose tasks use its memory and no network. Its daemon
    takes longest to start, so that all tests have the same."""
    machine = Machine(tmp_path_factory.mktemp("pvm"))
    try:
        yield machine
    finally:
        machine.end()


@pytest.fixture(name="stock", scope="module")
def over_the_stock_routes(machine: Machine) -> str:
    """What the program says without Beowire."""
    done = machine.run(str(PROGRAM))
    assert carried(done) == 0
    assert len(done.stdout.splitlines()) > 40
    return done.stdout


def carried(done: "subprocess.CompletedProcess[str]") -> int:
    """How many messages of the parent went over Beowire. It has said nothing else."""
    assert done.returncode == 0, done.stdout + done.stderr
    (line,) = done.stderr.splitlines()
    return int(line.removeprefix("carried "))


@pytest.mark.parametrize(
    "variables", [OURS, found_first(BEOWIRE_LANES="shm")], ids=["preloaded", "found-first"]
)
def test_all_messages__the_same_results_as_over_the_stock_routes(
    machine: Machine, stock: str, variables: Mapping[str, str]
) -> None:
    over = machine.run(str(PROGRAM), variables=variables)
    assert over.stdout == stock
    assert carried(over) >= CARRIED_MIN


@pytest.mark.parametrize("parent", [True, False], ids=["parent", "not-the-parent"])
def test_some_tasks_have_the_stock_library__the_same_results(
    machine: Machine, stock: str, parent: bool
) -> None:
    mixed = {"PVM_TASKS_PRELOAD": str(LIBRARY), "BEOWIRE_LANES": "shm"}
    mixed |= {"PVM_EXPORT": "BEOWIRE_LANES"}
    if parent:
        mixed |= {"LD_PRELOAD": str(LIBRARY)}
    done = machine.run(str(PROGRAM), variables=mixed)
    assert done.stdout == stock
    assert (carried(done) > 0) == parent


def test_a_receiver_that_takes_nothing_for_long__its_senders_wait_and_nothing_is_lost(
    machine: Machine,
) -> None:
    done = machine.run(str(PROGRAM), "full", variables=OURS)
    assert done.stdout.startswith("full: "), done.stdout
    assert carried(done) > 0


def test_no_memory_for_a_message__it_is_there_when_there_is_memory(machine: Machine) -> None:
    done = machine.run(str(PROGRAM), "memory", variables=OURS)
    assert done.returncode == 0, done.stdout
    assert done.stdout == "memory: first error -10, then all of it\n"


def test_a_program_in_fortran__the_same_results(machine: Machine, tmp_path: Path) -> None:
    program = tmp_path / "pvm_fortran"
    source = Path(__file__).with_name("pvm_fortran.f")
    # What libfpvm3 is given has many types.
    words = ["gfortran", "-fallow-argument-mismatch", "-w", "-I/usr/include", "-o"]
    subprocess.run([*words, program, source, "-lfpvm3", "-lgpvm3", "-lpvm3"], check=True)
    stock, over = (machine.run(str(program), variables=one) for one in ({}, OURS))
    assert (stock.returncode, over.returncode) == (0, 0), over.stdout + over.stderr
    assert stock.stdout == over.stdout == "fortran: 40000 bytes there and back, and some text..\n"


def test_a_program_in_cxx__the_same_results(machine: Machine, tmp_path: Path) -> None:
    program = tmp_path / "pvm_cxx"
    source = Path(__file__).with_name("pvm_cxx.cpp")
    words = ["g++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-o"]
    subprocess.run([*words, program, source, "-lpvm3"], check=True)
    stock, over = (machine.run(str(program), variables=one) for one in ({}, OURS))
    assert (stock.returncode, over.returncode) == (0, 0), over.stdout + over.stderr
    assert stock.stdout == over.stdout
    assert over.stdout.count("come back as they were: 1") == 2


class _Lab:
    """A virtual machine over two nodes of a lossy lab."""

    def __init__(self, run_beowire: RunBeowire) -> None:
        """It has to be entered."""
        self._run = run_beowire
        self.hosts = [network.node_address(index) for index in range(2)]

    def __enter__(self) -> "_Lab":
        """Makes it."""
        self.beowire("lab", "up", "--loss", "0.1%", "--name", "p")
        said = self.beowire("lab", "pvm", "up", "--name", "p").stdout
        hosts = ", ".join(self.hosts)
        assert said.startswith(f"the virtual machine of lab p is up: {hosts}\n")
        return self

    def __exit__(self, *exc: object) -> None:
        """Ends it."""
        self._run("lab", "down", "--name", "p")

    def beowire(self, *words: str) -> "subprocess.CompletedProcess[str]":
        done = self._run(*words)
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    def program(self, case: str, *, over: bool) -> "subprocess.CompletedProcess[str]":
        """Runs a case of the tasks, over Beowire or by the stock ways."""
        words = ["env", *self.beowire("pvm-env", "--words").stdout.split()] if over else []
        inside = ("lab", "exec", "--name", "p", "node0", "--")
        return self.beowire(*inside, *words, str(PROGRAM), case, self.hosts[1])


def test_two_nodes_and_lost_frames__the_same_results(run_beowire: RunBeowire, stock: str) -> None:
    """Four tasks on two nodes."""
    with _Lab(run_beowire) as lab:
        over = lab.program("all", over=True)
        lab.beowire("lab", "pvm", "down", "--name", "p")
    assert over.stdout == stock
    assert carried(over) >= CARRIED_MIN


def test_a_host_comes_and_goes__the_same_results(run_beowire: RunBeowire) -> None:
    """While messages are on their way."""
    with _Lab(run_beowire) as lab:
        stock, over = (lab.program("hosts", over=over) for over in (False, True))
        lab.beowire("lab", "pvm", "down", "--name", "p")
    assert over.stdout == stock.stdout
    assert over.stdout.splitlines()[-1] == "hosts: added and deleted 2"
    assert carried(stock) == 0
    assert carried(over) > 0


def test_the_network_to_a_host_goes_away__its_tasks_have_failed(run_beowire: RunBeowire) -> None:
    """As PVM calls it, which is soon: the program gives up after a minute."""
    with _Lab(run_beowire) as lab:
        done = lab.program("cut", over=True)
    assert done.stdout.splitlines() == [
        f"cut: pvm_psend {HOST_FAILED}",
        f"cut: pvm_psend {HOST_FAILED}",
        "cut: own host 0",
    ]


@pytest.mark.parametrize(
    "wrong",
    [{"BEOWIRE_INTERFACE": "nowhere0"}, {"BEOWIRE_LANES": "shm", "BEOWIRE_TRACE": "/nowhere0/t"}],
    ids=["interface", "trace"],
)
def test_no_way_for_beowire__says_so_and_goes_the_stock_way(
    machine: Machine, wrong: Mapping[str, str]
) -> None:
    # Only the parent's: what children say goes to the daemon's log.
    done = machine.run(str(PROGRAM), "receive", variables=preloaded(**wrong))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("receive: ")
    said = [line for line in done.stderr.splitlines() if "Beowire" in line]
    assert len(said) == 1
    assert "nowhere0" in said[0]


def test_a_program_without_pvm__is_left_alone() -> None:
    done = subprocess.run(
        ["/bin/echo", "as ever"],
        env={**os.environ, **preloaded()},
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("as ever\n", "")
