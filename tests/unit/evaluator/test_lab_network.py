# SPDX-License-Identifier: BSD-3-Clause
"""From options to commands. (That the commands work is tests/system/test_lab_link.py's to show.)"""

from dataclasses import replace

import pytest

from beowire.places.lab import network
from beowire.places.lab.options import LabOptions

DIRECT = LabOptions()
SWITCH = LabOptions(nodes=3, link="switch")


def test_links__a_plain_cable_touches_no_third_namespace() -> None:
    assert network.links(DIRECT, [11, 12]) == [
        "link add name eth0 netns 11 mtu 1500 type veth peer name eth0 netns 12 mtu 1500"
    ]
    assert network.ways(DIRECT) == []
    assert network.rules(DIRECT, by_relay=False) == ""
    assert network.queues(DIRECT, by_netem=False) == []
    assert network.node_queues(DIRECT) == []


def test_ways__each_frame_enters_once() -> None:
    direct = network.ways(replace(DIRECT, loss=0.1))
    assert [(way.source, way.target, way.entry) for way in direct] == [
        ("to-node0", "to-node1", True),
        ("to-node1", "to-node0", True),
    ]
    switch = network.ways(replace(SWITCH, loss=0.1))
    assert [way.source for way in switch if way.entry] == ["to-node0", "to-node1", "to-node2"]
    assert [way.source for way in switch if not way.entry] == ["far0", "far1", "far2"]


@pytest.mark.parametrize("options", [DIRECT, SWITCH])
def test_queues__every_link_is_shaped_both_ways(options: LabOptions) -> None:
    shaped = replace(options, rate_bits_per_s=10**9)
    devices = [line.split()[3] for line in network.queues(shaped, by_netem=False)]
    assert sorted(devices) == sorted(way.target for way in network.ways(shaped))
    assert len(devices) == len(set(devices))


def test_queues__netem_delays_before_the_shaper() -> None:
    options = replace(DIRECT, rate_bits_per_s=10**9, delay_ns=5000)
    first, second = network.queues(options, by_netem=True)[:2]
    # The kernel refuses a size table on any queue but the outermost.
    assert first.startswith("qdisc add dev to-node1 root handle 1: stab ")
    assert first.endswith(" netem delay 5us limit 1000000")
    assert second.startswith("qdisc add dev to-node1 parent 1:1 tbf rate 1000000000bit ")
    assert not any("netem" in line for line in network.queues(options, by_netem=False))


def test_queues__netem_alone() -> None:
    assert network.queues(replace(DIRECT, delay_ns=5000), by_netem=True)[0] == (
        "qdisc add dev to-node1 root handle 1: netem delay 5us limit 1000000"
    )


@pytest.mark.parametrize(
    ("loss", "threshold"), [(1.0, 10**9), (0.01, 10_000_000), (1e-5, 10_000), (1e-8, 10)]
)
def test_rules__loss_keeps_its_precision(loss: float, threshold: int) -> None:
    text = network.rules(replace(DIRECT, loss=loss), by_relay=False)
    assert text.count(f"numgen random mod 1000000000 < {threshold} drop") == 2


def test_rules__the_relays_frames_are_not_sent_twice() -> None:
    options = replace(SWITCH, loss=0.01, delay_ns=1000)
    text = network.rules(options, by_relay=True)
    chains = [part.split("}")[0] for part in text.split("chain ")[1:]]
    for way in network.ways(options):
        (ingress,) = [c for c in chains if f'ingress device "{way.source}"' in c]
        assert ("fwd to" in ingress) is not way.entry
        assert ("\n  drop" in ingress) is way.entry
        lossy = [c for c in chains if f'egress device "{way.target}"' in c]
        assert len(lossy) == (1 if way.entry else 0)


@pytest.mark.parametrize(
    ("rate", "mtu", "burst"),
    [
        (10**9, 1500, 50_000),
        (25 * 10**8, 1500, 66_000),
        (10**10, 9000, 125_000),
        (10**6, 1500, 2 * (1500 + 42) + 64),
        (10**8, 65521, 2 * (65521 + 42) + 64),
    ],
)
def test_burst_bytes__time_or_two_frames_or_what_a_card_cuts(
    rate: int, mtu: int, burst: int
) -> None:
    assert network.burst_bytes(LabOptions(rate_bits_per_s=rate, mtu=mtu)) == burst


@pytest.mark.parametrize("options", [DIRECT, SWITCH])
def test_queues__pieces_count_as_all_of_their_frames(options: LabOptions) -> None:
    fast = replace(options, rate_bits_per_s=10**10)
    lines = network.queues(fast, by_netem=False) + network.node_queues(fast)
    assert lines
    for line in lines:
        assert " stab " not in line  # with a size table the kernel counts a piece as one frame
        words = line.split()
        # Full frames of 1514 bytes, each of which takes 1538 on the wire.
        assert int(words[words.index("rate") + 1].removesuffix("bit")) == 10**10 * 1514 // 1538
        assert int(words[words.index("burst") + 1]) > 65536 + 14 + 24  # else the shaper cuts
    slow = replace(options, rate_bits_per_s=10**9)
    for line in network.queues(slow, by_netem=False) + network.node_queues(slow):
        assert " stab mtu 1542 tsize 1024 mpu 84 overhead 24 linklayer ethernet tbf " in line


@pytest.mark.parametrize("index", [0, 1, 249])
def test_node_mac__local_and_unicast(index: int) -> None:
    octets = [int(octet, 16) for octet in network.node_mac(index).split(":")]
    assert len(octets) == 6
    assert octets[0] & 0b11 == 0b10


def test_node_addresses__are_distinct_and_ipv6_needs_1280_bytes() -> None:
    assert len({network.node_address(index) for index in range(250)}) == 250
    assert network.node_address(249) == "10.77.0.250"
    assert network.node_address6(0, replace(DIRECT, mtu=1279)) == ""
    assert network.node_address6(0, replace(DIRECT, mtu=1280)) == "fd77:beef::1"
    assert not any("fd77" in line for line in network.node_links(replace(DIRECT, mtu=600), 0))


@pytest.mark.parametrize(
    ("name", "segmentation", "whole"),
    [
        ("tx-tcp-segmentation", True, False),
        ("tx-udp-segmentation", True, False),
        ("tx-generic-segmentation", True, False),
        ("rx-gro", True, False),
        ("rx-gro-list", True, False),
        ("tx-checksum-ip-generic", False, True),
        ("tx-vlan-hw-insert", False, True),
        ("tx-gso-robust", False, False),  # never to be changed: the kernel refuses the request
        ("tx-scatter-gather", False, False),
    ],
)
def test_offloads__names(name: str, segmentation: bool, whole: bool) -> None:
    assert bool(network.SEGMENTATION.fullmatch(name)) is segmentation
    assert bool(network.CHECKSUM_AND_VLAN.fullmatch(name)) is whole
