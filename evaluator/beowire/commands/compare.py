# SPDX-License-Identifier: BSD-3-Clause
"""`beowire compare`: measures protocols side by side. Options and calls; the work is elsewhere."""

import random
import shutil
import sys
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from beowire import terminal
from beowire.commands.options import (
    InterfaceOption,
    SshOption,
    TimeOption,
    TwoHostsOption,
    TwoNodesOption,
    refuse_lab_options,
)
from beowire.errors import BeowireError
from beowire.interrupts import Interrupts
from beowire.lab.options import (
    DEFAULT_MTU,
    CongestionOption,
    DelayOption,
    LinkOption,
    LossOption,
    MtuOption,
    NodesOption,
    RateOption,
    read_lab_options,
)
from beowire.launch.base import Launcher
from beowire.launch.lab import LabLauncher
from beowire.launch.local import LocalLauncher
from beowire.launch.ssh import SshLauncher
from beowire.load import parse_load
from beowire.plan import parse_patterns
from beowire.record import Record, read_record
from beowire.report import write_report
from beowire.run import Outcome, Request, run
from beowire.sizes import LARGEST_BYTES, parse_size, parse_sizes
from beowire.visible import unguarded

_LONGEST_RUN_S = 7 * 24 * 3600.0
_MOST_LAUNCHES = 1000
_PIPE_WIDTH = 100


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("compare")(compare)


def compare(
    context: typer.Context,
    *,
    lab: TwoNodesOption = False,
    hosts: TwoHostsOption = None,
    drivers: Annotated[
        str | None,
        typer.Option(
            "--drivers",
            help="Such as tcp,beowire,mpi:mpich/tcp; mpi is every MPI that is here. "
            "Default: all that are ready, but MPIs.",
        ),
    ] = None,
    pattern: Annotated[
        str, typer.Option("--pattern", help="pingpong, stream, or both: pingpong,stream.")
    ] = "pingpong",
    sizes: Annotated[
        str | None,
        typer.Option(
            "--sizes",
            help="Such as 8,1024,64KiB, or LOW-HIGH of the schedule. "
            "Default: NetPIPE's schedule up to --max-size, coarser where --time is short.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Directory for record.jsonl and report.html. Default: new."),
    ] = None,
    seconds: TimeOption = 120.0,
    launches: Annotated[
        int, typer.Option("--launches", help="How often all is measured with new processes.")
    ] = 1,
    max_size: Annotated[
        str | None, typer.Option("--max-size", help="The largest message. Default: 4MiB.")
    ] = None,
    interface: InterfaceOption = "",
    ssh_option: SshOption = None,
    pin: Annotated[
        str | None, typer.Option("--pin", help="CPUs of the two ends: A,B. Default: chosen.")
    ] = None,
    load: Annotated[
        str | None,
        typer.Option(
            "--load",
            help="Computes on every CPU of the nodes meanwhile: hog:NICE, 0 an equal, 19 idle.",
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Of the order of sizes and turns.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print result lines as they come, and nothing else.")
    ] = False,
    nodes: NodesOption = 2,
    link: LinkOption = "direct",
    mtu: MtuOption = DEFAULT_MTU,
    rate: RateOption = None,
    delay: DelayOption = None,
    loss: LossOption = None,
    congestion: CongestionOption = None,
) -> None:
    """Measures protocols between two nodes, and says what to use.

    All do the same work and take turns. Without --lab or --hosts both ends are on this host,
    over loopback.
    """
    if not 0 < seconds <= _LONGEST_RUN_S:
        raise BeowireError(f"--time is more than 0 and at most {_LONGEST_RUN_S:g} seconds")
    if not 1 <= launches <= _MOST_LAUNCHES:
        raise BeowireError(f"--launches is 1 to {_MOST_LAUNCHES}")
    request = Request(
        patterns=parse_patterns(pattern),
        sizes=_sizes(sizes, max_size),
        scheduled=sizes is None,
        directory=out or Path(datetime.now().strftime("beowire-%Y%m%d-%H%M%S")),
        own_directory=out is None,
        drivers=drivers,
        seconds=seconds,
        launches=launches,
        seed=random.SystemRandom().randrange(1 << 31) if seed is None else seed,
        pins=_pins(pin),
        interface=interface,
        load=None if load is None else parse_load(load),
        json=as_json,
    )
    if not lab:
        refuse_lab_options(context)
    if ssh_option and hosts is None:
        raise BeowireError("--ssh-option needs --hosts A,B")
    with Interrupts() as interrupts:
        launcher: Launcher
        if lab:
            if hosts is not None:
                raise BeowireError("--lab and --hosts exclude each other")
            launcher = LabLauncher(
                read_lab_options(
                    nodes=nodes,
                    link=link,
                    mtu=mtu,
                    rate=rate,
                    delay=delay,
                    loss=loss,
                    congestion=congestion,
                )
            )
        elif hosts is not None:
            launcher = SshLauncher(hosts, ssh_option or [], interface)
        else:
            launcher = LocalLauncher()
        try:
            outcome = run(launcher, request, interrupts)
        except KeyboardInterrupt:
            raise BeowireError("interrupted before anything was measured", 130) from None
        _show(request, outcome)


def _show(request: Request, outcome: Outcome) -> None:
    """Table, plot and report of what is there; then what went wrong, in one line.

    The table comes first, and a terminal that went away does not cost the report: what was
    measured is shown wherever it still can be.
    """
    record = read_record(request.record)
    report = request.directory / "report.html"
    unheard: OSError | None = None
    if not request.json:
        try:
            print(_text_of(record), file=unguarded(sys.stdout))
            print(f"\nrecord: {request.record}", flush=True)
        except OSError as error:
            unheard = error
    problems = _problems(request, outcome, record)
    try:
        write_report([record], report)
    except BeowireError as error:
        problems.append(str(error))
    else:
        if not request.json and unheard is None:
            print(f"report: {report}", flush=True)
    if problems:
        raise BeowireError("; ".join(problems), 130 if outcome.interrupted else 1)
    if unheard is not None:
        raise unheard


def _text_of(record: Record) -> str:
    width = shutil.get_terminal_size((_PIPE_WIDTH, 24)).columns
    return terminal.render(record, width=width, colour=sys.stdout.isatty())


def _problems(request: Request, outcome: Outcome, record: Record) -> list[str]:
    if outcome.interrupted:
        return [f"interrupted; what was measured is in {request.record}"]
    if outcome.failures:
        return list(outcome.failures)
    if record.results:
        return []
    reasons = dict.fromkeys(f"{one.driver}: {one.reason}" for one in record.skipped)
    return [f"nothing could be measured: {'; '.join(reasons)}"]


def _sizes(sizes: str | None, max_size: str | None) -> list[int]:
    if max_size is not None:
        return parse_sizes(sizes, parse_size(max_size))
    return parse_sizes(sizes) if sizes is None else parse_sizes(sizes, LARGEST_BYTES)


def _pins(text: str | None) -> tuple[str | None, str | None]:
    if text is None:
        return None, None
    words = [word.strip() for word in text.split(",")]
    if len(words) != 2 or not all(word == "auto" or word.isdecimal() for word in words):
        raise BeowireError(f"cannot read --pin {text!r}: write two CPU numbers, as 0,1")
    return words[0], words[1]
