# SPDX-License-Identifier: BSD-3-Clause
"""`beowire tune`: writes the transport's configuration from measurement. The work is in
`beowire.compare.tuning`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from beowire import files, text_table
from beowire.commands.options import (
    InterfaceOption,
    ReadLab,
    SshOption,
    TimeOption,
    TwoHostsOption,
    TwoNodesOption,
    check_seconds,
    check_where,
    launcher_of,
    with_lab_options,
)
from beowire.compare import tuning
from beowire.errors import BeowireError
from beowire.interrupts import Interrupts
from beowire.places.launch.local import LocalLauncher

_LONGEST_RUN_S = 24 * 3600.0


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("tune")(tune)


@with_lab_options()
def tune(
    context: typer.Context,
    *,
    hosts: TwoHostsOption = None,
    lab: TwoNodesOption = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="File to write. Default with --hosts: beowire/beowire.conf in ~/.config.",
        ),
    ] = None,
    check: Annotated[
        str | None,
        typer.Option("--check", help="Measure nothing; check this configuration file."),
    ] = None,
    seconds: TimeOption = 5.0,
    interface: InterfaceOption = "",
    ssh_option: SshOption = None,
    read_lab: ReadLab,
) -> None:
    """Measures at which sizes to change lanes, and configures it.

    The file (docs/CONFIGURATION.md) has the sizes from which on each lane is used. Every endpoint
    that is opened later on a host with the file reads it. It takes about 10 s. If a busy machine
    disturbs a measurement, it is repeated, for up to a minute; what still cannot be measured is
    left out of the file, and the exit status is 1.
    """
    if check is not None:
        tuning.check_file(check)
        print(f"{check} is right")
        return
    if lab == (hosts is not None):
        raise BeowireError("say where to measure: --hosts A,B, or --lab to try it")
    check_where(context, lab=lab, hosts=hosts, ssh_options=ssh_option)
    check_seconds(seconds, _LONGEST_RUN_S)
    if lab and out is None:
        raise BeowireError(
            "a lab's configuration does not suit real networks: name a file with --out FILE"
        )
    path = out or tuning.default_path()
    tuning.check_writable(path)
    kept = tuning.kept_of(path)
    launcher = launcher_of(read_lab() if lab else None, hosts, ssh_option, interface)
    where = "in a lab: no real network" if lab else f"between {hosts}"
    # What goes to standard output then is the file, and what people read goes beside it.
    said = sys.stderr if files.is_standard_output(path) else sys.stdout
    choices = []
    with (
        Interrupts() as interrupts,
        tuning.measuring(launcher, LocalLauncher(), seconds, interrupts, interface) as measure,
    ):
        for choice in tuning.tune(measure, kept):
            print(text_table.for_stream(str(choice), said), file=said, flush=True)
            choices.append(choice)
    left_out = [choice for choice in choices if choice.left_out]
    if len(left_out) == len(choices):
        raise BeowireError(f"nothing is written: {left_out[0].why}", exit_code=1)
    tuning.write(path, tuning.text_of(choices, where, kept))
    if kept:
        print(text_table.for_stream(f"kept: {', '.join(kept)}", said), file=said)
    print(f"written: {path}", file=said)
    if hosts is not None:
        print(f"copy it to each of {hosts}: an endpoint reads the file of its own host", file=said)
    if left_out:
        keys = ", ".join(choice.key for choice in left_out)
        why = left_out[0].why if len(left_out) == 1 else "the reasons are above and in the file"
        raise BeowireError(f"left out: {keys}: {why}", exit_code=1)
