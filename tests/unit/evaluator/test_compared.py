# SPDX-License-Identifier: BSD-3-Clause
"""Several records in one table: figures of each, and ratios to the first."""

from pathlib import Path

from beowire.analysis import compared
from beowire.record.reader import Record, read_record
from unit.evaluator import synthetic_record


def record(directory: Path, name: str, *drivers: str, seed: int = 1) -> Record:
    (directory / name).mkdir()
    lines = synthetic_record.lines(drivers, sizes=(8, 1024, 65536), seed=seed)
    return read_record(synthetic_record.write(directory / name / "record.jsonl", lines))


def test_sheets__a_row_for_each_driver_that_both_have(tmp_path: Path) -> None:
    before = record(tmp_path, "before", "tcp", "beowire", "packet")
    after = record(tmp_path, "after", "tcp", "beowire", "udp", seed=2)
    sheets = compared.sheets([before, after])
    latency = sheets[0]
    assert latency.heads == ["driver", "size", "before", "after", "÷ before"]
    drivers = {row[0] for row in latency.rows}
    assert drivers == {"tcp", "beowire"}
    for row in latency.rows:
        value = float(row[4].split("*")[0].split(" ")[0])
        assert 0.5 < value < 2
    assert any("stream" in sheet.title.lower() for sheet in sheets)


def test_sheets__the_same_twice_is_told_apart_nowhere(tmp_path: Path) -> None:
    one = record(tmp_path, "one", "tcp")
    for sheet in compared.sheets([one, one]):
        assert all(row[4].startswith("1.00 (") for row in sheet.rows)


def test_sheets__none_of_one(tmp_path: Path) -> None:
    one = record(tmp_path, "one", "tcp")
    assert compared.sheets([one]) == []
    assert compared.sheets([one, record(tmp_path, "two", "packet")]) == []
