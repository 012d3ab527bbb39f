# SPDX-License-Identifier: BSD-3-Clause
"""`beowire setup`: makes hosts ready for MPI over Beowire. The work is in `beowire.setup`."""

import re
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from typing import Annotated

import typer

from beowire import text_table
from beowire.analysis.finding import Finding, State
from beowire.commands.doctor import AllHostsOption, there
from beowire.commands.options import InterfaceOption, SshOption
from beowire.doctor import show
from beowire.doctor.pairs import Visits
from beowire.doctor.ways import judge
from beowire.errors import BeowireError
from beowire.interrupts import Interrupts
from beowire.places.launch.ssh import SshLauncher
from beowire.setup import scripts
from beowire.setup.hosts import BySudo, Hosts, OverSsh, ThisHost, on_all
from beowire.setup.pieces import (
    DEFAULT_PREFIX,
    FRAMES,
    OFF,
    SHELL,
    Piece,
    archive,
    check_prefix,
    for_shell,
    pieces,
)
from beowire.setup.plan import Plan, plan
from beowire.show.findings import lines_of

_GROUP = re.compile(r"[a-z_][\w-]{0,31}", re.ASCII)

#: One or several: they stand in a file that shells read.
_INTERFACES = re.compile(r"[A-Za-z0-9][\w.@-]{0,14}(,[A-Za-z0-9][\w.@-]{0,14})*", re.ASCII)


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("setup")(setup)


def setup(
    *,
    hosts: AllHostsOption = None,
    apply: Annotated[
        bool, typer.Option("--apply", help="Do it. Without --apply, only print what would be done.")
    ] = False,
    undo: Annotated[
        bool, typer.Option("--undo", help="Remove what --apply has installed.")
    ] = False,
    prefix: Annotated[
        str, typer.Option("--prefix", help="Directory to install to, the same on all hosts.")
    ] = DEFAULT_PREFIX,
    group: Annotated[
        str,
        typer.Option(
            "--group",
            help="Group whose members may send Ethernet frames: by beowire-frames, or with"
            " --broker.",
        ),
    ] = "",
    broker: Annotated[
        bool,
        typer.Option(
            "--broker",
            help="Have beowired, the broker, give members of --group their own frames only.",
        ),
    ] = False,
    sudo: Annotated[
        bool,
        typer.Option("--sudo", help="Become root by sudo, which must not ask for a password."),
    ] = False,
    interface: InterfaceOption = "",
    ssh_option: SshOption = None,
) -> None:
    """Prepares hosts for MPI over Beowire, or undoes that.

    Prints what it would do. With --apply it copies the libfabric provider, lets a group send
    Ethernet frames, and writes the variables to a file for shells and to a module. Then it sends
    messages of each kind between every two hosts. docs/CLUSTER.md
    """
    if apply and undo:
        raise BeowireError("--apply and --undo exclude each other")
    _check_words(prefix, group, interface, sudo=sudo)
    if broker and (not group or prefix.startswith("~")):
        raise BeowireError("--broker needs --group GROUP, and a --prefix without `~`")
    here = _hosts(hosts, ssh_option)
    where = BySudo(here) if sudo else here
    if undo:
        _undo(where, prefix)
        return
    files = pieces(prefix, interface, broker=broker)
    plans = _plans(where, prefix, files, group, broker=broker)
    _show_plans(plans, prefix, apply=apply)
    if apply:
        _apply(where, plans, prefix, files, group)
    bad = any(one.obstacles for one in plans)
    if len(where.names) > 1:
        # Who was let send frames is so from now on.
        plans = _plans(where, prefix, files, group, broker=broker) if apply else plans
        if sudo:
            plans = [_as_user(here, one, prefix) for one in plans]
        # Hosts may have one each of several that are named.
        tried = "" if "," in interface else interface
        bad = _check(where.names, plans, prefix, tried, ssh_option or []) or bad
    if apply:
        print(
            f"in the shell that starts jobs: . {prefix}/{SHELL}   (back to TCP: . {prefix}/{OFF})"
        )
        print(f"or: module use {prefix}/modulefiles; module load beowire")
        _say_of_hosts([(one.host, note) for one in plans for note in one.notes])
        if broker:
            print(f"members of {group} (who log in again first) need no other command for frames")
        elif group:
            print(f"members of {group} (who log in again first) start programs by beowire-frames:")
            print(f"    mpirun -n 4 --hostfile hosts {prefix}/{FRAMES} ./program")
        pair = ",".join(where.names[:2]) if len(where.names) > 1 else "A,B"
        print(f"to measure at which sizes to change lanes here (10 s): beowire tune --hosts {pair}")
    if bad:
        raise typer.Exit(1)


def _check_words(prefix: str, group: str, interface: str, *, sudo: bool) -> None:
    if group and not _GROUP.fullmatch(group):
        raise BeowireError(f"no group can be called {group!r}: `getent group` lists them")
    if interface and not _INTERFACES.fullmatch(interface):
        raise BeowireError(f"no interface can be called {interface!r}: `ip -br link` lists them")
    check_prefix(prefix)
    if sudo and prefix.startswith("~"):
        raise BeowireError("--sudo installs for all users: --prefix without `~`")


