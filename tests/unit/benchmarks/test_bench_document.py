# SPDX-License-Identifier: BSD-3-Clause
from pathlib import Path

import pytest

from benchmarks import document, latency, table
from benchmarks.figure import Figure, Results
from beowire.statistics import Estimate

_SEEN = Figure("8 B: beowire / tcp", Estimate(0.4, 0.39, 0.41), "./again 8")


def _figures(*values: float) -> list[Figure]:
    return [
        Figure(f"{value}: a / b", Estimate(value, value, value), "./again", at_most=1.0)
        for value in values
    ]


def _written(directory: Path, name: str, results: Results) -> None:
    (directory / name).mkdir(parents=True)
    table.write(directory / name / "figures.json", name, 10.0, results)


def test_render__counts_what_was_met_of_what_was_asked(tmp_path: Path) -> None:
    _written(tmp_path, "latency", Results([*_figures(0.5, 0.7, 1.3), _SEEN]))
    lines = document.render(document.read([tmp_path])).splitlines()
    assert f"| `latency` | {latency.SUMMARY} | ≤ 1.00 | 0.500 to 1.30 | 2 of 3 |" in lines
    assert "| 8 B: beowire / tcp |  | 0.400 (0.390-0.410) |  |  |" in lines
    assert "| 1.3: a / b | ≤ 1.00 | 1.30 | missed |  |" in lines
    assert lines[-2:] == ["    ./again", "    ./again 8"]


def test_render__says_what_is_not_sure(tmp_path: Path) -> None:
    unsure = Figure("a / b", Estimate(0.9, 0.8, 1.2), "./again", at_most=1.0, unit=" B")
    blind = Figure("c / d", Estimate(0.9, None, None), "./again", at_most=1.0, unit=" B")
    _written(tmp_path, "rate", Results([unsure, blind]))
    text = document.render(document.read([tmp_path]))
    assert " | ≤ 1.000 B | 0.9000 to 0.9000 B | 2 of 2 (2 unsure) |" in text
    assert "| c / d | ≤ 1.000 B | 0.9000 (±?) B | met? |  |" in text


def test_render__names_what_was_not_measured(tmp_path: Path) -> None:
    _written(tmp_path, "shm", Results(problems=["no Intel MPI is here"]))
    text = document.render(document.read([tmp_path]))
    assert " |  | no Intel MPI is here | not measured |" in text
    assert "## shm\n\nNot measured: no Intel MPI is here\n" in text


def test_read__has_each_benchmark_once(tmp_path: Path) -> None:
    _written(tmp_path / "one", "rate", Results(_figures(0.5)))
    _written(tmp_path / "two", "rate", Results(_figures(0.6)))
    (found,) = document.read([tmp_path / "one", tmp_path / "two"])
    assert [figure["value"] for figure in found["figures"]] == [0.6]


def test_main__wants_directories_of_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert document.main([str(tmp_path)]) == 2
    assert "usage" in capsys.readouterr().err
    _written(tmp_path, "rate", Results(_figures(0.5)))
    assert document.main([str(tmp_path)]) == 0
    assert capsys.readouterr().out.startswith("# The transport's figures")
