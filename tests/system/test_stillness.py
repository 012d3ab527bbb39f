# SPDX-License-Identifier: BSD-3-Clause
"""Processes that stand still, have ended, or are said to have: for whom others wait."""

import contextlib
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from beowire.counters import stats
from beowire.places.lab import cluster, network
from beowire.places.lab.options import LabOptions
from beowire.places.lab.state import LabState
from system.conftest import wait_until
from system.exchanges import introduce, start

PATIENCE_S = 60
ENOUGH_BYTES = 2_000_000

#: Peer timeouts: one that is soon over, and one that is not over as long as the test lasts.
SHORT_MS = 1000
LONG_MS = 600_000

ALL_LANES = ()
UDP_ALONE = ("setpriv", "--bounding-set=-all", "--inh-caps=-all")

Ends = list["subprocess.Popen[str]"]


@contextlib.contextmanager
def lab_of(nodes: int) -> Iterator[LabState]:
    lab = cluster.up_ephemeral(LabOptions(nodes=nodes, link="switch"), "stillness")
    try:
        yield lab.state
    finally:
        lab.close()


def in_node(lab: LabState, node: str, *command: str) -> list[str]:
    return cluster.command_in(cluster.node_of(lab, node), command, pin=False)


def run(lab: LabState, node: str, *command: str) -> str:
    done = subprocess.run(
        in_node(lab, node, *command), stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout


def received_bytes(lab: LabState, node: str) -> int:
    """Seen from here: starting a program there takes as long as a whole exchange."""
    holder = cluster.node_of(lab, node).holder.pid
    lines = Path(f"/proc/{holder}/net/dev").read_text(encoding="ascii").splitlines()
    (counters,) = (line.partition(":")[2] for line in lines if line.strip().startswith("eth0:"))
    return int(counters.split()[0])


@contextlib.contextmanager
def exchanging(
    lab: LabState, messages: int, patience_ms: int, before: tuple[str, ...] = ALL_LANES
) -> Iterator[tuple[Ends, list[str]]]:
    """Two ends that are in the middle of their exchange, and their addresses."""
    ends: Ends = []
    try:
        for node, incoming, outgoing in (("node0", 1, 2), ("node1", 2, 1)):
            ends.append(start(lab, node, (incoming, outgoing, messages, patience_ms), before))
        addresses = introduce(ends)
        assert wait_until(lambda: received_bytes(lab, "node0") > ENOUGH_BYTES, PATIENCE_S)
        assert [end.poll() for end in ends] == [None, None]
        yield ends, addresses
    finally:
        for end in ends:
            end.kill()
            end.communicate()


def finish(end: "subprocess.Popen[str]") -> dict[str, int]:
    """Lets an end do the rest. Its counters."""
    out, error = end.communicate(timeout=PATIENCE_S)
    assert (end.returncode, error) == (0, "")
    counters: dict[str, int] = json.loads(out.splitlines()[-1])
    return counters


def snapshots(process: int) -> list[stats.Snapshot]:
    """What the endpoints of a process publish; not of a moment at which it was interrupted while it
    did so."""
    read: list[stats.Snapshot] = []

    def is_read() -> bool:
        try:
            read[:] = [stats.read(found.path) for found in stats.find(process)]
        except stats.StatsError:
            return False
        return True

    assert wait_until(is_read)
    return read


def states(process: int) -> list[Any]:
    """What `beowire top` shows of the state of a process's peers."""
    return [row["state"] for one in snapshots(process) for row in one.rows("peers")]


@pytest.mark.timeout(3 * PATIENCE_S)
@pytest.mark.parametrize("before", [ALL_LANES, UDP_ALONE], ids=["every lane", "udp alone"])
def test_one_is_stopped__the_other_waits_and_both_go_on(before: tuple[str, ...]) -> None:
    with lab_of(2) as lab, exchanging(lab, 3000, SHORT_MS, before) as (ends, _):
        ends[1].send_signal(signal.SIGSTOP)
        assert wait_until(lambda: "standing still" in states(ends[0].pid), PATIENCE_S)
        ends[1].send_signal(signal.SIGCONT)
        counters = [finish(end) for end in ends]
        assert [one["peers_stood_still"] for one in counters] == [1, 0]


def have_firewall(lab: LabState, node: str, verdict: str) -> None:
    """What becomes there of all TCP that comes in."""
    run(lab, node, "nft", "add table inet f")
    run(lab, node, "nft", "add chain inet f in { type filter hook input priority 0; }")
    run(lab, node, "nft", f"add rule inet f in meta l4proto tcp {verdict}")


@pytest.mark.timeout(3 * PATIENCE_S)
@pytest.mark.parametrize("verdict", ["drop", "reject", "accept"])
def test_one_is_stopped_behind_a_firewall__it_is_waited_for(verdict: str) -> None:
    """Its kernel cannot prove that it is there where no TCP comes through."""
    with lab_of(2) as lab:
        have_firewall(lab, "node1", verdict)
        run(lab, "node0", "sysctl", "-qw", "net.ipv4.ping_group_range=0 2147483647")
        with exchanging(lab, 3000, SHORT_MS, UDP_ALONE) as (ends, _):
            ends[1].send_signal(signal.SIGSTOP)
            with pytest.raises(subprocess.TimeoutExpired):  # for six peer timeouts
                ends[0].wait(timeout=6 * SHORT_MS / 1000)
            ends[1].send_signal(signal.SIGCONT)
            assert [finish(end)["message_received"] for end in ends] == [3000, 3000]


@pytest.mark.timeout(3 * PATIENCE_S)
def test_one_is_stopped_behind_a_firewall_that_answers_as_hosts_do__it_is_given_up() -> None:
    """It looks like a host on which others have the UDP port of a process that has ended, which
    nobody may hide: docs/SECURITY.md says what to let a firewall do."""
    with lab_of(2) as lab:
        have_firewall(lab, "node1", "reject with tcp reset")
        with exchanging(lab, 3000, SHORT_MS, UDP_ALONE) as (ends, _):
            ends[1].send_signal(signal.SIGSTOP)
            _, error = ends[0].communicate(timeout=PATIENCE_S)
            assert (ends[0].returncode, "does not answer" in error) == (1, True), error


@pytest.mark.timeout(3 * PATIENCE_S)
def test_all_are_stopped__they_go_on_one_after_the_other() -> None:
    with lab_of(2) as lab, exchanging(lab, 3000, SHORT_MS) as (ends, _):
        for end in ends:
            end.send_signal(signal.SIGSTOP)
        with pytest.raises(subprocess.TimeoutExpired):  # for three peer timeouts
            ends[0].wait(timeout=3 * SHORT_MS / 1000)
        ends[0].send_signal(signal.SIGCONT)
        assert wait_until(lambda: "standing still" in states(ends[0].pid), PATIENCE_S)
        ends[1].send_signal(signal.SIGCONT)
        assert [finish(end)["message_received"] for end in ends] == [3000, 3000]


@pytest.mark.timeout(3 * PATIENCE_S)
def test_host_is_gone__its_peer_gives_up() -> None:
    with lab_of(2) as lab, exchanging(lab, 100_000, SHORT_MS) as (ends, _):
        ends[1].send_signal(signal.SIGSTOP)
        assert wait_until(lambda: "standing still" in states(ends[0].pid), PATIENCE_S)
        run(lab, "node1", "ip", "link", "set", "eth0", "down")
        _, error = ends[0].communicate(timeout=PATIENCE_S)
        assert (ends[0].returncode, "does not answer" in error) == (1, True), error


@pytest.mark.timeout(3 * PATIENCE_S)
@pytest.mark.parametrize("before", [ALL_LANES, UDP_ALONE], ids=["every lane", "udp alone"])
def test_process_is_killed__its_kernel_says_so(before: tuple[str, ...]) -> None:
    with lab_of(2) as lab, exchanging(lab, 100_000, LONG_MS, before) as (ends, _):
        ends[1].kill()
        _, error = ends[0].communicate(timeout=PATIENCE_S)
        assert (ends[0].returncode, "closed" in error) == (1, True), error


def place(address: str) -> tuple[str, int]:
    """IP address and UDP port of the first rail of an address as text."""
    ip, port = address.split(":")[8].split("/")[1:3]
    return ".".join(str(byte) for byte in bytes.fromhex(ip[-8:])), int(port[:4], 16)


@pytest.mark.timeout(3 * PATIENCE_S)
@pytest.mark.parametrize("before", [ALL_LANES, UDP_ALONE], ids=["every lane", "udp alone"])
def test_a_third_host_forges_refusals__the_exchange_goes_on(before: tuple[str, ...]) -> None:
    with lab_of(3) as lab, exchanging(lab, 10_000, LONG_MS, before) as (ends, addresses):
        (target, target_port), (source, source_port) = map(place, addresses)
        program = Path(__file__).with_name("forge_refusals.py")
        words = [sys.executable, str(program), source, target, str(source_port), str(target_port)]
        ends[0].send_signal(signal.SIGSTOP)  # so that the exchange is not over before it begins
        with subprocess.Popen(
            in_node(lab, network.node_name(2), *words),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as forger:
            assert forger.stdout is not None
            try:
                assert forger.stdout.readline() == "ready\n"
                ends[0].send_signal(signal.SIGCONT)
                counters = [finish(end) for end in ends]
            finally:
                forger.communicate(timeout=PATIENCE_S)
        assert [one["message_received"] for one in counters] == [10_000, 10_000]
        assert counters[0]["refusals_strange"] > 0
