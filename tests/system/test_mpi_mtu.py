# SPDX-License-Identifier: BSD-3-Clause
"""The MTU of all interfaces is lowered and raised while MPI ranks exchange messages."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from beowire.places.lab import network
from system.conftest import RunBeowire
from system.mpi_jobs import OPEN_MPI, Endless, Mpi
from system.test_mpi_stillness import assert_goes_on


@pytest.fixture(name="library")
def debians_open_mpi(run_beowire: RunBeowire) -> Mpi:
    """Debian's Open MPI; `make mpi-test` tries others."""
    return Mpi(run_beowire, OPEN_MPI)


@pytest.fixture(name="mpi")
def make_mpi(library: Mpi) -> Iterator[Mpi]:
    """The MPI; the test makes the lab, which is removed here."""
    yield library
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
@pytest.mark.parametrize(("first", "then"), [(9000, 1500), (1500, 9000)])
def test_mtu_changes_and_changes_back__the_job_goes_on(
    mpi: Mpi, tmp_path: Path, first: int, then: int, lanes: str
) -> None:
    up = mpi.run_beowire("lab", "up", "--link", "switch", "--mtu", str(first))
    assert up.returncode == 0, up.stderr
    # Until all four interfaces have been changed, what is too long for one of them is lost.
    environment = {"FI_BEOWIRE_PEER_TIMEOUT": "60"}
    environment |= {"FI_BEOWIRE_LANES": lanes} if lanes else {}
    job = Endless(mpi, tmp_path / "output", environment=environment)
    try:
        for mtu in (then, first):
            set_mtu(mpi, mtu)
            assert_goes_on(job)
    finally:
        job.end()
