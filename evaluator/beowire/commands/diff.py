# SPDX-License-Identifier: BSD-3-Clause
"""`beowire diff`: whether B is slower than A, from their records."""

import json
from dataclasses import replace
from typing import Annotated

import typer

from beowire.commands.against import STATUS, USUAL_THRESHOLD, ThresholdOption, share_of
from beowire.diff.show import as_json as to_json
from beowire.diff.show import render
from beowire.diff.sides import differences, read_sides
from beowire.diff.verdict import compare
from beowire.errors import BeowireError
from beowire.record.text import made_sense_of


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("diff")(diff)


def diff(
    first: Annotated[
        str,
        typer.Argument(
            metavar="A",
            help="The run to compare with: its record.jsonl or directory, several as A1,A2,A3,"
            " or a directory of runs.",
        ),
    ],
    second: Annotated[str, typer.Argument(metavar="B", help="Likewise.")],
    threshold: ThresholdOption = USUAL_THRESHOLD,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object and nothing else.")
    ] = False,
) -> None:
    """Compares two runs: whether B is slower than A, at which sizes.

    Exit status: 0 if B is no worse, 1 if it is worse, 2 if that is unclear. Launches are compared,
    not messages: 10 on each side detect 3 % (`beowire compare --launches 10`).
    """
    share = share_of(threshold)
    sides = read_sides(first, second)
    for side in sides:
        for record in side.records:
            for warning in record.warnings:
                typer.echo(f"beowire: {record.path}: {warning}", err=True)
    paths = [record.path for side in sides for record in side.records]
    with made_sense_of(paths):
        comparison = replace(compare(*sides, share), notes=list(differences(*sides)))
        shown = json.dumps(to_json(comparison), allow_nan=False) if as_json else render(comparison)
    try:
        print(shown, flush=True)
    except OSError as error:
        # The usual 1 would say that B is worse.
        raise BeowireError(f"cannot write the comparison: {error.strerror}", 2) from None
    raise typer.Exit(STATUS[comparison.verdict])
