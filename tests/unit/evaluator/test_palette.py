# SPDX-License-Identifier: BSD-3-Clause
"""Looks of drivers: fixed by the name, and seen on either page."""

import re
from pathlib import Path

import pytest

from beowire.analysis import layers
from beowire.show import palette

STYLE = Path(palette.__file__).with_name("html").joinpath("style.css").read_text()
MPI = tuple(
    f"{family}:{mpi}/{way}"
    for family in ("mpi", "mpi-put")
    for mpi in ("openmpi4", "openmpi5", "mpich", "intel")
    for way in ("beowire", "tcp")
)
#: What `--drivers all,mpi,mpi-put,openshmem` measures where everything is ready.
ALL = (
    *("memcpy", "memcpy-bytes", "memcpy-movsb", "memcpy-nontemporal"),
    *("shm", "pipe", "unix-stream", "unix-datagram", "beowire-shm"),
    *("tcp", "tcp-spin", "tcp-nagle", "tcp-buffer", "tcp-zerocopy", "tcp-uring"),
    *("udp", "mptcp", "sctp", "tipc", "packet"),
    *("xdp", "xdp-poll", "xdp-zerocopy"),
    *("beowire", "beowire-wait", "beowire-packet", "beowire-tso", "beowire-udp", "beowire-tipc"),
    "beowire-xdp",
    "beowire-verbs",
    *("fi-tcp", "fi:beowire", "fi:shm", "fi:udp", "fi:net", "fi:sockets"),
    *("ucx:tcp", "ucx:posix", "ucx:sysv", "pvm", "pvm-direct", "pvm-beowire", *MPI),
    *("verbs-send", "verbs-write", "verbs-read"),
    *("verbs-send-events", "verbs-write-events", "verbs-read-events"),
    *("shmem-put:openmpi4/tcp", "shmem-get:openmpi4/tcp"),
)
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


@pytest.mark.parametrize("driver", ALL + OTHERS)
def test_look__any_driver__has_enough_contrast_on_both_pages(driver: str) -> None:
    panels = re.findall(r"--panel: (#[0-9a-f]{6})", STYLE)
    assert len(panels) == 2
    for panel in panels:
        assert contrast(palette.look(driver).colour, panel) >= 3, panel


def test_look__known_drivers__differ_in_colour() -> None:
    looks = [palette.look(driver) for driver in KNOWN]
    assert len({look.colour for look in looks}) == len(KNOWN)


def test_look__unknown_driver__depends_on_its_name_alone() -> None:
    assert palette.look("my-protocol") == palette.look("my-protocol")
    assert len({palette.look(driver).colour for driver in OTHERS}) > 1


def test_look__an_mpi__has_one_colour_and_is_dashed_over_other_ways_than_ours() -> None:
    over_beowire, over_tcp = palette.look("mpi:mpich/beowire"), palette.look("mpi:mpich/tcp")
    assert over_beowire.colour == over_tcp.colour != palette.look("mpi:intel/tcp").colour
    assert (over_beowire.dashed, over_tcp.dashed) == (False, True)


def test_rank__groups__from_memory_to_mpi_and_messages_before_puts() -> None:
    names = ["mpi-put:intel/tcp", "ucx:tcp", "mpi:mpich/tcp", "pipe", "memcpy-bytes", "tcp-nagle"]
    expected = ["memcpy-bytes", "pipe", "tcp-nagle", "ucx:tcp", "mpi:mpich/tcp", names[0]]
    assert sorted(names, key=layers.rank) == expected


def test_rank__drivers__beowire_first_and_unknown_last_by_name() -> None:
    names = ["zeta", "packet", "alpha", "beowire"]
    assert sorted(names, key=layers.rank) == ["beowire", "packet", "alpha", "zeta"]
