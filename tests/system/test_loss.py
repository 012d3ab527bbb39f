# SPDX-License-Identifier: BSD-3-Clause
"""The transport on a lossy wire: every byte arrives, once, in order, intact."""

import contextlib
import json
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from beowire.lab import cluster
from beowire.lab.options import LabOptions
from beowire.lab.state import LabState
from system.conftest import ROOT

EXCHANGE = ROOT / "build" / "release" / "tests" / "system" / "exchange"
MESSAGES = 10_000
PATIENCE_S = 200


@contextlib.contextmanager
def lab_of(**options: Any) -> Iterator[LabState]:
    lab = cluster.up_ephemeral(LabOptions(**options), "loss")
    try:
        yield lab.state
    finally:
        lab.close()


def start(lab: LabState, node: str, incoming: int, outgoing: int) -> "subprocess.Popen[str]":
    program = [str(EXCHANGE), "eth0", str(incoming), str(outgoing), str(MESSAGES)]
    return subprocess.Popen(
        cluster.command_in(cluster.node_of(lab, node), program, pin=True),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def exchange(lab: LabState) -> list[dict[str, int]]:
    """Runs both ends to their ends; their counters."""
    ends = [start(lab, "node0", 1, 2), start(lab, "node1", 2, 1)]
    addresses = []
    for end in ends:
        assert end.stdout is not None
        addresses.append(end.stdout.readline())
    counters = []
    try:
        for end, other in zip(ends, reversed(addresses), strict=True):
            assert end.stdin is not None
            end.stdin.write(other)
            end.stdin.flush()
        for end in ends:
            out, error = end.communicate(timeout=PATIENCE_S)
            assert (end.returncode, error) == (0, "")
            counters.append(json.loads(out))
    finally:
        for end in ends:
            end.kill()
            end.wait()
    return counters


@pytest.mark.timeout(PATIENCE_S + 20)
def test_loss__every_message_arrives_once_in_order_and_intact() -> None:
    with lab_of(loss=0.01) as lab:
        for counters in exchange(lab):
            assert counters["message_received"] == MESSAGES
            assert counters["message_protocol_errors"] == 0
            assert counters["message_announced"] > 0
            # The wire did lose frames, and this is how they came all the same.
            assert counters["flow_retransmitted_frames"] > 0
            assert counters["flow_gaps_reported"] > 0


@pytest.mark.timeout(PATIENCE_S + 20)
def test_no_loss__nothing_is_sent_twice() -> None:
    with lab_of() as lab:
        for counters in exchange(lab):
            assert counters["message_received"] == MESSAGES
            assert counters["flow_retransmitted_frames"] == 0
