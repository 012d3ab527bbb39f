# SPDX-License-Identifier: BSD-3-Clause
"""Whether a host, as it is set, costs time. Each check looks at facts, and at nothing else."""

import re
from collections.abc import Callable, Sequence

from beowire.analysis.finding import Finding, State, ok, unknown
from beowire.doctor.facts import Facts
from beowire.doctor.firewall import firewall

#: Numbers of capabilities (linux/capability.h).
_NET_ADMIN, _NET_RAW = 12, 13

#: LANE_BULK_BUFFER_BYTES of transport/tuning.h: what a lane asks the kernel to hold, and the part
#: of it that counts (LANE_BULK_BUFFER_SHARE).
_BUFFER_BYTES = 4 << 20
_BUFFER_SHARE = 4

#: A round trip through a busy switch and two cards: what has to be under way to fill a wire.
_ROUND_TRIP_S = 200e-6

#: Reading the clock takes less than this where it is the processor's own.
_CLOCK_NS_MAX = 150.0

#: A core that needs longer to wake up is felt. Waiting endpoints spin for 50 us before they sleep.
_WAKE_US_MAX = 10

#: What has been measured of doing without Ethernet frames: docs/CLUSTER.md has the command.
_WITHOUT_FRAMES = (
    "over UDP a short message takes 1.4 µs longer (measured in the lab: 8 B 2.8 µs, not 1.4)"
)


def frames(facts: Facts) -> Finding:
    """May whoever looks send Ethernet frames?"""
    reason = facts.drivers.get("beowire-packet")
    user = facts.lines("user")[0] if facts.lines("user") else "this user"
    if reason == "" and facts.may(_NET_RAW) is False:
        return ok("Ethernet frames", f"the broker (beowired) gives {user} those of his endpoints")
    if reason == "":
        others = "; the broker (beowired) listens for others" if facts.lines("broker") else ""
        return ok("Ethernet frames", f"{user} may send them{others}")
    if reason is None and facts.may(_NET_RAW) is not False:
        return unknown("Ethernet frames", "it is not known whether they may be sent")
    if facts.may(_NET_RAW):
        return Finding("Ethernet frames", State.BAD, f"cannot be sent: {reason}")
    if reason is not None and facts.lines("broker"):
        return Finding(
            "Ethernet frames",
            State.WORSE,
            f"the broker (beowired) gives {user} none, so all goes over UDP: {reason}",
            _WITHOUT_FRAMES,
            "cat /etc/beowire/broker.toml; journalctl -u beowired",
        )
    return Finding(
        "Ethernet frames",
        State.WORSE,
        f"{user} may not send them (no CAP_NET_RAW, no broker), so all goes over UDP",
        _WITHOUT_FRAMES,
        "beowire setup --hosts ... --group GROUP --broker --apply",
    )


def buffers(facts: Facts) -> Finding:
    """How much may wait in a socket, for those who may not have more than the host allows?"""
    receive, send = facts.number("rmem_max"), facts.number("wmem_max")
    if facts.may(_NET_ADMIN):
        return ok("socket buffers", "this user may exceed the limits")
    if receive is None or send is None:
        return unknown("socket buffers", "net.core.rmem_max and wmem_max cannot be read")
    least = min(receive, send)
    if least >= _BUFFER_BYTES:
        return ok("socket buffers", f"{least >> 20} MiB")
    under_way = 2 * receive // _BUFFER_SHARE
    rate = under_way / _ROUND_TRIP_S * 8 / 1e9
    return Finding(
        "socket buffers",
        State.NOTE if rate > 2.5 else State.WORSE,
        f"at most {least // 1024} KiB (net.core.rmem_max {receive}, wmem_max {send})",
        f"{under_way // 1024} KiB can be in flight to a process: {rate:.1f} Gbit/s at round trips"
        " of 200 µs, less while it computes",
        f"sysctl -w net.core.rmem_max={_BUFFER_BYTES} net.core.wmem_max={_BUFFER_BYTES}"
        "   # and the same in /etc/sysctl.d/beowire.conf",
    )


def clock(facts: Facts) -> Finding:
    """What does it take to look at the clock?"""
    source = facts.text("clocksource")
    others = facts.text("clocksources_available")
    if facts.clock_ns is None:
        return unknown("clock", f"{source or 'which it is'}: not timed")
    said = f"{source or 'unknown source'}, {facts.clock_ns:.0f} ns per reading (measured)"
    if facts.clock_ns <= _CLOCK_NS_MAX:
        return ok("clock", said)
    return Finding(
        "clock",
        State.WORSE,
        said,
        "each message reads it several times",
        "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource"
        if "tsc" in others.split()
        else "# boot with tsc=reliable, if the machine's processors keep the same time",
    )


