# SPDX-License-Identifier: BSD-3-Clause
"""`beowire apps`: whole programs over every way of an MPI. Options and calls; the work is in
`beowire.apps`."""

import json
import random
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from beowire import text_table
from beowire.apps import catalogue, hpl, npb, tables
from beowire.apps.catalogue import App
from beowire.apps.page import write_apps_report
from beowire.apps.plan import parse_loads
from beowire.apps.record import AppResult, Launch, Left, Profile, read_apps_record
from beowire.apps.run import Outcome, Request, Say, run
from beowire.commands.mpi_env import PrefixOption
from beowire.commands.options import (
    InterfaceOption,
    OutOption,
    ReadLab,
    SshOption,
    TwoHostsOption,
    TwoNodesOption,
    check_where,
    directory_of,
    with_lab_options,
)
from beowire.errors import BeowireError
from beowire.help_text import Command
from beowire.interrupts import Interrupts
from beowire.places.launch.machines import lab_launcher
from beowire.places.launch.ssh import SshLauncher
from beowire.places.mpi import installation, ways
from beowire.places.mpi.installation import KINDS, Installation
from beowire.places.mpi.places import HostsPlace, LabPlace, Place
from beowire.record.parts import RecordLine

_PIPE_WIDTH = 100
_WIDEST_NAME = max(len(app.name) for app in catalogue.OWN)
_MOST_RANKS = 4096
_MOST_LAUNCHES = 1000
_LONGEST_S = 24 * 3600.0
_EVERY = "all"

