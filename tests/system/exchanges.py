# SPDX-License-Identifier: BSD-3-Clause
"""Runs exchange.c between two nodes of a lab: every byte of messages of mixed sizes is checked."""

import json
import subprocess
from collections.abc import Sequence

from beowire.places.lab import cluster
from beowire.places.lab.state import LabState
from system.conftest import ROOT

EXCHANGE = ROOT / "build" / "release" / "tests" / "system" / "exchange"


def start(
    lab: LabState, node: str, words: Sequence[object], before: Sequence[str]
) -> "subprocess.Popen[str]":
    """Starts one end in a node; `words` follow its interface."""
    program = [*before, str(EXCHANGE), "eth0", *map(str, words)]
    return subprocess.Popen(
        cluster.command_in(cluster.node_of(lab, node), program, pin=True),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def introduce(ends: Sequence["subprocess.Popen[str]"]) -> list[str]:
    """Hands each of two ends what the other has said first: its address. Returns both."""
    addresses = []
    for end in ends:
        assert end.stdout is not None
        addresses.append(end.stdout.readline())
    for end, other in zip(ends, reversed(addresses), strict=True):
        assert end.stdin is not None
        end.stdin.write(other)
        end.stdin.flush()
    return addresses


def exchange(
    lab: LabState, messages: int, patience_s: float, before: Sequence[str] = ()
) -> list[dict[str, int]]:
    """Runs both ends, in node0 and node1, to their ends; their counters.

    `before` is a command that starts each of them.
    """
    ends = [
        start(lab, "node0", (1, 2, messages), before),
        start(lab, "node1", (2, 1, messages), before),
    ]
    counters = []
    try:
        introduce(ends)
        for end in ends:
            out, error = end.communicate(timeout=patience_s)
            assert (end.returncode, error) == (0, "")
            counters.append(json.loads(out))
    finally:
        for end in ends:
            end.kill()
            end.communicate()
    return counters