def governor(facts: Facts) -> Finding:
    """How fast do the cores run?"""
    kinds = [line.split()[-1] for line in facts.lines("governors")]
    if not kinds:
        return unknown("frequency", "this host does not control it (as in a virtual machine)")
    driver = facts.text("cpu_frequency_driver")
    # These two drivers' powersave is what is called ondemand elsewhere.
    slow = (
        {"powersave", "conservative"} if driver not in ("intel_pstate", "amd-pstate-epp") else set()
    )
    if set(kinds) & slow:
        return Finding(
            "frequency",
            State.WORSE,
            f"governor {', '.join(kinds)}",
            "cores run at their lowest frequency, so messages take longer",
            "cpupower frequency-set -g performance",
        )
    if set(kinds) != {"performance"}:
        return Finding(
            "frequency",
            State.NOTE,
            f"governor {', '.join(kinds)} ({driver or 'driver not known'})",
            "cores that poll stay fast; cores that wake up are slow at first",
            "cpupower frequency-set -g performance",
        )
    return ok("frequency", "governor performance")


def idle(facts: Facts) -> Finding:
    """How long do cores take to wake up?"""
    states = []
    for line in facts.lines("idle_states"):
        words = line.split(maxsplit=2)
        if len(words) == 3 and words[0].isdecimal():
            states.append((int(words[0]), words[1] != "0", words[2]))
    if not states:
        return unknown(
            "power states", "the kernel has none to choose from (as in a virtual machine)"
        )
    latency, _, name = max((state for state in states if not state[1]), default=(0, False, "none"))
    if latency <= _WAKE_US_MAX:
        return ok("power states", f"cores wake up within {latency} µs ({name})")
    return Finding(
        "power states",
        State.WORSE,
        f"idle cores go as deep as {name}, and take {latency} µs to wake up",
        f"up to {latency} µs are added to messages that arrive while no process polls (after 50"
        f" µs of silence), and to interrupts on idle cores",
        f"cpupower idle-set -D {_WAKE_US_MAX}   # until the next boot",
    )


def reading(facts: Facts) -> Finding:
    """May processes of a host read each other's memory?"""
    scope = facts.number("ptrace_scope")
    if scope in (None, 0):
        return ok("memory of other processes", "ranks of a host may read each other's messages")
    return Finding(
        "memory of other processes",
        State.NOTE,
        f"kernel.yama.ptrace_scope is {scope}",
        "a long message to a rank of the same host waits while its sender computes",
        "sysctl -w kernel.yama.ptrace_scope=0   # then ranks of one user can read each other's"
        " memory",
    )


def locked_memory(facts: Facts) -> Finding:
    """How much memory may a process lock?"""
    limit = facts.lines("locked_kib")
    value = limit[0].strip() if limit else ""
    if value in ("", "unlimited") or (value.isdecimal() and int(value) >= 64 << 10):
        return ok("locked memory", value or "not known; Beowire locks none")
    return Finding(
        "locked memory",
        State.NOTE,
        f"at most {value} KiB",
        "Beowire locks none; RDMA and UCX do",
    )


def pages(facts: Facts) -> Finding:
    """Are there large pages?"""
    kind = facts.text("transparent_huge_pages")
    if not kind:
        return unknown("huge pages", "whether there are transparent ones")
    if kind in ("always", "madvise"):
        return ok("huge pages", f"transparent ones: {kind}")
    return Finding(
        "huge pages",
        State.NOTE,
        f"transparent ones: {kind}",
        "programs that use much memory have more TLB misses; messages hardly any",
        "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
    )


def load(facts: Facts) -> Finding:
    """Does anybody else compute here?"""
    value, cpus = facts.environment.get("load_1min"), facts.number("cpus_online")
    if not isinstance(value, int | float) or not cpus:
        return unknown("load", "not known")
    if value < 0.5:
        return ok("load", f"{value:.1f} on {cpus} CPUs")
    return Finding(
        "load",
        State.WORSE if value >= cpus / 2 else State.NOTE,
        f"{value:.1f} on {cpus} CPUs in the last minute",
        "other programs take cores from ranks and from messages",
        "top",
    )


def libraries(facts: Facts) -> Finding:
    """Is there a libfabric for MPIs to find Beowire by?"""
    lines = facts.lines("libfabric")
    version = next((line.split()[-1] for line in lines if line.startswith("libfabric:")), "")
    if any("libfabric.so" in line for line in lines):
        return ok("libfabric", version or "of the system")
    return Finding(
        "libfabric",
        State.NOTE,
        "none of the system's",
        "MPIs that bring their own (Intel's, those of PyPI) need none; Debian's Open MPI does",
        "apt-get install libfabric1",
    )


#: What launchers say of themselves, and whose they are.
_LAUNCHERS = (
    (re.compile(r"\((?:Open MPI|OpenRTE)\) ([\d.]+\w*)"), "Open MPI"),
    (re.compile(r"Intel\(R\) MPI Library.*?Version ([\d.]+)"), "Intel MPI"),
    (re.compile(r"^\s*Version:\s+(\S+)"), "MPICH"),
)


