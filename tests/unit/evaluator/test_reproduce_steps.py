# SPDX-License-Identifier: BSD-3-Clause
"""The commands of a paper: which are run, what is kept, what becomes of those that fail."""

import sys
from pathlib import Path

import pytest

from beowire import isolated
from beowire.errors import BeowireError
from beowire.interrupts import Interrupts
from beowire.record.lines import End
from beowire.reproduce import steps
from beowire.reproduce.steps import Found, Step
from unit.evaluator import synthetic_record

ONE = Step("one", "the one", ("compare", "--sizes", "8"), 70.0)
TWO = Step("two", "the other", ("compare",), 60.0, absent="there is no QEMU")


def stored(place: Path, *, whole: bool = True) -> None:
    lines = synthetic_record.lines(("tcp",), sizes=(8,), patterns=("pingpong",), samples=40)
    place.mkdir(parents=True)
    synthetic_record.write(
        place / "record.jsonl",
        lines if whole else [one for one in lines if not isinstance(one, End)],
    )


def run(directory: Path, *planned: Step) -> tuple[Found, list[str]]:
    said: list[str] = []
    with Interrupts() as interrupts:
        return steps.run_steps(planned, directory, interrupts, said.append), said


def instead(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Another program runs in place of `beowire`: it gets the same arguments."""
    monkeypatch.setattr(isolated, "command", lambda module: [sys.executable, "-c", code])


def test_announced__says_what_it_runs_how_long_and_what_it_cannot() -> None:
    text = steps.announced("001", [ONE, Step("x", "y", (), 80.0), TWO], Path("d"))
    assert text.splitlines() == [
        "paper 001: 2 measurements, about 2 min 30 s; records are kept in d",
        "  one: the one (about 70 s)",
        "  x: y (about 80 s)",
        "  two: the other (absent: there is no QEMU)",
    ]


def test_chosen() -> None:
    assert steps.chosen([ONE, TWO], None) == [ONE, TWO]
    assert steps.chosen([ONE, TWO], "one") == [ONE]
    with pytest.raises(BeowireError, match="--only three: there is no such step; steps: one, two"):
        steps.chosen([ONE, TWO], "one,three")
    with pytest.raises(BeowireError, match=r"^absent: there is no QEMU$"):
        steps.chosen([ONE, TWO], "two")


def test_prepare__goes_on_in_the_directory_of_the_same_only(tmp_path: Path) -> None:
    steps.prepare("001", [ONE], tmp_path / "d")
    steps.prepare("001", [ONE], tmp_path / "d")
    with pytest.raises(BeowireError, match="records of another command"):
        steps.prepare("001", [TWO], tmp_path / "d")
    (tmp_path / "mine").mkdir()
    with pytest.raises(BeowireError, match="is there already"):
        steps.prepare("001", [ONE], tmp_path / "mine")


def test_run__what_is_whole_is_not_measured_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    instead(monkeypatch, "raise SystemExit(9)")
    stored(tmp_path / "one")
    found, said = run(tmp_path, ONE, TWO)
    assert found.comparisons["one"].cell("tcp", "pingpong", 8) is not None
    assert found.commands == ("beowire compare --sizes 8",)
    assert said == [f"one: measured before, in {tmp_path / 'one'}"]
    assert found.why("two") == "there is no QEMU"


def test_run__what_was_cut_short_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored(tmp_path / "whole")
    code = (
        "import shutil, sys; assert sys.argv[1:4] == ['compare', '--sizes', '8'], sys.argv;"
        f"shutil.copytree({str(tmp_path / 'whole')!r}, sys.argv[sys.argv.index('--out') + 1])"
    )
    instead(monkeypatch, code)
    stored(tmp_path / "one", whole=False)
    found, said = run(tmp_path, ONE)
    assert said == ["1 of 1, one: beowire compare --sizes 8"]
    assert found.comparisons["one"].record.end is not None


def test_run__a_step_that_fails_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    instead(monkeypatch, "raise SystemExit(9)")
    found, _ = run(tmp_path, ONE)
    assert not found.comparisons
    assert found.why("one") == "`beowire compare --sizes 8` failed (status 9)"


def test_run__a_step_that_does_not_end_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "_LEAST_PATIENCE_S", 0.2)
    instead(monkeypatch, "import signal; signal.pause()")
    found, _ = run(tmp_path, Step("one", "", ("compare",), 0.0))
    assert found.why("one") == "it did not end within 0 s"


def test_comparison__values_by_driver_pattern_size_and_load(tmp_path: Path) -> None:
    stored(tmp_path / "one")
    found, _ = run(tmp_path, ONE)
    one = found.comparisons["one"]
    assert one.cell("tcp", "pingpong", 8) is not None
    assert one.cell("tcp", "pingpong", 8, "hog:0") is None
    assert one.cell("tcp", "pingpong", 64) is None
    assert one.sizes("pingpong") == [8] and one.sizes("pingpong", ("udp",)) == []
    assert one.drivers("pingpong") == ["tcp"]
