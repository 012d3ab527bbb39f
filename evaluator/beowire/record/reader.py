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
    """A record that was read, whole or as far as it goes."""

    path: Path
    meta: Meta
    results: list[Result]
    """One a cell and launch: the last lines of cells that the run did not finish are among them. Of
    a cell with several launches the first has the histogram of all, and of one with more than
    launches.WHOLE one stands for all (`launches`)."""
    skipped: list[Skipped]
    end: End | None
    """None when the run was cut short."""
    warnings: list[str] = field(default_factory=list)
    """What a person should know before trusting this record, one line each, without the path."""
    figures: Mapping[CellOfAll, Sequence[LaunchFigures]] = field(default_factory=dict)
    """Of cells of which one result stands for all launches."""

    def launches_of(self, result: Result) -> Sequence[LaunchFigures]:
        """What each of the launches found that one of the results is of."""
        if result.launches == 1:
            return [figures_of(result)]
        return self.figures[result.cell_of_all()]


def read_record(path: Path) -> Record:
    """Reads a record, as far as it goes if it was cut short (then `warnings` says so).

    BeowireError, one line with file and line number, for anything else that is wrong: no such
    file, an empty one, one that is no record, a newer schema, a line broken in the middle.
    """
    lines = read_lines(path, _LINES, SCHEMA)
    _, meta = next(lines)
    assert isinstance(meta, Meta)  # it gives nothing else first
    record = _Builder(path, meta)
    for number, line in lines:
        record.add(number, line)
    return record.build()


class _Builder:
    """Collects the lines after the first and keeps their order honest."""

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
        """In the record's order; what stands for many launches is where the first of them was."""
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
