# SPDX-License-Identifier: BSD-3-Clause
"""The record of a run of programs: its lines, and the reader. The format is docs/RECORD.md.

It is written by the same writer as that of a comparison, and has a schema of its own number, so
that an older reader says what it cannot read.
"""

import json
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AwareDatetime, Field, JsonValue, Strict

from beowire import files
from beowire.errors import BeowireError
from beowire.record.lines import Encodable, End, NodeEnd, Text
from beowire.record.parts import Link, RecordLine, RecordPart
from beowire.record.text import LINE_BYTES, Lines
from beowire.record.text import read_lines as read_any

APPS_SCHEMA = 2

#: The load of a run that has none.
IDLE = "idle"


class MpiInfo(RecordPart):
    """An MPI that was used."""

    name: str
    version: str
    launcher: str


class AppInfo(RecordPart):
    """A program that was asked for."""

    name: str
    summary: str
    unit: str
    """Of its figure."""
    less_is_better: bool = False


class AppsMeta(RecordLine):
    """The first line: what was asked for, where, and on what."""

    type: Literal["meta"] = "meta"
    schema_version: int = Field(default=APPS_SCHEMA, alias="schema", ge=1)
    kind: Literal["apps"] = "apps"
    beowire: str
    started: AwareDatetime
    command: Annotated[list[str], Encodable]
    options: Annotated[dict[str, JsonValue], Encodable]
    """`class`, `ranks`, `launches`, `seed`, `timeout_s`, `over` and `load` (lists)."""
    link: Link
    ends: list[NodeEnd]
    mpis: list[MpiInfo]
    apps: list[AppInfo]


class Way(RecordLine):
    """What is the same in all lines about one program over one way."""

    type: str
    app: Text
    mpi: str
    over: str
    load: str = IDLE

    @property
    def key(self) -> tuple[str, str, str, str]:
        """Program, MPI, way and load."""
        return self.app, self.mpi, self.over, self.load


class Launch(Way):
    """A program, started once, from start to end."""

    type: Literal["launch"] = "launch"
    round: int = Field(ge=0)
    """0: it warmed up, and is not counted."""
    status: Text
    """`ok`, or why it gave no figure."""
    figure: float | None = None
    seconds: float | None = None
    """Of the part that the program times."""
    wall_s: float = Field(ge=0)
    """From the launcher's start to its end."""
    init_s: float | None = Field(default=None, ge=0)
    """Of MPI_Init, of the rank that took longest; None, as the next two: it is not known."""
    run_s: float | None = Field(default=None, ge=0)
    """From MPI_Init's return to MPI_Finalize's call, likewise."""
    finalize_s: float | None = Field(default=None, ge=0)
    """Of MPI_Finalize, likewise."""
    verified: bool | None = None
    """None: the program verifies nothing, or has not come so far."""
    check: Text = ""
    communication_share: float | None = None
    """By the program's own clock."""

    def cell(self) -> object:
        """Each is a result."""
        return (*self.key, self.round) if self.figure is not None else None


class Profile(Way):
    """What a program asked of MPI, counted in a launch of its own: all ranks together."""

    type: Literal["profile"] = "profile"
    status: Text
    mpi_share: float | None = None
    messages: int | None = None
    bytes: int | None = None
    sizes: Annotated[list[Annotated[tuple[int, int], Strict(False)]], Strict(False)] = Field(
        default_factory=list
    )
    """(up to so many bytes, messages)."""
    collectives: int | None = None
    """Calls of collective functions."""
    collective_bytes: int | None = None
    """What was given to them."""


class Ratio(RecordPart):
    """How many times as fast as over TCP: median of the rounds, and its 95 % interval."""

    median: float
    ci95: Annotated[tuple[float, float], Strict(False)] | None


class AppResult(Way):
    """What came of the launches over one way."""

    type: Literal["result"] = "result"
    n: int
    status: Text
    best: float | None
    median: float | None
    speedup: Ratio | None = None
    """None: there is no way over TCP beside it, or it is one."""


class Left(RecordLine):
    """What was not measured, and why."""

    type: Literal["skipped"] = "skipped"
    app: Text | None = None
    mpi: str | None = None
    over: str | None = None
    reason: Text


_LINES: Lines = {
    "meta": AppsMeta,
    "launch": Launch,
    "profile": Profile,
    "result": AppResult,
    "skipped": Left,
    "end": End,
}


@dataclass(frozen=True)
class AppsRecord:
    """A record that was read, whole or as far as it goes."""

    path: Path
    meta: AppsMeta
    launches: list[Launch] = field(default_factory=list)
    profiles: list[Profile] = field(default_factory=list)
    skipped: list[Left] = field(default_factory=list)
    results: list[AppResult] = field(default_factory=list)
    end: End | None = None
    warnings: list[str] = field(default_factory=list)


def is_apps_record(path: Path) -> bool:
    """Whether the first line says so; whatever is wrong with the file its reader says."""
    with (
        suppress(OSError, ValueError, RecursionError, BeowireError),
        files.open_regular(path, "a record") as file,
    ):
        value = json.loads(file.readline(LINE_BYTES))
        return isinstance(value, dict) and value.get("kind") == "apps"
    return False


def read_apps_record(path: Path) -> AppsRecord:
    """Reads a record, as far as it goes if it was cut short (then `warnings` says so).
    BeowireError for anything else that is wrong, with file and line."""
    lines = read_any(path, _LINES, APPS_SCHEMA)
    _, meta = next(lines)
    assert isinstance(meta, AppsMeta)  # it gives nothing else first
    record = AppsRecord(path, meta)
    end: End | None = None
    for number, line in lines:
        if end is not None:
            raise BeowireError(f"{path} line {number}: nothing may follow the `end` line")
        match line:
            case None:
                record.warnings.append(f"cut short in line {number}, which is left out")
            case Launch():
                record.launches.append(line)
            case Profile():
                record.profiles.append(line)
            case AppResult():
                record.results.append(line)
            case Left():
                record.skipped.append(line)
            case End():
                end = line
            case _:
                raise BeowireError(f"{path} line {number}: a second `meta` line")
    if end is None:
        record.warnings.append("no `end` line: the run was cut short, and results may be missing")
    elif end.status != "ok":
        record.warnings.append(f"the run did not end well: {end.status}")
    return AppsRecord(
        path,
        meta,
        record.launches,
        record.profiles,
        record.skipped,
        record.results,
        end,
        record.warnings,
    )
