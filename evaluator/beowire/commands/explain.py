# SPDX-License-Identifier: BSD-3-Clause
"""`beowire explain`: where the microseconds of a message go. The work is in `beowire.explain`."""

import json
import sys
from typing import Annotated

import typer

from beowire import text_table
from beowire.commands.options import (
    InterfaceOption,
    OutOption,
    ReadLab,
    SshOption,
    TwoHostsOption,
    TwoNodesOption,
    check_seconds,
    check_where,
    directory_of,
    launcher_of,
    with_lab_options,
)
from beowire.explain import show
from beowire.explain.run import Asked, explain
from beowire.interrupts import Interrupts
from beowire.show.html import write_report
from beowire.sizes import parse_size

_LONGEST_RUN_S = 24 * 3600.0


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("explain")(command)


@with_lab_options()
def command(
    context: typer.Context,
    driver: Annotated[str, typer.Argument(help="A driver of `beowire drivers`.")],
    *,
    size: Annotated[
        str, typer.Option("--size", metavar="SIZE", help="Size of the messages: 8, 64KiB.")
    ] = "8",
    lab: TwoNodesOption = False,
    hosts: TwoHostsOption = None,
    out: OutOption = None,
    seconds: Annotated[float, typer.Option("--time", help="Seconds to measure the layers.")] = 20.0,
    trace: Annotated[
        bool,
        typer.Option(
            "--trace", help="For Beowire's drivers: show a message's way through the code."
        ),
    ] = False,
    interface: InterfaceOption = "",
    ssh_option: SshOption = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object and nothing else.")
    ] = False,
    read_lab: ReadLab,
) -> None:
    """Shows where the time of a message goes.

    Measures the driver and those below it side by side. Then, if perf may be used, divides its half
    round trip among system calls, copies, protocol, driver, interrupts and wake-ups.
    """
    check_seconds(seconds, _LONGEST_RUN_S)
    check_where(context, lab=lab, hosts=hosts, ssh_options=ssh_option)
    asked = Asked(
        driver,
        parse_size(size),
        seconds,
        directory_of(out),
        out is None,
        interface,
        trace,
    )
    launcher = launcher_of(read_lab() if lab else None, hosts, ssh_option, interface)
    with Interrupts() as interrupts:
        found = explain(launcher, asked, interrupts)
        report = asked.directory / "report.html"
        write_report([found.record], report)
        if as_json:
            print(json.dumps(show.as_json(found), allow_nan=False), flush=True)
            return
        print(text_table.for_stream(show.render(found), sys.stdout))
        print(f"\nrecord: {found.record.path}\nreport: {report}", flush=True)
