# SPDX-License-Identifier: BSD-3-Clause
"""Long lists of drivers: their groups, what is shown at first, what each stands on."""

import pytest

from beowire.analysis import layers
from beowire.plan import selection

MANY = (
    *("memcpy", "shm", "tcp", "tcp-spin", "udp", "packet", "beowire", "fi-tcp"),
    *("pipe", "tcp-nagle", "xdp", "ucx:tcp", "mine"),
    *("mpi:openmpi4/tcp", "mpi:openmpi4/beowire", "mpi:mpich/tcp", "mpi-put:mpich/tcp"),
)


def test_grouped__drivers__are_under_their_groups_from_memory_to_others() -> None:
    found = layers.grouped([*MANY, "tcp"])
    assert [group.title for group in found] == [
        *("Memory", "One host", "Sockets", "Frames", "Beowire", "libfabric", "UCX", "MPI"),
        "Others",
    ]
    assert found[2].drivers == ("tcp", "tcp-spin", "udp", "tcp-nagle")
    assert found[-1].drivers == ("mine",)


def test_titles__every_group_that_can_be_chosen__has_one() -> None:
    assert set(layers.TITLES) == set(selection.GROUPS)


def test_shown_first__few__are_all() -> None:
    assert layers.shown_first(MANY[: layers.FEW]) == list(MANY[: layers.FEW])


def test_shown_first__many__are_the_usual_the_users_own_and_one_mpi() -> None:
    shown = layers.shown_first(MANY)
    assert shown == [*MANY[:8], "mine", "mpi:openmpi4/tcp", "mpi:openmpi4/beowire"]


def test_shown_first__many_of_one_kind__are_some_of_them() -> None:
    names = [f"fi:provider{number}" for number in range(30)]
    assert layers.shown_first(names) == names[:10]


@pytest.mark.parametrize(
    ("driver", "expected"),
    [
        ("mpi:mpich/tcp", "tcp-spin"),
        ("mpi-put:intel/beowire", "beowire"),
        ("mpi:openmpi4/ucx-tcp", "ucx:tcp"),
        ("fi-tcp", "tcp-spin"),
        ("fi:beowire", "beowire"),
        ("ucx:posix", "shm"),
        ("beowire", "packet"),
        ("tcp-nagle", "packet"),
        ("packet", None),
        ("memcpy", None),
        ("mine", None),
        ("fi:unheard-of", None),
    ],
)
def test_below__a_driver__is_what_it_stands_on(driver: str, expected: str | None) -> None:
    assert layers.below(driver) == expected
