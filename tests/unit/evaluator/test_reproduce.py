# SPDX-License-Identifier: BSD-3-Clause
"""Papers that are reproduced: which there are, and what is made of what was measured."""

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from beowire import isolated
from beowire.commands import reproduce
from beowire.errors import BeowireError
from beowire.record import Record, Summary
from beowire.reproduce import base, comparison, paper_002
from beowire.reproduce.base import Reproduction, Table
from beowire.reproduce.comparison import Comparison

MICROSECOND = 1000.0


def summary(median: float) -> Summary:
    return Summary(median=median, ci95=None, p90=None, p99=None, min=median, max=median)


def result(driver: str, pattern: str, size: int, value: float) -> SimpleNamespace:
    field = "half_rtt_ns" if pattern == "pingpong" else "rate_bytes_per_s"
    return SimpleNamespace(driver=driver, pattern=pattern, size=size, **{field: summary(value)})


def measured(*results: SimpleNamespace, skipped: tuple[SimpleNamespace, ...] = ()) -> Comparison:
    record = SimpleNamespace(results=list(results), skipped=list(skipped))
    return Comparison(cast(Record, record), "beowire compare")


FOUND = measured(
    result("beowire", "pingpong", 8, 2 * MICROSECOND),
    result("pvm-beowire", "pingpong", 8, 3 * MICROSECOND),
    result("pvm-direct", "pingpong", 8, 12 * MICROSECOND),
    result("beowire", "stream", 1 << 20, 4e9),
    result("beowire", "stream", 4 << 20, 2e9),
    result("pvm-beowire", "stream", 1 << 20, 3e9),
    skipped=(SimpleNamespace(driver="pvm", reason="its daemon has ended"),),
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
    latency, bandwidth = paper_002.tables(FOUND, None)[1:]
    assert latency.rows[0] == ("8 B", "3.00 µs", "12.0 µs", "-", "0.250")
    assert ("1 MiB", "3.00 GB/s", "-", "-", "-") in bandwidth.rows


def test_002__notes_say_what_pvm_adds_and_what_is_missing() -> None:
    said = "\n".join(paper_002.notes(FOUND, None))
    assert "PVM adds 1.00 µs to half a round trip of 8 B; the paper's 36.0 µs." in said
    assert "takes 0.250 of that over PVM's direct route" in said
    assert "There is no MPI here" in said
    assert "`pvm` was not measured: its daemon has ended." in said


def test_002__measures_in_one_comparison(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def compare(directory: Path, arguments: list[str]) -> Comparison:
        assert directory.parent == tmp_path
        asked.extend(arguments)
        return FOUND

    monkeypatch.setattr(paper_002, "compare", compare)
    monkeypatch.setattr(paper_002, "_mpi", lambda: "mpi:mpich/beowire")
    found = paper_002.measure(tmp_path, 30.0)
    drivers = asked[asked.index("--drivers") + 1]
    assert drivers == "beowire,mpi:mpich/beowire,pvm-beowire,pvm-direct,pvm"
    assert asked[asked.index("--time") + 1] == "30"
    assert found.commands == ("beowire compare",)


def test_compare__fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolated, "command", lambda module: ["/bin/false", module])
    with pytest.raises(BeowireError, match="what it says is above"):
        comparison.compare(tmp_path / "o", ["--time", "-1"])


def test_command__writes_what_it_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = Reproduction("A title", (), (), ("x",))
    paper = base.Paper("009", "nothing", lambda directory, seconds: made)
    monkeypatch.setattr(reproduce, "paper_of", lambda number: paper)
    reproduce.reproduce("009", seconds=1.0, out=tmp_path / "o")
    written = (tmp_path / "o" / "reproduction.md").read_text(encoding="utf-8")
    assert capsys.readouterr().out.startswith(written)
    with pytest.raises(BeowireError, match="cannot make"):
        reproduce.reproduce("009", seconds=1.0, out=tmp_path / "o")
    with pytest.raises(BeowireError, match="more than 0 seconds"):
        reproduce.reproduce("009", seconds=0.0, out=tmp_path / "p")
