# SPDX-License-Identifier: BSD-3-Clause
"""`beowire netpipe`: NetPIPE's command lines. `beowire.compare.netpipe` knows what options mean."""

import random
import socket
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from beowire import files
from beowire.commands.compare_options import (
    LARGEST_BUFFER,
    LARGEST_OFFSET,
    LEAST_BUFFER,
    check_amounts,
)
from beowire.commands.options import (
    ReadLab,
    SshOption,
    TwoNodesOption,
    directory_of,
    launcher_of,
    refuse_lab_options,
    with_lab_options,
)
from beowire.commands.sinks import write_file
from beowire.compare import netpipe
from beowire.compare.netpipe import Wanted
from beowire.compare.run import Request, problems, run
from beowire.errors import BeowireError
from beowire.help_text import Command
from beowire.interrupts import Interrupts
from beowire.places.lab.options import LabOptions
from beowire.places.launch.base import Launcher
from beowire.plan.plan import LEAST_CELL_S
from beowire.record.reader import Record, read_record
from beowire.show import columns
from beowire.show.html import write_report
from beowire.sizes import parse_size
from beowire.visible import visible

_HERE = ("localhost", "127.0.0.1", "::1")

#: What a size gets of the time unless --time says otherwise: NetPIPE takes more.
_CELL_S = 2 * LEAST_CELL_S
_LEAST_S = 5.0


class _Netpipe(Command):
    """The command, whose -h is NetPIPE's, but for one that is all there is."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Takes that."""
        return super().parse_args(ctx, ["--help"] if args == ["-h"] else args)


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(
        "netpipe",
        cls=_Netpipe,
        context_settings={
            "allow_extra_args": True,
            "ignore_unknown_options": True,
            "help_option_names": ["--help"],  # -h is NetPIPE's
        },
    )(netpipe_command)


@with_lab_options("mtu", "rate", "backend", "nic", "modules")
def netpipe_command(
    context: typer.Context,
    *,
    lab: TwoNodesOption = False,
    read_lab: ReadLab,
    seconds: Annotated[
        float | None,
        typer.Option("--time", help="Seconds to measure. Default: 0.5 per size."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Directory for record and report. Default: new.")
    ] = None,
    ssh_option: SshOption = None,
) -> None:
    """Measures one protocol with NetPIPE's options and output.

    Such as: beowire netpipe NPtcp -h nodeB -u 1048576 -o np.out. The first word is NetPIPE's
    program (NPtcp, NPmpi, NPmpi2, NPmemcpy ...) or a driver's name. Then its options: letters of
    NetPIPE 3.7 (-h -l -u -p -o -O -b -s -2 -B -I -i; -a -n -P -r change nothing) or words of
    NetPIPE 5 (--start --end --pert --fac2 --bidir --stream --burst --nocache --integrity --soffset
    --roffset --outfile ...), with which the file has its columns. Both ends are started from here:
    a receiver need not be. docs/NETPIPE.md has all of it.
    """
    wanted = netpipe.parse(context.args)
    buffer = _checked(wanted, seconds)
    files.refuse_unwritable(Path(wanted.output))
    for note in wanted.notes:
        _say(note)
    if not (lab or wanted.host) and wanted.needs_other_end():
        _say("a receiver need not be started: -h HOST on the other node starts both ends")
        return
    if not lab:
        refuse_lab_options(context)
    options = read_lab()
    launcher = _launcher(wanted, options if lab else None, ssh_option or [])
    wanted.driver = netpipe.resolved(wanted.driver)
    sizes = wanted.sizes()
    request = Request(
        patterns=[wanted.pattern],
        sizes=sizes,
        directory=directory_of(out),
        own_directory=out is None,
        drivers=wanted.driver,
        seconds=seconds if seconds is not None else max(_LEAST_S, _CELL_S * len(sizes)),
        seed=random.SystemRandom().randrange(1 << 31),
        offsets=wanted.offsets,
        socket_buffer=buffer,
    )
    with Interrupts() as interrupts:
        try:
            outcome = run(launcher, request, interrupts)
        except KeyboardInterrupt:
            raise BeowireError("interrupted before anything was measured", 130) from None
        record = read_record(request.record)
        _write(record, wanted, request)
        if found := problems(request, outcome, record):
            raise BeowireError("; ".join(found), 130 if outcome.interrupted else 1)


def _checked(wanted: Wanted, seconds: float | None) -> int | None:
    """The bytes of TCP's buffers, if any are asked for. BeowireError for what cannot be."""
    if seconds is not None:
        check_amounts(seconds)
    if max(wanted.offsets) > LARGEST_OFFSET:
        raise BeowireError(f"-O is at most {LARGEST_OFFSET} bytes")
    if not wanted.socket_buffer:
        return None
    size = parse_size(wanted.socket_buffer)
    if not LEAST_BUFFER <= size <= LARGEST_BUFFER:
        raise BeowireError(f"-b is {LEAST_BUFFER} to {LARGEST_BUFFER} bytes")
    return size


def _launcher(wanted: Wanted, lab: LabOptions | None, ssh_options: list[str]) -> Launcher:
    pair = None if not wanted.host or wanted.host in _HERE else wanted.host
    if pair is not None and "," not in pair:
        pair = f"{socket.gethostname()},{pair}"
    return launcher_of(lab, pair, ssh_options)


def _write(record: Record, wanted: Wanted, request: Request) -> None:
    """The columns, whatever of them there is; NetPIPE's lines on standard error; the report."""
    for line in columns.screen_lines(record):
        print(line, file=sys.stderr)
    write_report([record], request.directory / "report.html")
    if found := columns.netpipe(record, wanted.version):
        write_file(Path(wanted.output), "".join(one.text for one in found), [record.path])
        _say(f"{wanted.driver}: columns in {wanted.output}, all of it in {request.record}")


def _say(text: str) -> None:
    print(f"netpipe: {visible(text)}", file=sys.stderr, flush=True)
