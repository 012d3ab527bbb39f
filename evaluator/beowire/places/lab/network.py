# SPDX-License-Identifier: BSD-3-Clause
"""The lab's wiring, from options to commands for ip, tc and nft. Nothing here runs anything.

A plain lab is what its name says: one veth pair (`direct`), or a bridge with one veth pair a node
(`switch`). A rate, a delay or a loss puts a *wire* between the two ends of each link, in the
namespace of the switch, out of the nodes' reach:

    node0 [eth0 ---- to-node0]  wire  [to-node1 ---- eth0] node1                    direct
    node0 [eth0 ---- to-node0]  wire  [far0 ---- port0]  bridge                     switch

What arrives at one end of the wire is sent from the other. The frame gets lost and is delayed
where it enters the network (the end that faces a node: once, however many links it crosses), and
is shaped where it leaves the wire, which is each link's two directions. All of it happens after
the frame has left the node, so nothing that a sender can do (PACKET_QDISC_BYPASS) and nothing that
a receiver can do (XDP, a packet socket for all protocols) gets around it.

Shaping is tbf, with the 24 bytes that each frame also takes on a real wire (preamble 8, frame
check sequence 4, gap 12) and the 64-byte minimum frame accounted for, so that 1 Gbit/s here
carries the payload that 1 Gbit/s Ethernet carries. Each node's eth0 is shaped as well: that one can
be bypassed, and is there because a real NIC takes frames no faster than it sends them, which is
how a blocking sender learns to wait.

Everything that passes is a frame of at most the MTU, unless the rate is so high that the kernel
takes longer for a frame than the wire would (`LabOptions.cards_cut`): then what TCP or UDP has the
network card cut passes in one piece, and counts as all of its frames.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from beowire.places.lab.options import LabOptions

SWITCH = "switch"
"""Name of the bridge, and of the node-like thing that it is in."""

NODE_INTERFACE = "eth0"

SEGMENTATION = re.compile(r"tx-.*-segmentation|tx-gso-list|rx-gro.*|rx-lro|rx-udp-gro-.*")
"""Kernel names of the offloads that let frames be larger than the MTU inside one machine."""

CHECKSUM_AND_VLAN = re.compile(r"tx-checksum-.*|tx-vlan-.*")
"""Kernel names of the offloads that leave a part of the frame beside it: a program that reads the
frame and sends it again, as the relay does, needs it whole."""

_WIRE_OVERHEAD_BYTES = 24
_ETHERNET_HEADER_BYTES = 14
_VLAN_TAG_BYTES = 4
_MIN_WIRE_FRAME_BYTES = 64 - 4 + _WIRE_OVERHEAD_BYTES
_MIN_MTU_IPV6 = 1280

BURST_NS = 400_000
"""How much of a link's time a port may send at once. A shaper that waits for its timer falls behind
when the timer is late (0.1 ms is common where a processor sleeps or is virtual), and makes up for
no more than its burst: with 40 us, one TCP connection got 40 % of 1 Gbit/s here, with 400 us 97 %.
The price: after a pause, what fits into the burst (50 KB at 1 Gbit/s) passes unshaped."""

FAST_BURST_NS = 100_000
"""The same where cards cut: pieces are long, and a timer releases more at once."""

_LARGEST_PIECE_BYTES = 66_000
"""What the kernel has a card cut, with its headers: a shaper cuts what is longer than its burst."""

PORT_BUFFER_BYTES = 256 * 1024
"""What a port holds before it drops: a few hundred kilobytes, as in common Ethernet switches."""

_LOSS_MODULUS = 1_000_000_000


@dataclass(frozen=True)
class Way:
    """One direction of a wire: what arrives at `source` is sent from `target`."""

    source: str
    target: str
    entry: bool
    """Whether frames enter the network here: this is where they get lost and are delayed."""


def node_name(index: int) -> str:
    """node0, node1, ..."""
    return f"node{index}"


def node_address(index: int) -> str:
    """IPv4 address of a node."""
    return f"10.77.0.{index + 1}"


def node_address6(index: int, options: LabOptions) -> str:
    """IPv6 address of a node; "" when the MTU is too small for IPv6 (RFC 8200: 1280)."""
    return f"fd77:beef::{index + 1:x}" if options.mtu >= _MIN_MTU_IPV6 else ""


def node_mac(index: int) -> str:
    """A locally administered unicast address, the same each time. (Bridges drop frames whose source
    has the multicast bit.)"""
    return f"02:be:0e:00:00:{index + 1:02x}"


def near(index: int) -> str:
    """The device in the switch's namespace at the other end of a node's cable."""
    return f"to-node{index}"


def ways(options: LabOptions) -> list[Way]:
    """The directions of all wires; none in a plain lab."""
    if not options.impaired:
        return []
    if options.link == "direct":
        return [Way(near(0), near(1), True), Way(near(1), near(0), True)]
    return [
        way
        for index in range(options.nodes)
        for way in (
            Way(near(index), f"far{index}", True),
            Way(f"far{index}", near(index), False),
        )
    ]


def switch_devices(options: LabOptions) -> list[str]:
    """Every device in the switch's namespace that has to be up before the lab is ready."""
    if options.link == "direct":
        return [near(0), near(1)] if options.impaired else []
    devices = [SWITCH] + [near(index) for index in range(options.nodes)]
    if options.impaired:
        devices += [f"{end}{index}" for index in range(options.nodes) for end in ("far", "port")]
    return devices


