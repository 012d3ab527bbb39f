# SPDX-License-Identifier: BSD-3-Clause
"""What a paper is to `beowire reproduce`, and what comes of it."""

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from beowire import reproduce
from beowire.errors import BeowireError

_PREFIX = "paper_"


@dataclass(frozen=True)
class Table:
    """A table: what it shows, the names of its columns, its rows."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Reproduction:
    """What was found."""

    title: str
    tables: tuple[Table, ...]
    notes: tuple[str, ...]
    """One line each: where the two differ, what was not measured."""

    commands: tuple[str, ...]
    """What a person types to measure the same."""

    def markdown(self) -> str:
        """All of it, as Markdown that is readable as it is."""
        parts = [f"# {self.title}"]
        parts += [f"## {table.title}\n\n{_grid(table)}" for table in self.tables]
        parts += ["\n".join(f"- {note}" for note in self.notes)] if self.notes else []
        parts += ["Measured by\n\n" + "\n".join(f"    {command}" for command in self.commands)]
        return "\n\n".join(parts) + "\n"


@dataclass(frozen=True)
class Paper:
    """A paper whose measurements can be repeated."""

    number: str
    subject: str
    """What is measured again, in a few words."""

    measure: Callable[[Path, float], Reproduction]
    """Measures, in a directory that it makes files in, for about so many seconds."""


def papers() -> dict[str, Paper]:
    """All papers by number."""
    found = {}
    for module in pkgutil.iter_modules(reproduce.__path__):
        if module.name.startswith(_PREFIX):
            paper = importlib.import_module(f"beowire.reproduce.{module.name}").PAPER
            found[paper.number] = paper
    return dict(sorted(found.items()))


def paper_of(number: str) -> Paper:
    """The paper of this number; BeowireError with all of them when there is none."""
    known = papers()
    if number not in known:
        listed = ", ".join(f"{one.number} ({one.subject})" for one in known.values())
        raise BeowireError(f"no paper {number!r} can be reproduced: there is {listed}")
    return known[number]


def _grid(table: Table) -> str:
    """Columns of equal width, numbers to the right: a person reads it in a terminal, too."""
    lines: list[Sequence[str]] = [table.columns, *table.rows]
    widths = [max(len(line[at]) for line in lines) for at in range(len(table.columns))]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    body = [_line(line, widths) for line in lines]
    return "\n".join([body[0], _line(rule, widths), *body[1:]])


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = zip(cells, widths, strict=True)
    return (
        " | ".join(
            ["| " + first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]
        )
        + " |"
    )
