# SPDX-License-Identifier: BSD-3-Clause
"""Figures of whole programs, out of a record that `beowire apps run` might have written."""

from pathlib import Path

import pytest

from benchmarks import apps, pipeline
from benchmarks.figure import Results
from beowire.apps.record import Left
from beowire.places.mpi.installation import Installation
from beowire.record.parts import RecordLine
from unit.evaluator.apps_records import launch, launches, meta, record

SIX = [1.0, 1.02, 0.98, 1.01, 0.99, 1.0]
MPI = Installation("openmpi4", "4.1.4", Path("/usr/bin/mpirun"), Path("/usr/bin/mpicc"))


def figures_of(
    factor: float, link: str = "direct", names: tuple[str, ...] = ("cg", "sweep")
) -> dict[str, tuple[object, str]]:
    lines: list[RecordLine] = []
    for name in names:
        lines += launches(name, "tcp", SIX)
        lines += launches(name, "ofi-tcp", [2 * one for one in SIX])
        lines += launches(name, "beowire", [2 * factor * one for one in SIX])
    results = Results()
    apps.add(results, apps.Part(MPI, link, "S"), record(meta(*names), *lines), "again")
    assert results.problems == []
    return {one.name: (one.ratio.value, one.verdict) for one in results.figures}


def test_apps__against_the_best_way_over_tcp() -> None:
    found = figures_of(1.2)
    assert found["cg, openmpi4, direct, class S"] == (pytest.approx(1.2), "met")
    assert found["geometric mean, openmpi4, direct, class S"] == (pytest.approx(1.2), "met")


def test_apps__slower_is_missed_and_waves_are_asked_for_more_on_a_slow_wire() -> None:
    assert figures_of(0.9)["cg, openmpi4, direct, class S"][1] == "missed"
    slow = figures_of(1.05, "1 Gbit/s")
    assert slow["cg, openmpi4, 1 Gbit/s, class S"][1] == "met"
    assert slow["sweep, openmpi4, 1 Gbit/s, class S"][1] == "missed"
    assert slow["geometric mean, openmpi4, 1 Gbit/s, class S"][1] == "missed"


def test_apps__what_failed_is_a_problem_but_not_ways_that_an_mpi_lacks() -> None:
    lines = [
        *launches("cg", "tcp", SIX),
        launch("cg", "beowire", 0, None, status="it hangs"),
        launch("cg", "ucx-tcp", 0, None, status="no UCX"),
    ]
    results = Results()
    apps.add(results, apps.Part(MPI, "direct", "S"), record(meta("cg"), *lines), "again")
    assert results.figures == []
    assert results.problems == ["openmpi4, direct, class S: cg (openmpi4 over beowire): it hangs"]


def test_pipeline__ratios_and_rows_in_time() -> None:
    names = tuple(pipeline.cells())
    lines: list[RecordLine] = []
    for name in names:
        lag = name.startswith("pipeline-lag")
        lines += launches(name, "tcp", [50.0] * 6)
        lines += launches(name, "beowire", [40.0 if lag else 60.0] * 6)
    left = [Left(app="x", reason="why")]
    results = pipeline.figures(record(meta(*names), *lines, skipped=left), "openmpi4", "again")
    assert len(results.figures) == 27
    verdicts: dict[str, tuple[object, str]] = {
        one.name: (one.ratio.value, one.verdict) for one in results.figures
    }
    assert verdicts["sweep, 8 B, work of 2.00 µs"] == (pytest.approx(1.2), "met")
    assert verdicts["halo, 20000 B, work of 200 µs"][1] == "met"
    late = "rows in time, more than over TCP, 1320 B, work of 20.0 µs"
    assert verdicts[late] == (-10.0, "missed")
    assert results.problems == ["x: why"]
