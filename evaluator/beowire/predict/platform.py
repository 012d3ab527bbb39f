# SPDX-License-Identifier: BSD-3-Clause
"""A cluster as SimGrid has it: the platform's XML, and what SMPI is told of messages. Pure.

What each means in SimGrid 3.32 (docs/source/Configuring_SimGrid.rst, src/smpi): `smpi/os`,
`smpi/ois`, `smpi/or` are lists of `FIRST:SECONDS:SECONDS_PER_BYTE` for messages of more than FIRST
bytes: what a send, a send that does not wait, and the receive of a message that was sent before it
was asked for take. `smpi/lat-factor` and `smpi/bw-factor` are lists of `FIRST:FACTOR`, of a message
with its envelope of 16 bytes. Messages of less than `smpi/async-small-thresh` move before the
receiver asks, and of less than `smpi/send-is-detached-thresh` the sender goes on.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from beowire.errors import BeowireError
from beowire.predict.calibrate import Parameters, Segment

#: Speed of this machine's processor: 1 is what it computes in a nanosecond.
SPEED = 1e9

#: What SMPI adds to each message, in its model of the network.
_ENVELOPE_BYTES = 16

#: A route's latency, which factors multiply.
_LATENCY_S = 1e-6

#: Latency of one more switch on the way, with its cable: about that of commodity switches.
_HOP_S = 1e-6

_MOST_NODES = 4096

#: Each pair of them has a route in the platform.
_MOST_LEAVES = 512


@dataclass(frozen=True)
class Topology:
    """How nodes are joined: by one switch, or by two levels of switches."""

    ports: int = 0
    """Nodes at each switch of the lower level; 0: one switch that has them all."""
    uplinks: int = 0
    """From each of these to the upper level, of a node's rate each."""

    @property
    def text(self) -> str:
        """As it is written."""
        return f"fat-tree:{self.ports},{self.uplinks}" if self.ports else "switch"


def parse_topology(text: str) -> Topology:
    """`switch`, or `fat-tree:PORTS[,UPLINKS]`. BeowireError."""
    kind, _, rest = text.partition(":")
    if text == "switch":
        return Topology()
    words = rest.split(",")
    if kind == "fat-tree" and len(words) <= 2 and all(w.isascii() and w.isdigit() for w in words):
        ports, uplinks = int(words[0]), int(words[-1])
        if 1 <= uplinks <= ports <= _MOST_NODES:
            return Topology(ports, uplinks)
    raise BeowireError(
        f"cannot read --topology {text!r}: write switch, or fat-tree:PORTS or"
        " fat-tree:PORTS,UPLINKS, such as fat-tree:32,8"
    )


def parse_nodes(text: str) -> list[int]:
    """The numbers of nodes, each once, rising. BeowireError."""
    words = [word.strip() for word in text.split(",")]
    if not all(word.isascii() and word.isdigit() for word in words):
        raise BeowireError(f"cannot read --nodes {text!r}: write numbers, such as 16,64,256")
    found = sorted({int(word) for word in words})
    if found[0] < 2 or found[-1] > _MOST_NODES:
        raise BeowireError(f"--nodes is 2 to {_MOST_NODES}, not {text}")
    return found


def check_size(topology: Topology, nodes: int) -> None:
    """BeowireError if there are more switches than can be described."""
    leaves = len(_leaves(topology, nodes))
    if leaves > _MOST_LEAVES:
        raise BeowireError(
            f"{nodes} nodes with {topology.text} have {leaves} switches, at most {_MOST_LEAVES} can"
            " be simulated: name more ports"
        )


def xml(topology: Topology, nodes: int, parameters: Parameters, processor: float) -> str:
    """The platform. `processor`: how fast a node computes, to this machine."""
    clusters = [
        f'    <cluster id="leaf{leaf}" prefix="node" suffix="" radical="{first}-{last}"'
        f' speed="{SPEED * processor:.0f}f" bw="{parameters.link_bytes_per_s:.6g}Bps"'
        f' lat="{_LATENCY_S / 2:.3g}s" sharing_policy="SPLITDUPLEX"'
        f' router_id="router{leaf}"/>'
        for leaf, (first, last) in enumerate(_leaves(topology, nodes))
    ]
    lines = ["<?xml version='1.0'?>"]
    lines.append('<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">')
    lines.append('<platform version="4.1">')
    lines.append('  <zone id="cluster" routing="Full">')
    lines += clusters
    if len(clusters) > 1:
        trunk = parameters.link_bytes_per_s * topology.uplinks
        lines += [
            f'    <link id="trunk{leaf}" bandwidth="{trunk:.6g}Bps" latency="{_HOP_S:.3g}s"'
            ' sharing_policy="SPLITDUPLEX"/>'
            for leaf in range(len(clusters))
        ]
        lines += [
            f'    <zoneRoute src="leaf{one}" dst="leaf{other}" gw_src="router{one}"'
            f' gw_dst="router{other}" symmetrical="NO">'
            f'<link_ctn id="trunk{one}" direction="UP"/>'
            f'<link_ctn id="trunk{other}" direction="DOWN"/></zoneRoute>'
            for one in range(len(clusters))
            for other in range(len(clusters))
            if one != other
        ]
    lines += ["  </zone>", "</platform>", ""]
    return "\n".join(lines)


def hosts(nodes: int) -> str:
    """The hostfile: a rank on each node."""
    return "".join(f"node{number}\n" for number in range(nodes))


def settings(parameters: Parameters, selector: str) -> dict[str, str]:
    """What SMPI is told, by name."""

    def table(value: Callable[[Segment], str], offset: int) -> str:
        # SMPI uses an entry for messages of more bytes than its first number, not as many.
        return ";".join(
            f"{max(0, one.first + offset - 1)}:{value(one)}" for one in parameters.segments
        )

    def times(start_ns: float, per_byte_ns: float) -> str:
        return f"{start_ns * 1e-9:.6g}:{per_byte_ns * 1e-9:.6g}"

    return {
        "smpi/host-speed": f"{SPEED:.0f}f",
        "smpi/cpu-threshold": "0",
        "smpi/coll-selector": selector,
        "smpi/os": table(lambda one: times(one.send_ns, one.own_per_byte_ns), 0),
        "smpi/ois": table(lambda one: times(one.isend_ns, one.isend_per_byte_ns), 0),
        "smpi/or": table(lambda one: times(one.receive_ns, one.own_per_byte_ns), 0),
        "smpi/lat-factor": table(
            lambda one: f"{one.start_ns * 1e-9 / _LATENCY_S:.6g}", _ENVELOPE_BYTES
        ),
        "smpi/bw-factor": table(
            lambda one: f"{1e9 / one.per_byte_ns / parameters.link_bytes_per_s:.6g}",
            _ENVELOPE_BYTES,
        ),
        "smpi/async-small-thresh": str(parameters.eager_bytes),
        "smpi/send-is-detached-thresh": str(parameters.eager_bytes),
        # What both directions cost one another was measured; windows are wide enough.
        "network/crosstraffic": "0",
        "network/TCP-gamma": "1e18",
    }


def _leaves(topology: Topology, nodes: int) -> list[tuple[int, int]]:
    """The first and last node at each switch of the lower level."""
    ports = topology.ports or nodes
    count = math.ceil(nodes / ports)
    return [(at * ports, min(nodes, (at + 1) * ports) - 1) for at in range(count)]
