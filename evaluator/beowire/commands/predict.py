# SPDX-License-Identifier: BSD-3-Clause
"""`beowire predict`: what a program would gain on more nodes, or another network. Options and
calls; the work is in `beowire.predict`."""

import json
import shlex
import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from beowire.errors import BeowireError
from beowire.interrupts import Interrupts
from beowire.places.lab.options import parse_delay, parse_rate
from beowire.predict import by_hand, calibrate, platform, show, smpi
from beowire.predict.calibrate import Way
from beowire.predict.run import Asked, predict
from beowire.record.reader import read_record
from beowire.visible import visible

_PIPE_WIDTH = 100
_LONGEST_S = 24 * 3600.0


def register(app: typer.Typer) -> None:
    """Adds the command."""
    # What follows the program is the program's.
    app.command("predict", context_settings={"allow_interspersed_args": False})(command)


def command(
    program: Annotated[
        list[str],
        typer.Argument(
            metavar="-- PROGRAM [ARGUMENTS]...",
            help="Source of an MPI program (.c, .cpp, .f, .f90), or a name of `beowire apps list`.",
        ),
    ],
    *,
    record: Annotated[
        Path,
        typer.Option(
            "--record",
            metavar="RECORD",
            help="Of `compare`: what messages cost; or by hand, FILE.toml (docs/PREDICT.md).",
        ),
    ],
    nodes: Annotated[
        str, typer.Option("--nodes", metavar="LIST", help="How many nodes, a rank on each.")
    ] = "16",
    topology: Annotated[
        str,
        typer.Option(
            "--topology",
            metavar="KIND",
            help="switch: one for all; fat-tree:PORTS,UPLINKS: PORTS nodes at each switch, which"
            " has UPLINKS links to the next level.",
        ),
    ] = "switch",
    rate: Annotated[
        str | None, typer.Option("--rate", help="Another link's rate, such as 25g.")
    ] = None,
    latency: Annotated[
        str | None,
        typer.Option(
            "--latency", metavar="TIME", help="What each message takes longer than in the record."
        ),
    ] = None,
    processor: Annotated[
        float,
        typer.Option(
            "--processor", metavar="FACTOR", help="How fast a node computes, to this machine."
        ),
    ] = 1.0,
    drivers: Annotated[
        str | None,
        typer.Option("--drivers", help="Ways of the record. Default: its MPIs, else TCP, Beowire."),
    ] = None,
    flags: Annotated[
        str, typer.Option("--flags", metavar="FLAGS", help="For the compiler: '-O3 -I include'.")
    ] = "",
    timeout_s: Annotated[
        float, typer.Option("--timeout", help="Seconds that one simulated run may take.")
    ] = 600.0,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="Keep platforms, parameters and times of computing there. What is computed is not"
            " measured again if it is there.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object and nothing else.")
    ] = False,
) -> None:
    """Predicts what a program would gain on more nodes (SimGrid).

    Runs it on simulated nodes whose messages take as long as in a record of `compare`.
    """
    smpi.check()
    if not 0 < timeout_s <= _LONGEST_S:
        raise BeowireError(f"--timeout is more than 0 and at most {_LONGEST_S:g} seconds")
    if not 1e-4 <= processor <= 1e4:
        raise BeowireError(f"--processor is 0.0001 to 10000, not {processor:g}")
    ways, link = _ways(record, drivers, rate)
    counts, switches = platform.parse_nodes(nodes), platform.parse_topology(topology)
    platform.check_size(switches, counts[-1])
    asked = Asked(
        words=program,
        nodes=counts,
        topology=switches,
        rate_bytes_per_s=link,
        latency_ns=0.0 if latency is None else parse_delay(latency),
        processor=processor,
        flags=_words(flags),
        timeout_s=timeout_s,
        out=out,
    )
    with Interrupts() as interrupts:
        found = predict(ways, asked, interrupts, _say)
    if as_json:
        print(json.dumps(show.as_data(found), allow_nan=False), flush=True)
        return
    width = shutil.get_terminal_size((_PIPE_WIDTH, 24)).columns
    print("\n".join(visible(line) for line in show.render(found, width).split("\n")), flush=True)


def _ways(path: Path, drivers: str | None, rate: str | None) -> tuple[list[Way], float | None]:
    """The ways, and what another link carries in bytes per second; None: the record's."""
    if by_hand.is_by_hand(path):
        if drivers is not None or rate is not None:
            raise BeowireError(f"{path} says which ways there are, and how fast: edit it")
        return by_hand.ways(path), None
    record = read_record(path)
    names = None if drivers is None else [one.strip() for one in drivers.split(",")]
    link = None if rate is None else calibrate.payload_rate(record, parse_rate(rate))
    return calibrate.ways(record, names), link


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        raise BeowireError(f"cannot read --flags {text!r}: a quote is not closed") from None


def _say(text: str) -> None:
    if sys.stderr.isatty():
        print(text, file=sys.stderr, flush=True)
