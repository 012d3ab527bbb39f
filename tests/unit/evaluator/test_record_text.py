# SPDX-License-Identifier: BSD-3-Clause
"""Lines of a record. (test_record.py has what is wrong with them.)"""

from pathlib import Path

import pytest

from beowire.errors import BeowireError
from beowire.record.lines import SCHEMA, Meta, Result, Skipped
from beowire.record.text import Lines, read_lines
from unit.evaluator import synthetic_record

MODELS: Lines = {"meta": Meta, "result": Result, "skipped": Skipped}


def test_read_lines__one_at_a_time(tmp_path: Path) -> None:
    """So that a record may be larger than the memory: what is behind is not looked at before."""
    lines = synthetic_record.lines(("tcp",), sizes=(8,))
    path = synthetic_record.write(tmp_path / "record.jsonl", lines[:2])
    with path.open("ab") as file:
        file.write(b"no record\n" * 10)
    found = read_lines(path, MODELS, SCHEMA)
    assert [next(found)[0], next(found)[0]] == [1, 2]
    with pytest.raises(BeowireError, match="line 3 is broken"):
        next(found)


def test_read_lines__a_directory_is_none(tmp_path: Path) -> None:
    with pytest.raises(BeowireError, match="Is a directory"):
        next(read_lines(tmp_path, MODELS, SCHEMA))
