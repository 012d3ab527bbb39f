# SPDX-License-Identifier: BSD-3-Clause
"""Whether a program prints the same again."""

import pytest

from beowire.apps.agreement import Agreement
from beowire.errors import BeowireError

FIRST = "rank 0: 1.5\nrank 1: 2.5\n\ntime 3.2 s\n"


def agreement(ignored: str | None = None) -> Agreement:
    made = Agreement(ignored)
    assert made.difference("over tcp at first", FIRST) == ""
    return made


def test_difference__the_order_of_lines_does_not_count() -> None:
    again = "time 3.2 s\nrank 1: 2.5  \nrank 0: 1.5\n"
    assert agreement().difference("over beowire", again) == ""


@pytest.mark.parametrize(
    ("output", "difference"),
    [
        (
            FIRST.replace("2.5", "2.6"),
            "it prints 'rank 1: 2.6', 'rank 1: 2.5' over tcp at first",
        ),
        (FIRST + "rank 1: 2.5\n", "it prints 'rank 1: 2.5', not so over tcp at first"),
        (
            FIRST.replace("rank 1: 2.5\n", ""),
            "'rank 1: 2.5' is missing, which it prints over tcp at first",
        ),
        (FIRST.replace("2.5", "2" * 100), f"it prints 'rank 1: {'2' * 52}...', "),
    ],
)
def test_difference__is_a_line_of_each(output: str, difference: str) -> None:
    assert agreement().difference("over beowire", output).startswith(difference)


def test_difference__what_changes_by_itself_is_left_out() -> None:
    later = FIRST.replace("3.2", "3.3")
    assert "3.3" in agreement().difference("over tcp", later)
    assert agreement("^time ").difference("over tcp", later) == ""


def test_ignored__has_to_be_a_regular_expression() -> None:
    with pytest.raises(BeowireError, match=r"cannot read --ignore '\('"):
        Agreement("(")
