# SPDX-License-Identifier: BSD-3-Clause
"""Axes of the charts."""

import re

import pytest

from beowire.report.axes import log_axis, rounded, size_axis, uid


@pytest.mark.parametrize(
    ("sizes", "ticks"),
    [
        ([8], [8]),
        ([8, 1024, 65536], [8, 1024, 65536]),
        ([5, 8, 12], [4, 8, 16]),
        ([0, 4], [4]),
        ([], [1]),
        ([8, 9, 1 << 20], [1 << power for power in range(4, 21, 2)]),
    ],
)
def test_size_axis__any_sizes__has_ticks_at_them_or_at_powers_of_two(
    sizes: list[int], ticks: list[int]
) -> None:
    axis = size_axis(sizes)
    assert axis["type"] == "log"
    assert axis["tickvals"] == ticks


def test_size_axis__full_sweep__has_few_enough_ticks_with_units() -> None:
    axis = size_axis([1, 2, 3, 4 << 20], ticks=6)
    assert axis["ticktext"] == ["4 B", "64 B", "1 KiB", "16 KiB", "256 KiB", "4 MiB"]


def test_log_axis__numbers__are_written_out() -> None:
    assert log_axis("Time")["type"] == "log"
    assert log_axis("Time")["exponentformat"] == "none"


def test_rounded__long_fraction__keeps_six_digits() -> None:
    assert rounded(1.23456789) == 1.23457
    assert rounded(123456789.0) == 123457000


def test_uid__any_name__can_stand_in_a_selector() -> None:
    names = [uid('<img src="x">'), uid("mpi:mpich/tcp"), uid("wire", 0), uid("wire", 1)]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch("[0-9a-f]{12}", name) for name in names)
