# SPDX-License-Identifier: BSD-3-Clause
"""Looks of drivers: fixed by the name, and seen on either page."""

import re
from pathlib import Path

import pytest

from beowire.report import palette

STYLE = Path(palette.__file__).with_name("style.css").read_text()
KNOWN = ("beowire", "tcp-spin", "tcp", "udp", "shm", "packet", "memcpy")
OTHERS = tuple(f"driver-{number}" for number in range(40))


def luminance(colour: str) -> float:
    """WCAG 2.1, relative luminance."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("driver", KNOWN + OTHERS)
def test_look__any_driver__has_enough_contrast_on_both_pages(driver: str) -> None:
    panels = re.findall(r"--panel: (#[0-9a-f]{6})", STYLE)
    assert len(panels) == 2
    for panel in panels:
        assert contrast(palette.look(driver).colour, panel) >= 3, panel


def test_look__known_drivers__differ_in_colour_and_in_mark() -> None:
    looks = [palette.look(driver) for driver in KNOWN]
    assert len({look.colour for look in looks}) == len(KNOWN)
    assert len({look.symbol for look in looks}) == len(KNOWN)


def test_look__unknown_driver__depends_on_its_name_alone() -> None:
    assert palette.look("my-protocol") == palette.look("my-protocol")
    assert len({palette.look(driver).colour for driver in OTHERS}) > 1


def test_rank__drivers__beowire_first_and_unknown_last_by_name() -> None:
    names = ["zeta", "packet", "alpha", "beowire"]
    assert sorted(names, key=palette.rank) == ["beowire", "packet", "alpha", "zeta"]
