# SPDX-License-Identifier: BSD-3-Clause
"""Which drivers are measured: those that are named, groups of them, or those that answer most
questions. Pure.

A driver that no group knows (somebody's own) is measured by default.
"""

import difflib
import re
from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache

from beowire.errors import BeowireError
from beowire.record.lines import DriverInfo, Skipped

#: What is measured when nothing is said: one of each kind, so that a table stays readable and a
#: short run has time for each.
DEFAULT = ("memcpy", "shm", "tcp", "tcp-spin", "udp", "packet", "beowire", "fi-tcp")

#: Drivers by what they have in common: names, or shell patterns of names. No group has the name of
#: a driver. If you add a driver: here, and docs/DRIVERS.md.
GROUPS: Mapping[str, tuple[str, ...]] = {
    "memory": ("memcpy*",),
    "host": ("shm", "pipe", "unix-*", "beowire-shm"),
    "sockets": ("tcp", "tcp-*", "udp", "mptcp", "sctp", "tipc", "tipc-*"),
    "frames": ("packet", "xdp*"),
    "lanes": ("beowire", "beowire-*"),
    "libfabric": ("fi-*", "fi:*"),
    "verbs": ("verbs-*", "verbs"),
    "virtual": ("pvm", "pvm-*"),
    # The second is its file's name, which stands for it where UCX itself is missing.
    "ucx": ("ucx:*", "ucx"),
    # Those of the MPIs that are here, which mpi/drivers.py has put among the known ones by then.
    "mpi": ("mpi:*", "mpi-*:*"),
    "openshmem": ("shmem-*:*",),
}

#: Other names of drivers.
ALIASES: Mapping[str, str] = {"fi:tcp": "fi-tcp"}

#: So many names an error has in its line; and so many that are nearly what was written.
_MOST_NAMED = 10
_MOST_NEAR = 2


def choose_drivers(
    known: Sequence[DriverInfo],
    names: str | None,
    own: Sequence[str] = (),
    typed: str | None = None,
) -> tuple[list[DriverInfo], list[Skipped]]:
    """The drivers to measure, and those left out with their reason.

    `names` is a comma list: of a driver that is named, it must exist and be ready; of a group (or
    `all`) those are taken that are ready. None: the usual ones that are ready. `own`: names of
    drivers that are measured in any case, besides. `typed`: what the user has named, where words
    of it stand for several of `names`: what he has not named himself need not be ready. Raises
    BeowireError.
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
    """Whether it is measured when nothing is said."""
    return name in DEFAULT or group_of(name) is None


@cache
def group_of(name: str) -> str | None:
    """The first group that has the driver."""
    for group, patterns in GROUPS.items():
        if any(fnmatchcase(name, pattern) for pattern in patterns):
            return group
    return None


def driver_named(name: str, by_name: Mapping[str, DriverInfo]) -> DriverInfo | None:
    """The driver of that name. Where its file cannot be loaded, nobody knows what is in it: then
    what stands for the file (survey.known_drivers()), as `ucx` for `ucx:tcp`, and says why."""
    if name in by_name:
        return by_name[name]
    # As the engine looks for its file (modules_find()): to one separator, then to that before it.
    for cut in reversed(list(re.finditer(r"[-:/_]", name))):
        one = by_name.get(name[: cut.start()])
        if one is not None and not one.ready and not one.summary:
            return one
    return None


def _members(word: str, known: Sequence[DriverInfo]) -> list[DriverInfo] | None:
    """The known drivers of a group; None if it is none."""
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
    """What can be named: all where they are few, or else those that are nearly written so."""
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
