# SPDX-License-Identifier: BSD-3-Clause
"""The lab's wire does what its options say, to what every program sends, however it sends it."""

import contextlib
import json
import math
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from beowire.places.lab import cluster, network
from beowire.places.lab.options import LabOptions
from beowire.places.lab.state import LabState

TRAFFIC = Path(__file__).with_name("lab_traffic.py")


@contextlib.contextmanager
def lab_of(**options: Any) -> Iterator[LabState]:
    lab = cluster.up_ephemeral(LabOptions(**options), "link")
    try:
        yield lab.state
    finally:
        lab.close()


def start(lab: LabState, node: str, *words: object) -> "subprocess.Popen[bytes]":
    program = [sys.executable, str(TRAFFIC), *map(str, words)]
    command = cluster.command_in(cluster.node_of(lab, node), program, pin=True)
    return subprocess.Popen(command, stdout=subprocess.PIPE)


def start_server(lab: LabState, node: str, *words: object) -> "subprocess.Popen[bytes]":
    process = start(lab, node, *words)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return process


def answer(process: "subprocess.Popen[bytes]") -> dict[str, Any]:
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    result: dict[str, Any] = json.loads(out)
    return result


def run(lab: LabState, node: str, *words: object) -> dict[str, Any]:
    return answer(start(lab, node, *words))


@pytest.mark.parametrize("bypass", [0, 1])
@pytest.mark.parametrize(
    "options",
    [{}, {"link": "switch"}, {"delay_ns": 2_000_000}, {"link": "switch", "delay_ns": 2_000_000}],
)
def test_loss__is_random_at_its_rate_both_ways(options: dict[str, Any], bypass: int) -> None:
    frames, loss = 20_000, 0.02
    with lab_of(loss=loss, **options) as lab:
        for sender, receiver in (("node0", "node1"), ("node1", "node0")):
            receiving = start_server(lab, receiver, "receive")
            assert run(lab, sender, "send", frames, 200, bypass) == {"sent": frames}
            got = answer(receiving)
            counters = cluster.relay_counters(lab)
            assert counters is None or counters.dropped == 0
            # Six standard deviations: by chance one run in 500 million fails.
            spread = 6 * math.sqrt(frames * loss * (1 - loss))
            assert abs(got["received"] - frames * (1 - loss)) < spread
            assert (got["numbers"], got["ordered"]) == (got["received"], True)


@pytest.mark.parametrize("options", [{}, {"link": "switch", "nodes": 3}, {"delay_ns": 1_000_000}])
def test_no_loss__everything_arrives_once_and_in_order(options: dict[str, Any]) -> None:
    with lab_of(**options) as lab:
        receiving = start_server(lab, "node1", "receive")
        run(lab, "node0", "send", 3000, 1500)
        assert answer(receiving) == {"received": 3000, "numbers": 3000, "ordered": True}


@pytest.mark.parametrize("link", ["direct", "switch"])
def test_rate__cannot_be_bypassed(link: str) -> None:
    options = LabOptions(link=link, rate_bits_per_s=20_000_000)
    with lab_of(link=link, rate_bits_per_s=20_000_000) as lab:
        before = run(lab, "node1", "received_bytes")
        assert run(lab, "node0", "flood", 1.0, 1400)["sent"] > 0
        after = run(lab, "node1", "received_bytes")
    seconds = (after["at_ns"] - before["at_ns"]) / 1e9
    arrived = after["bytes"] - before["bytes"]
    # Whatever the machine is at meanwhile, no more can get through than this: two shapers' bursts.
    assert arrived <= 20e6 / 8 * seconds + 2 * network.burst_bytes(options)
    assert arrived > 0


@pytest.mark.parametrize("link", ["direct", "switch"])
@pytest.mark.parametrize("delay_ns", [50_000, 5_000_000])
def test_delay__is_in_every_round_trip_twice(link: str, delay_ns: int) -> None:
    with lab_of(link=link, delay_ns=delay_ns) as lab:
        echoing = start_server(lab, "node1", "echo")
        asked = run(lab, "node0", "ask", lab.nodes[1].address, 50, 100)
        answer(echoing)
    assert asked["answers"] == 50
    assert asked["shortest_ns"] >= 2 * delay_ns


@pytest.mark.parametrize("mtu", [68, 1500, 9000, 65521])
@pytest.mark.parametrize("delay_ns", [0, 100_000])
def test_mtu__carries_datagrams_of_any_size(mtu: int, delay_ns: int) -> None:
    with lab_of(mtu=mtu, delay_ns=delay_ns, link="switch") as lab:
        for size in (1, mtu - 28, min(mtu * 3, 65507)):
            echoing = start_server(lab, "node1", "echo")
            asked = run(lab, "node0", "ask", lab.nodes[1].address, 5, size)
            answer(echoing)
            assert asked["answers"] == 5


def test_tcp__arrives_intact_over_a_bad_wire() -> None:
    with lab_of(rate_bits_per_s=10**9, delay_ns=200_000, loss=0.01, link="switch") as lab:
        serving = start_server(lab, "node1", "serve")
        assert run(lab, "node0", "push", lab.nodes[1].address, 5_000_000) == {"intact": True}
        answer(serving)


@pytest.mark.parametrize("delay_ns", [0, 100_000])
def test_vlan_tag__stays_in_the_frame(delay_ns: int) -> None:
    with lab_of(delay_ns=delay_ns) as lab:
        receiving = start_server(lab, "node1", "receive_tagged", 20)
        run(lab, "node0", "tagged", 20)
        assert answer(receiving) == {"numbers": list(range(20))}


def test_nodes__are_pinned_only_where_each_has_a_core() -> None:
    with lab_of(nodes=12, link="switch") as lab:
        cores = [node.cpu for node in lab.nodes]
        assert len(lab.nodes) == 12
        receiving = start_server(lab, "node11", "receive")
        run(lab, "node5", "send", 100, 60)
        assert answer(receiving)["numbers"] == 100
    assert None in cores or len(set(cores)) == 12
