# SPDX-License-Identifier: BSD-3-Clause
"""The transport across a router, and a switch that drops long frames: whatever the MTUs.

node0 and node1 are in subnets of their own, and what was the lab's switch routes between them.
"""

import contextlib
import subprocess
from collections.abc import Iterator

import pytest

from beowire.places.lab import cluster, network
from beowire.places.lab.options import LabOptions
from beowire.places.lab.state import LabState
from system.conftest import wait_until
from system.exchanges import exchange
from system.test_mtu_change import received
from system.test_stillness import Ends, exchanging

MESSAGES = 3000
PATIENCE_S = 60

#: Without any capability there is no socket for Ethernet frames.
PLAIN_USER = ("setpriv", "--bounding-set=-all", "--inh-caps=-all")

START = pytest.mark.parametrize("before", [PLAIN_USER, ()], ids=["udp alone", "every lane"])


def run(lab: LabState, node: str, script: str) -> str:
    """Runs lines of sh in a node (or on the router, `switch`); what they print."""
    command = cluster.command_in(cluster.node_of(lab, node), ["sh", "-ec", script], pin=False)
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


@contextlib.contextmanager
def routed_lab() -> Iterator[LabState]:
    lab = cluster.up_ephemeral(LabOptions(link="switch"), "router")
    try:
        ports = "".join(
            f"ip addr add 10.78.{index}.254/24 dev {network.near(index)}\n" for index in (0, 1)
        )
        forward = "echo 1 > /proc/sys/net/ipv4/ip_forward"
        run(lab.state, network.SWITCH, f"ip link del {network.SWITCH}\n{ports}{forward}")
        for index in (0, 1):
            run(
                lab.state,
                network.node_name(index),
                "ip addr flush dev eth0\n"
                f"ip addr add 10.78.{index}.1/24 dev eth0\n"
                f"ip route add default via 10.78.{index}.254",
            )
        yield lab.state
    finally:
        lab.close()


def narrow(lab: LabState) -> None:
    """From now on the router refuses what is longer than 1,280 bytes."""
    for index in (0, 1):
        port = network.near(index)
        run(lab, network.SWITCH, f"ip route add 10.78.{index}.1 dev {port} mtu lock 1280")


def ip_counter(lab: LabState, node: str, name: str) -> int:
    """What a node's kernel has counted of IP (RFC 1213): ForwDatagrams, FragCreates, ..."""
    names, values = run(lab, node, "grep ^Ip: /proc/net/snmp").splitlines()
    return int(dict(zip(names.split(), values.split(), strict=True))[name])


def fragments(lab: LabState) -> list[int]:
    """How many fragments IP has made on node0, on the router, and on node1."""
    where = ("node0", network.SWITCH, "node1")
    return [ip_counter(lab, node, "FragCreates") for node in where]


def exchange_across(lab: LabState, before: tuple[str, ...]) -> None:
    """Messages of 0 B to 4 MiB both ways; they did go through the router."""
    for counters in exchange(lab, MESSAGES, PATIENCE_S, before):
        assert counters["message_received"] == MESSAGES
        assert counters["message_announced"] > 0
        assert counters["message_protocol_errors"] == 0
        assert (counters["lanes_packet"], counters["lanes_udp"]) == (0 if before else 1, 1)
        # Where there are Ethernet frames they come first, and nobody is there to hear them.
        assert (counters["path_changes"] > 0) == (not before)
    assert ip_counter(lab, network.SWITCH, "ForwDatagrams") > 0


@START
def test_router__messages_arrive_once_in_order_and_intact(before: tuple[str, ...]) -> None:
    with routed_lab() as lab:
        exchange_across(lab, before)
        assert fragments(lab) == [0, 0, 0]


@START
def test_router__the_other_link_has_a_smaller_mtu(before: tuple[str, ...]) -> None:
    with routed_lab() as lab:
        run(lab, network.SWITCH, f"ip link set {network.near(1)} mtu 1280")
        run(lab, "node1", "ip link set eth0 mtu 1280")
        exchange_across(lab, before)
        # The ends have agreed on frames that fit both; only CONNECT tries longer ones.
        at_node0, *others = fragments(lab)
        assert at_node0 <= 20
        assert others == [0, 0]


@START
def test_router__a_link_that_no_end_sees_has_a_smaller_mtu(before: tuple[str, ...]) -> None:
    with routed_lab() as lab:
        narrow(lab)
        exchange_across(lab, before)
        # Each end was told so, which anybody could do; but it has found out what arrives.
        assert fragments(lab) == [0, 0, 0]


def wait_until_they_go_on(ends: Ends) -> None:
    at = [received(end.pid) for end in ends]

    def go_on() -> bool:
        now = [received(end.pid) for end in ends]
        return all(more > MESSAGES + few for more, few in zip(now, at, strict=True))

    assert wait_until(go_on, PATIENCE_S)


@START
def test_router__a_link_becomes_narrower(before: tuple[str, ...]) -> None:
    with routed_lab() as lab, exchanging(lab, 1_000_000, PATIENCE_S * 1000, before) as (ends, _):
        assert fragments(lab) == [0, 0, 0]
        narrow(lab)
        wait_until_they_go_on(ends)
        # The router quotes the frames that it refuses: from then on it may cut them.
        assert fragments(lab)[1] > 0


def test_router__a_link_becomes_narrower_and_nobody_says_so() -> None:
    """As behind a router that quotes 8 bytes of what it refuses, in which no key is."""
    with routed_lab() as lab, exchanging(lab, 1_000_000, 2000, PLAIN_USER) as (ends, _):
        script = (
            "nft add table ip f\n"
            "nft add chain ip f out '{ type filter hook output priority 0; }'\n"
            "nft add rule ip f out icmp type destination-unreachable drop"
        )
        run(lab, network.SWITCH, script)
        narrow(lab)
        wait_until_they_go_on(ends)
        assert fragments(lab)[1] > 0


@START
def test_router__a_link_that_says_nothing_has_a_smaller_mtu(before: tuple[str, ...]) -> None:
    with routed_lab() as lab:
        # The nodes do not know, and what is longer is not refused: it vanishes.
        for index in (0, 1):
            run(lab, network.SWITCH, f"ip link set {network.near(index)} mtu 1400")
        exchange_across(lab, before)
        assert fragments(lab) == [0, 0, 0]


@pytest.mark.parametrize(
    ("mtu", "switch_mtu"), [(9000, 1500), (9000, 1400), (1500, 1476), (1500, 1462), (1500, 1280)]
)
def test_exchange__a_switch_that_does_not_know_of_long_frames(mtu: int, switch_mtu: int) -> None:
    # With loss nothing is left to the next card to cut: what is too long is dropped.
    lab = cluster.up_ephemeral(LabOptions(link="switch", mtu=mtu, loss=1e-6), "long-frames")
    try:
        for index in (0, 1):
            run(lab.state, network.SWITCH, f"ip link set {network.near(index)} mtu {switch_mtu}")
        for counters in exchange(lab.state, MESSAGES, PATIENCE_S):
            assert counters["message_received"] == MESSAGES
            assert counters["lanes_packet"] == 1
            # Frames of MTU 1500 that come singly are in the slots of a ring.
            assert (counters["lane_placed_frames"] > 0) == (mtu > 1500)
    finally:
        lab.close()