def links(options: LabOptions, pids: Sequence[int]) -> list[str]:
    """`ip -batch` lines for the switch's namespace. `pids[i]` is in the namespace of node i."""
    if options.link == "direct" and not options.impaired:
        first, second = (f"{NODE_INTERFACE} netns {pid} mtu {options.mtu}" for pid in pids)
        return [f"link add name {first} type veth peer name {second}"]
    lines = []
    for index, pid in enumerate(pids):
        lines.append(
            f"link add name {near(index)} mtu {options.mtu} type veth"
            f" peer name {NODE_INTERFACE} netns {pid} mtu {options.mtu}"
        )
    if options.link == "switch":
        # A switch without spanning tree, which forwards at once, and floods multicast.
        lines.append(
            f"link add name {SWITCH} mtu {options.mtu} type bridge"
            " stp_state 0 forward_delay 0 mcast_snooping 0"
        )
        for index in range(options.nodes):
            port = near(index)
            if options.impaired:
                port = f"port{index}"
                lines.append(
                    f"link add name far{index} mtu {options.mtu} type veth"
                    f" peer name {port} mtu {options.mtu}"
                )
            lines.append(f"link set {port} master {SWITCH}")
        # A bridge takes the smallest MTU of its ports unless told.
        lines.append(f"link set {SWITCH} mtu {options.mtu}")
    lines += [f"link set {device} up" for device in switch_devices(options)]
    return lines


def node_links(options: LabOptions, index: int) -> list[str]:
    """`ip -batch` lines for the namespace of a node."""
    lines = [
        "link set lo up",
        f"link set {NODE_INTERFACE} address {node_mac(index)}",
        f"addr add {node_address(index)}/24 dev {NODE_INTERFACE}",
    ]
    if address6 := node_address6(index, options):
        lines.append(f"addr add {address6}/64 dev {NODE_INTERFACE} nodad")
    lines.append(f"link set {NODE_INTERFACE} up")
    return lines


def rules(options: LabOptions, *, by_relay: bool) -> str:
    """The nftables ruleset of the switch's namespace: who sends what on, and what gets lost.

    Frames that the relay carries are seen by it before the ingress hook, so there the kernel's own
    copy is dropped, and the loss is applied where the relay sends (egress hook, Linux 5.16).
    """
    chains = []
    lossy = f"numgen random mod {_LOSS_MODULUS} < {round(options.loss * _LOSS_MODULUS)} drop"
    for number, way in enumerate(ways(options)):
        relayed = by_relay and way.entry
        body = []
        if options.loss > 0 and way.entry and not relayed:
            body.append(lossy)
        body.append("drop" if relayed else f'fwd to "{way.target}"')
        chains.append(_chain(f"from{number}", "ingress", way.source, body))
        if relayed and options.loss > 0:
            chains.append(_chain(f"loss{number}", "egress", way.target, [lossy]))
    return "table netdev wire {\n" + "".join(chains) + "}\n" if chains else ""


