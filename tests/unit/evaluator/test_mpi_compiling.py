# SPDX-License-Identifier: BSD-3-Clause
"""What a compiler says, in a line; what is compiled is tried in test_apps_building.py."""

import pytest

from beowire.places.mpi import compiling


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("make: *** [x] Error 1\nld: cannot find -lfoo\n", "make: *** [x] Error 1"),
        ("warning: a\nx.f: fatal error: b\nc\n", "x.f: fatal error: b"),
        (
            "a.h:13:10: fatal error: mpi.h: No such file or directory\n",
            "it finds no mpi.h: install this MPI's headers (Debian: libmpich-dev, libopenmpi-dev)",
        ),
        ("one\ntwo\n-----\n", "two"),
        (
            "-----\nThe Open MPI wrapper compiler was unable to find the specified compiler\n"
            "gcc in your PATH.\n\nNote that ...\n-----\n",
            "there is no compiler gcc: install it",
        ),
        ("", "it ends with status 7"),
    ],
)
def test_cause(said: str, expected: str) -> None:
    assert compiling.cause(said, 7) == expected
