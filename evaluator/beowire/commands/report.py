# SPDX-License-Identifier: BSD-3-Clause
"""`beowire report`: the report again, from records."""

from pathlib import Path
from typing import Annotated

import typer

from beowire.record import read_record
from beowire.report import write_report


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command()(report)


def report(
    records: Annotated[
        list[Path],
        typer.Argument(
            metavar="RECORD...", help="record.jsonl of a run, or its directory; or several"
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="the file to write [report.html beside the first record]"
        ),
    ] = None,
) -> None:
    """Makes report.html again from records.

    Several records are drawn into the same charts. The same records give the same file, byte
    for byte.
    """
    paths = [path / "record.jsonl" if path.is_dir() else path for path in records]
    read = [read_record(path) for path in paths]
    for record in read:
        for warning in record.warnings:
            typer.echo(f"beowire: {record.path}: {warning}", err=True)
    path = output if output is not None else paths[0].parent / "report.html"
    write_report(read, path)
    typer.echo(path)
