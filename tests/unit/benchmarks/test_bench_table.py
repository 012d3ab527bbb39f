# SPDX-License-Identifier: BSD-3-Clause
import json
from pathlib import Path

import pytest

from benchmarks import table
from benchmarks.figure import Figure, Results, exactly
from beowire.analysis.statistics import Estimate

MET = Figure("a / b", Estimate(1.1, 1.08, 1.12), "again a", at_most=1.25, detail="a 11 ns, b 10 ns")
MISSED = Figure("c / d", Estimate(1.5, 1.45, 1.55), "again c", at_least=2.0)
UNSURE = Figure("e / f", Estimate(2.1, None, None), "again c", at_least=2.0)
BESIDE = Figure("g / h", exactly(7.0), "again c")
BYTES = Figure("state", exactly(2795), "again s", at_most=4096, unit=" B")


def test_render__every_figure_with_what_was_asked() -> None:
    text = table.render("rate: messages", Results([MET, MISSED, BESIDE, BYTES]))
    lines = text.splitlines()
    assert lines[0] == "rate: messages"
    assert lines[2].split() == ["a", "/", "b", "≤", "1.25", "1.10", "(1.08-1.12)", "met"]
    assert lines[3].split()[3:] == ["≥", "2", "1.50", "(1.45-1.55)", "missed"]
    assert lines[4].split()[3:] == ["7.00", "-"]
    assert lines[5].split() == ["state", "≤", "4096", "B", "2795", "B", "met"]
    assert "  a 11 ns, b 10 ns" in lines
    assert lines[-3:] == ["again: again a", "again: again c", "again: again s"]
    assert "imprecise" not in text


def test_render__says_what_is_imprecise_and_what_was_not_measured() -> None:
    text = table.render("x", Results([MET, UNSURE], ["packet: no privilege"]))
    assert "2.10 (±?)" in text
    assert "imprecise: 1 of 2 figures have no 95 % interval" in text
    assert "not measured: packet: no privilege" in text


def test_write__is_json_with_every_figure(tmp_path: Path) -> None:
    table.write(tmp_path / "figures.json", "rate", 30.0, Results([MET, UNSURE, BESIDE], ["why"]))
    content = json.loads((tmp_path / "figures.json").read_text())
    assert (content["benchmark"], content["budget_s"]) == ("rate", 30.0)
    assert content["problems"] == ["why"]
    met, unsure, beside = content["figures"]
    assert (met["value"], met["ci95"], met["verdict"]) == (1.1, [1.08, 1.12], "met")
    assert (met["at_most"], met["at_least"], met["command"]) == (1.25, None, "again a")
    assert (unsure["ci95"], unsure["imprecise"], unsure["verdict"]) == (None, True, "met?")
    assert beside["verdict"] is None


@pytest.mark.parametrize(
    ("figures", "problems", "status"),
    [
        ([MET, BESIDE], [], 0),
        ([MET, UNSURE], [], 2),
        ([MET, UNSURE, MISSED], [], 1),
        ([MET], ["no such driver"], 1),
    ],
)
def test_exit_status(figures: list[Figure], problems: list[str], status: int) -> None:
    assert table.exit_status([Results([MET]), Results(figures, problems)]) == status