_group = typer.Typer(
    help="Compares whole programs over Beowire and over TCP.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def register(app: typer.Typer) -> None:
    """Adds the group to the command line."""
    app.add_typer(_group, name="apps")


class _WithProgram(Command):
    """What follows `--` is a program of the user, and not the names of ours."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if "--" in args:
            at = args.index("--")
            ctx.meta["program"] = args[at + 1 :]
            args = args[:at]
        return super().parse_args(ctx, args)


@_group.command("list")
def list_apps(
    *,
    prefix: PrefixOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Lists the programs, and the MPIs that are installed."""
    mpis: dict[str, Installation | str] = {}
    for name in KINDS:
        try:
            mpis[name] = installation.find(name, prefix)
        except BeowireError as error:
            mpis[name] = str(error)
    absent: dict[str, str] = {}
    for app in catalogue.OWN:
        if app.kind == "hpl":
            try:
                hpl.program(None)
            except BeowireError as error:
                absent[app.name] = str(error)
    if as_json:
        print(json.dumps(_as_data(mpis, absent), allow_nan=False))
        return
    lines = _as_text(mpis, absent)
    print(text_table.for_stream("\n".join(lines), sys.stdout, _WIDEST_NAME + 2))


def _as_data(mpis: dict[str, Installation | str], absent: dict[str, str]) -> dict[str, object]:
    return {
        "apps": [
            {
                "name": app.name,
                "summary": app.summary,
                "classes": list(app.classes),
                "ranks": app.ranks.text,
                "unit": app.unit,
                "ready": app.name not in absent,
                "reason": absent.get(app.name, ""),
            }
            for app in catalogue.OWN
        ],
        "mpis": [
            {"name": name, "ready": False, "reason": found}
            if isinstance(found, str)
            else {
                "name": name,
                "ready": True,
                "version": found.version,
                "launcher": str(found.launcher),
                "compiler": None if found.compiler is None else str(found.compiler),
            }
            for name, found in mpis.items()
        ],
        "over": list(ways.NAMES),
    }


def _as_text(mpis: dict[str, Installation | str], absent: dict[str, str]) -> list[str]:
    wide = _WIDEST_NAME
    lines = []
    for app in catalogue.OWN:
        lines.append(f"{app.name:<{wide}}  {app.summary}")
        reason = absent.get(app.name)
        classes = f"classes {' '.join(app.classes)}; {app.ranks.text}; {app.unit}"
        lines.append(f"{'':<{wide}}  {f'absent: {reason}' if reason else classes}")
    lines += [
        f"{'npb-*':<{wide}}  {', '.join(catalogue.NPB_NAMES)} of your own NPB tree: --npb DIR",
        f"{'-- ...':<{wide}}  your own program, with its arguments",
        "",
    ]
    for name, found in mpis.items():
        if isinstance(found, str):
            lines.append(f"{name:<{wide}}  absent: {found}")
        else:
            compiler = "" if found.compiler else "; absent: its mpicc"
            lines.append(
                f"{name:<{wide}}  {_title(name)} {found.version}, {found.launcher}{compiler}"
            )
    return lines


def _title(name: str) -> str:
    """Without the version, which follows."""
    return KINDS[name].title.rstrip("0123456789 ")


@_group.command("run", cls=_WithProgram)
@with_lab_options()
def run_apps(
    context: typer.Context,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME... | -- PROGRAM ARGUMENTS",
            help="Names from `beowire apps list`, or all; or your own program after --.",
        ),
    ] = None,
    *,
    lab: TwoNodesOption = False,
    hosts: TwoHostsOption = None,
    mpi: Annotated[
        str | None,
        typer.Option(
            "--mpi",
            help=f"Such as openmpi4,mpich ({', '.join(KINDS)}), or all. Default: the first that"
            f" is installed.",
        ),
    ] = None,
    prefix: PrefixOption = None,
    over: Annotated[
        str,
        typer.Option("--over", help=f"Ways to compare: some of {', '.join(ways.NAMES)}."),
    ] = "tcp,beowire,shm",
    ranks: Annotated[int, typer.Option("--ranks", "-n", help="Number of ranks.")] = 2,
    letter: Annotated[
        str, typer.Option("--class", help="Size of the problem: S, W, A or B.")
    ] = "S",
    launches: Annotated[
        int,
        typer.Option(
            "--launches",
            help="Launches over each way, after one that is not counted. From 6 on, ratios have"
            " a 95 % interval.",
        ),
    ] = 6,
    load: Annotated[
        str | None,
        typer.Option(
            "--load",
            help="Keep every core of the nodes busy meanwhile: nice19 (low priority), nice0"
            " (equal priority), idle (no load), or several: idle,nice19.",
        ),
    ] = None,
    npb_directory: Annotated[
        Path | None,
        typer.Option("--npb", help="Your sources of NPB 3.3 or 3.4, MPI version. A copy is built."),
    ] = None,
    timeout_s: Annotated[
        float, typer.Option("--timeout", help="Seconds after which a launch is ended.")
    ] = 600.0,
    profile: Annotated[
        bool,
        typer.Option(
            "--profile/--no-profile",
            help="Count messages, and time in MPI, in additional launches.",
        ),
    ] = True,
    out: OutOption = None,
    interface: InterfaceOption = "",
    ssh_option: SshOption = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Seed for the order of turns.")] = None,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json", help="Print the record's lines as they are written, and nothing else."
        ),
    ] = False,
    read_lab: ReadLab,
) -> None:
    """Runs programs over each way in turns, and says which is faster.

    Each program is compiled with the MPI's own wrapper, and checks its result in each launch.
    """
    words: list[str] = context.meta.get("program", [])
    if words and lab and shutil.which(words[0]) is None:
        raise BeowireError(f"there is no program {words[0]} here")
    tree = None if npb_directory is None else npb.find(npb_directory)
    apps, left = _apps(names or [], words, npb=tree is not None, ranks=ranks)
    _check(ranks, launches, timeout_s)
    found, absent = _mpis(mpi, prefix)
    chosen, unknown = _overs(over)
    request = Request(
        apps=apps,
        mpis=found,
        over=chosen,
        directory=directory_of(out),
        own_directory=out is None,
        command=_command_line(),
        words=words,
        loads=parse_loads(load),
        ranks=ranks,
        letter=catalogue.check_class(letter),
        launches=launches,
        timeout_s=timeout_s,
        seed=random.SystemRandom().randrange(1 << 31) if seed is None else seed,
        tree=tree,
        profile=profile,
        left=[*left, *absent, *unknown],
        say=_Printing() if as_json else None,
    )
    check_where(context, lab=lab, hosts=hosts, ssh_options=ssh_option)
    with Interrupts() as interrupts:
        place: Place
        if lab:
            options = read_lab()
            place = LabPlace(lab_launcher(options))
        elif hosts is not None:
            place = HostsPlace(SshLauncher(hosts, ssh_option or [], interface))
        else:
            raise BeowireError("name where to run: --lab (two virtual nodes) or --hosts A,B")
        try:
            outcome = run(place, request, interrupts)
        except KeyboardInterrupt:
            raise BeowireError("interrupted before anything was measured", 130) from None
        _show(request, outcome, quiet=as_json)


