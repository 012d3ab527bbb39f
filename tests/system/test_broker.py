# SPDX-License-Identifier: BSD-3-Clause
"""What processes without any privilege cannot do with what they get from the broker."""

import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from system.broker_hosts import (
    ETHERTYPE,
    OWN_USER,
    POLICY,
    SOL_PACKET,
    SOL_SOCKET,
    STRANGER,
    Holder,
    Hosts,
    forgeries,
    frame,
    make_hosts,
    make_place,
    running,
    seen,
)

__all__ = ["make_hosts", "make_place"]

#: As where the kernel has no tcx (broker/egress.h).
_BY_FILTER = (*OWN_USER, "env", "RUNTIME_DIRECTORY=/nowhere")


@pytest.mark.parametrize("before", [OWN_USER, _BY_FILTER], ids=["as usual", "by a filter"])
def test_frames__only_those_of_the_grant_leave(hosts: Hosts, before: Sequence[str]) -> None:
    hosts.end("node0")
    hosts.start_broker("node0", before=before)
    watcher = hosts.holder(0, "node1").open()
    root = hosts.holder(0).open()
    holder, other = hosts.holder().ask(), hosts.holder().ask()
    assert hosts.holder().do("own", "eth0") == "EPERM"
    holder.do("send", frame(holder, watcher.mac, "good-first"))
    for name, forged in forgeries(holder, watcher.mac, other, root.mac).items():
        assert holder.do("send", forged) == "ENOBUFS", name
    # Nor does anybody else on this host send in its name.
    root.do("send", frame(root, watcher.mac, "forged-by-root", source=holder.mac))
    root.do("send", frame(root, watcher.mac, "good-arp", ethertype=0x0806))
    other.do("send", frame(other, watcher.mac, "good-other"))
    holder.do("send", frame(holder, watcher.mac, "good-last"))
    good = ["good-first", "good-arp", "good-other", "good-last"]
    assert seen(watcher, "good-last") == good


@pytest.mark.parametrize("before", [OWN_USER, _BY_FILTER], ids=["as usual", "by a filter"])
def test_frames__of_another_policy__replace_the_earlier(
    hosts: Hosts, before: Sequence[str]
) -> None:
    watcher = hosts.holder(0, "node1").open()
    for ethertype in (0x88B6, ETHERTYPE):
        hosts.end("node0")
        hosts.start_broker("node0", f"{POLICY}ethertype = {ethertype}\n", before)
        holder = hosts.holder().ask(ethertype)
        wrong = frame(holder, watcher.mac, "forged-type", ethertype=0x88B7)
        assert holder.do("send", wrong) == "ENOBUFS"
        holder.do("send", frame(holder, watcher.mac, f"good-{ethertype}", ethertype=ethertype))
    last = f"good-{ETHERTYPE}"
    assert seen(watcher, last) == [f"good-{0x88B6}", last]


def _programs(hosts: Hosts) -> bytes:
    """What is known of the programs on node0's card."""
    reads = hosts.in_node("node0", "sh", "-c", "cat /run/beowire/egress-*")
    return subprocess.run(reads, capture_output=True, check=True).stdout


def test_program__of_an_earlier_broker_stays(hosts: Hosts) -> None:
    hosts.holder().ask()
    before = _programs(hosts)
    if before == b"":
        pytest.skip("this kernel has no tcx (Linux 6.6)")
    hosts.end("node0")
    hosts.start_broker("node0")
    hosts.holder().ask()
    assert _programs(hosts) == before
    qdiscs = hosts.in_node("node0", "tc", "qdisc", "show", "dev", "eth0")
    said = subprocess.run(qdiscs, capture_output=True, text=True, check=True).stdout
    assert "clsact" not in said


