# SPDX-License-Identifier: BSD-3-Clause
"""The record of a run of programs, written and read."""

from pathlib import Path

import pytest

from beowire.apps.record import Left, is_apps_record, read_apps_record
from beowire.apps.results import results
from beowire.errors import BeowireError
from beowire.record.lines import End
from beowire.record.reader import read_record
from unit.evaluator.apps_records import STARTED, launches, meta, profile, written

END = End(finished=STARTED, status="ok", elapsed_s=1.0)


def whole(path: Path) -> Path:
    return written(
        path / "record.jsonl",
        meta("cg"),
        Left(mpi="intel", reason="absent"),
        *launches("cg", "tcp", [1.0, 2.0]),
        profile("cg", "tcp", sizes=[(8, 3)]),
        END,
    )


def test_read__what_was_written(tmp_path: Path) -> None:
    found = read_apps_record(whole(tmp_path))
    assert found.warnings == []
    assert found.end == END
    assert [one.figure for one in found.launches] == [0.001, 1.0, 2.0]
    assert found.profiles[0].sizes == [(8, 3)]
    assert found.skipped[0].reason == "absent"


def test_read__results_come_back(tmp_path: Path) -> None:
    first = read_apps_record(whole(tmp_path))
    lines = results(first)
    path = written(tmp_path / "other.jsonl", meta("cg"), *first.launches, *lines, END)
    assert read_apps_record(path).results == lines


def test_read__cut_short(tmp_path: Path) -> None:
    path = whole(tmp_path)
    path.write_bytes(path.read_bytes()[:-40])
    found = read_apps_record(path)
    assert len(found.launches) == 3
    assert found.end is None
    assert len(found.warnings) == 2


def test_read__nothing_may_follow_the_end(tmp_path: Path) -> None:
    path = whole(tmp_path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(path.read_bytes() + lines[1])
    with pytest.raises(BeowireError, match="nothing may follow"):
        read_apps_record(path)


def test_is_apps_record(tmp_path: Path) -> None:
    assert is_apps_record(whole(tmp_path))
    other = tmp_path / "other"
    other.write_text('{"type":"meta","schema":1}\n')
    assert not is_apps_record(other)
    assert not is_apps_record(tmp_path / "absent")


def test_a_reader_of_comparisons_says_what_it_cannot_read(tmp_path: Path) -> None:
    with pytest.raises(BeowireError, match="schema 2"):
        read_record(whole(tmp_path))
