# SPDX-License-Identifier: BSD-3-Clause
"""Papers that are reproduced: which there are, and what is made of what was measured."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from beowire.commands import reproduce
from beowire.errors import BeowireError
from beowire.reproduce import paper as module
from beowire.reproduce import steps
from beowire.reproduce.comparison import Comparison
from beowire.reproduce.page import Missing, Picture, Reproduction, Table
from beowire.reproduce.steps import Found, Step
from unit.evaluator import synthetic_record

FOUND = Comparison(synthetic_record.held(synthetic_record.lines(("tcp",), sizes=(8,))), "beowire")


def test_papers__by_number() -> None:
    assert list(module.papers()) == ["000", "001", "002", "003", "004"]
    assert module.paper_of("002").number == "002"
    with pytest.raises(BeowireError, match=r"no paper '7'; those that can be reproduced: .*002 \("):
        module.paper_of("7")


def test_markdown__a_table_that_is_readable_as_it_is() -> None:
    found = Reproduction(
        "A title", (Table("One", ("name", "value"), (("a", "10 µs"),)),), ("a note",), ("x --y",)
    )
    assert found.markdown().split("\n\n") == [
        "# A title",
        "## One",
        "| name | value |\n| ---- | ----: |\n| a    | 10 µs |",
        "- a note",
        "Measured by",
        "    x --y\n",
    ]


STEP = Step("one", "something", ("compare", "--time", "1"), 1.0)


def paper(*planned: Step) -> Any:
    made = Reproduction("A title", (Picture("P", "009-p.svg", "<svg/>", "see"),), (), ("x",))
    return SimpleNamespace(number="009", plan=lambda seconds: planned, tell=lambda found: made)


def ran(monkeypatch: pytest.MonkeyPatch, of: Any, found: Found) -> None:
    monkeypatch.setattr(reproduce, "paper_of", lambda number: of)
    monkeypatch.setattr(steps, "run_steps", lambda *arguments: found)
    monkeypatch.setattr(Found, "records", property(lambda one: []))


def test_command__writes_what_it_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran(monkeypatch, paper(STEP), Found((STEP,), {"one": FOUND}))
    reproduce.reproduce("009", seconds=1.0, out=tmp_path / "o", pages=tmp_path / "pages")
    written = (tmp_path / "o" / "reproduction.md").read_text(encoding="utf-8")
    said = capsys.readouterr()
    assert said.out.startswith(written)
    assert "![P](009-p.svg)\n\nsee" in written
    assert said.err.startswith("paper 009: 1 measurements, about 1 s; records are kept in ")
    assert "  one: something (about 1 s)" in said.err
    for directory in ("o", "pages"):
        assert (tmp_path / directory / "009-p.svg").read_text(encoding="utf-8") == "<svg/>"
    assert (tmp_path / "pages" / "009.md").read_text(encoding="utf-8") == written


def test_command__time_is_more_than_none(tmp_path: Path) -> None:
    with pytest.raises(BeowireError, match="--time is more than 0"):
        reproduce.reproduce("002", seconds=0.0, out=tmp_path / "p")
    assert not (tmp_path / "p").exists()


def test_command__absent_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    step = Step("one", "something", ("compare",), 1.0, absent="there is no QEMU")
    ran(monkeypatch, paper(step), Found(()))
    with pytest.raises(BeowireError, match=r"^absent: there is no QEMU$"):
        reproduce.reproduce("009", seconds=1.0, out=tmp_path / "o")
    assert not (tmp_path / "o").exists()


def test_command__nothing_was_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran(monkeypatch, paper(STEP), Found((STEP,), reasons={"one": "it fell over"}))
    with pytest.raises(BeowireError, match="nothing was measured: it fell over"):
        reproduce.reproduce("009", seconds=1.0, out=tmp_path / "o")


def test_markdown__a_part_that_is_missing_says_why() -> None:
    found = Reproduction("A title", (Missing("One", "no card"),), (), ("x",), lead=("First.",))
    assert found.markdown().split("\n\n")[:4] == [
        "# A title",
        "First.",
        "## One",
        "Not measured: no card.",
    ]
