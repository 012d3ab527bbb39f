# SPDX-License-Identifier: BSD-3-Clause
from pathlib import Path

import pytest

from benchmarks import document, table
from benchmarks.figure import Figure, Results
from beowire.analysis.statistics import Estimate


def _figures(*values: float) -> list[Figure]:
    return [
        Figure(f"{value}: a / b", Estimate(value, value, value), "./again", at_most=1.0)
        for value in values
    ]


def _written(directory: Path, name: str, results: Results) -> None:
    (directory / name).mkdir(parents=True)
    table.write(directory / name / "figures.json", name, 10.0, results)


def _rendered(directory: Path, name: str, *figures: Figure) -> list[str]:
    _written(directory, name, Results(list(figures)))
    return document.render(document.read([directory])).splitlines()


def _exact(name: str, value: float, *, at_most: float | None = None, detail: str = "") -> Figure:
    return Figure(name, Estimate(value, value, value), "./again", at_most=at_most, detail=detail)


def test_render__counts_what_was_met_of_what_was_asked(tmp_path: Path) -> None:
    lines = _rendered(tmp_path, "latency", *_figures(0.5, 0.7, 1.3))
    assert "| `latency` | ≤ 1.00 | 0.500 to 1.30 | 2 of 3 |" in lines
    assert lines[-5:] == [
        "| a / b | asked: ≤ 1.00 |",
        "|---|---|",
        "| 0.5 | 0.500 |",
        "| 0.7 | 0.700 |",
        "| 1.3 | 1.30 missed |",
    ]


def test_render__has_what_is_compared_with_in_the_same_row(tmp_path: Path) -> None:
    asked = _exact("8 B: ours / all", 0.9, at_most=1.0)
    beside = Figure("8 B: tcp / all", Estimate(0.4, 0.39, 0.41), "./again")
    lines = _rendered(tmp_path, "latency", asked, beside)
    assert lines[-1] == "| 8 B | 0.900; tcp 0.400 (0.390-0.410) |"


def test_render__leaves_out_what_values_of_the_row_say(tmp_path: Path) -> None:
    values = "8 B: ours 9 ns, tcp 10 ns, udp 12 ns"
    asked = _exact("8 B: ours / tcp", 0.9, at_most=1.0, detail=values)
    lines = _rendered(tmp_path, "latency", asked, _exact("8 B: ours / udp", 0.75, detail=values))
    assert lines[-3:] == [
        "| ours / tcp | asked: ≤ 1.00 | ours, tcp, udp |",
        "|---|---|---|",
        "| 8 B | 0.900 | 9, 10, 12 ns |",
    ]


def test_render__has_figures_of_which_nothing_was_asked(tmp_path: Path) -> None:
    alone = Figure("the loop", Estimate(2.0, 1.0, 3.0), "./again", unit=" ns", detail="of all 9 ns")
    lines = _rendered(tmp_path, "instrument", *_figures(0.5), alone)
    assert "| `instrument` | ≤ 1.00 | 0.500 | 1 of 1 |" in lines
    assert lines[-3:] == [
        "|  | measured | of all |",
        "|---|---|---|",
        "| the loop | 2.000 (1.000-3.000) ns | 9 ns |",
    ]


def test_render__says_what_is_not_sure(tmp_path: Path) -> None:
    unsure = Figure("a / b", Estimate(0.9, 0.8, 1.2), "./again", at_most=1.0, unit=" B")
    blind = Figure("c / d", Estimate(0.9, None, None), "./again", at_most=1.0, unit=" B")
    lines = _rendered(tmp_path, "rate", unsure, blind)
    assert "| `rate` | ≤ 1.000 B | 0.9000 to 0.9000 B | 2 of 2 (2 unsure) |" in lines
    assert "| c / d | 0.9000 (±?) B met? |" in lines


def test_render__names_what_was_not_measured(tmp_path: Path) -> None:
    _written(tmp_path, "shm", Results(problems=["no Intel MPI is here"]))
    text = document.render(document.read([tmp_path]))
    assert "| `shm` |  | no Intel MPI is here | not measured |" in text
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