def test_program__named_by_a_file_of_another_user__counts_for_nothing(hosts: Hosts) -> None:
    hosts.holder().ask()
    watcher = hosts.holder(0, "node1").open()
    claim = "cp /run/beowire/egress-* /run/of-lab; rm /run/beowire/egress-*;"
    claim += f" mv /run/of-lab/egress-* /run/beowire; chown {STRANGER} /run/beowire/egress-*"
    subprocess.run(hosts.in_node("node0", "sh", "-c", claim), check=True)
    holder = hosts.holder().ask()
    qdiscs = hosts.in_node("node0", "tc", "qdisc", "show", "dev", "eth0")
    said = subprocess.run(qdiscs, capture_output=True, text=True, check=True).stdout
    assert "clsact" in said
    assert holder.do("send", frame(holder, watcher.mac, "forged", ethertype=0x0806)) == "ENOBUFS"
    holder.do("send", frame(holder, watcher.mac, "good-last"))
    assert seen(watcher, "good-last") == ["good-last"]  # through both programs


def test_frames__longer_than_a_page(place: Path) -> None:
    with running(place, mtu=9000) as hosts:
        hosts.start_broker("node0")
        watcher = hosts.holder(0, "node1").open()
        holder, other = hosts.holder().ask(), hosts.holder().ask()
        more = "00" * 5000
        forged = frame(holder, watcher.mac, "forged-identity", number=other.number)
        assert holder.do("send", forged + more) == "ENOBUFS"
        holder.do("send", frame(holder, watcher.mac, "good-last") + more)
        assert seen(watcher, "good-last") == ["good-last"]


def test_frames__by_another_interface(hosts: Hosts) -> None:
    watcher = hosts.holder(0, "node1").open()
    holder = hosts.holder().ask()
    forged = frame(holder, watcher.mac, "forged-type", ethertype=0x88B6)
    said = {holder.do("send_by", forged, index) for index in range(1, 40)}
    # Its own, which refuses the frame; loopback, which is down; none of all others.
    assert said == {"ENOBUFS", "ENETDOWN", "ENXIO"}
    holder.do("send", frame(holder, watcher.mac, "good-last"))
    assert seen(watcher, "good-last") == ["good-last"]


def test_options__are_closed(hosts: Hosts) -> None:
    watcher = hosts.holder(0, "node1").open()
    holder = hosts.holder().ask()
    on, off = struct.pack("=i", 1).hex(), struct.pack("=i", 0).hex()
    ring = struct.pack("=4I", 1 << 18, 1, 2048, 128).hex()
    membership = {kind: struct.pack("=iHH8s", 2, kind, 6, b"").hex() for kind in (0, 1, 2)}
    of_packet = {
        "multicast": (1, membership[0]),
        "promiscuous": (1, membership[1]),
        "all multicast": (1, membership[2]),
        "ring": (5, ring),
        "copy threshold": (7, on),
        "auxiliary data": (8, on),
        "origin": (9, on),
        "version": (10, off),
        "reserve": (12, on),
        "sending ring": (13, ring),
        "segmentation": (15, on),
        "group": (18, on),
        "bypass on": (20, on),
        "bypass off": (20, off),
        "segmentation, longer": (24, struct.pack("=i", 12).hex()),
    }
    for name, (number, value) in of_packet.items():
        assert holder.do("option", SOL_PACKET, number, value) == "EPERM", name
    holder.do("unmap")
    assert holder.do("option", SOL_PACKET, 13, ring) == "EPERM"
    assert holder.do("filtered") == "EPERM"
    for number, value in ((27, on), (44, off), (36, off), (36, on)):  # detach, unlock, mark
        assert holder.do("option", SOL_SOCKET, number, value) == "EPERM", number
    good = frame(holder, watcher.mac, "forged-mark")
    assert holder.do("send_with", good, SOL_SOCKET, 36, off) == "EPERM"
    for control in (0x8914, 0x8924, 0x8922, 0x894C):  # flags, address, MTU, namespace
        assert holder.do("control", control, b"frames".ljust(40, b"\0").hex()) == "EPERM"
    holder.do("send", frame(holder, watcher.mac, "good-last"))
    assert seen(watcher, "good-last") == ["good-last"]


