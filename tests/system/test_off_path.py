# SPDX-License-Identifier: BSD-3-Clause
"""A host that sees nothing of a job lies to its hosts' kernels about the way between them. The job
uses UDP alone, as programs without privileges do."""

import contextlib
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from beowire.places.lab import network
from beowire.places.lab.state import LabState
from system.test_stillness import (
    PATIENCE_S,
    UDP_ALONE,
    exchanging,
    finish,
    in_node,
    lab_of,
    run,
)

MESSAGES = 10_000
PEER_TIMEOUT_MS = 4000  # the usual one
NODES = (network.node_name(0), network.node_name(1))

VERSIONS = pytest.mark.parametrize("version", [4, 6])


def use_version(lab: LabState, version: int) -> None:
    """The lane takes an address of IPv6 only where there is none of IPv4."""
    if version == 6:
        for node in NODES:
            run(lab, node, "ip", "-4", "addr", "flush", "dev", "eth0")


def place(address: str) -> tuple[str, str]:
    """IP address and UDP port of the first rail of an address as text."""
    ip, port = address.split(":")[8].split("/")[1:3]
    if ip.startswith("0" * 20 + "ffff"):
        return ".".join(str(byte) for byte in bytes.fromhex(ip[-8:])), str(int(port[:4], 16))
    return ":".join(ip[at : at + 4] for at in range(0, 32, 4)), str(int(port[:4], 16))


def ip_counters(lab: LabState, node: str) -> dict[str, int]:
    """What the kernel has counted of fragments, of both versions of IP."""
    names, values = run(lab, node, "grep", "^Ip:", "/proc/net/snmp").splitlines()
    found = dict(zip(names.split()[1:], map(int, values.split()[1:]), strict=True))
    for line in run(lab, node, "cat", "/proc/net/snmp6").splitlines():
        name, value = line.split()
        if name in ("Ip6FragCreates", "Ip6ReasmReqds"):
            found[name[3:]] += int(value)
    return found


@contextlib.contextmanager
def forging(lab: LabState, program: str, *words: str) -> Iterator[None]:
    """A program that lies, in a third node, and has begun to."""
    path = Path(__file__).with_name(program)
    with subprocess.Popen(
        in_node(lab, network.node_name(2), sys.executable, str(path), *words),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as forger:
        assert forger.stdout is not None
        try:
            assert forger.stdout.readline() == "ready\n"
            yield
        finally:
            forger.communicate(timeout=PATIENCE_S)


@pytest.mark.timeout(5 * PATIENCE_S)
@VERSIONS
def test_ways_are_said_to_be_narrow_and_fragments_fill_the_cache__nothing_is_cut(
    version: int,
) -> None:
    with lab_of(3) as lab:
        use_version(lab, version)
        with exchanging(lab, MESSAGES, PEER_TIMEOUT_MS, UDP_ALONE) as (ends, addresses):
            first, second = map(place, addresses)
            words = [second[0], first[0], second[1], first[1]]
            words += [first[0], second[0], first[1], second[1]]
            ends[0].send_signal(signal.SIGSTOP)  # so that the exchange is not over before it begins
            with forging(lab, "forge_lengths.py", *words):
                ends[0].send_signal(signal.SIGCONT)
                counters = [finish(end) for end in ends]
        assert [one["message_received"] for one in counters] == [MESSAGES, MESSAGES]
        for node in NODES:
            counted = ip_counters(lab, node)
            assert counted["FragCreates"] == 0
            assert counted["ReasmReqds"] > MESSAGES  # it was tried
