# SPDX-License-Identifier: BSD-3-Clause
"""MPI on hosts that have interfaces by which nobody else is reached, or by an address that every
host has: bridges of containers and of virtual machines, and what a management controller shows.
"""

from collections.abc import Iterator

import pytest

from system.conftest import RunBeowire
from system.mpi_jobs import OPEN_MPI, Mpi

CHECKS = ("pingpong", "collectives")

#: The same on each node, as Docker, libvirt and a management controller have it. The names come
#: before that of the lab's own interface, and what is plugged in gives the bridges its speed.
INNER = """
ip link add docker0 type bridge
ip link add port0 type veth peer name container0
ip link set port0 master docker0
ip link set port0 up
ip link set container0 up
ip link set docker0 up
ip addr add 172.17.0.1/16 dev docker0
ip link add virbr0 type bridge
ip link set virbr0 up
ip addr add 192.168.122.1/24 dev virbr0
ip link add bmc0 type veth peer name bmc1
ip link set bmc0 up
ip link set bmc1 up
ip addr add 169.254.3.1/16 dev bmc0
"""

#: A cable that looks as good as the lab's own, and leads nowhere.
CABLE = """
ip link add cable0 type veth peer name cable1
ip link set cable0 up
ip link set cable1 up
ip addr add 10.99.0.1/24 dev cable0
"""


@pytest.fixture(name="library")
def debians_open_mpi(run_beowire: RunBeowire) -> Mpi:
    """Debian's Open MPI; `make mpi-test` tries others."""
    return Mpi(run_beowire, OPEN_MPI)


@pytest.fixture(name="mpi")
def mpi_of_hosts_with_containers(library: Mpi) -> Iterator[Mpi]:
    """The MPI, in a lab of two such hosts."""
    up = library.run_beowire("lab", "up")
    assert up.returncode == 0, up.stderr
    try:
        for node in ("node0", "node1"):
            in_node(library, node, INNER)
        yield library
    finally:
        library.run_beowire("lab", "down", "--all")


def in_node(mpi: Mpi, node: str, script: str) -> None:
    done = mpi.run_beowire("lab", "exec", node, "--", "sh", "-ec", script)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("ranks", [2, 4])
def test_no_interface_is_named(mpi: Mpi, ranks: int) -> None:
    mpi.check(*CHECKS, ranks=ranks)


@pytest.mark.parametrize("interfaces", ["eth0", "docker0,eth0", "bmc0,docker0,virbr0,eth0"])
def test_interfaces_are_named__some_are_of_no_use(mpi: Mpi, interfaces: str) -> None:
    mpi.check(*CHECKS, ranks=4, environment={"FI_BEOWIRE_INTERFACE": interfaces})


@pytest.mark.parametrize("lanes", ["", "udp"], ids=["every lane", "udp alone"])
def test_nodes_have_chosen_different_interfaces(mpi: Mpi, lanes: str) -> None:
    """One has, and prefers, what the other does not have; then both have it, and it is no cable
    from one to the other."""
    environment = {"FI_BEOWIRE_LANES": lanes} if lanes else {}
    in_node(mpi, "node0", CABLE)
    mpi.check(*CHECKS, ranks=4, environment=environment)
    in_node(mpi, "node1", CABLE)
    mpi.check(*CHECKS, ranks=4, environment=environment)


def test_no_interface_leads_to_the_peer__a_line_says_which_were_tried(mpi: Mpi) -> None:
    done = mpi.run("pingpong", environment={"FI_BEOWIRE_INTERFACE": "docker0"})
    assert done.returncode != 0
    said = done.stdout + done.stderr
    assert "it has never answered over docker0: " in said, said
    assert "name that one by FI_BEOWIRE_INTERFACE" in said, said
