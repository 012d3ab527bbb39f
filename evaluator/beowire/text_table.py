# SPDX-License-Identifier: BSD-3-Clause
"""Tables of text, as wide as they may be."""

import re
import shutil
import textwrap
from collections.abc import Callable, Sequence
from typing import TextIO

from beowire import plain

_FIRST_COLUMN = 9
_GAP = 2
_BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:[nµm]?s|[KMGk]?i?B(?:/s)?)\b)")


def grid(
    title: str,
    columns: Sequence[Sequence[str]],
    names: Sequence[str],
    width: int,
    corner: str = "size",
) -> str:
    """A table of named rows, or several below each other where not all columns fit side by side.
    The first of each column is its heading."""
    first = to_the_right([corner, *names], _FIRST_COLUMN)
    left = [to_the_right(column) for column in columns]
    blocks = []
    while left:
        block = [first, left.pop(0)]
        while left and sum(max(map(plain.columns, one)) for one in [*block, left[0]]) <= width:
            block.append(left.pop(0))
        blocks.append("\n".join("".join(row).rstrip() for row in zip(*block, strict=True)))
    return "\n".join([filled(title, width), "\n\n".join(blocks)])


def rows(
    title: str,
    columns: Sequence[Sequence[str]],
    labels: Sequence[str],
    width: int,
    fewer: Callable[[Sequence[int], int], Sequence[int]],
) -> str:
    """A table of many rows, at as many columns as fit, and one at least. The first of each column,
    and of the labels, is its heading. `fewer(numbers, count)`: which columns to show of all."""
    first = max(map(len, labels))
    aligned = [to_the_right(column) for column in columns]
    chosen = _fitting(aligned, first, width, fewer)
    lines = zip(labels, *(aligned[at] for at in chosen), strict=True)
    shown = (f"{label:<{first}}{''.join(row)}".rstrip() for label, *row in lines)
    return "\n".join([filled(title, width), *shown])


def how_many_fit(columns: Sequence[Sequence[str]], labels: Sequence[str], width: int) -> int:
    """How many of the columns, from the first on, rows() shows if it leaves out the last ones."""
    aligned = [to_the_right(column) for column in columns]
    first = max(map(len, labels))
    return len(_fitting(aligned, first, width, lambda numbers, count: numbers[:count]))


def _fitting(
    aligned: Sequence[Sequence[str]],
    first: int,
    width: int,
    fewer: Callable[[Sequence[int], int], Sequence[int]],
) -> Sequence[int]:
    chosen: Sequence[int] = range(len(aligned))
    while len(chosen) > 1 and first + sum(len(aligned[at][0]) for at in chosen) > width:
        chosen = fewer(range(len(aligned)), len(chosen) - 1)
    return chosen


def filled(text: str, width: int, indent: int = 2) -> str:
    """The text with lines that are longer than `width` broken between words, and what follows the
    break so much further in than the line. Words stay whole, however long, and so does a number
    with its unit."""
    lines: list[str] = []
    for line in text.split("\n"):
        further = " " * (len(line) - len(line.lstrip(" ")) + indent)
        lines += textwrap.wrap(
            _BEFORE_UNIT.sub("\u00a0", line),
            max(width + len(line) - plain.columns(line), len(further) + 1),
            subsequent_indent=further,
            break_long_words=False,
            break_on_hyphens=False,
        ) or [""]
    return "\n".join(lines).replace("\u00a0", " ")


def for_stream(text: str, stream: TextIO, column: int = 0) -> str:
    """The text as a stream takes it: a terminal would break lines in the middle of words; whoever
    reads anything else looks for whole lines. `column`: where the second column begins in which
    lines go on; 0: there is none."""
    if not stream.isatty():
        return text
    columns = shutil.get_terminal_size().columns
    lines = text.split("\n")
    indents = [column - (len(line) - len(line.lstrip(" "))) if column else 2 for line in lines]
    return "\n".join(
        filled(line, columns, max(0, indent)) for line, indent in zip(lines, indents, strict=True)
    )


def to_the_right(column: Sequence[str], least: int = 0) -> list[str]:
    """The column to the right, as wide as it needs to be."""
    width = max(least, _GAP + max(map(len, column)))
    return [f"{cell:>{width}}" for cell in column]
