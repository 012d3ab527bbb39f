# SPDX-License-Identifier: BSD-3-Clause
"""`beowire speedup`: a program of the user's over TCP and Beowire, in turns. Options and calls; the
work is in `beowire.apps`."""

import json
import os
import random
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from beowire.apps import speedup as telling
from beowire.apps.agreement import Agreement
from beowire.apps.catalogue import user_app
from beowire.apps.page import write_apps_report
from beowire.apps.record import read_apps_record
from beowire.apps.run import Outcome, Request, run
from beowire.commands.mpi_env import PrefixOption
from beowire.commands.options import (
    InterfaceOption,
    ReadLab,
    SshOption,
    TwoHostsOption,
    TwoNodesOption,
    check_where,
    with_lab_options,
)
from beowire.commands.repeated import (
    CheckOption,
    IgnoreOption,
    JsonOption,
    OutOption,
    RanksOption,
    RepeatOption,
    TimeoutOption,
    Wanted,
)
from beowire.errors import BeowireError
from beowire.interrupts import Interrupts
from beowire.places.launch.machines import lab_launcher
from beowire.places.launch.slurm import SlurmLauncher
from beowire.places.launch.ssh import SshLauncher
from beowire.places.mpi import environment, ways
from beowire.places.mpi.installation import KINDS
from beowire.places.mpi.places import HostsPlace, LabPlace, Place, SlurmPlace

_PIPE_WIDTH = 100
_MOST_RANKS = 4096
_MOST_ROUNDS = 1000
_LONGEST_S = 24 * 3600.0


def register(app: typer.Typer) -> None:
    """Adds the command."""
    # What follows the program is the program's.
    app.command("speedup", context_settings={"allow_interspersed_args": False})(speedup)


@with_lab_options()
def speedup(
    context: typer.Context,
    program: Annotated[
        list[str],
        typer.Argument(metavar="-- PROGRAM [ARGUMENTS]...", help="Your MPI program."),
    ],
    *,
    lab: TwoNodesOption = False,
    hosts: TwoHostsOption = None,
    mpi: Annotated[
        str | None,
        typer.Option(
            "--mpi",
            metavar="NAME",
            help=f"{', '.join(KINDS)}. Default: what the program was linked with.",
        ),
    ] = None,
    prefix: PrefixOption = None,
    over: Annotated[
        str,
        typer.Option("--over", metavar="WAYS", help=f"Some of {', '.join(ways.NAMES)}."),
    ] = "tcp,beowire",
    repeat: RepeatOption = None,
    ranks: RanksOption = 2,
    check_output: CheckOption = False,
    ignore: IgnoreOption = None,
    timeout_s: TimeoutOption = 600.0,
    out: OutOption = None,
    interface: InterfaceOption = "",
    ssh_option: SshOption = None,
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="N", help="Seed for the order of turns.")
    ] = None,
    as_json: JsonOption = False,
    read_lab: ReadLab,
) -> None:
    """Measures how much faster your MPI program is over Beowire.

    Runs it over TCP and over Beowire in turns, in a lab, on two hosts, or in the current Slurm
    allocation.
    """
    check_where(context, lab=lab, hosts=hosts, ssh_options=ssh_option)
    wanted = Wanted(
        program,
        mpi,
        prefix,
        over,
        repeat,
        ranks,
        timeout_s,
        check_output,
        ignore,
        out,
        as_json,
        seed,
    )
    place: Place
    if lab:
        options = read_lab()
        place = LabPlace(lab_launcher(options))
    elif hosts is not None:
        place = HostsPlace(SshLauncher(hosts, ssh_option or [], interface))
    elif "SLURM_JOB_ID" in os.environ:
        place = SlurmPlace(SlurmLauncher(interface))
    else:
        raise BeowireError(
            "name where to run: --lab (two virtual nodes), --hosts A,B, or type it in a Slurm"
            " allocation (salloc -N 2)"
        )
    carry_out(place, wanted, here=hosts is None)


def carry_out(place: Place, wanted: Wanted, *, here: bool) -> None:
    """Runs it, and prints what came of it. `here`: the program is a file of this machine.
    BeowireError (exit code 1) where a way failed, or outputs differ."""
    if here and shutil.which(wanted.words[0]) is None:
        raise BeowireError(f"there is no program {wanted.words[0]} here")
    with tempfile.TemporaryDirectory(prefix="beowire-speedup-") as scratch:
        request = _request(wanted, Path(scratch))
        with Interrupts() as interrupts:
            try:
                outcome = run(place, request, interrupts)
            except KeyboardInterrupt:
                raise BeowireError("interrupted before anything was measured", 130) from None
        _show(request, outcome, wanted)


def _request(wanted: Wanted, scratch: Path) -> Request:
    repeat = telling.INTERVAL_ROUNDS if wanted.repeat is None else wanted.repeat
    if not 1 <= repeat <= _MOST_ROUNDS:
        raise BeowireError(f"--repeat is 1 to {_MOST_ROUNDS}, not {repeat}")
    if not 1 <= wanted.ranks <= _MOST_RANKS:
        raise BeowireError(f"-n is 1 to {_MOST_RANKS}, not {wanted.ranks}")
    if not 0 < wanted.timeout_s <= _LONGEST_S:
        raise BeowireError(f"--timeout is more than 0 and at most {_LONGEST_S:g} seconds")
    if wanted.ignore is not None and not wanted.check_output:
        raise BeowireError("--ignore needs --check-output")
    over = list(dict.fromkeys(ways.check(word.strip()) for word in wanted.over.split(",")))
    mpi = telling.mpi_of(wanted.words, wanted.mpi, wanted.prefix)
    for name in over:  # before anything is started
        overruled = environment.overruled(ways.way(mpi, name).variables, name)
        if overruled is not None:
            typer.echo(f"beowire: {overruled}", err=True)
    return Request(
        apps=[user_app(wanted.words)],
        mpis=[mpi],
        over=over,
        directory=wanted.out or scratch / "run",
        command=["beowire", *sys.argv[1:]],
        words=wanted.words,
        ranks=wanted.ranks,
        launches=repeat,
        timeout_s=wanted.timeout_s,
        seed=random.SystemRandom().randrange(1 << 31) if wanted.seed is None else wanted.seed,
        profile=False,
        agreement=Agreement(wanted.ignore) if wanted.check_output else None,
    )


def _show(request: Request, outcome: Outcome, wanted: Wanted) -> None:
    record = read_apps_record(request.record)
    if wanted.as_json:
        print(json.dumps(telling.as_data(record, wanted.words), allow_nan=False), flush=True)
    else:
        width = shutil.get_terminal_size((_PIPE_WIDTH, 24)).columns
        print(telling.render(record, wanted.words, width), flush=True)
    if wanted.out is not None:
        report = request.directory / "report.html"
        write_apps_report(record, report)
        if not wanted.as_json:
            print(f"\nrecord: {request.record}\nreport: {report}", flush=True)
    if outcome.interrupted:
        raise BeowireError("interrupted: the results are of the runs before that", 130)
    if outcome.failures:
        raise BeowireError("; ".join(outcome.failures), exit_code=1)
    if not telling.agrees(record):
        raise BeowireError("the outputs differ", exit_code=1)
