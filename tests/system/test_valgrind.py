# SPDX-License-Identifier: BSD-3-Clause
"""Users look for faults of their programs with valgrind: it finds none in code of ours."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from beowire.places.lab import cluster
from beowire.places.lab.options import LabOptions
from system import valgrind
from system.conftest import RunBeowire
from system.exchanges import exchange
from system.mpi_jobs import OPEN_MPI, Mpi

MESSAGES = 60
PATIENCE_S = 60

#: Without the right to send Ethernet frames.
UDP_ALONE = ("setpriv", "--bounding-set=-all", "--inh-caps=-all")


@pytest.mark.parametrize("prefix", [(), UDP_ALONE], ids=["root", "plain-user"])
def test_native_program(prefix: tuple[str, ...], tmp_path: Path) -> None:
    lab = cluster.up_ephemeral(LabOptions(), "valgrind")
    try:
        for counters in exchange(
            lab.state, MESSAGES, PATIENCE_S, (*prefix, *valgrind.before(tmp_path))
        ):
            assert counters["message_received"] == MESSAGES
            assert counters["lanes_packet"] == (not prefix)
    finally:
        lab.close()
    assert valgrind.found(tmp_path, processes=2) == []


@pytest.fixture(name="openmpi")
def make_openmpi(run_beowire: RunBeowire) -> Iterator[Mpi]:
    assert run_beowire("lab", "up").returncode == 0
    yield Mpi(run_beowire, OPEN_MPI)
    run_beowire("lab", "down", "--all")


@pytest.mark.long
@pytest.mark.parametrize(
    ("prefix", "on"),
    [((), ()), (UDP_ALONE, ()), ((), ("node0",))],
    ids=["root", "plain-user", "one-node"],
)
def test_mpi_program(
    openmpi: Mpi, prefix: tuple[str, ...], on: tuple[str, ...], tmp_path: Path
) -> None:
    done = openmpi.run(
        "matched", "collectives", on=on, before=(*prefix, *valgrind.before(tmp_path))
    )
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert valgrind.found(tmp_path, processes=2, within=valgrind.PROVIDER) == []
