# SPDX-License-Identifier: BSD-3-Clause
"""Columns instead of a table: who has standard output, and which files there are."""

from pathlib import Path

import pytest

from beowire.commands import sinks
from beowire.errors import BeowireError
from beowire.record.reader import read_record
from unit.evaluator import synthetic_record


def test_check__two_for_standard_output__are_refused() -> None:
    with pytest.raises(BeowireError, match="--csv - and --json print different things"):
        sinks.check("-", netpipe_columns=False, as_json=True)
    with pytest.raises(BeowireError, match="use one"):
        sinks.check("-", netpipe_columns=True)
    sinks.check("file.csv", netpipe_columns=True)


def test_takes_output__a_file__leaves_it_to_the_table() -> None:
    assert not sinks.takes_output("file.csv", netpipe_columns=False)
    assert sinks.takes_output("-", netpipe_columns=False)
    assert sinks.takes_output(None, netpipe_columns=True)


def test_write_csv__a_file_or_standard_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sinks.write_csv("a,b\n", str(tmp_path / "file.csv"), [])
    assert (tmp_path / "file.csv").read_text() == "a,b\n"
    sinks.write_csv("a,b\n", "-", [])
    assert capsys.readouterr().out == "a,b\n"
    with pytest.raises(BeowireError, match="cannot write"):
        sinks.write_csv("a,b\n", str(tmp_path / "none" / "file.csv"), [])


def test_write_netpipe__drivers__have_a_file_each_and_all_are_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = synthetic_record.lines(("tcp", "beowire"), sizes=(8, 64), patterns=("pingpong",))
    record = read_record(synthetic_record.write(tmp_path / "record.jsonl", lines))
    sinks.write_netpipe([record])
    tcp, ours = ((tmp_path / f"np.{name}.out").read_text() for name in ("tcp", "beowire"))
    printed = capsys.readouterr().out
    assert tcp in printed and ours in printed and "# tcp pingpong\n" in printed
