# SPDX-License-Identifier: BSD-3-Clause
"""`beowire report`: the report again, from records."""

import shutil
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from beowire import files
from beowire.analysis import compared, verdict
from beowire.analysis.curves import curves, record_labels
from beowire.apps import tables
from beowire.apps.page import write_apps_report
from beowire.apps.record import is_apps_record, read_apps_record
from beowire.commands import sinks
from beowire.commands.checks import (
    Checks,
    JunitOption,
    PrometheusOption,
    RulesOption,
    never_worse,
    read_checks,
)
from beowire.commands.sinks import ColumnsOption, CsvOption
from beowire.errors import BeowireError
from beowire.plan.patterns import DEFAULT
from beowire.plan.selection import group_of
from beowire.record.reader import Record, read_record
from beowire.record.text import made_sense_of
from beowire.show import columns, terminal
from beowire.show.html import write_report
from beowire.visible import LINES, unguarded, visible

_PIPE_WIDTH = 100


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command()(report)


def report(
    records: Annotated[
        list[Path],
        typer.Argument(
            metavar="RECORD...", help="record.jsonl of a run, or its directory; or several."
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="The file to write. Default: report.html beside the first record.",
        ),
    ] = None,
    *,
    drivers: Annotated[
        str | None,
        typer.Option(
            "--drivers", help="Only these drivers or groups of them, separated by commas."
        ),
    ] = None,
    text: Annotated[
        bool,
        typer.Option("--text", help="Print the tables of a run again; write a file only with -o."),
    ] = False,
    csv: CsvOption = None,
    netpipe_columns: ColumnsOption = False,
    rules: RulesOption = None,
    junit: JunitOption = None,
    prometheus: PrometheusOption = None,
) -> None:
    """Writes report.html from the records of runs.

    Several records share charts, and are compared in a table. The same records give the same file,
    byte for byte.
    """
    sinks.check(csv, netpipe_columns, text=text)
    checks = read_checks(rules, junit, prometheus)
    paths = [path / "record.jsonl" if path.is_dir() else path for path in records]
    if any(map(is_apps_record, paths)):
        if netpipe_columns:
            raise BeowireError("a record of `beowire apps` has no NetPIPE columns: use --csv")
        if rules or prometheus or drivers:
            option = "--drivers needs" if drivers else "--rules and --prometheus need"
            raise BeowireError(f"{option} a record of `beowire compare`")
        with made_sense_of(paths):
            _report_apps(paths, output, csv, text=text)
        return
    read = [read_record(path) for path in paths]
    if len(read) > 1 and (rules or prometheus):
        raise BeowireError("--rules and --prometheus take one record")
    for record in read:
        for warning in record.warnings:
            typer.echo(f"beowire: {record.path}: {warning}", err=True)
    if drivers is not None:
        read = _only(read, [word.strip() for word in drivers.split(",")])
    with never_worse() if rules else nullcontext(), made_sense_of(paths):
        status = _report(read, output, checks, csv, text=text, netpipe_columns=netpipe_columns)
    if status:
        raise typer.Exit(status)


def _only(read: Sequence[Record], words: Sequence[str]) -> list[Record]:
    """The records with these drivers alone, or those of these groups. BeowireError: none is."""
    measured = dict.fromkeys(result.driver for record in read for result in record.results)
    of_word = {
        word: [name for name in measured if word in (name, group_of(name))] for word in words
    }
    for word, names in of_word.items():
        if not names:
            raise BeowireError(f"no {word!r} in the record: it has {', '.join(measured)}")
    wanted = {name for names in of_word.values() for name in names}
    return [
        replace(
            record,
            results=[one for one in record.results if one.driver in wanted],
            skipped=[one for one in record.skipped if one.driver in wanted],
        )
        for record in read
    ]


def _report(
    read: Sequence[Record],
    output: Path | None,
    checks: Checks,
    csv: str | None,
    *,
    text: bool,
    netpipe_columns: bool,
) -> int:
    """All of it; what the command ends with. What came of rules is said whatever else fails."""
    quiet = sinks.takes_output(csv, netpipe_columns) or _prints(output)
    try:
        if text:
            print(_text_of(read), file=unguarded(sys.stdout), flush=True)
        path = output if output is not None else read[0].path.parent / "report.html"
        if output is not None or not text:
            write_report(read, path, named=output is not None)
        if netpipe_columns:
            sinks.write_netpipe(read)
        if csv is not None:
            sinks.write_csv(columns.comma_separated(read), csv, [one.path for one in read])
        if not quiet and not text:
            typer.echo(path)
    finally:
        status = checks.finish(read[0], quiet=quiet)
    return status


def _prints(output: Path | None) -> bool:
    """Whether the report itself is what standard output is for."""
    return output is not None and files.is_standard_output(output)


def _text_of(records: Sequence[Record]) -> str:
    """What `compare` printed of each, and how they compare."""
    width = shutil.get_terminal_size((_PIPE_WIDTH, 24)).columns
    parts = []
    for record, label in zip(records, record_labels(records), strict=True):
        probes = record.meta.options.get("probes") is not None
        shown = terminal.render(record, width=width, colour=sys.stdout.isatty(), probes=probes)
        parts.append(f"{visible(label)}\n\n{shown}" if label else shown)
    parts += [visible(terminal.sheet_text(one), LINES) for one in compared.sheets(records)]
    parts += [visible(f"{one}.") for one in verdict.links(records, curves(records, DEFAULT.name))]
    return "\n\n".join(parts)


def _report_apps(
    paths: Sequence[Path], output: Path | None, csv: str | None, *, text: bool
) -> None:
    """The report of a run of `beowire apps`: of one, for each has other programs."""
    if len(paths) > 1:
        raise BeowireError("a report of `beowire apps` takes one record")
    record = read_apps_record(paths[0])
    for warning in record.warnings:
        typer.echo(f"beowire: {record.path}: {warning}", err=True)
    if text:
        print(tables.render(record, shutil.get_terminal_size((_PIPE_WIDTH, 24)).columns))
    path = output if output is not None else paths[0].parent / "report.html"
    if output is not None or not text:
        write_apps_report(record, path, named=output is not None)
    sinks.write_csv(columns.comma_separated_launches(record.launches), csv, paths)
    if not text and not sinks.takes_output(csv, netpipe_columns=False) and not _prints(output):
        typer.echo(path)
