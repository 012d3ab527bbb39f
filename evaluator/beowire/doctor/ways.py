# SPDX-License-Identifier: BSD-3-Clause
"""What is to be said of the ways between hosts: where something is stopped, and by what, likely."""

from collections.abc import Mapping, Sequence

from beowire.doctor.facts import Facts, network_of
from beowire.doctor.finding import Finding, State, ok, unknown
from beowire.doctor.host_checks import found_mpis
from beowire.doctor.pairs import WAYS, Pair
from beowire.units import time_text

#: What to look at where a way is closed.
STOPPED: Mapping[str, tuple[State, str, str]] = {
    "frames": (
        State.BAD,
        "short messages go over UDP, and take longer",
        "# have the switch (and whatever else is between, such as a hypervisor or an nft table of"
        " the families netdev or bridge) pass EtherType 0x88B5; or choose one that it passes:"
        " FI_BEOWIRE_ETHERTYPE",
    ),
    "cut frames": (
        State.WORSE,
        "long messages go over UDP, and take more CPU time",
        "# have what is between pass IPv4 frames to 239.192.0.0/14 whose protocol is TCP and that"
        " are no connection's (stateful bridges drop them)",
    ),
    "UDP": (
        State.BAD,
        "there is no second way: a job over Ethernet frames notices late that a process has died",
        "nft insert rule inet filter input ip saddr {network} meta l4proto '{{ udp, icmp }}'"
        " accept   # on both hosts: there is no fixed port",
    ),
    "full frames": (
        State.BAD,
        "messages find a shorter length by trying, which takes some 0.1 s at first; TCP stalls",
        "ip link set {interface} mtu 1500   # the same on all cards, and at least as much in the"
        " switch",
    ),
}

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
        *(finding for way in WAYS for finding in _of_way(way.name, pairs, found)),
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


def _of_way(name: str, pairs: Sequence[Pair], found: Sequence[Facts]) -> list[Finding]:
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
        reasons = dict.fromkeys(pair.ways[name].why for pair in untried)
        findings.append(unknown(name, "not tried: " + "; ".join(reasons)))
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
        said = f"half a round trip takes {time_text(min(times))}"
        if len(pairs) > 1:
            said += f" to {time_text(max(times))} (the slowest: {_names(slowest)})"
        findings.append(ok(name, said))
    return findings


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
            f"frames between them are of {least} at most; TCP may stall",
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
