# SPDX-License-Identifier: BSD-3-Clause
"""One look for each driver, the same in every chart and every report.

The colours are Okabe and Ito's, which people with any common colour blindness can tell apart,
darkened or lightened until each has a contrast of 3:1 on both the light and the dark page. Each
driver has a mark of its own too, so that nothing hangs on colour alone.
"""

import zlib
from dataclasses import dataclass


@dataclass(frozen=True)
class Look:
    """How a driver is drawn."""

    colour: str
    symbol: str
    """A plotly marker."""
    bound: bool = False
    """A limit for the others (the floor, memory): drawn as a dotted line."""


_KNOWN = {
    "beowire": Look("#d9540b", "circle"),
    "tcp-spin": Look("#1f6fc4", "square"),
    "tcp": Look("#2f9bcd", "diamond"),
    "fi-tcp": Look("#8d6bd1", "pentagon"),
    "udp": Look("#0b9269", "triangle-up"),
    "shm": Look("#bb6296", "triangle-down"),
    "packet": Look("#7d8590", "x", bound=True),
    "memcpy": Look("#a07c00", "cross", bound=True),
}

_OTHERS = (
    Look("#b5514a", "hexagon"),
    Look("#5d8a2d", "star"),
    Look("#9c6b3f", "hourglass"),
    Look("#4f7fa8", "bowtie"),
    Look("#a8588f", "star-diamond"),
)

#: What a bound means, for legends and captions.
BOUND_MEANING = {"packet": "floor", "memcpy": "memory"}

#: Line styles of the second, third, ... record of one report.
RECORD_DASHES = ("solid", "dash", "longdash", "dashdot", "longdashdot")


def look(driver: str) -> Look:
    """The look of a driver, known or not: it depends on the name alone."""
    return _KNOWN.get(driver) or _OTHERS[zlib.crc32(driver.encode()) % len(_OTHERS)]


def rank(driver: str) -> tuple[int, str]:
    """Sorts drivers as legends and tables show them."""
    names = list(_KNOWN)
    return (names.index(driver) if driver in _KNOWN else len(names), driver)
