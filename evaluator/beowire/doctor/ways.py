# SPDX-License-Identifier: BSD-3-Clause
"""What is to be said of the ways between hosts: where something is stopped, and by what, likely."""

import math
from collections.abc import Mapping, Sequence

from beowire.analysis.finding import Finding, State, ok, unknown
from beowire.doctor.facts import Facts, network_of
from beowire.doctor.host_checks import found_mpis
from beowire.doctor.pairs import UDP_HEADER_BYTES, WAYS, Pair, Way
from beowire.units import size_text, time_text

#: What to look at where a way is closed.
STOPPED: Mapping[str, tuple[State, str, str]] = {
    "frames": (
        State.BAD,
        "short messages go over UDP, and take longer",
        "# have the switch (and hypervisors, and nft tables of the families netdev or bridge)"
        " pass EtherType 0x88B5, or choose another by FI_BEOWIRE_ETHERTYPE",
    ),
    "cut frames": (
        State.WORSE,
        "long messages go over UDP, and take more CPU time",
        "# have switches and bridges pass IPv4 frames to 239.192.0.0/14 with protocol TCP and no"
        " connection (stateful bridges drop them)",
    ),
    "UDP": (
        State.BAD,
        "there is no second way, and jobs over Ethernet frames notice late that a process has died",
        "nft insert rule inet filter input ip saddr {network} meta l4proto '{{ udp, icmp }}'"
        " accept   # on both hosts, there is no fixed port; `beowire doctor` there names other"
        " tables",
    ),
    "full frames": (
        State.BAD,
        "Beowire finds a shorter length by trying, which takes about 0.1 s at first; TCP stalls",
        "ip link set {interface} mtu 1500   # the same on all cards, and at least as much in the"
        " switch",
    ),
}

#: What slow long messages cost, and what tells the cause.
_SLOW = (
    "frames are lost on the way and sent again, or other programs use the processors",
    "beowire compare --hosts A,B --drivers beowire,tcp-spin --sizes 8,256KiB"
    "   # if TCP is as slow, look for the cause in the hosts or the cable",
)

#: A short message takes less than so many full frames.
_SHORT_FRAMES = 3

_DIFFERENT: Mapping[str, tuple[str, str]] = {
    "kernels": ("hosts that differ are hard to compare", ""),
    "MPI": (
        "a job needs the same MPI at the same place on all its hosts",
        "# install the same version on all of them",
    ),
}


def judge(pairs: Sequence[Pair], found: Sequence[Facts]) -> list[Finding]:
    """A finding for each way, or for each pair where it is not open between all."""
    return [
        *_mtus(found),
        *(finding for way in WAYS for finding in _of_way(way, pairs, found)),
        *_kernels(found),
        *_same("MPI", {one.host: ", ".join(found_mpis(one)) or "none" for one in found}),
    ]


def all_pass(host: str, name: str, pairs: Sequence[Pair]) -> bool:
    """Whether a way has been found open between a host and each of the others."""
    own = [pair for pair in pairs if host in pair.hosts]
    return bool(own) and all(pair.ways[name].works for pair in own)


def differences(found: Sequence[Facts]) -> list[Finding]:
    """What should be the same on hosts, and is not, as far as engines know it."""
    return [*_mtus(found), *_kernels(found)]


def _kernels(found: Sequence[Facts]) -> list[Finding]:
    return _same("kernels", {one.host: one.text("kernel") for one in found})


