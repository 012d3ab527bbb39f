# SPDX-License-Identifier: BSD-3-Clause
"""Figures of MPI libraries, out of what the measuring program prints."""

import pytest

from benchmarks import mpi
from benchmarks.mpi import Turns, figures, parse

OUTPUT = """
mpi_speed: a warning
pingpong 8 1000.0
pingpong 1048576 250000.0
rate 8 90.5
allreduce 8 4000.0
"""


def turns_of(ours: float, theirs: float, turns: int = 6) -> Turns:
    cells = [("pingpong", 1 << power) for power in range(23)]
    cells += [("rate", 8), *((what, size) for what in mpi._COLLECTIVES for size in (8, 1 << 20))]
    made = Turns()
    for turn in range(turns):
        made.add(turn, "beowire", dict.fromkeys(cells, ours))
        made.add(turn, "ob1-tcp", dict.fromkeys(cells, 2 * theirs))
        made.add(turn, "ucx-tcp", dict.fromkeys(cells, theirs))
    return made


def test_parse__only_cells() -> None:
    assert parse(OUTPUT) == {
        ("pingpong", 8): 1000.0,
        ("pingpong", 1048576): 250000.0,
        ("rate", 8): 90.5,
        ("allreduce", 8): 4000.0,
    }


def test_figures__against_the_fastest_other_way() -> None:
    found = figures(turns_of(100.0, 400.0), "again")
    ratios = {one.name: one.ratio.value for one in found.figures}
    assert ratios["8 B half round trip"] == pytest.approx(0.25)
    assert ratios["4 MiB throughput"] == pytest.approx(4)
    assert ratios["8 B messages per second"] == pytest.approx(4)
    assert {one.verdict for one in found.figures} == {"met"}
    assert found.problems == []
    assert len(ratios) == len(found.figures) == 23 + 1 + 6


def test_figures__nothing_to_compare_with_is_a_problem() -> None:
    alone = Turns()
    alone.add(0, "beowire", {("pingpong", 8): 1.0})
    found = figures(alone, "again")
    assert found.figures == []
    assert "8 B half round trip: not measured" in found.problems