def _hosts(hosts: str | None, ssh_option: Sequence[str] | None) -> Hosts:
    if hosts is None:
        if ssh_option:
            raise BeowireError("--ssh-option needs --hosts A,B,C")
        return ThisHost()
    names = [name.strip() for name in hosts.split(",")]
    if len(set(names)) < len(names):
        raise BeowireError("the same host twice: --hosts A,B,C")
    return OverSsh(names, ssh_option or [])


def _plans(
    where: Hosts, prefix: str, files: Sequence[Piece], group: str, *, broker: bool
) -> list[Plan]:
    """What is to be done on each; what cannot even be looked at is an error."""
    text = scripts.look(prefix, files, group).encode()
    said = on_all(where, lambda name: where.run(name, "exec sh", text))
    return [
        plan(name, _value(one), prefix, files, group, broker=broker) for name, one in said.items()
    ]


def _as_user(here: Hosts, one: Plan, prefix: str) -> Plan:
    """The plan that root has seen, for the user who logs in: is he a member of the group?"""
    if not one.may_frames:
        return one
    said = here.run(one.host, f'if [ -x "{for_shell(prefix)}/{FRAMES}" ]; then echo yes; fi')
    return replace(one, may_frames=said.strip() == "yes")


def _value(one: str | BeowireError) -> str:
    if isinstance(one, BeowireError):
        raise one
    return one


def _say_of_hosts(said: Sequence[tuple[str, str]]) -> None:
    """What is said of several hosts is one line."""
    hosts: dict[str, list[str]] = {}
    for host, text in said:
        hosts.setdefault(text, []).append(host)
    for text, names in hosts.items():
        print(text_table.for_stream(f"{', '.join(names)}: {text}", sys.stdout))


def _show_plans(plans: Sequence[Plan], prefix: str, *, apply: bool) -> None:
    said: list[tuple[str, str]] = []
    for one in plans:
        if not one.steps and not one.obstacles:
            said.append((one.host, f"{prefix} is up to date"))
        said += [(one.host, f"{'will' if apply else 'would'} {step}") for step in one.steps]
        said += [(one.host, note) for note in one.notes if not apply]
        said += [(one.host, f"NOT POSSIBLE: {obstacle}") for obstacle in one.obstacles]
    _say_of_hosts(said)
    if not apply and any(one.steps for one in plans):
        print("nothing is changed yet: --apply does it")


def _apply(
    where: Hosts, plans: Sequence[Plan], prefix: str, files: Sequence[Piece], group: str
) -> None:
    """On all hosts or, if something stands in the way on one, on none."""
    hindered = [one for one in plans if one.obstacles]
    if hindered:
        raise BeowireError(
            f"nothing was changed: {hindered[0].host}: {hindered[0].obstacles[0]}", exit_code=1
        )
    line, data = scripts.parcel(scripts.apply(prefix, files, group), archive(files))
    todo = {one.host for one in plans if one.steps}
    done = on_all(where, lambda name: where.run(name, line, data) if name in todo else "")
    failed = [one for one in done.values() if isinstance(one, BeowireError)]
    right = [name for name, one in done.items() if not isinstance(one, BeowireError)]
    _say_of_hosts([(name, "done") for name in right if name in todo])
    if failed:
        rest = " (the other hosts are done: repeat the command)" if len(todo) > 1 else ""
        raise BeowireError(f"{failed[0]}{rest}", exit_code=1)


def _undo(where: Hosts, prefix: str) -> None:
    text = scripts.undo(prefix).encode()
    done = on_all(where, lambda name: where.run(name, "exec sh", text))
    said: list[tuple[str, str]] = []
    for name, one in done.items():
        if isinstance(one, BeowireError):
            continue
        lines = one.splitlines()
        empty = lines == ["nothing"]
        result = (
            f"`beowire setup` has installed nothing in {prefix}"
            if empty
            else f"{prefix} is removed"
        )
        said.append((name, result))
        said += [(name, f"{line}: it was changed since") for line in lines if line[:5] == "kept "]
        said += [(name, line[8:]) for line in lines if line[:8] == "by-hand "]
    _say_of_hosts(said)
    failed = [one for one in done.values() if isinstance(one, BeowireError)]
    if failed:
        raise BeowireError(str(failed[0]), exit_code=1)


def _check(
    names: Sequence[str],
    plans: Sequence[Plan],
    prefix: str,
    interface: str,
    ssh_options: Sequence[str],
) -> bool:
    """Bounces messages between each two, and says what is in the way. True: something is."""
    with (
        Interrupts() as interrupts,
        SshLauncher(names, ssh_options, interface, many=True) as launcher,
    ):
        for one in plans:
            if one.may_frames:
                launcher.through[one.host] = f'"{for_shell(prefix)}/{FRAMES}" '
        found = there(launcher, interface, interrupts)
        with closing(Visits(launcher, found, interrupts)) as visits:
            pairs = visits.pairs()
    findings: list[Finding] = judge(pairs, found)
    print("\n".join(["between the hosts", *lines_of(findings, show.width_here())]))
    return any(finding.state is State.BAD for finding in findings)
