# SPDX-License-Identifier: BSD-3-Clause
"""`beowire report`: the report again, from records."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from beowire import columns
from beowire.apps.record import is_apps_record, read_apps_record
from beowire.commands import sinks
from beowire.commands.checks import JunitOption, PrometheusOption, RulesOption, read_checks
from beowire.commands.sinks import ColumnsOption, CsvOption
from beowire.errors import BeowireError
from beowire.record import read_record
from beowire.report import write_report
from beowire.report.apps_page import write_apps_report


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
    *,
    csv: CsvOption = None,
    netpipe_columns: ColumnsOption = False,
    rules: RulesOption = None,
    junit: JunitOption = None,
    prometheus: PrometheusOption = None,
) -> None:
    """Makes report.html again from records.

    Several records are drawn into the same charts. The same records give the same file, byte
    for byte.
    """
    sinks.check(csv, netpipe_columns)
    checks = read_checks(rules, junit, prometheus)
    paths = [path / "record.jsonl" if path.is_dir() else path for path in records]
    if any(map(is_apps_record, paths)):
        if netpipe_columns:
            raise BeowireError("a record of programs has no columns of NetPIPE: take --csv")
        if rules or prometheus:
            raise BeowireError("--rules and --prometheus are of records of `beowire compare`")
        _report_apps(paths, output, csv)
        return
    read = [read_record(path) for path in paths]
    if len(read) > 1 and (rules or prometheus):
        raise BeowireError("--rules and --prometheus are of one record: name one")
    for record in read:
        for warning in record.warnings:
            typer.echo(f"beowire: {record.path}: {warning}", err=True)
    path = output if output is not None else paths[0].parent / "report.html"
    write_report(read, path)
    if netpipe_columns:
        sinks.write_netpipe(read)
    if csv is not None:
        sinks.write_csv(columns.comma_separated(read), csv)
    quiet = sinks.takes_output(csv, netpipe_columns)
    if not quiet:
        typer.echo(path)
    if status := checks.finish(read[0], quiet=quiet):
        raise typer.Exit(status)


def _report_apps(paths: Sequence[Path], output: Path | None, csv: str | None) -> None:
    """The report of a run of `beowire apps`: of one, for each has other programs."""
    if len(paths) > 1:
        raise BeowireError("a report of programs (`beowire apps`) is of one record: name one")
    record = read_apps_record(paths[0])
    for warning in record.warnings:
        typer.echo(f"beowire: {record.path}: {warning}", err=True)
    path = output if output is not None else paths[0].parent / "report.html"
    write_apps_report(record, path)
    sinks.write_csv(columns.comma_separated_launches(record), csv)
    if not sinks.takes_output(csv, netpipe_columns=False):
        typer.echo(path)
