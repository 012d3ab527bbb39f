# SPDX-License-Identifier: BSD-3-Clause
import io

import pytest

from beowire import text_table
from beowire.analysis.curves import telling_sizes
from beowire.text_table import grid, how_many_fit, rows


def test_grid__columns_to_the_right_below_their_headings() -> None:
    text = grid("Title", [["one", "1"], ["eleven", "22"]], ["8 B", "1 KiB"][:1], 80)
    assert text.splitlines() == ["Title", "     size  one  eleven", "      8 B    1      22"]


def test_grid__what_does_not_fit_is_below() -> None:
    text = grid("Title", [["one", "1"], ["two", "2"]], ["8 B"], 16, corner="at")
    assert text.splitlines() == [
        "Title",
        "       at  one",
        "      8 B    1",
        "",
        "       at  two",
        "      8 B    2",
    ]


def test_rows__labels_to_the_left_and_as_many_columns_as_fit() -> None:
    columns = [["1 B ", "a "], ["8 B ", "b "], ["1 KiB ", "c "]]
    wide = rows("Title", columns, ["driver", "  tcp"], 80, telling_sizes).splitlines()
    assert wide == ["Title", "driver  1 B   8 B   1 KiB", "  tcp     a     b       c"]
    narrow = rows("Title", columns, ["driver", "  tcp"], 20, telling_sizes).splitlines()
    assert narrow == ["Title", "driver  1 B   1 KiB", "  tcp     a       c"]
    least = rows("Title", columns, ["driver", "  tcp"], 1, telling_sizes).splitlines()
    assert least == ["Title", "driver  1 B", "  tcp     a"]


def test_how_many_fit__of_the_first_columns_and_one_at_least() -> None:
    columns = [["1 B ", "a "], ["8 B ", "b "], ["1 KiB ", "c "]]
    labels = ["driver", "  tcp"]
    assert [how_many_fit(columns, labels, width) for width in (80, 20, 1)] == [3, 2, 1]


def test_filled__long_lines_break_between_words_only() -> None:
    text = "the lane-that-is-long " * 6
    lines = text_table.filled(f"short\n\n{text}\n  a  b {'x' * 90} c\n  a  b", 40).split("\n")
    assert lines[:2] == ["short", ""]
    assert all(len(line) <= 40 for line in lines if "xxx" not in line)
    assert all(not line.rstrip().endswith("-") for line in lines)
    assert lines[3].startswith("  ")
    assert lines[-4:] == ["  a  b", f"    {'x' * 90}", "    c", "  a  b"]


class Terminal(io.StringIO):
    """A stream that says it is one."""

    def isatty(self) -> bool:
        return True


def test_filled__a_number_and_its_unit_stay_together() -> None:
    assert text_table.filled("takes 1.5 µs", 10) == "takes\n  1.5 µs"


def test_grid__in_the_locale_c__counts_what_is_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = [["a", "1 ±2%"], ["b", "3 ±4%"]]
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    width = max(map(len, text_table.grid("T", columns, ["x"], 80).splitlines()))
    assert text_table.grid("T", columns, ["x"], width).count("x") == 1
    monkeypatch.setenv("LC_ALL", "C")
    assert text_table.grid("T", columns, ["x"], width).count("x") == 2


def test_for_stream__a_terminal_gets_no_broken_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    text = "is      sorts whole numbers\n        any number of ranks"
    assert text_table.for_stream(text, io.StringIO()) == text
    assert text_table.for_stream(text, Terminal(), 8).split("\n") == [
        "is      sorts whole",
        "        numbers",
        "        any number",
        "        of ranks",
    ]
    assert text_table.for_stream("no lane between hosts", Terminal()) == "no lane between\n  hosts"
