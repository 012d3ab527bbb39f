# SPDX-License-Identifier: BSD-3-Clause
"""Groups of drivers, those shown first, and the driver on which each is built. Pure; uses names
only.

An unknown driver (a user's own) is in the last group, and shown.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from beowire.plan import selection

#: Up to this number, drivers are in one list, and all in each chart.
FEW = 12

#: Number of curves that can be distinguished in a chart, about.
_READABLE = 10
_FEW_WAYS = 4

#: The first of them that is there is shown.
_MPIS = ("openmpi4", "openmpi5", "mpich", "intel")

#: The groups of selection.py, from memory up, with their titles.
TITLES = {
    "memory": "Memory",
    "host": "One host",
    "sockets": "Sockets",
    "frames": "Frames",
    "lanes": "Beowire",
    "libfabric": "libfabric",
    "ucx": "UCX",
    "verbs": "RDMA",
    "virtual": "PVM",
    "mpi": "MPI",
    "openshmem": "OpenSHMEM",
}
_OTHERS = "Others"

#: The drivers that are measured by default, and come first.
_FIRST = ("beowire", "tcp-spin", "tcp", "fi-tcp", "udp", "shm", "packet", "memcpy")

#: Other known drivers, in their groups.
MEMBERS = {
    "memory": ("memcpy-movsb", "memcpy-nontemporal", "memcpy-bytes"),
    "host": ("pipe", "unix-stream", "unix-datagram", "beowire-shm"),
    "sockets": (
        *("tcp-nagle", "tcp-buffer", "tcp-zerocopy", "tcp-uring", "mptcp", "sctp", "tipc"),
        *("tipc-seqpacket", "tipc-rdm"),
    ),
    "frames": ("xdp", "xdp-poll", "xdp-zerocopy"),
    "lanes": (
        *("beowire-wait", "beowire-packet", "beowire-tso", "beowire-udp", "beowire-tipc"),
        *("beowire-xdp", "beowire-verbs"),
    ),
    "libfabric": ("fi:beowire", "fi:shm", "fi:udp", "fi:net", "fi:sockets", "fi:verbs"),
    "ucx": ("ucx:tcp", "ucx:posix", "ucx:sysv", "ucx:cma", "ucx:rc_verbs", "ucx:ud_verbs"),
    "verbs": (
        *("verbs-send", "verbs-write", "verbs-read"),
        *("verbs-send-events", "verbs-write-events", "verbs-read-events"),
    ),
    "virtual": ("pvm", "pvm-direct", "pvm-beowire"),
}


@dataclass(frozen=True)
class Group:
    """A group of drivers, by name."""

    title: str
    drivers: tuple[str, ...]


def group_of(driver: str) -> str | None:
    """The group's key in TITLES; None: in no known group."""
    group = selection.group_of(driver)
    return group if group in TITLES else None


def place(group: str | None) -> int:
    """The position of the group, from 0."""
    return list(TITLES).index(group) if group in TITLES else len(TITLES)


def rank(driver: str) -> tuple[int, int, str]:
    """Sorts drivers for legends and tables: the default ones, then the others by group."""
    if driver in _FIRST:
        return -1, _FIRST.index(driver), driver
    group = group_of(driver)
    members = MEMBERS.get(group or "", ())
    member = members.index(driver) if driver in members else len(members)
    if group == "mpi":  # messages before what is one-sided
        member = len(driver.partition(":")[0])
    return place(group), member, driver


def grouped(drivers: Iterable[str]) -> list[Group]:
    """The drivers by group, each once and in order."""
    found: dict[str | None, list[str]] = {}
    for driver in dict.fromkeys(drivers):
        found.setdefault(group_of(driver), []).append(driver)
    return [
        Group(TITLES.get(group or "", _OTHERS), tuple(found[group]))
        for group in sorted(found, key=place)
    ]


def shown_first(drivers: Sequence[str]) -> list[str]:
    """The drivers that charts show, in order: all if they are few; otherwise the default ones, the
    user's own, one MPI over several transports, and some of the rest."""
    names = list(dict.fromkeys(drivers))
    if len(names) <= FEW:
        return names
    wanted = [name for name in names if selection.is_default(name)]
    wanted = wanted[:FEW] + _one_mpi(names)
    wanted += [name for name in names if name not in wanted][: max(0, _READABLE - len(wanted))]
    return [name for name in names if name in wanted]


def below(driver: str) -> str | None:
    """The driver of the layer below this one; None: the wire, or nothing that is measured."""
    if driver in _BELOW:
        return _BELOW[driver]
    family, _, rest = driver.partition(":")
    way = rest.partition("/")[2]
    match group_of(driver):
        case "mpi" | "openshmem":
            return _BELOW_WAY.get(way)
        case "libfabric" | "ucx":
            return _BELOW_TRANSPORT.get(rest)
        case "sockets" if family == driver:
            return "packet"
        case _:
            return None


def _one_mpi(names: Sequence[str]) -> list[str]:
    """Drivers of one MPI over a few transports: of the first MPI with the most."""
    by_mpi = [
        [name for name in names if name.startswith(f"mpi:{mpi}/")][:_FEW_WAYS] for mpi in _MPIS
    ]
    return max(by_mpi, key=len)


_BELOW = {
    "beowire": "packet",
    "beowire-wait": "packet",
    "beowire-packet": "packet",
    "beowire-xdp": "xdp",
    "beowire-tso": "packet",
    "beowire-udp": "udp",
    "beowire-tipc": "tipc",
    "beowire-verbs": "verbs-send",
    "beowire-shm": "shm",
    "shm": "memcpy",
    "pipe": "memcpy",
    "unix-stream": "memcpy",
    "unix-datagram": "memcpy",
    "fi-tcp": "tcp-spin",
}
_BELOW_WAY = {
    "tcp": "tcp-spin",
    "ofi-tcp": "fi-tcp",
    "ucx-tcp": "ucx:tcp",
    "beowire": "beowire",
    "packet": "beowire-packet",
    "xdp": "beowire-xdp",
    "tso": "beowire-tso",
    "udp": "beowire-udp",
    "tipc": "beowire-tipc",
    "verbs": "beowire-verbs",
    "shm": "shm",
}
_BELOW_TRANSPORT = {
    "tcp": "tcp-spin",
    "net": "tcp-spin",
    "sockets": "tcp-spin",
    "udp": "udp",
    "shm": "shm",
    "posix": "shm",
    "sysv": "shm",
    "beowire": "beowire",
}