def found_mpis(facts: Facts) -> list[str]:
    """Names, versions and places of the MPIs in the search path."""
    found: dict[str, str] = {}
    place = ""
    for line in facts.lines("mpis"):
        if line.startswith("== "):
            place = line[3:]
            continue
        for pattern, name in _LAUNCHERS:
            if (match := pattern.search(line)) and place not in found.values():
                found.setdefault(f"{name} {match[1]}", place)
    return [f"{name} ({place})" for name, place in found.items()]


def mpis(facts: Facts) -> Finding:
    """Which MPIs are there?"""
    found = found_mpis(facts)
    slurm = [line for line in facts.lines("slurm") if line.startswith("slurm")]
    if found:
        return ok("MPI", ", ".join(found + slurm))
    return Finding(
        "MPI",
        State.NOTE,
        "none in the search path",
        "for one elsewhere, add its `bin` to PATH, or use `beowire mpi-env --prefix`",
        "apt-get install openmpi-bin",
    )


def _wrong_checksums(lines: Sequence[str]) -> dict[str, int]:
    """Datagrams and segments that came with a wrong checksum, by protocol."""
    heads: dict[str, list[str]] = {}
    found: dict[str, int] = {}
    for line in lines:
        name, *words = line.split()
        if name.startswith("Udp6InCsumErrors") and words:
            found["UDP"] = found.get("UDP", 0) + int(words[0])
        elif name not in heads:
            heads[name] = words
        elif "InCsumErrors" in heads[name][: len(words)]:
            protocol = name.rstrip(":").upper()
            count = int(words[heads[name].index("InCsumErrors")])
            found[protocol] = found.get(protocol, 0) + count
    return {name: count for name, count in found.items() if count}


def damage(facts: Facts) -> Finding:
    """Does something on the way damage frames?"""
    links = facts.lines("damage")
    wrong = _wrong_checksums(facts.lines("checksums"))
    counted = " and ".join(f"{count} of {name}" for name, count in wrong.items())
    costs = (
        "each was dropped and sent again; Ethernet's check does not find them, so a switch or a"
        " card damages them"
    )
    if links:
        return Finding(
            "damaged frames",
            State.BAD,
            f"come in over {'; '.join(links)}",
            costs,
            "beowire top --details   # how many; then change the switch port, the cable and the"
            " card, one by one, or try without offloads: `ethtool -K INTERFACE rx off tx off`",
        )
    if wrong:
        return Finding(
            "damaged frames",
            State.NOTE,
            f"the kernel has dropped {counted} for a wrong checksum since it was started",
            costs,
            "nstat -az UdpInCsumErrors TcpInCsumErrors   # do they still rise?",
        )
    if not facts.lines("checksums"):
        return unknown("damaged frames", "/proc/net/snmp cannot be read")
    return ok("damaged frames", "no wrong checksum was counted")


def moves(facts: Facts) -> Finding:
    """Does an address of the network move from one host to another?"""
    holders: dict[str, list[str]] = {}
    for line in facts.lines("neighbours"):
        address, _, mac = line.partition(" ")
        holders.setdefault(address, []).append(mac)
    moved = [
        f"{address.replace('%', ' on ')} was at {' and at '.join(macs)}"
        for address, macs in holders.items()
        if len(macs) > 1
    ]
    if moved:
        return Finding(
            "moving addresses",
            State.BAD,
            f"within two seconds {'; '.join(moved)}",
            "two hosts have the same address, or one claims another's: it receives that host's"
            " traffic, and can end a job (docs/SECURITY.md)",
            "# have the switch bind addresses to ports (port security, dynamic ARP inspection), and"
            " jobs seal their frames: `authenticate = true`",
        )
    if not holders:
        return unknown("moving addresses", "`ip neigh` lists no other host")
    return ok("moving addresses", f"{len(holders)} addresses of other hosts stayed the same")


def thresholds(facts: Facts) -> Finding:
    """Was it measured here at which sizes to change lanes?"""
    lines = facts.lines("configuration")
    if lines:
        return ok("thresholds", lines[0].partition(" What each means")[0])
    return Finding(
        "thresholds",
        State.NOTE,
        "not measured: there is no configuration",
        "the default sizes at which Beowire changes lanes were found on another processor",
        "beowire tune --hosts A,B   # takes 10 s; then copy the file to each host",
    )


CHECKS: Sequence[Callable[[Facts], Finding]] = (
    frames,
    firewall,
    buffers,
    clock,
    governor,
    idle,
    reading,
    load,
    damage,
    moves,
    libraries,
    mpis,
    locked_memory,
    pages,
    thresholds,
)
