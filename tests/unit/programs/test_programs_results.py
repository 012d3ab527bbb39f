# SPDX-License-Identifier: BSD-3-Clause
from dataclasses import replace
from pathlib import Path

import pytest

from beowire.errors import BeowireError
from programs import results
from programs.entry import Compare, Entry
from programs.run import Outcome, Runs

_ROOT = Path(__file__).resolve().parents[3]
_WHERE = {"mpi": "Open MPI 4.1.4", "distribution": "Debian 12", "processor": "x", "date": "today"}
_ENTRY = Entry(
    name="melt",
    title="Melting",
    exercises="messages | sums",
    packages=["melt"],
    version="melt",
    run=["melt"],
    compare=Compare(says=["PASS"]),
    over={"beowire": {"A": "1"}},
    note="slow",
)
_RIGHT = Outcome(_ENTRY, "1.0", {"tcp": Runs([2.0, 4.0, 8.0]), "beowire": Runs([1.0, 1.0, 4.0])})


def _row(tcp: str = "", beowire: str = "") -> results.Row:
    runs = {"tcp": Runs([1.0], tcp), "beowire": Runs([1.0], beowire)}
    return results.row(replace(_RIGHT, runs=runs), _WHERE)


@pytest.mark.parametrize(
    ("row", "said", "fails"),
    [
        (_row(), "yes", False),
        (_row(beowire="it hangs"), "NO: it hangs", True),
        (_row(tcp="it hangs"), "yes; over TCP: it hangs", False),
        (_row("it hangs", "it hangs"), "fails over both: it hangs", False),
        (_row("it hangs", "x"), "fails over both: it hangs; over Beowire: x", False),
        (results.row(Outcome(_ENTRY, "", {}, "no package"), _WHERE), "not run: no package", False),
    ],
)
def test_result__only_what_beowire_alone_fails_is_a_failure(
    row: results.Row, said: str, fails: bool
) -> None:
    assert (results.result(row), results.is_failure(row)) == (said, fails)


def test_ratio__is_that_of_rounds__with_an_interval_from_six_on() -> None:
    assert results.ratio(results.row(_RIGHT, _WHERE)) == "0.500 (rounds: 0.250 to 0.500)"
    runs = {"tcp": Runs([2.0] * 6), "beowire": Runs([1.0] * 6)}
    row = results.row(replace(_RIGHT, runs=runs), _WHERE)
    assert results.ratio(row) == "0.500 (95 %: 0.500 to 0.500)"
    assert results.ratio(_row()) == "1.00 (one round)"


def test_merged__a_new_row_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    assert results.read(path) == []
    other = results.row(_RIGHT, {**_WHERE, "mpi": "MPICH 5"})
    results.write(path, results.merged(path, [_row(beowire="it hangs"), other]))
    results.write(path, results.merged(path, [_row()]))
    assert [(one["mpi"], results.result(one)) for one in results.read(path)] == [
        ("MPICH 5", "yes"),
        ("Open MPI 4.1.4", "yes"),
    ]
    (tmp_path / "link").symlink_to(path)
    results.write(tmp_path / "link", [])
    assert (tmp_path / "link").is_symlink() and results.read(path) == []
    path.write_text("[]")
    with pytest.raises(BeowireError, match="no result of scripts/test-programs"):
        results.read(path)


def test_document__has_the_rows_between_its_two_lines() -> None:
    text = f"before\n{results.BEGIN}\nold\n{results.END}\nafter\n"
    made = results.document(text, [results.row(_RIGHT, _WHERE)])
    assert made.startswith(f"before\n{results.BEGIN}\n| program | ")
    assert made.endswith(f" |\n{results.END}\nafter\n")
    assert (
        "| Melting (`melt`), 2 ranks | messages / sums | its own verdict"
        " | 1.0: yes; 0.500 (rounds: 0.250 to 0.500); over Beowire with `A=1`; slow |"
    ) in made
    with pytest.raises(BeowireError, match="has no lines"):
        results.document("nothing", [])


def test_document__has_a_column_for_each_mpi() -> None:
    rows = [
        {**results.row(_RIGHT, {**_WHERE, "mpi": "MPICH 5"}), "name": "freeze"},
        *(results.row(_RIGHT, {**_WHERE, "mpi": mpi}) for mpi in ("MPICH 5", "Open MPI 4.1.4")),
    ]
    lines = results.document(f"{results.BEGIN}{results.END}", rows).splitlines()
    assert lines[1].endswith(" | how compared | MPICH 5, Debian 12 | Open MPI 4.1.4, Debian 12 |")
    assert [line.count("1.0: yes") for line in lines[3:-1]] == [1, 2]
    assert lines[3].endswith(" slow |  |")


@pytest.mark.parametrize(
    ("used", "said"),
    [
        (None, "0.500 (rounds: 0.250 to 0.500)"),
        (0.19, "0.500 (rounds: 0.250 to 0.500)"),
        (0.2, "0.500 (rounds: 0.250 to 0.500); others used 0.20 of 2 cores"),
    ],
)
def test_document__says_what_others_used__if_that_is_felt(used: float | None, said: str) -> None:
    row = results.row(replace(_RIGHT, other_cpus=used), {**_WHERE, "cores": 2})
    made = results.document(f"{results.BEGIN}{results.END}", [row])
    assert f" {said}; over Beowire with" in made


def test_document__of_the_project_is_what_its_json_says() -> None:
    text = (_ROOT / "docs" / "PROGRAMS.md").read_text(encoding="utf-8")
    assert results.document(text, results.read(_ROOT / "docs" / "programs.json")) == text
