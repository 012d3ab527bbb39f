# SPDX-License-Identifier: BSD-3-Clause
"""Whether a network card, as it is set, costs time. Each check looks at facts, and at nothing else.

What is said of costs is arithmetic on what was read, or was measured, and then it says where.
"""

from collections.abc import Callable, Sequence

from beowire.analysis.finding import Finding, State, ok, unknown
from beowire.doctor.facts import Facts

_USUAL_MTU = 1500
#: What cards and switches have that have jumbo frames.
LARGE_MTU = 9000

#: Preamble, Ethernet's header and checksum, and the gap between two frames.
_AROUND_FRAME_BYTES = 38

#: What the lane `packet` has before the data of a long message.
_HEADER_BYTES = 16

#: Rings that hold less may overflow while a core does something else: 64 KiB in full frames, twice.
_RING_MIN = 256

#: Interrupts that wait longer for others are felt by each message that somebody waits for.
_COALESCE_US_MAX = 20


def link(facts: Facts) -> Finding:
    """Is there a link, and how fast is it?"""
    speed = facts.number("interface_speed_mbit_per_s")
    name = facts.interface
    if facts.flag("interface_carrier") is False:
        return Finding(
            "link",
            State.BAD,
            f"{name} has no link",
            "no frame passes",
            f"ip link set {name} up   # then check the cable and the link light of the switch",
        )
    if speed is None:
        return unknown("link", f"{name} does not report its speed (virtual cards never do)")
    if facts.text("interface_duplex") == "half":
        return Finding(
            "link",
            State.BAD,
            f"{name} is at {speed} Mbit/s, half duplex",
            "frames collide: less than half of the throughput",
            f"ethtool -s {name} autoneg on",
        )
    if speed < 1000:
        return Finding(
            "link",
            State.WORSE,
            f"{name} is at {speed} Mbit/s",
            f"long messages take {1000 / speed:.0f} times as long as at 1 Gbit/s",
            f"ethtool {name}   # then check the cable (category 5e at least) and the port",
        )
    return ok("link", f"{speed / 1000:g} Gbit/s, full duplex")


def mtu(facts: Facts) -> Finding:
    """How long may frames be?"""
    size = facts.number("interface_mtu")
    name = facts.interface
    if size is None:
        return unknown("MTU", f"{name} does not report its MTU")
    if size < _USUAL_MTU:
        share = _filled(size) / _filled(_USUAL_MTU)
        return Finding(
            "MTU",
            State.WORSE,
            f"{size}: less than Ethernet's 1500",
            f"long messages fill {share:.1%} of what 1500 would; more frames, so more CPU time",
            f"ip link set {name} mtu 1500",
        )
    if size < LARGE_MTU:
        gain = _filled(LARGE_MTU) / _filled(size) - 1
        return Finding(
            "MTU",
            State.NOTE,
            f"{size}",
            f"9000 would carry {gain:.1%} more data on a full wire, in {LARGE_MTU // size} times"
            " fewer frames; all cards and the switch must have it",
            f"ip link set {name} mtu 9000   # on all nodes, and jumbo frames on in the switch",
        )
    return ok("MTU", f"{size}")


def _filled(size: int) -> float:
    """The share of a wire that is data, in frames of this MTU."""
    return (size - _HEADER_BYTES) / (size + _AROUND_FRAME_BYTES)


def coalescing(facts: Facts) -> Finding:
    """Does the card hold back interrupts?"""
    wait_us = facts.number("interface_coalesce_receive_us")
    adaptive = facts.flag("interface_coalesce_adaptive_receive")
    name = facts.interface
    if wait_us is None:
        return unknown("coalescing", f"{name} does not report its interrupt moderation")
    if wait_us <= _COALESCE_US_MAX and not adaptive:
        return ok("coalescing", f"interrupts are delayed by at most {wait_us} µs")
    text = f"interrupts are delayed by {wait_us} µs" + (
        ", adapted by the driver" if adaptive else ""
    )
    return Finding(
        "coalescing",
        State.WORSE if wait_us > _COALESCE_US_MAX else State.NOTE,
        text,
        f"up to {wait_us} µs are added to each message that a program waits for; without it"
        f" streams take more CPU time",
        f"ethtool -C {name} adaptive-rx off rx-usecs {_COALESCE_US_MAX // 4}",
    )


