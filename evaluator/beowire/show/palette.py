# SPDX-License-Identifier: BSD-3-Clause
"""Colour and style of each driver, the same in every chart and report.

The colours are Okabe and Ito's and neighbours of theirs, darkened or lightened until each has a
contrast of 3:1 on both the light and the dark page. More than a dozen colours cannot be
distinguished, so each default driver has its own. Groups of others share a few, and an MPI has one
for all transports.
"""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass

from beowire.analysis import layers


@dataclass(frozen=True)
class Look:
    """How a driver is drawn."""

    colour: str
    bound: bool = False
    """A limit for the others (the floor, memory)."""
    other_way: bool = False
    """An MPI over another transport than Beowire."""

    @property
    def dashed(self) -> bool:
        """Whether its line is dashed."""
        return self.bound or self.other_way


_KNOWN = {
    "beowire": Look("#d9540b"),
    "tcp-spin": Look("#1f6fc4"),
    "tcp": Look("#2f9bcd"),
    "fi-tcp": Look("#8d6bd1"),
    "udp": Look("#0b9269"),
    "shm": Look("#bb6296"),
    "packet": Look("#7d8590", bound=True),
    "memcpy": Look("#a07c00", bound=True),
}

#: Colours shared by the other drivers of a group. None: drivers in no group.
_SHADES: Mapping[str | None, tuple[str, ...]] = {
    "memory": ("#ad7700", "#95663c"),
    "host": ("#c63e77", "#ac81ac", "#a8588f"),
    "sockets": ("#457fde", "#1c8c8c", "#6a81a5"),
    "frames": ("#707070", "#8f8f8f"),
    "lanes": ("#c24b0a", "#ab7545", "#b98251"),
    "libfabric": ("#815ccc", "#9c7fd7", "#906fd2"),
    "ucx": ("#458e34", "#209d9d", "#7b8424"),
    "verbs": ("#7a5cc4", "#b0568f", "#3d8a6b"),
    "virtual": ("#b5514a", "#9c6b3f"),
    None: ("#b5514a", "#5d8a2d", "#9c6b3f", "#4f7fa8", "#a8588f"),
}

#: Colours of MPIs, for all transports.
_MPI_COLOURS = {
    "openmpi4": "#c4464e",
    "openmpi5": "#c256b3",
    "mpich": "#3e7f2e",
    "mpich4": "#7b8424",
    "intel": "#2b6dda",
    "mvapich": "#996900",
}

#: All other transports are dashed.
_SOLID_WAY = "beowire"

#: Meaning of bounds, in legends.
BOUND_MEANING = {"packet": "lower bound", "memcpy": "memory"}


def look(driver: str) -> Look:
    """The look of any driver, by its name alone."""
    if driver in _KNOWN:
        return _KNOWN[driver]
    group = layers.group_of(driver)
    if group in ("mpi", "openshmem"):
        return _mpi_look(driver)
    members = layers.MEMBERS.get(group or "", ())
    shades = _SHADES.get(group, _SHADES[None])
    number = members.index(driver) if driver in members else zlib.crc32(driver.encode())
    return Look(shades[number % len(shades)], bound=group == "memory")


def _mpi_look(driver: str) -> Look:
    """The look of an MPI, with the colour of the MPI."""
    mpi, _, way = driver.partition(":")[2].partition("/")
    colours = tuple(_MPI_COLOURS.values())
    return Look(
        _MPI_COLOURS.get(mpi) or colours[zlib.crc32(mpi.encode()) % len(colours)],
        other_way=way != _SOLID_WAY,
    )
