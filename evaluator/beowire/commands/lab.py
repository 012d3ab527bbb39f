# SPDX-License-Identifier: BSD-3-Clause
"""`beowire lab`: the virtual cluster."""

import json
import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer

from beowire.commands import lab_pvm
from beowire.commands.mpi_env import MpiOption, PrefixOption
from beowire.commands.options import ReadLab, with_lab_options
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
from beowire.help_text import Command
from beowire.places.lab import cluster, pvm, state
from beowire.places.lab.state import LabState
from beowire.places.mpi import environment, installation, linkage
from beowire.places.mpi import in_lab as job

NameOption = Annotated[str, typer.Option("--name", help="Name of the lab.")]
StatusJsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]

_PIPE_WIDTH = 200

#: Of commands whose words are another's, -h among them unless it is the first.
_HANDED_ON = {"ignore_unknown_options": True, "help_option_names": ["--help"]}


class _HandingOn(Command):
    """A command with these."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Takes a -h that can be nobody else's."""
        return super().parse_args(ctx, ["--help"] if args[:1] == ["-h"] else args)


_group = typer.Typer(
    help="Runs a virtual cluster in this machine.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def register(app: typer.Typer) -> None:
    """Adds the group to the command line."""
    lab_pvm.register(_group)
    app.add_typer(_group, name="lab")


@_group.command("up")
@with_lab_options()
def up(
    *,
    read_lab: ReadLab,
    name: NameOption = cluster.DEFAULT_NAME,
) -> None:
    """Makes a lab. It stays until `beowire lab down`, or until the machine is switched off."""
    options = read_lab()
    if options.backend != "namespaces" and sys.stderr.isatty():
        print("booting: emulated machines take half a minute", file=sys.stderr)
    lab = cluster.up(options, name)
    chosen = "" if name == cluster.DEFAULT_NAME else f"--name {name} "
    print(f"lab {name} is up: {options.nodes} nodes, {_link_text(lab)}")
    # Not every machine has the first; no lab is made without the second.
    look = f"ping -c 3 {lab.nodes[1].address}" if shutil.which("ping") else "ip -brief address"
    print(f"run something in it: beowire lab exec {chosen}node0 -- {look}")


@_group.command("down")
def down(
    *,
    name: NameOption = cluster.DEFAULT_NAME,
    everything: Annotated[
        bool, typer.Option("--all", help="Remove all labs of this user.")
    ] = False,
) -> None:
    """Removes a lab, and ends the programs that run in its nodes."""
    if not everything:
        cluster.down(name)
        print(f"lab {name} is removed")
        return
    with state.none_being_made():
        living, cleaned = cluster.every()
    for lab in living:
        cluster.down(lab.name)
    for removed in sorted([lab.name for lab in living] + cleaned):
        print(f"lab {removed} is removed")


@_group.command("status")
def status(*, as_json: StatusJsonOption = False) -> None:
    """Lists the labs of this user, and cleans up after those that died."""
    living, cleaned = cluster.every()
    more = state.is_one_being_made()
    if as_json:
        labs = [_as_data(lab) for lab in living]
        data = {"labs": labs, "cleaned": cleaned, "one_being_made": more}
        print(json.dumps(data, allow_nan=False))
        return
    for name in cleaned:
        print(f"lab {name} had ended: its remains are removed", file=sys.stderr)
    if more:
        print("a lab is being made, or removed, just now", file=sys.stderr)
    if not living:
        print("no labs: make one with `beowire lab up`")
        return
    # Only here: it would be a tenth of the time of each command.
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    table = Table("lab", "node", "address", "core", "link", box=None, pad_edge=False)
    for lab in living:
        for node in lab.nodes:
            first = node is lab.nodes[0]
            table.add_row(
                lab.name if first else "",
                node.name,
                node.address,
                "any" if node.cpu is None else str(node.cpu),
                _link_text(lab) if first else "",
            )
    # A pipe has no width: there each node stays on one line.
    console = Console(highlight=False, width=None if sys.stdout.isatty() else _PIPE_WIDTH)
    console.print(table)


@_group.command("exec", cls=_HandingOn, context_settings=_HANDED_ON)
def execute(
    node: Annotated[str, typer.Argument(help="node0, node1, ... or switch.")],
    command: Annotated[list[str], typer.Argument(help="Program and arguments, after --.")],
    *,
    name: NameOption = cluster.DEFAULT_NAME,
) -> None:
    """Runs a program in a node, on the node's core. Its exit status becomes this command's."""
    lab = cluster.find(name)
    where = cluster.node_of(lab, node)
    inside = cluster.command_in(where, command, pin=True)
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execve(inside[0], inside, {**os.environ, **pvm.variables(lab, where)})
    except OSError as error:
        raise BeowireError(f"cannot start {command[0]}: {error.strerror}", exit_code=126) from None


@_group.command("mpirun", cls=_HandingOn, context_settings=_HANDED_ON)
def mpirun(
    program: Annotated[list[str], typer.Argument(help="Program and arguments, after --.")],
    *,
    mpi: MpiOption,
    over: Annotated[
        str,
        typer.Option(
            "--over",
            metavar="WAYS",
            help="beowire, or tcp (the MPI's own TCP); or tcp,beowire: in turns, and compared.",
        ),
    ] = "beowire",
    ranks: RanksOption = 2,
    repeat: RepeatOption = None,
    check_output: CheckOption = False,
    ignore: IgnoreOption = None,
    timeout_s: TimeoutOption = 600.0,
    out: OutOption = None,
    as_json: JsonOption = False,
    on: Annotated[
        list[str] | None,
        typer.Option("--on", help="A node to use, may be repeated. Default: all nodes."),
    ] = None,
    prefix: PrefixOption = None,
    name: NameOption = cluster.DEFAULT_NAME,
) -> None:
    """Runs an MPI program across the lab's nodes.

    Its MPI's own launcher starts it. With several ways (--over tcp,beowire) it runs over them in
    turns, and they are compared. Ranks are assigned to nodes in blocks and run on their node's
    core; on a single node, on any core.
    """
    if "," in over or repeat is not None:
        wanted = Wanted(
            program, mpi, prefix, over, repeat, ranks, timeout_s, check_output, ignore, out, as_json
        )
        _compare(wanted, name, on or ())
        return
    if check_output or ignore is not None or out is not None or as_json:
        raise BeowireError("one run cannot be compared: add --repeat N, or several ways to --over")
    found = installation.find(mpi, prefix)
    linkage.check(program, mpi)
    lab = cluster.find(name)
    variables = environment.variables(found, over)
    overruled = environment.overruled(variables, over)
    if overruled is not None:
        typer.echo(f"beowire: {overruled}", err=True)
    status = job.run(lab, found, variables, ranks=ranks, program=program, on=on or ())
    raise typer.Exit(status)


def _compare(wanted: Wanted, name: str, on: Sequence[str]) -> None:
    # Only here: a second of each command would be theirs.
    from beowire.commands.speedup import carry_out  # noqa: PLC0415
    from beowire.places.launch.lab import LabLauncher  # noqa: PLC0415
    from beowire.places.mpi.places import LabPlace  # noqa: PLC0415

    carry_out(LabPlace(LabLauncher.attach(name), on), wanted, here=True)


def _link_text(lab: LabState) -> str:
    options = lab.options
    parts = [*_machines(lab), options.link, f"mtu {options.mtu}"]
    if options.rate_bits_per_s is not None:
        parts.append(f"{options.rate_bits_per_s / 1e6:g} Mbit/s")
    if options.delay_ns:
        parts.append(f"delay {options.delay_ns / 1e3:g} us")
    if options.loss:
        parts.append(f"loss {options.loss * 100:g} %")
    if lab.congestion_control:
        parts.append(f"congestion control {lab.congestion_control}")
    return ", ".join(parts)


def _machines(lab: LabState) -> list[str]:
    """What nodes are, if not just namespaces."""
    match lab.options.backend:
        case "vm":
            how = "under KVM" if lab.accelerator == "kvm" else "emulated"
            return [f"machines {how}, card {lab.options.nic}, Linux {lab.kernel}"]
        case "uml":
            return [f"user-mode Linux {lab.kernel}"]
    return []


def _as_data(lab: LabState) -> dict[str, object]:
    counters = cluster.relay_counters(lab)
    return {**asdict(lab), "relay": None if counters is None else asdict(counters)}
