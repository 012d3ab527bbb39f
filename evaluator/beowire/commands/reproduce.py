# SPDX-License-Identifier: BSD-3-Clause
"""`beowire reproduce`: what a paper measured, again."""

import sys
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from beowire import files
from beowire.commands.options import TimeOption, check_seconds
from beowire.errors import BeowireError
from beowire.interrupts import Interrupts
from beowire.reproduce import steps
from beowire.reproduce.paper import Paper, paper_of
from beowire.show.html import write_report

_LONGEST_RUN_S = 24 * 3600.0


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("reproduce")(reproduce)


def reproduce(
    number: Annotated[str, typer.Argument(help="The paper: 000, 001, 002, 003 or 004.")],
    *,
    seconds: TimeOption = 240.0,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="Directory for the page, pictures and records. Name that of an interrupted run"
            " to continue it.",
        ),
    ] = None,
    only: Annotated[
        str | None,
        typer.Option(
            "--only",
            metavar="NAMES",
            help="Only these measurements, by name: warm,copies.",
        ),
    ] = None,
    pages: Annotated[
        Path | None,
        typer.Option(
            "--pages",
            metavar="DIR",
            help="Also write NUMBER.md and its pictures there: docs/reproductions.",
        ),
    ] = None,
) -> None:
    """Repeats the measurements of a paper, and shows both.

    First prints what it will run and how long that takes. Each measurement is a command of Beowire,
    and its record is kept.
    """
    paper = paper_of(number)
    check_seconds(seconds, _LONGEST_RUN_S)
    planned = list(paper.plan(seconds))
    wanted = steps.chosen(planned, only)
    now = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
    directory = out or Path(f"beowire-{now}-{paper.number}")
    steps.prepare(paper.number, planned, directory)
    if pages is not None:
        files.make_directory(pages, new=False)
    _say(steps.announced(paper.number, wanted, directory))
    with Interrupts() as interrupts:
        try:
            found = steps.run_steps(wanted, directory, interrupts, _say)
        except KeyboardInterrupt:
            raise BeowireError(
                f"interrupted; the same command with --out {directory} continues from here", 130
            ) from None
    _finish(paper, found, directory, pages)


def _finish(paper: Paper, found: steps.Found, directory: Path, pages: Path | None) -> None:
    """Page, pictures and report of what there is. BeowireError if that is nothing."""
    if not found.commands:
        reasons = dict.fromkeys(found.why(step.name) for step in found.steps)
        raise BeowireError(f"nothing was measured: {'; '.join(reasons)}", exit_code=1)
    told = paper.tell(found)
    told.write(directory / "reproduction.md")
    print(told.markdown(), end="")
    print(f"\nthe same is in {directory / 'reproduction.md'}")
    if pages is not None:
        told.write(pages / f"{paper.number}.md")
        print(f"and in {pages / f'{paper.number}.md'}")
    if found.records:
        write_report(found.records, directory / "report.html")
        print(f"report: {directory / 'report.html'}")
    for step in found.steps:
        if reason := found.reasons.get(step.name):
            _say(f"{step.name}: {reason}")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
