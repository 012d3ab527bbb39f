# SPDX-License-Identifier: BSD-3-Clause
"""Options of what runs a program several times over several ways: `beowire speedup`, and `beowire
lab mpirun`, which is to be quick without it. So nothing is imported here that takes time."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

RepeatOption = Annotated[
    int | None,
    typer.Option(
        "--repeat",
        metavar="N",
        help="Runs over each way, after one that is not counted. From 6 on, the ratio has a 95 %"
        " interval. Default: 6.",
    ),
]
CheckOption = Annotated[
    bool,
    typer.Option("--check-output", help="Check that all runs print the same lines, in any order."),
]
IgnoreOption = Annotated[
    str | None,
    typer.Option(
        "--ignore",
        metavar="REGEX",
        help="With --check-output: ignore lines that match this, such as 'time|rate'.",
    ),
]
OutOption = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="DIR",
        help="Directory for record.jsonl and report.html. Default: nothing is kept.",
    ),
]
TimeoutOption = Annotated[
    float, typer.Option("--timeout", metavar="SECONDS", help="Seconds after which a run is ended.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print a JSON object instead of text.")]
RanksOption = Annotated[int, typer.Option("-n", "--ranks", metavar="N", help="Number of ranks.")]


@dataclass(frozen=True)
class Wanted:
    """What is to be run, over what and how often, as the user typed it."""

    words: Sequence[str]
    mpi: str | None
    prefix: Path | None
    over: str
    repeat: int | None
    ranks: int
    timeout_s: float
    check_output: bool
    ignore: str | None
    out: Path | None
    as_json: bool
    seed: int | None = None
