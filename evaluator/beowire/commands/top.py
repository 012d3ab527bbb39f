# SPDX-License-Identifier: BSD-3-Clause
"""`beowire top`: what the endpoints of this host are doing, live, or for a program to read."""

import itertools
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Annotated

import typer
from rich.console import Console
from rich.live import Live
from rich.text import Text

from beowire.counters.top import Look, Watcher, overview, render, to_json
from beowire.errors import BeowireError
from beowire.interrupts import Interrupts
from beowire.visible import LINES, unguarded, visible

_SHORTEST_S, _LONGEST_S = 0.1, 3600.0


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("top")(top)


def top(
    pid: Annotated[
        int | None,
        typer.Option("--pid", help="Only this process. Default: all that you may inspect."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print all counters, one JSON object per line.")
    ] = False,
    count: Annotated[
        int | None,
        typer.Option(
            "--count", help="Number of updates. Default: 1, or in a terminal until Ctrl-C."
        ),
    ] = None,
    interval: Annotated[float, typer.Option("--interval", help="Seconds between updates.")] = 1.0,
    details: Annotated[
        bool,
        typer.Option(
            "--details", help="Show lanes, peers, frames and drops of each endpoint, as --pid does."
        ),
    ] = False,
) -> None:
    """Shows the endpoints of this host: traffic, peers, drops.

    One line for each process with an open endpoint: frames sent and received, bytes both ways, and
    frames sent again. Rates are since the last update; the first are averages since the endpoint
    was opened.
    """
    if count is not None and count < 1:
        raise BeowireError("--count is at least 1")
    if not _SHORTEST_S <= interval <= _LONGEST_S:
        raise BeowireError(f"--interval is {_SHORTEST_S} to {_LONGEST_S:.0f} seconds")
    console = Console(file=unguarded(sys.stdout))
    with Interrupts(), suppress(KeyboardInterrupt):  # Ctrl-C is how one leaves
        lines = partial(_lines, whole=details or pid is not None, width=console.width)
        if as_json:
            for look in _looks(pid, count or 1, interval):
                print(json.dumps(to_json(look), allow_nan=False), flush=True)
        elif console.is_terminal and count is None:
            _show(_looks(pid, None, interval), console, lines)
        else:
            for number, look in enumerate(_looks(pid, count or 1, interval)):
                print("\n".join([*([""] if number else []), *lines(look)]), flush=True)


def _looks(pid: int | None, count: int | None, interval: float) -> Iterator[Look]:
    """Looks `count` times, or for ever."""
    watcher = Watcher(pid)
    for number in itertools.count(1):
        look = watcher.look()
        if pid is not None and not look.views and not look.unreadable:
            raise BeowireError(
                f"process {pid} has no open endpoint, or you may not inspect it: `beowire top`"
                f" lists those that you may",
                exit_code=1,
            )
        yield look
        if number == count:
            return
        time.sleep(interval)


def _lines(look: Look, *, whole: bool, width: int) -> list[str]:
    return render(look) if whole else overview(look, width)


def _show(looks: Iterator[Look], console: Console, lines_of: Callable[[Look], list[str]]) -> None:
    with Live(console=console, screen=True, auto_refresh=False) as live:
        for look in looks:
            title = f"{time.strftime('%H:%M:%S')}  endpoints: {len(look.views)}  (Ctrl-C ends)"
            lines = _fitted([title, "", *lines_of(look)], console.height)
            live.update(
                Text(visible("\n".join(lines), LINES), no_wrap=True, overflow="crop"), refresh=True
            )


def _fitted(lines: list[str], height: int) -> list[str]:
    """As many lines as the terminal has; the last one says what is missing."""
    if len(lines) <= height:
        return lines
    more = len(lines) - height + 1
    return [*lines[: height - 1], f"{more} more lines: use a taller terminal, or --pid"]
