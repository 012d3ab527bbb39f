# SPDX-License-Identifier: BSD-3-Clause
"""The ways of each MPI, and what makes it take them."""

from pathlib import Path

import pytest

from beowire import paths
from beowire.errors import BeowireError
from beowire.places.mpi import ways
from beowire.places.mpi.installation import KINDS, Installation


@pytest.fixture(autouse=True)
def provider(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "provider_directory", lambda: tmp_path)


def mpi(name: str) -> Installation:
    return Installation(name, "1", Path("/opt/x/bin/mpirun"), None)


@pytest.mark.parametrize("name", KINDS)
def test_way__only_memory_is_on_one_node(name: str) -> None:
    alone = [over for over in ways.NAMES[:9] if ways.way(mpi(name), over).one_node]
    assert alone == ["shm"]


@pytest.mark.parametrize("name", KINDS)
def test_way__a_lane_is_beowire_by_that_lane_alone(name: str) -> None:
    ours, lane = ways.way(mpi(name), "beowire"), ways.way(mpi(name), "packet")
    assert lane.variables == {**ours.variables, "FI_BEOWIRE_LANES": "shm,packet"}
    assert ways.way(mpi(name), "tso").variables["FI_BEOWIRE_LANES"] == "shm,tso,packet"
    assert ways.way(mpi(name), "xdp").variables["FI_BEOWIRE_LANES"] == "shm,xdp,packet"


def test_way__memory_has_no_network_in_it() -> None:
    assert ways.way(mpi("openmpi4"), "shm").variables["OMPI_MCA_btl"] == "vader,self"
    assert ways.way(mpi("openmpi5"), "shm").variables["OMPI_MCA_btl"] == "sm,self"
    assert ways.way(mpi("intel"), "shm").variables["I_MPI_FABRICS"] == "shm"


def test_way__other_ways_over_tcp_are_open_mpis() -> None:
    assert ways.way(mpi("openmpi4"), "ofi-tcp").variables["OMPI_MCA_mtl"] == "ofi"
    with pytest.raises(BeowireError, match="mpich has one way over TCP"):
        ways.way(mpi("mpich"), "ucx-tcp")


def test_check__names_all() -> None:
    with pytest.raises(BeowireError, match="'carrier': --over takes tcp, beowire, packet"):
        ways.check("carrier")
