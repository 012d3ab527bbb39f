# SPDX-License-Identifier: BSD-3-Clause
"""Strangers change what kernels of a job's hosts believe: where others are, and which flows there
are. docs/SECURITY.md says for each what it does to a job."""

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from beowire.places.lab import network
from beowire.places.lab.state import LabState
from system.conftest import wait_until
from system.test_mtu_change import received
from system.test_off_path import NODES, VERSIONS, place, use_version
from system.test_router import routed_lab
from system.test_router import run as run_script
from system.test_stillness import (
    ALL_LANES,
    PATIENCE_S,
    SHORT_MS,
    UDP_ALONE,
    Ends,
    exchanging,
    finish,
    in_node,
    lab_of,
    run,
)
from system.test_taken_places import SEALED

MESSAGES = 20_000
PEER_TIMEOUT_MS = 4000  # the usual one


@contextlib.contextmanager
def liar(lab: LabState, node: str, *words: str) -> Iterator["subprocess.Popen[str]"]:
    """lie_to_kernel.py in a node, ready to begin."""
    path = Path(__file__).with_name("lie_to_kernel.py")
    with subprocess.Popen(
        in_node(lab, node, sys.executable, str(path), *words),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as started:
        assert started.stdout is not None
        try:
            assert started.stdout.readline() == "ready\n"
            yield started
        finally:
            started.communicate(timeout=PATIENCE_S)


def tell(started: "subprocess.Popen[str]") -> None:
    """Lets it begin, until it has said all once."""
    assert started.stdin is not None and started.stdout is not None
    started.stdin.write("now\n")
    started.stdin.flush()
    assert started.stdout.readline() == "told\n"


def kernel_counter(lab: LabState, node: str, of: str, name: str) -> int:
    """One of RFC 1213."""
    names, values = run(lab, node, "grep", f"^{of}:", "/proc/net/snmp").splitlines()
    return int(values.split()[names.split().index(name)])


@pytest.mark.timeout(3 * PATIENCE_S)
@pytest.mark.parametrize("obeyed", [True, False])
def test_router_is_said_to_have_a_better_one__it_is_left_only_if_redirects_are_obeyed(
    obeyed: bool,
) -> None:
    with routed_lab() as lab:
        script = "ip neigh replace 10.78.0.99 lladdr 02:00:00:00:00:99 dev eth0 nud permanent\n"
        if not obeyed:
            script += (
                "for one in all eth0; do sysctl -qw net.ipv4.conf.$one.accept_redirects=0; done"
            )
        run_script(lab, "node0", script)
        with exchanging(lab, MESSAGES, SHORT_MS, UDP_ALONE) as (ends, _):
            words = ("10.78.0.254", "10.78.0.1", "10.78.1.1", "10.78.0.99")
            with liar(lab, network.SWITCH, "redirect", *words) as started:
                tell(started)
                if obeyed:
                    route = "ip route get 10.78.1.1"
                    assert wait_until(lambda: "10.78.0.99" in run_script(lab, "node0", route))
                    _, error = ends[0].communicate(timeout=PATIENCE_S)
                    assert "does not answer" in error
                else:
                    counters = [finish(end) for end in ends]
                    assert [one["message_received"] for one in counters] == [MESSAGES, MESSAGES]
                    assert kernel_counter(lab, "node0", "Icmp", "InRedirects") > 0


@contextlib.contextmanager
def claimed(
    version: int, before: tuple[str, ...], patience_ms: int, fixed: str = ""
) -> Iterator[tuple[Ends, int]]:
    """A sealed exchange whose ends are told by a third host that it has both their addresses; and
    how many of their frames that host got. `fixed`: addresses that they know by heart, with %d."""
    with lab_of(3) as lab:
        use_version(lab, version)
        # A host believes no claim for a second after another: the exchange may have ended then.
        for node in NODES:
            run(lab, node, "sysctl", "-qw", "net.ipv4.neigh.eth0.locktime=0")
        for index in (0, 1) if fixed else ():
            to = ("lladdr", network.node_mac(1 - index), "dev", "eth0", "nud", "permanent")
            run(lab, NODES[index], "ip", "neigh", "replace", fixed % (2 - index), *to)
        with exchanging(lab, MESSAGES, patience_ms, (*SEALED, *before)) as (ends, addresses):
            (here, _), (there, _) = map(place, addresses)
            words = [here, there, network.node_mac(1), there, here, network.node_mac(0)]
            with liar(lab, network.node_name(2), "claim", *words) as started:
                assert [end.poll() for end in ends] == [None, None]
                read, _ = started.communicate("now\n", timeout=PATIENCE_S)
            yield ends, int(read)


@pytest.mark.timeout(3 * PATIENCE_S)
@VERSIONS
def test_addresses_are_claimed__an_exchange_over_udp_alone_is_ended(version: int) -> None:
    """Kernels believe for longer than the peer timeout what they were told once."""
    with claimed(version, UDP_ALONE, SHORT_MS) as (ends, read):
        assert read > 0
        _, error = ends[0].communicate(timeout=PATIENCE_S)
        assert (ends[0].returncode, "does not answer" in error) == (1, True), error


@pytest.mark.timeout(3 * PATIENCE_S)
def test_addresses_are_claimed__an_exchange_that_has_ethernet_frames_goes_on() -> None:
    with claimed(4, ALL_LANES, PEER_TIMEOUT_MS) as (ends, read):
        assert read > 0
        assert [finish(end)["message_received"] for end in ends] == [MESSAGES, MESSAGES]


@pytest.mark.timeout(3 * PATIENCE_S)
@pytest.mark.parametrize(("version", "known"), [(4, "10.77.0.%d"), (6, "fd77:beef::%d")])
def test_addresses_are_claimed__hosts_that_know_them_are_not_told(version: int, known: str) -> None:
    with claimed(version, UDP_ALONE, PEER_TIMEOUT_MS, known) as (ends, read):
        assert read == 0
        assert [finish(end)["message_received"] for end in ends] == [MESSAGES, MESSAGES]


#: Of a firewall that remembers flows: what has not begun here comes in at one port only.
FLOWS = """
nft add table inet f
nft add chain inet f in '{ type filter hook input priority 0; policy drop; }'
nft add rule inet f in ct state established,related accept
nft add rule inet f in udp dport 7 accept
nft add chain inet f out '{ type filter hook output priority 0; }'
nft add rule inet f out ct state new accept
"""


def flow_count(lab: LabState, node: str) -> int:
    return int(run(lab, node, "cat", "/proc/sys/net/netfilter/nf_conntrack_count"))


@pytest.mark.long  # a quarter of a million packets
@pytest.mark.timeout(3 * PATIENCE_S)
def test_table_of_flows_is_full__jobs_go_on_and_begin() -> None:
    most = int(Path("/proc/sys/net/netfilter/nf_conntrack_max").read_text(encoding="ascii"))
    with lab_of(3) as lab:
        for node in NODES:
            run_script(lab, node, FLOWS)
        flood = (network.node_address(0), "7", str(most + most // 8))
        with (
            exchanging(lab, 1_000_000, PEER_TIMEOUT_MS, UDP_ALONE) as (ends, _),
            liar(lab, network.node_name(2), "flows", *flood) as started,
        ):
            tell(started)
            assert wait_until(lambda: flow_count(lab, "node0") > most * 15 // 16)
            before = [received(end.pid) for end in ends]
            with exchanging(lab, MESSAGES, PEER_TIMEOUT_MS, UDP_ALONE) as (others, _):
                assert [finish(end)["message_received"] for end in others] == [MESSAGES, MESSAGES]
            now = [received(end.pid) for end in ends]
            assert all(more > few for more, few in zip(now, before, strict=True))
        assert flow_count(lab, "node0") > most * 15 // 16


@pytest.mark.long  # it is the table of all namespaces, so other tests have it filled, too
@pytest.mark.timeout(3 * PATIENCE_S)
def test_table_of_neighbours_is_full__an_exchange_goes_on_without_its_entry() -> None:
    most = int(Path("/proc/sys/net/ipv4/neigh/default/gc_thresh3").read_text(encoding="ascii"))
    flood = (network.node_address(0), str(4 * most))
    with (
        lab_of(3) as lab,
        exchanging(lab, 5 * MESSAGES, PEER_TIMEOUT_MS, UDP_ALONE) as (ends, _),
        liar(lab, network.node_name(2), "neighbours", *flood) as started,
    ):
        tell(started)
        run(lab, "node0", "ip", "neigh", "del", network.node_address(1), "dev", "eth0")
        assert len(run(lab, "node0", "ip", "neigh").splitlines()) > most // 2
        assert [finish(end)["message_received"] for end in ends] == [5 * MESSAGES] * 2
