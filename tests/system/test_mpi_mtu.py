# SPDX-License-Identifier: BSD-3-Clause
"""The MTU of all interfaces is lowered and raised again while MPI ranks exchange messages."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from beowire.lab import network
from system.conftest import RunBeowire
from system.mpi_jobs import Endless, Mpi
from system.test_mpi_stillness import assert_goes_on


@pytest.fixture(name="library")
def debians_open_mpi(run_beowire: RunBeowire) -> Mpi:
    """Debian's Open MPI; `make mpi-test` tries others."""
    return Mpi(run_beowire, "openmpi4")


@pytest.fixture(name="jumbo")
def make_jumbo_lab(library: Mpi) -> Iterator[Mpi]:
    """The MPI, in a lab of two nodes with an MTU of 9,000."""
    done = library.run_beowire("lab", "up", "--link", "switch", "--mtu", "9000")
    assert done.returncode == 0, done.stderr
    try:
        yield library
    finally:
        library.run_beowire("lab", "down", "--all")


def set_mtu(mpi: Mpi, mtu: int) -> None:
    for index in (0, 1):
        for node, interface in (
            (network.node_name(index), "eth0"),
            (network.SWITCH, network.near(index)),
        ):
            done = mpi.run_beowire(
                *("lab", "exec", node, "--", "ip", "link", "set", "mtu", str(mtu)),
                *("dev", interface),
            )
            assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("lanes", ["", "udp"], ids=["every lane", "udp alone"])
def test_mtu_is_lowered_and_raised__the_job_goes_on(jumbo: Mpi, tmp_path: Path, lanes: str) -> None:
    job = Endless(
        jumbo, tmp_path / "output", environment={"FI_BEOWIRE_LANES": lanes} if lanes else {}
    )
    try:
        for mtu in (1500, 9000, 1500):
            set_mtu(jumbo, mtu)
            assert_goes_on(job)
    finally:
        job.end()
