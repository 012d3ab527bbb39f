# SPDX-License-Identifier: BSD-3-Clause
"""Figures of whole programs, out of a record that `beowire apps run` might have written."""

from pathlib import Path

import pytest

from benchmarks import apps, pipeline, programs
from benchmarks.context import Context
from benchmarks.figure import Results
from benchmarks.programs import Programs
from beowire import isolated
from beowire.apps import catalogue
from beowire.apps.record import AppsRecord, Left
from beowire.errors import BeowireError
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


def test_apps__an_interval_that_reaches_it_is_enough() -> None:
    ours = [0.9, 1.1, 0.95, 0.9, 0.98, 0.97]
    lines = [*launches("cg", "tcp", [1.0] * 6), *launches("cg", "beowire", ours)]
    results = Results()
    apps.add(results, apps.Part(MPI, "direct", "S"), record(meta("cg"), *lines), "again")
    assert results.figures[0].verdict == "met"


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


def test_apps__a_run_for_each_link_and_class(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands = []

    def run(one: Programs) -> AppsRecord:
        commands.append(one.command)
        lines = [*launches("cg", "tcp", SIX), *launches("cg", "beowire", SIX)]
        return record(meta("cg"), *lines)

    monkeypatch.setattr(Programs, "run", run)
    monkeypatch.setattr(apps, "chosen_mpis", lambda: [MPI])
    results = apps.run(Context(tmp_path, 10_000))
    assert len(commands) == 4
    assert all("--launches 6" in command for command in commands)
    assert sum("--rate 1g" in command for command in commands) == 2
    assert len(results.figures) == 8


def test_apps__without_an_mpi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> list[Installation]:
        raise BeowireError("there is no MPI here")

    monkeypatch.setattr(apps, "chosen_mpis", none)
    assert apps.run(Context(tmp_path, 10)).problems == ["there is no MPI here"]


def test_launches_for__what_there_is_time_for() -> None:
    assert apps.launches_for(10_000, 100) == programs.LAUNCHES
    assert apps.launches_for(450, 100) == 2
    assert apps.launches_for(1, 100) == 1


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


def test_pipeline__names_are_programs() -> None:
    chosen, unknown = catalogue.choose(list(pipeline.cells()), npb=False)
    assert (len(chosen), unknown) == (27, {})


def test_programs__a_command_that_leaves_no_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(isolated, "command", lambda _name: ["sh", "-c", "echo no >&2; exit 2"])
    with pytest.raises(BeowireError, match=r"^no$"):
        Programs.of(tmp_path / "x", ["cg"], mpi="openmpi4", over=["tcp"]).run()
