# SPDX-License-Identifier: BSD-3-Clause
"""`beowire simulate`: the transport's protocol on a simulated wire, by seed."""

import json
import os
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from beowire import files, text_table
from beowire.commands import simulate_scale
from beowire.errors import BeowireError
from beowire.interrupts import Interrupts
from beowire.paths import simulator
from beowire.simulation import Outcome, Simulator
from beowire.visible import unguarded

SCENARIOS = (
    "all",
    "wire",
    "loss",
    "duplicate",
    "delay",
    "reorder",
    "corrupt",
    "refuse",
    "queue",
    "flap",
    "partition",
    "crash",
    "restart",
    "leave",
    "clock",
    "pause",
    "quiet",
    "flood",
    "mangle",
    "wrap",
    "crowd",
    "narrow",
    "stranger",
)

_MOST_NODES, _MOST_MESSAGES, _MOST_SEEDS, _LAST_SEED = 1000, 20000, 100_000_000, 2**62

ShareOption = str | None

#: Shares that are 0 if only others are given.
_WIRE_SHARES = ("--loss", "--reorder", "--duplicate", "--corrupt")


def register(app: typer.Typer) -> None:
    """Adds the command, and the one below it."""
    group = typer.Typer(invoke_without_command=True, rich_markup_mode=None)
    group.callback()(simulate)
    simulate_scale.register(group)
    app.add_typer(group, name="simulate")


def simulate(
    ctx: typer.Context,
    *,
    seeds: Annotated[int, typer.Option("--seeds", help="How many seeds to run.")] = 1,
    seed: Annotated[int, typer.Option("--seed", help="The first of them.")] = 1,
    nodes: Annotated[
        int | None, typer.Option("--nodes", help="Nodes, 2 to 1000. Default: by the seed.")
    ] = None,
    messages: Annotated[
        int | None, typer.Option("--messages", help="Messages. Default: by the seed.")
    ] = None,
    loss: Annotated[
        ShareOption, typer.Option("--loss", help="Share of frames lost, as 1% or 0.01.")
    ] = None,
    reorder: Annotated[
        ShareOption,
        typer.Option("--reorder", help="Share of frames delayed until others overtake them."),
    ] = None,
    duplicate: Annotated[
        ShareOption, typer.Option("--duplicate", help="Share of frames duplicated.")
    ] = None,
    corrupt: Annotated[
        ShareOption,
        typer.Option("--corrupt", help="Share of frames damaged, and therefore dropped."),
    ] = None,
    undetected: Annotated[
        ShareOption,
        typer.Option("--undetected", help="Share of frames damaged that still arrive."),
    ] = None,
    unchecked: Annotated[
        int | None,
        typer.Option(
            "--unchecked", help="Every N-th node has no checksums. 1: none has them, 0: all have."
        ),
    ] = None,
    scenario: Annotated[
        str | None,
        typer.Option(
            "--scenario",
            help=f"Faults: {', '.join(SCENARIOS)}. Default: all; only wire if a share or"
            f" --messages is given.",
        ),
    ] = None,
    trace: Annotated[
        Path | None, typer.Option("--trace", help="Write every event of one seed to this file.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", help="Processes. Default: one per core.")
    ] = None,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json", help="Print JSON (the default if standard output is not a terminal)."
        ),
    ] = False,
) -> None:
    """Tests the protocol in simulated clusters, by seed.

    A seed always gives the same run. Exit status 0: no message was lost, duplicated, altered or out
    of order, and nothing hung.
    """
    if ctx.invoked_subcommand is not None:
        return
    _check("--seeds", seeds, 1, _MOST_SEEDS)
    _check("--seed", seed, 0, _LAST_SEED)
    _check("--nodes", nodes, 2, _MOST_NODES)
    _check("--messages", messages, 1, _MOST_MESSAGES)
    _check("--unchecked", unchecked, 0, 1000)
    _check("--jobs", jobs, 1, 1000)
    if scenario is not None and scenario not in SCENARIOS:
        raise BeowireError(f"no scenario {scenario!r}: there are {', '.join(SCENARIOS)}")
    if trace is not None and seeds != 1:
        raise BeowireError("--trace records one seed: leave out --seeds")
    shares = {
        "--loss": loss,
        "--reorder": reorder,
        "--duplicate": duplicate,
        "--corrupt": corrupt,
        "--undetected": undetected,
    }
    # As the user wrote them, to be shown in replays; the program is told shares in millionths.
    given = {"--nodes": nodes, "--messages": messages, "--unchecked": unchecked, **shares}
    options = {name: str(value) for name, value in given.items() if value is not None}
    told = dict(options)
    told.update({name: str(_ppm(name, text)) for name, text in shares.items() if text is not None})
    if scenario is not None:
        told["--scenario"] = options["--scenario"] = scenario
    elif told.keys() & {"--messages", *shares}:
        told = {"--scenario": "wire", **dict.fromkeys(_WIRE_SHARES, "0"), **told}
    words = [word for pair in told.items() for word in pair]
    jobs = jobs or os.cpu_count() or 1
    if trace is None:
        outcome = _run(Simulator(simulator(), words, options), seed, seeds, jobs)
    else:
        outcome = _traced(trace, words, options, seed)
    _show(outcome, seed, as_json)
    if outcome.failures:
        raise typer.Exit(1)


def _traced(trace: Path, words: list[str], options: dict[str, str], seed: int) -> Outcome:
    """One seed. Its trace takes the place of what the user has named once it is whole: as far as
    it came, if the run failed."""
    files.refuse_unwritable(trace)
    with os.fdopen(os.memfd_create("beowire-trace"), "rb") as events:
        outcome = _run(Simulator(simulator(), words, options, events.fileno()), seed, 1, 1)
        files.write_named(trace, events.read())
    return outcome


def _run(simulator: Simulator, first: int, count: int, jobs: int) -> Outcome:
    console = Console(file=unguarded(sys.stderr))
    bar = Progress(
        TextColumn("seeds"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
    )
    with Interrupts(), simulator, bar if console.is_terminal else nullcontext():
        task = bar.add_task("seeds", total=count)
        return simulator.run(first, count, jobs, lambda: bar.advance(task))


def _show(outcome: Outcome, first_seed: int, as_json: bool) -> None:
    if as_json or not sys.stdout.isatty():
        print(json.dumps(outcome.to_json(first_seed), allow_nan=False))
    if not as_json:
        stream = sys.stdout if sys.stdout.isatty() else sys.stderr
        print(text_table.for_stream("\n".join(outcome.lines()), stream), file=stream)


def _check(name: str, value: int | None, least: int, most: int) -> None:
    if value is not None and not least <= value <= most:
        raise BeowireError(f"{name} is {least} to {most}, not {value}")


def _ppm(name: str, text: str) -> int:
    """A share, as `1%` or `0.01`, in millionths."""
    number, percent = (text.strip().removesuffix("%"), text.strip().endswith("%"))
    try:
        share = float(number) / (100 if percent else 1)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise BeowireError(
            f"cannot read {name} {text!r}: write a share of the frames, as 1% or 0.01"
        )
    return round(share * 1_000_000)
