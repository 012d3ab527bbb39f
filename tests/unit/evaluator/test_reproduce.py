# SPDX-License-Identifier: BSD-3-Clause
"""Papers that are reproduced: which there are, and what is made of what was measured."""

from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from beowire.commands import reproduce
from beowire.errors import BeowireError
from beowire.record import Record, Summary
from beowire.reproduce import base, paper_002, shared, steps
from beowire.reproduce.base import Missing, Picture, Reproduction, Table
from beowire.reproduce.comparison import Comparison
from beowire.reproduce.steps import Found, Step

MICROSECOND = 1000.0


def summary(median: float) -> Summary:
    return Summary(median=median, ci95=None, p90=None, p99=None, min=median, max=median)


def result(driver: str, pattern: str, size: int, value: float) -> SimpleNamespace:
    figure = summary(value)
    one = SimpleNamespace(driver=driver, pattern=pattern, size=size, load=None)
    if pattern == "pingpong":
        one.half_rtt_ns = figure
    else:
        one.rate_bytes_per_s = figure
    one.time = lambda: figure
    return one


def measured(*results: SimpleNamespace, skipped: tuple[SimpleNamespace, ...] = ()) -> Comparison:
    end = SimpleNamespace(environment={"cpu_model": "a processor", "kernel": "6"})
    meta = SimpleNamespace(
        link=SimpleNamespace(kind="lab", backend=None, accelerator=None, nic=None, kernel=None),
        ends=[end, end],
        started=datetime(2026, 11, 26, tzinfo=UTC),
    )
    record = SimpleNamespace(results=list(results), skipped=list(skipped), warnings=[], meta=meta)
    return Comparison(cast(Record, record), "beowire compare")


FOUND = measured(
    result("beowire", "pingpong", 8, 2 * MICROSECOND),
    result("pvm-beowire", "pingpong", 8, 3 * MICROSECOND),
    result("pvm-direct", "pingpong", 8, 12 * MICROSECOND),
    result("beowire", "stream", 1 << 20, 4e9),
    result("beowire", "stream", 4 << 20, 2e9),
    result("pvm-beowire", "stream", 1 << 20, 3e9),
    skipped=(SimpleNamespace(driver="pvm", pattern=None, reason="its daemon has ended"),),
)


def test_papers__by_number() -> None:
    assert base.papers()["002"] is paper_002.PAPER
    assert base.paper_of("002").number == "002"
    with pytest.raises(BeowireError, match=r"no paper '7' can be reproduced: there is .*002 \("):
        base.paper_of("7")


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


def test_002__each_layer_beside_the_papers() -> None:
    layers = paper_002.tables(FOUND, None)[0]
    rows = {row[0].partition(" (")[0]: row[1:] for row in layers.rows}
    assert rows["protocol"][:4] == ("9.00 µs", "1.00 ×", "2.00 µs", "1.00 ×")
    assert rows["PVM over it"][:4] == ("45.0 µs", "5.00 ×", "3.00 µs", "1.50 ×")
    assert rows["PVM over it"][4:] == ("48.0 MB/s", "0.578 ×", "3.00 GB/s", "0.750 ×")
    assert "MPI over it" not in rows


def test_002__its_figures_by_size() -> None:
    latency, bandwidth = paper_002.tables(FOUND, None)[1:3]
    assert latency.rows[0] == ("8 B", "3.00 µs", "12.0 µs", "-", "0.250 × (?)")
    assert ("1 MiB", "3.00 GB/s", "-", "-", "-") in bandwidth.rows


def test_002__by_how_many_copies_pvm_is_slower_than_mpi() -> None:
    found = measured(
        result("memcpy", "pingpong", 1 << 20, 50 * MICROSECOND),
        result("mpi:mpich/beowire", "pingpong", 1 << 20, 100 * MICROSECOND),
        result("pvm-beowire", "pingpong", 1 << 20, 175 * MICROSECOND),
    )
    first, second = paper_002.long_messages(found, "mpi:mpich/beowire").rows
    assert first == ("1 MiB", "100 µs", "175 µs", "75.0 µs", "50.0 µs", "1.5")
    assert second[1:] == ("-",) * 5


def test_002__notes_say_what_pvm_adds_and_what_is_missing() -> None:
    said = "\n".join(paper_002.notes(FOUND, None))
    assert "PVM adds 1.00 µs to half a round trip of 8 B; the paper's 36.0 µs," in said
    assert "takes 0.250 of that over PVM's direct route" in said
    assert "There is no MPI here" in said
    assert "PVM's highest bandwidth is 0.750 × of the protocol's, in the paper 0.578 ×" in said
    step = Step("compare", "all", ("compare",), 1.0)
    told = paper_002.tell(Found((step,), {"compare": FOUND}))
    assert "`pvm` is not in `compare`: its daemon has ended." in told.notes
    assert "Two nodes of a lab on one host; a processor, Linux 6." in told.lead[1]


def test_002__measures_in_one_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "first_mpi", lambda: "mpich")
    (step,) = paper_002.plan(30.0)
    drivers = step.words[step.words.index("--drivers") + 1]
    assert drivers == "memcpy,beowire,mpi:mpich/beowire,pvm-beowire,pvm-direct,pvm"
    assert step.words[step.words.index("--time") + 1] == "30"
    told = paper_002.tell(Found((step,), {step.name: FOUND}))
    assert told.commands == (step.command,)
    assert [part.title for part in told.parts][1:] == [
        "Figure 9: latency of PVM",
        "Figure 9, in numbers",
        "Figure 10: bandwidth of PVM",
        "Figure 10, in numbers",
        "Long messages: PVM beside MPI",
    ]
    assert [one.name for one in told.pictures] == ["002-latency.svg", "002-bandwidth.svg"]
    assert "pvm-direct" in told.pictures[0].svg


STEP = Step("one", "something", ("compare", "--time", "1"), 1.0)


def paper(*planned: Step) -> base.Paper:
    made = Reproduction("A title", (Picture("P", "009-p.svg", "<svg/>", "see"),), (), ("x",))
    return base.Paper("009", "nothing", lambda seconds: planned, lambda found: made)


def ran(monkeypatch: pytest.MonkeyPatch, of: base.Paper, found: Found) -> None:
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
