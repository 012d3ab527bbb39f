# SPDX-License-Identifier: BSD-3-Clause
"""Selects the drivers to measure: those named, groups, or the default ones. Pure.

A driver in no group (a user's own) is measured by default.
"""

import difflib
import re
from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache

from beowire.errors import BeowireError
from beowire.record.lines import DriverInfo, Skipped

#: The default drivers: one of each kind, so that a table is readable and a short run has time for
#: each.
DEFAULT = ("memcpy", "shm", "tcp", "tcp-spin", "udp", "packet", "beowire", "fi-tcp")

#: Groups of drivers: names, or shell patterns of names. No group has the name of a driver. If you
#: add a driver, add it here and in docs/DRIVERS.md.
GROUPS: Mapping[str, tuple[str, ...]] = {
    "memory": ("memcpy*",),
    "host": ("shm", "pipe", "unix-*", "beowire-shm"),
    "sockets": ("tcp", "tcp-*", "udp", "mptcp", "sctp", "tipc", "tipc-*"),
    "frames": ("packet", "xdp*"),
    "lanes": ("beowire", "beowire-*"),
    "libfabric": ("fi-*", "fi:*"),
    "verbs": ("verbs-*", "verbs"),
    "virtual": ("pvm", "pvm-*"),
    # `ucx` is the name of the file, shown if UCX itself is missing.
    "ucx": ("ucx:*", "ucx"),
    # Drivers of the installed MPIs, which mpi/drivers.py adds to the known ones before.
    "mpi": ("mpi:*", "mpi-*:*"),
    "openshmem": ("shmem-*:*",),
}

#: Other names of drivers.
ALIASES: Mapping[str, str] = {"fi:tcp": "fi-tcp"}

#: Names that an error lists at most, and similar names that it lists.
_MOST_NAMED = 10
_MOST_NEAR = 2


def choose_drivers(
    known: Sequence[DriverInfo],
    names: str | None,
    own: Sequence[str] = (),
    typed: str | None = None,
) -> tuple[list[DriverInfo], list[Skipped]]:
    """The drivers to measure, and those left out with their reason.

    `names` is a list separated by commas. A named driver must exist and be ready; of a group (or
    `all`) the ready ones are taken. None: the default ones that are ready. `own`: further drivers,
    always measured. `typed`: what the user typed, if words of it stand for several of `names`;
    drivers that the user did not name need not be ready. Raises BeowireError.
    """
    by_name = {driver.name: driver for driver in known}
    words = [word.strip() for word in names.split(",")] if names is not None else []
    asked = words if typed is None else [word.strip() for word in typed.split(",")]
    chosen: dict[str, DriverInfo] = {}
    left_out: dict[str, Skipped] = {}
    for word in words:
        members = _members(word, known)
        if members is None and word in asked:
            one = _named(word, by_name)
            chosen[one.name] = one
        elif members is None:
            _take([_known(word, by_name)], chosen, left_out)
        else:
            _take(members, chosen, left_out)
            if not any(member.ready for member in members):
                raise BeowireError(
                    f"no driver of {word} can run here: {_reasons(members) or 'none is installed'}"
                )
    if names is not None and not chosen:
        reasons = "; ".join(f"{one.driver}: {one.reason}" for one in left_out.values())
        raise BeowireError(f"no driver of {typed} can run here: {reasons}")
    if names is None:
        usual = [one for one in known if is_default(one.name) and one.name not in own]
        _take(usual, chosen, left_out)
        if not chosen and not own:
            raise BeowireError(f"no driver can run here: {_reasons(usual) or 'none is installed'}")
    for name in own:
        chosen[name] = _named(name, by_name)
    return list(chosen.values()), [one for name, one in left_out.items() if name not in chosen]


def is_default(name: str) -> bool:
    """Whether it is measured by default."""
    return name in DEFAULT or group_of(name) is None


@cache
def group_of(name: str) -> str | None:
    """The first group that contains the driver."""
    for group, patterns in GROUPS.items():
        if any(fnmatchcase(name, pattern) for pattern in patterns):
            return group
    return None


def driver_named(name: str, by_name: Mapping[str, DriverInfo]) -> DriverInfo | None:
    """The driver of that name. If its file cannot be loaded, its drivers are unknown: then the
    entry of the file (survey.known_drivers()), as `ucx` for `ucx:tcp`, which has the reason."""
    if name in by_name:
        return by_name[name]
    # As the engine searches the file (modules_find()): up to each separator, from the last to the
    # first.
    for cut in reversed(list(re.finditer(r"[-:/_]", name))):
        one = by_name.get(name[: cut.start()])
        if one is not None and not one.ready and not one.summary:
            return one
    return None


def _members(word: str, known: Sequence[DriverInfo]) -> list[DriverInfo] | None:
    """The known drivers of a group; None: not a group."""
    if word == "all":
        return list(known)
    if word not in GROUPS:
        return None
    return [one for one in known if any(fnmatchcase(one.name, pattern) for pattern in GROUPS[word])]


def _named(word: str, by_name: Mapping[str, DriverInfo]) -> DriverInfo:
    one = _known(word, by_name)
    if not one.ready:
        raise BeowireError(f"driver {one.name} is not ready: {one.reason}")
    return one


def _known(word: str, by_name: Mapping[str, DriverInfo]) -> DriverInfo:
    one = driver_named(word if word in by_name else ALIASES.get(word, word), by_name)
    if one is None:
        raise BeowireError(
            f"no driver {word!r}: {_there_are(word, by_name)}; groups are {', '.join(GROUPS)}, all"
        )
    return one


def _there_are(word: str, names: Collection[str]) -> str:
    """The possible names: all if they are few, otherwise similar ones."""
    if len(names) <= _MOST_NAMED:
        return f"there are {', '.join(names) or 'none'}"
    near = difflib.get_close_matches(word, names, n=_MOST_NEAR)
    meant = f"did you mean {' or '.join(near)}? " if near else ""
    return f"{meant}`beowire drivers` lists them"


def _take(
    members: Sequence[DriverInfo], chosen: dict[str, DriverInfo], left_out: dict[str, Skipped]
) -> None:
    for one in members:
        if one.ready:
            chosen[one.name] = one
        else:
            left_out[one.name] = Skipped(driver=one.name, reason=one.reason)


def _reasons(members: Sequence[DriverInfo]) -> str:
    return "; ".join(f"{one.name}: {one.reason}" for one in members)
