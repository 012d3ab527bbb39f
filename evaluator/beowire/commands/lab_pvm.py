# SPDX-License-Identifier: BSD-3-Clause
"""`beowire lab pvm`: a virtual machine of PVM across a lab's nodes."""

from typing import Annotated

import typer

from beowire.places.lab import cluster, pvm

_NameOption = Annotated[str, typer.Option("--name", help="Name of the lab.")]

_group = typer.Typer(
    help="A virtual machine of PVM across the lab's nodes, of the stock daemons.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def register(lab: typer.Typer) -> None:
    """Adds the group to that of the lab."""
    lab.add_typer(_group, name="pvm")


@_group.command("up")
def up(*, name: _NameOption = cluster.DEFAULT_NAME) -> None:
    """Starts a virtual machine. It stays until `beowire lab pvm down`, or the lab's end.

    Programs that `beowire lab exec` runs find its daemons.
    """
    hosts = pvm.up(cluster.find(name))
    chosen = "" if name == cluster.DEFAULT_NAME else f"--name {name} "
    print(f"the virtual machine of lab {name} is up: {', '.join(hosts)}")
    print(
        f"run a program in it: beowire lab exec {chosen}node0 --"
        " env $(beowire pvm-env --words) ./program"
    )


@_group.command("down")
def down(*, name: _NameOption = cluster.DEFAULT_NAME) -> None:
    """Ends the virtual machine, and its tasks."""
    pvm.down(cluster.find(name))
    print(f"the virtual machine of lab {name} is ended")