def _of_way(way: Way, pairs: Sequence[Pair], found: Sequence[Facts]) -> list[Finding]:
    name = way.name
    closed = [pair for pair in pairs if not pair.ways[name].works and pair.ways[name].tried]
    untried = [pair for pair in pairs if not pair.ways[name].tried]
    times = [one for pair in pairs if (one := pair.ways[name].half_rtt_ns) is not None]
    findings = []
    if closed:
        state, costs, do = STOPPED[name]
        words = {"network": network_of(found[0]) or "NETWORK", "interface": found[0].interface}
        where = "between all: " if 1 < len(closed) == len(pairs) else ""
        said = f"stopped: {where}{_described(name, closed, alone=bool(where))}"
        findings.append(Finding(name, state, said, costs, do.format(**words)))
    if untried:
        findings.append(unknown(name, f"not tried: {_reasons(name, untried)}"))
    lossy = [pair for pair in pairs if pair.ways[name].works and pair.ways[name].lost]
    if lossy:
        findings.append(
            Finding(
                name,
                State.WORSE,
                "some were lost: "
                + ", ".join(f"{_names(pair)} {pair.ways[name].lost}" for pair in lossy),
                "each frame that is lost costs a round trip at least",
                f"ethtool -S {found[0].interface} | grep -v ': 0'   # cable, port, rings",
            )
        )
    if times and not closed:
        slowest = max(pairs, key=lambda pair: pair.ways[name].half_rtt_ns or 0.0)
        what = size_text(way.size) if way.size else "a full frame"
        said = f"half a round trip of {what} takes {time_text(min(times))}"
        if len(pairs) > 1:
            said += f" to {time_text(max(times))} (the slowest: {_names(slowest)})"
        frames, frame_ns = _frames(way, slowest, found)
        if frames and max(times) > frames * frame_ns:
            limit = time_text(frames * frame_ns)
            said += f". Slow: {frames} full frames one after the other take {limit}"
            findings.append(Finding(name, State.WORSE, said, *_SLOW))
        else:
            findings.append(ok(name, said))
    return findings


def _frames(way: Way, pair: Pair, found: Sequence[Facts]) -> tuple[int, float]:
    """What a message of this way is compared with: so many full frames of plain UDP, each of which
    takes so long. 0: nothing is known."""
    frame_ns = pair.ways["full frames"].half_rtt_ns
    mtus = [one.number("interface_mtu") or 0 for one in found if one.host in pair.hosts]
    if frame_ns is None or not way.size or min(mtus) <= UDP_HEADER_BYTES:
        return 0, 0.0
    return max(_SHORT_FRAMES, math.ceil(way.size / (min(mtus) - UDP_HEADER_BYTES))), frame_ns


def _reasons(name: str, pairs: Sequence[Pair]) -> str:
    """Each reason once, behind the hosts that have it."""
    hosts: dict[str, list[str]] = {}
    for pair in pairs:
        host, mark, reason = pair.ways[name].why.partition(": ")
        if not mark or host not in pair.hosts:
            host, reason = "", pair.ways[name].why
        if host not in hosts.setdefault(reason, []):
            hosts[reason].append(host)
    return "; ".join(": ".join(filter(None, (", ".join(one), why))) for why, one in hosts.items())


def _described(name: str, closed: Sequence[Pair], *, alone: bool) -> str:
    """Each reason once, behind the pairs that have it; `alone`: all have, so none is named."""
    by_reason: dict[str, list[str]] = {}
    for pair in closed:
        by_reason.setdefault(pair.ways[name].why, []).append(_names(pair))
    if alone and len(by_reason) == 1:
        return next(iter(by_reason))
    return "; ".join(f"{', '.join(pairs)}: {why}" for why, pairs in by_reason.items())


def _names(pair: Pair) -> str:
    return " – ".join(pair.hosts)


def _mtus(found: Sequence[Facts]) -> list[Finding]:
    known = ((one.host, one.number("interface_mtu")) for one in found)
    sizes = {host: size for host, size in known if size}
    if len(set(sizes.values())) <= 1:
        return []
    least = min(sizes.values())
    return [
        Finding(
            "MTU",
            State.WORSE,
            "not the same: " + ", ".join(f"{host} {size}" for host, size in sizes.items()),
            f"frames between them have at most {least} bytes; TCP may stall",
            f"ip link set {found[0].interface} mtu {least}   # on each",
        )
    ]


def _same(what: str, by_host: Mapping[str, str]) -> list[Finding]:
    """What should be the same on all hosts, and is not."""
    if len(set(by_host.values())) <= 1:
        return []
    costs, do = _DIFFERENT[what]
    said = "; ".join(f"{host}: {value}" for host, value in by_host.items())
    return [Finding(what, State.NOTE, f"not the same: {said}", costs, do)]