def _chain(name: str, hook: str, device: str, body: list[str]) -> str:
    lines = [f'type filter hook {hook} device "{device}" priority 0; policy accept;', *body]
    return f" chain {name} {{\n" + "".join(f"  {line}\n" for line in lines) + " }\n"


def queues(options: LabOptions, *, by_netem: bool) -> list[str]:
    """`tc -batch` lines for the switch's namespace: rate, and delay where netem does it."""
    lines = []
    shaped = options.rate_bits_per_s is not None
    sizes = _size_table(options) if shaped else ""
    shaper = _shaper(options, burst_bytes(options), _port_buffer_bytes(options)) if shaped else ""
    for way in ways(options):
        add = f"qdisc add dev {way.target}"
        if by_netem and way.entry:
            # Sizes are counted where a frame enters: only the outermost queue may have a table.
            lines.append(f"{add} root handle 1: {sizes}{netem(options)}")
            if shaped:
                lines.append(f"{add} parent 1:1 {shaper}")
        elif shaped:
            lines.append(f"{add} root {sizes}{shaper}")
    return lines


def netem(options: LabOptions) -> str:
    """The netem queue that delays frames; it holds up to 1,000,000 of them.

    tc takes whole microseconds here: for anything else there is the relay.
    """
    return f"netem delay {options.delay_ns // 1000}us limit 1000000"


def node_queues(options: LabOptions) -> list[str]:
    """`tc -batch` lines for the namespace of a node."""
    if options.rate_bits_per_s is None:
        return []
    # The usual length of an interface's queue, 1000 frames.
    buffer_bytes = 1000 * (options.mtu + _ETHERNET_HEADER_BYTES + _WIRE_OVERHEAD_BYTES)
    # Twice the burst, so that it is the port that sets the rate; or no more than a port can hold.
    burst = burst_bytes(options) * (1 if options.cards_cut else 2)
    shaper = _shaper(options, burst, buffer_bytes)
    return [f"qdisc add dev {NODE_INTERFACE} root {_size_table(options)}{shaper}"]


def _size_table(options: LabOptions) -> str:
    if options.cards_cut:
        return ""  # it would count a piece as one frame
    # One entry for each `mtu / tsize` bytes: 2 bytes at the usual MTU.
    return (
        f"stab mtu {_wire_frame_bytes(options)} tsize 1024 mpu {_MIN_WIRE_FRAME_BYTES}"
        f" overhead {_WIRE_OVERHEAD_BYTES} linklayer ethernet "
    )


def _shaper(options: LabOptions, burst: int, buffer_bytes: int) -> str:
    rate = options.rate_bits_per_s or 0
    if options.cards_cut:
        # The kernel counts a piece as its frames, without what a wire adds to each.
        frame_bytes = options.mtu + _ETHERNET_HEADER_BYTES
        rate = rate * frame_bytes // (frame_bytes + _WIRE_OVERHEAD_BYTES)
    return f"tbf rate {rate}bit burst {burst} limit {buffer_bytes}"


def burst_bytes(options: LabOptions) -> int:
    """What a port may send at once after a pause: BURST_NS of the rate, but at least two frames."""
    rate = options.rate_bits_per_s or 0
    if options.cards_cut:
        return max(rate * FAST_BURST_NS // 8_000_000_000, _LARGEST_PIECE_BYTES)
    late_bytes = rate * BURST_NS // 8_000_000_000
    # tbf refuses frames above the burst, and rounds the burst down to its clock.
    return max(late_bytes, 2 * _wire_frame_bytes(options) + 64)


def _port_buffer_bytes(options: LabOptions) -> int:
    return max(PORT_BUFFER_BYTES, 8 * _wire_frame_bytes(options))


def _wire_frame_bytes(options: LabOptions) -> int:
    return options.mtu + _ETHERNET_HEADER_BYTES + _VLAN_TAG_BYTES + _WIRE_OVERHEAD_BYTES
