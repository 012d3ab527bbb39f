# SPDX-License-Identifier: BSD-3-Clause
from beowire.text_table import grid


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
