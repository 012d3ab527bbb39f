# SPDX-License-Identifier: BSD-3-Clause
"""Reads a record."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from beowire.errors import BeowireError
from beowire.record.launches import CellLaunches, LaunchFigures, figures_of
from beowire.record.lines import SCHEMA, CellOfAll, End, Meta, Result, Skipped
from beowire.record.parts import RecordLine
from beowire.record.text import Lines, read_lines

_LINES: Lines = {
    "meta": Meta,
    "result": Result,
    "partial": Result,
    "skipped": Skipped,
    "end": End,
}


@dataclass(frozen=True)
class Record:
    """A record, complete or as far as it could be read."""

    path: Path
    meta: Meta
    results: list[Result]
    """One per cell and launch, including the last lines of unfinished cells. If a cell has several
    launches, the first has the histogram of all; above launches.WHOLE, one result represents all
    (`launches`)."""
    skipped: list[Skipped]
    end: End | None
    """None: the run was interrupted."""
    warnings: list[str] = field(default_factory=list)
    """Reasons to distrust this record, one line each, without the path."""
    figures: Mapping[CellOfAll, Sequence[LaunchFigures]] = field(default_factory=dict)
    """Of cells with one result for all launches."""

    def launches_of(self, result: Result) -> Sequence[LaunchFigures]:
        """The figures of each launch that a result represents."""
        if result.launches == 1:
            return [figures_of(result)]
        return self.figures[result.cell_of_all()]


def read_record(path: Path) -> Record:
    """Reads a record. If it was cut short, reads as far as possible, with a warning.

    BeowireError, one line with file and line number, for other errors: a missing or empty file,
    no record, a newer schema, a malformed line before the last.
    """
    lines = read_lines(path, _LINES, SCHEMA)
    _, meta = next(lines)
    assert isinstance(meta, Meta)  # it is always the first
    record = _Builder(path, meta)
    for number, line in lines:
        record.add(number, line)
    return record.build()


class _Builder:
    """Collects the lines after the first, and checks their order."""

    def __init__(self, path: Path, meta: Meta) -> None:
        self.path = path
        self.meta = meta
        self.cells: dict[CellOfAll, CellLaunches] = {}
        self.order: list[CellOfAll] = []  # one for each result
        self.partial: dict[object, Result] = {}
        self.skipped: list[Skipped] = []
        self.end: End | None = None
        self.warnings: list[str] = []

    def add(self, number: int, line: RecordLine | None) -> None:
        if line is None:
            self.warnings.append(f"cut short in line {number}, which is left out")
            return
        if self.end is not None:
            raise BeowireError(f"{self.path} line {number}: nothing may follow the `end` line")
        match line:
            case Result():
                cell = line.cell()
                self.partial.pop(cell, None)
                if line.type == "partial":
                    self.partial[cell] = line
                else:
                    self._keep(line)
            case Skipped():
                self.skipped.append(line)
            case End():
                self.end = line
            case _:
                raise BeowireError(f"{self.path} line {number}: a second `meta` line")

    def _keep(self, result: Result) -> None:
        cell = result.cell_of_all()
        self.cells.setdefault(cell, CellLaunches()).add(result)
        self.order.append(cell)

    def _results(self) -> list[Result]:
        """In the record's order; a result for many launches is at the place of the first."""
        found = {cell: iter(launches.results()) for cell, launches in self.cells.items()}
        in_order = (next(found[cell], None) for cell in self.order)
        return [one for one in in_order if one is not None]

    def build(self) -> Record:
        for one in self.partial.values():
            self._keep(one.model_copy(update={"type": "result"}))
        if self.end is None:
            self.warnings.append("no `end` line: the run was cut short, and results may be missing")
        elif self.end.status != "ok":
            self.warnings.append(f"the run did not end well: {self.end.status}")
        return Record(
            self.path,
            self.meta,
            self._results(),
            self.skipped,
            self.end,
            self.warnings,
            {cell: one.figures() for cell, one in self.cells.items() if one.figures()},
        )