def _show(request: Request, outcome: Outcome, *, quiet: bool) -> None:
    """Tables and report of what is there; then what went wrong, in one line each."""
    record = read_apps_record(request.record)
    report = request.directory / "report.html"
    if not quiet:
        width = shutil.get_terminal_size((_PIPE_WIDTH, 24)).columns
        print(tables.render(record, width))
        print(f"\nrecord: {request.record}", flush=True)
    write_apps_report(record, report)
    if not quiet:
        print(f"report: {report}", flush=True)
    if outcome.interrupted:
        raise BeowireError(f"interrupted; what was measured is in {request.record}", 130)
    if outcome.failures:
        *others, last = outcome.failures
        for failure in others:
            print(f"beowire: {failure}", file=sys.stderr)
        raise BeowireError(last, exit_code=1)


class _Printing(Say):
    """Prints results, launches and what is left out, as they come."""

    def line(self, line: RecordLine) -> None:
        if isinstance(line, (AppResult, Launch, Left, Profile)):
            print(line.model_dump_json(by_alias=True), flush=True)


def _apps(
    names: Sequence[str], words: Sequence[str], *, npb: bool, ranks: int
) -> tuple[list[App], list[Left]]:
    """What is to be run. Of `all`, only what can use so many ranks."""
    if words:
        if names or npb:
            raise BeowireError(
                "name programs of `beowire apps list`, or your own after --, not both"
            )
        return [catalogue.user_app(words)], []
    if not names and not npb:
        raise BeowireError(
            "name a program of `beowire apps list`, or all, or your own: -- ./program"
        )
    apps, unknown = catalogue.choose(names, npb=npb)
    left = [Left(app=name, reason=reason) for name, reason in unknown.items()]
    if catalogue.ALL in names or not names:
        apps = [app for app in apps if not app.refusal(ranks) or app.name in names]
    return apps, left


def _mpis(names: str | None, prefix: Path | None) -> tuple[list[Installation], list[Left]]:
    """The MPIs to use, and those that were asked for and are not here. BeowireError if none is."""
    everything = names is None or names == _EVERY
    asked = list(KINDS) if names is None or everything else _words(names)
    found: list[Installation] = []
    absent: list[Left] = []
    for name in asked:
        try:
            found.append(installation.find(name, prefix))
        except BeowireError as error:
            absent.append(Left(mpi=name, reason=str(error)))
        if found and names is None:
            break
    if not found:
        raise BeowireError("; ".join(one.reason for one in absent))
    return found, [] if everything else absent


def _overs(text: str) -> tuple[list[str], list[Left]]:
    """The ways to take, and those that are none. BeowireError if none is."""
    found: list[str] = []
    unknown: list[Left] = []
    for name in _words(text):
        try:
            found.append(ways.check(name))
        except BeowireError as error:
            unknown.append(Left(over=name, reason=str(error)))
    if not found:
        raise BeowireError("; ".join(one.reason for one in unknown))
    return found, unknown


def _words(text: str) -> list[str]:
    return list(dict.fromkeys(one.strip() for one in text.split(",")))


def _check(ranks: int, launches: int, timeout_s: float) -> None:
    if not 1 <= ranks <= _MOST_RANKS:
        raise BeowireError(f"--ranks is 1 to {_MOST_RANKS}, not {ranks}")
    if not 1 <= launches <= _MOST_LAUNCHES:
        raise BeowireError(f"--launches is 1 to {_MOST_LAUNCHES}, not {launches}")
    if not 0 < timeout_s <= _LONGEST_S:
        raise BeowireError(f"--timeout is more than 0 and at most {_LONGEST_S:g} seconds")


def _command_line() -> list[str]:
    """As the user typed it; the first word is how he calls it."""
    return ["beowire", *sys.argv[1:]]