#: Offloads: the engine's name, ethtool's, what is lost without, how much that matters.
_OFFLOADS = (
    (
        "interface_offload_rx_gro",
        "gro",
        "received frames are not joined (GRO): long messages take more CPU time",
        State.WORSE,
    ),
    (
        "interface_offload_tx_scatter_gather",
        "sg",
        "sent data is copied once more",
        State.WORSE,
    ),
    (
        "interface_offload_tx_generic_segmentation",
        "gso",
        "the kernel splits long sends early: more CPU time",
        State.WORSE,
    ),
    (
        "interface_offload_tx_tcp_segmentation",
        "tso",
        "the kernel splits what the card could split (lane tso): more CPU time",
        State.NOTE,
    ),
    (
        "interface_offload_tx_udp_segmentation",
        "tx-udp-segmentation",
        "the kernel splits what the card could split (lane udp): more CPU time",
        State.NOTE,
    ),
)


def offloads(facts: Facts) -> Finding:
    """Does the card, or the kernel for it, join and cut?"""
    name = facts.interface
    # A virtual cable hands on what was sent together as it is: there is nothing to join.
    joined = facts.text("interface_driver") == "veth"
    known = [
        one
        for one in _OFFLOADS
        if facts.flag(one[0]) is not None and not (joined and one[1] == "gro")
    ]
    off = [one for one in known if facts.flag(one[0]) is False]
    if not known:
        return unknown("offloads", f"{name} does not report them", f"ethtool -k {name}")
    if not off:
        return ok("offloads", "the card, or the kernel just before it, splits and joins frames")
    worst = State.WORSE if any(one[3] is State.WORSE for one in off) else State.NOTE
    # What a card lacks cannot be switched on.
    switches = " ".join(f"{one[1]} on" for one in off)
    return Finding(
        "offloads",
        worst,
        f"off: {', '.join(one[1] for one in off)}",
        "; ".join(one[2] for one in off),
        f"ethtool -K {name} {switches}   # what it refuses, the card does not have",
    )


def rings(facts: Facts) -> Finding:
    """How many frames may wait in the card?"""
    now = facts.number("interface_ring_receive")
    name = facts.interface
    if now is None:
        return unknown("rings", f"{name} does not report its ring sizes")
    most = _ring_maximum(facts.lines("rings"))
    if now >= _RING_MIN or (most is not None and now >= most):
        return ok("rings", f"room for {now} received frames")
    return Finding(
        "rings",
        State.WORSE,
        f"room for {now} received frames" + (f" of at most {most}" if most else ""),
        f"{now * _USUAL_MTU * 8 / 1e9 * 1000:.2g} ms at 1 Gbit/s, then frames are lost, and each"
        f" costs a round trip",
        f"ethtool -G {name} rx {most or 1024}",
    )


def _ring_maximum(lines: Sequence[str]) -> int | None:
    """The first `RX:` that ethtool -g prints is the maximum."""
    for line in lines:
        name, _, value = line.partition(":")
        if name.strip() == "RX":
            word = value.strip()
            return int(word) if word.isdecimal() else None
    return None


def losses(facts: Facts) -> Finding:
    """Has the card lost frames since it was switched on?"""
    for line in facts.lines("traffic"):
        name, _, rest = line.partition(":")
        words = rest.split()
        if name.strip() != facts.interface or len(words) < 12:
            continue
        received, errors, dropped, overrun = (int(words[at]) for at in (1, 2, 3, 4))
        sent, send_errors = int(words[9]), int(words[10])
        bad = errors + overrun + send_errors
        if bad == 0 and dropped * 1000 <= received:
            return ok("losses", f"none of {received + sent} frames since it was switched on")
        if bad == 0:
            return Finding(
                "losses",
                State.NOTE,
                f"{dropped} of {received} frames were of unknown protocols, or dropped",
                "if this grows while a job runs, the host does not keep up, and lost frames are"
                " sent again",
                f"ip -s -s link show {facts.interface}   # before and after a job",
            )
        return Finding(
            "losses",
            State.WORSE,
            f"{errors} damaged, {overrun} overrun, {send_errors} not sent, of"
            f" {received + sent} frames",
            "each costs at least a round trip",
            f"ethtool -S {facts.interface} | grep -v ': 0'   # cable, port, or rings too small",
        )
    return unknown("losses", "the kernel does not count its frames")


