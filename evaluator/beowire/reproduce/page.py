# SPDX-License-Identifier: BSD-3-Clause
"""The page of a paper, as Markdown with pictures beside it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from beowire import files


@dataclass(frozen=True)
class Table:
    """A table: what it shows, the names of its columns, its rows."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    said: str = ""
    """A line or two below it."""


@dataclass(frozen=True)
class Picture:
    """A picture: what it shows, and what a person should see in it."""

    title: str
    name: str
    """Of its file: the paper's number and this, `001-latency.svg`."""
    svg: str
    said: str = ""


@dataclass(frozen=True)
class Missing:
    """A table or picture that could not be made, and why."""

    title: str
    reason: str


Part = Table | Picture | Missing


@dataclass(frozen=True)
class Reproduction:
    """What was found."""

    title: str
    parts: tuple[Part, ...]
    notes: tuple[str, ...]
    """One line each: where the two differ and why, what was not measured."""

    commands: tuple[str, ...]
    """What a person types to measure the same."""

    lead: tuple[str, ...] = ()
    """What stands first, a paragraph each: what the paper is about, where this was measured."""

    @property
    def pictures(self) -> tuple[Picture, ...]:
        """Those among its parts."""
        return tuple(part for part in self.parts if isinstance(part, Picture))

    def markdown(self) -> str:
        """All of it, as Markdown that is readable as it is."""
        parts = [f"# {self.title}", *self.lead]
        parts += [_markdown(part) for part in self.parts]
        parts += ["\n".join(f"- {note}" for note in self.notes)] if self.notes else []
        parts += ["Measured by\n\n" + "\n".join(f"    {command}" for command in self.commands)]
        return "\n\n".join(parts) + "\n"

    def write(self, page: Path) -> None:
        """Writes the page, and its pictures beside it. BeowireError if that fails."""
        for picture in self.pictures:
            files.write_beside(page.with_name(picture.name), picture.svg)
        files.write_beside(page, self.markdown())


def _markdown(part: Part) -> str:
    match part:
        case Table():
            body = _grid(part)
        case Picture():
            body = f"![{part.title}]({part.name})"
        case Missing():
            return f"## {part.title}\n\nNot measured: {part.reason}."
    return "\n\n".join([f"## {part.title}", body, *([part.said] if part.said else [])])


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
