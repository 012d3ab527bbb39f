# SPDX-License-Identifier: BSD-3-Clause
"""Hosts with the same numbers of kernel and network namespace, as machines have that were resumed
from one snapshot, are two: the network joins them, and memory the processes of each."""

import json
from collections.abc import Iterator

import pytest

from system.conftest import ROOT, RunBeowire
from system.mpi_jobs import OPEN_MPI, Mpi

_PROGRAMS = ROOT / "build" / "release" / "tests" / "system"
SAME_NUMBERS = ("env", f"LD_PRELOAD={_PROGRAMS / 'libone_namespace.so'}")


@pytest.fixture(name="mpi")
def make_mpi(run_beowire: RunBeowire) -> Iterator[Mpi]:
    """Debian's Open MPI, in a lab of two nodes; tests/wheels tries others."""
    assert run_beowire("lab", "up").returncode == 0
    yield Mpi(run_beowire, OPEN_MPI)
    run_beowire("lab", "down", "--all")


def counters_of(done: str) -> list[dict[str, int]]:
    """What each rank of crosswise.c has counted."""
    return [json.loads(line) for line in done.splitlines()]


@pytest.mark.parametrize("lanes", ["", "shm,udp"])
def test_native__memory_within_a_node_and_the_network_between(
    run_beowire: RunBeowire, lanes: str
) -> None:
    program = [*SAME_NUMBERS, f"BEOWIRE_LANES={lanes}", str(_PROGRAMS / "crosswise")]
    done = run_beowire("run", "-n", "4", "--lab", "--", *program)
    assert (done.returncode, done.stderr) == (0, "")
    ranks = counters_of(done.stdout)
    assert len(ranks) == 4
    for rank in ranks:
        # Of what it sends to the one beside it and the two others.
        sent = sum(value for name, value in rank.items() if name.startswith("sent_by_"))
        assert rank["sent_by_shm"] > 0
        assert sent - rank["sent_by_shm"] > 2 * 4_000_000
        assert rank["memory_left"] == 2


def test_native__within_a_node_nothing_changes(run_beowire: RunBeowire) -> None:
    done = run_beowire("run", "-n", "2", "--", *SAME_NUMBERS, str(_PROGRAMS / "crosswise"))
    assert (done.returncode, done.stderr) == (0, "")
    for rank in counters_of(done.stdout):
        assert (rank["lanes_shm"], rank["lanes_udp"], rank["memory_left"]) == (1, 0, 0)


def test_mpi__memory_within_a_node_and_the_network_between(mpi: Mpi) -> None:
    done = mpi.run("pingpong", "ordering", "collectives", ranks=4, before=SAME_NUMBERS)
    assert done.returncode == 0, (done.stdout, done.stderr)
    for check in ("pingpong", "ordering", "collectives"):
        assert f"mpi_check: {check} is right on 4 ranks" in done.stdout
