# SPDX-License-Identifier: BSD-3-Clause
"""Open MPI 5, MPICH 4 and 5, and Intel MPI, unmodified: bytes and order are checked.

`make mpi-test` installs them first. What Debian's Open MPI is tried with is in tests/system.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from system import valgrind
from system.mpi_jobs import (
    ALONE,
    Mpi,
    assert_goes_through_memory,
    assert_settings_reach_all_nodes,
)
from system.test_same_numbers import SAME_NUMBERS

#: Open MPI over Beowire without `mtl/ofi`, as docs/UPSTREAM.md says.
BY_BTL = (
    "OMPI_MCA_pml=ob1",
    "OMPI_MCA_mtl=^ofi",
    "OMPI_MCA_btl=ofi,self",
    "OMPI_MCA_btl_ofi_mode=2",
)

CHECKS = ("pingpong", "matched", "persistent", "ordering", "collectives", "onesided")


@pytest.fixture(name="mpi")
def make_mpi(library: Mpi) -> Iterator[Mpi]:
    """Each MPI in turn; the test makes the lab, which is removed here."""
    yield library
    library.run_beowire("lab", "down", "--all")


def make_lab(mpi: Mpi, *options: str) -> None:
    done = mpi.run_beowire("lab", "up", *options)
    assert done.returncode == 0, done.stderr


def test_two_nodes(mpi: Mpi) -> None:
    make_lab(mpi)
    assert "rank 1 of 2 is on node1" in mpi.check(*CHECKS)


def test_three_nodes_behind_a_switch(mpi: Mpi) -> None:
    make_lab(mpi, "--link", "switch", "--nodes", "3")
    assert "rank 2 of 3 is on node2" in mpi.check(*CHECKS, ranks=3)


def test_four_ranks_on_two_nodes_with_lost_frames(mpi: Mpi) -> None:
    make_lab(mpi, "--loss", "0.1%")
    assert "rank 3 of 4 is on node1" in mpi.check(*CHECKS, ranks=4)


def test_four_ranks_with_jumbo_frames(mpi: Mpi) -> None:
    """Some MPIs distribute the ranks of a node over all interfaces that look alike."""
    make_lab(mpi, "--mtu", "9000")
    assert "rank 3 of 4 is on node1" in mpi.check("pingpong", "collectives", ranks=4)


def test_ranks_that_end_while_their_peers_receive(mpi: Mpi) -> None:
    """Whoever has sent, and ends, stays until all of it is there."""
    make_lab(mpi, "--loss", "5%")
    done = mpi.run("ending", ranks=4)
    assert done.returncode == 0, (done.stdout, done.stderr)
    for rank in (2, 3):
        assert f"mpi_check: ending is right on rank {rank}" in done.stdout


def test_hosts_with_the_same_numbers_are_two(mpi: Mpi) -> None:
    make_lab(mpi)
    done = mpi.run("pingpong", "collectives", ranks=4, before=SAME_NUMBERS)
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert "mpi_check: collectives is right on 4 ranks" in done.stdout


def test_datatypes_with_gaps(mpi: Mpi) -> None:
    """Open MPI's mtl/ofi does not unpack what MPI_Mrecv gets; by its btl/ofi it does."""
    make_lab(mpi)
    other_way = ("env", *BY_BTL) if mpi.name == "openmpi5" else ()
    done = mpi.run("gaps", "pingpong", before=other_way)
    assert "mpi_check: gaps is right on 2 ranks" in done.stdout, (done.stdout, done.stderr)
    assert done.returncode == 0, (done.stdout, done.stderr)


@pytest.mark.long
def test_more_than_a_gibibyte_at_once(mpi: Mpi) -> None:
    """MPICH 5 sends a vector of that length in parts, each of which has to be matched."""
    make_lab(mpi)
    mpi.check("huge")


@pytest.mark.long
@pytest.mark.parametrize("lanes", ["shm,packet,tso,udp", "shm,udp"])
def test_valgrind_finds_nothing_of_ours(mpi: Mpi, lanes: str, tmp_path: Path) -> None:
    make_lab(mpi)
    chosen = {"FI_BEOWIRE_LANES": lanes, "I_MPI_FABRICS": "ofi"}
    done = mpi.run("matched", environment=chosen, before=valgrind.before(tmp_path))
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert valgrind.found(tmp_path, processes=2, within=valgrind.PROVIDER) == []


def test_settings_reach_all_nodes(mpi: Mpi) -> None:
    make_lab(mpi)
    assert_settings_reach_all_nodes(mpi)


def test_authenticated_frames(mpi: Mpi) -> None:
    make_lab(mpi, "--loss", "0.1%")
    mpi.check(*CHECKS, ranks=4, environment={"BEOWIRE_SETTINGS": "authenticate=true"})


def test_within_one_node(mpi: Mpi, tmp_path: Path) -> None:
    make_lab(mpi)
    assert "rank 1 of 2 is on node0" in mpi.check(*CHECKS, on=("node0",), environment=ALONE)
    assert_goes_through_memory(mpi, tmp_path / "output", ALONE)