@pytest.mark.skipif(
    not Path("/proc/sys/abi/vsyscall32").exists(), reason="no system calls of 32 bits here"
)
def test_options__by_system_calls_of_32_bits__frames_are_held_as_before(hosts: Hosts) -> None:
    watcher = hosts.holder(0, "node1").open()
    holder = hosts.holder().ask()
    on, no_ring = struct.pack("=i", 1).hex(), struct.pack("=4I", 0, 0, 0, 0).hex()
    # No BPF program sees these calls: they free the ring, and get a header before each frame.
    holder.do("unmap")
    assert holder.do("option_of_32_bits", SOL_PACKET, 5, no_ring) is None
    assert holder.do("option_of_32_bits", SOL_PACKET, 15, on) is None
    # By it, the card writes a checksum over EtherType, source or number. Some kernels refuse one of
    # bytes before the 20th.
    for begin, at in ((0, 12), (0, 6), (0, 10), (0, 20), (20, 20)):
        header = struct.pack("=BBHHHH", 1, 0, 0, 0, begin, at - begin).hex()
        forged = header + frame(holder, watcher.mac, f"forged-{begin}-{at}")
        said = {"ENOBUFS"} if begin == 20 else {"ENOBUFS", "EINVAL"}
        assert holder.do("send", forged) in said, at
    assert holder.do("option_of_32_bits", SOL_PACKET, 20, on) is None  # bypass
    other_type = frame(holder, watcher.mac, "forged-type", ethertype=0x0806)
    assert holder.do("send", "00" * 10 + other_type) == "ENOBUFS"
    for name in (27, 36):  # detach, mark
        assert holder.do("option_of_32_bits", SOL_SOCKET, name, on) == "EPERM"
    holder.do("send", "00" * 10 + frame(holder, watcher.mac, "good-last"))
    assert seen(watcher, "good-last") == ["good-last"]


def _assert_hears_only_its_own(holder: Holder, other: Holder, speaker: Holder) -> None:
    everybody = b"\xff" * 6
    mine = holder.number
    for spoken in (
        frame(speaker, holder.mac, "good-first", destination=holder.number),
        frame(speaker, holder.mac, "forged-number", destination=holder.number ^ 1),
        frame(speaker, holder.mac, "forged-type", ethertype=0x0800, destination=mine),
        frame(speaker, everybody, "forged-broadcast", destination=mine),
        frame(speaker, b"\x01\x00\x5e\x00\x00\x01", "forged-multicast", destination=mine),
        frame(speaker, everybody, "forged-arp", ethertype=0x0806),
        frame(speaker, other.mac, "forged-other", destination=mine),
        frame(speaker, other.mac, "good-others", destination=other.number),
        frame(speaker, holder.mac, "good-last", destination=holder.number),
    ):
        speaker.do("send", spoken)
    assert seen(holder, "good-last") == ["good-first", "good-last"]
    assert seen(other, "good-others") == ["good-others"]


def test_hears__only_what_is_for_its_endpoint(hosts: Hosts) -> None:
    holder, other = hosts.holder().ask(), hosts.holder().ask()
    assert holder.do("bind", 3) is None  # of all protocols
    _assert_hears_only_its_own(holder, other, hosts.holder(0, "node1").open())


def test_passed_on__it_is_the_same_grant(hosts: Hosts) -> None:
    watcher = hosts.holder(0, "node1").open()
    root = hosts.holder(0).open()
    holder, other = hosts.holder().ask(), hosts.holder().ask()
    taker = hosts.holder(STRANGER)
    path = str(hosts.directory / "offer")
    holder.say("offer", path)
    assert holder.answer() == "listening"
    assert taker.do("take", path) is None
    assert holder.answer() is None
    holder.end()
    taker.mac, taker.number = holder.mac, holder.number
    for name, forged in forgeries(taker, watcher.mac, other, root.mac).items():
        assert taker.do("send", forged) == "ENOBUFS", name
    assert taker.do("option", SOL_PACKET, 20, struct.pack("=i", 0).hex()) == "EPERM"
    taker.do("send", frame(taker, watcher.mac, "good-last"))
    assert seen(watcher, "good-last") == ["good-last"]