def interrupts(facts: Facts) -> Finding:
    """Which CPUs is the card's work done on?"""
    cpus = facts.number("cpus_online")
    places = [line.split(maxsplit=1)[1] for line in facts.lines("affinity") if " " in line]
    if not places:
        return unknown(
            "interrupts", f"{facts.interface} has no interrupt of its own (virtual cards have none)"
        )
    where = ", ".join(dict.fromkeys(places))
    if len(places) > 1 and len(set(places)) == 1 and "," not in where and "-" not in where:
        return Finding(
            "interrupts",
            State.NOTE,
            f"all {len(places)} of its interrupts go to CPU {where}"
            + (f" of {cpus}" if cpus else ""),
            f"a process on CPU {where} shares it with all received frames: leave that CPU free,"
            f" or distribute the interrupts",
            "systemctl start irqbalance   # or: echo CPU > /proc/irq/NUMBER/smp_affinity_list",
        )
    return ok("interrupts", f"{len(places)}, on CPUs {where}")


#: Drivers of which polling does not keep the interrupts off, which was counted in Linux 6.1, and
#: why, which was read in the source of vmxnet3 alone (docs/PERFORMANCE.md, "Interrupts").
_UNPOLLED = {
    "vmxnet3": "vmxnet3 lets the card interrupt after each poll",
    "8139cp": "8139cp has an interrupt for each frame sent that no polling prevents",
    "e100": "e100 does not say which queue a frame came by, so no socket can poll it",
    "pcnet32": "pcnet32 does not say which queue a frame came by, so no socket can poll it",
    "ne2k-pci": "ne2k-pci has nothing to poll (no NAPI)",
    "tulip": "tulip has nothing to poll (no NAPI, as distributions build it)",
}

#: How long the kernel waits for whoever polls, and how often in vain before interrupts come back.
_DEFER, _FLUSH_NS = 100, 200_000


def polling(facts: Facts) -> Finding:
    """Would the card be quiet while an endpoint polls its queue (busy_poll_us)?"""
    lines = facts.lines("polling")
    numbers = [int(line) for line in lines if line.isdecimal()]
    driver = facts.text("interface_driver")
    name = facts.interface
    if len(numbers) < 2 or driver == "veth":
        return unknown("polling", f"{name} has no queue that can be polled")
    if driver in _UNPOLLED:
        return Finding("polling", State.NOTE, f"of no use: {_UNPOLLED[driver]}")
    steps = []
    if not all(numbers[:2]):
        steps.append(
            f"echo {_DEFER} > /sys/class/net/{name}/napi_defer_hard_irqs; "
            f"echo {_FLUSH_NS} > /sys/class/net/{name}/gro_flush_timeout"
        )
    if driver == "virtio_net" and "napi_tx=Y" in lines:
        steps.append(
            f"ip link set {name} down; ethtool -C {name} tx-frames 0; ip link set {name} up"
        )
    if driver == "e1000e" and f"{name}-tx-0" in lines:
        steps.append("modprobe -r e1000e; modprobe e1000e IntMode=1")
    if not steps:
        return ok(
            "polling", "the card does not interrupt while an endpoint polls it (busy_poll_us)"
        )
    # Not over a login that comes by this card.
    cut = any("modprobe" in one or "ip link" in one for one in steps)
    return Finding(
        "polling",
        State.NOTE,
        "the card interrupts even while an endpoint polls it (busy_poll_us)",
        "two to four interrupts per short round trip instead of 0.05 or fewer; with the change"
        f" TCP's frames wait up to {_FLUSH_NS // 1000} µs if nobody polls (docs/PERFORMANCE.md,"
        f" Interrupts)" + ("; the card is off meanwhile, so type it at the console" if cut else ""),
        "; ".join(steps),
    )


CHECKS: Sequence[Callable[[Facts], Finding]] = (
    link,
    mtu,
    coalescing,
    offloads,
    rings,
    losses,
    interrupts,
    polling,
)
