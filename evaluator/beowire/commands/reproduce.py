# SPDX-License-Identifier: BSD-3-Clause
"""`beowire reproduce`: what a paper measured, again."""

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from beowire import files
from beowire.commands.options import TimeOption
from beowire.errors import BeowireError
from beowire.reproduce.base import paper_of


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("reproduce")(reproduce)


def reproduce(
    number: Annotated[str, typer.Argument(help="The paper: 002.")],
    *,
    seconds: TimeOption = 120.0,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Directory for reproduction.md and what it is made of."),
    ] = None,
) -> None:
    """Measures what a paper measured, and shows both side by side."""
    paper = paper_of(number)
    now = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
    directory = out or Path(f"beowire-{now}-{paper.number}")
    if seconds <= 0:
        raise BeowireError(f"--time has to be more than 0 seconds, not {seconds:g}")
    try:
        directory.mkdir(parents=True)
    except OSError as error:
        raise BeowireError(f"cannot make {directory}: {error.strerror}") from None
    text = paper.measure(directory, seconds).markdown()
    files.write_whole(directory / "reproduction.md", text)
    print(text, end="")
    print(f"\nthe same is in {directory / 'reproduction.md'}")
