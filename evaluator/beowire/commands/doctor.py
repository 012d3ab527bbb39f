# SPDX-License-Identifier: BSD-3-Clause
"""`beowire doctor`: what costs time on this host, or on several and between them. The work is in
`beowire.doctor`."""

import json
import socket
from contextlib import closing
from typing import Annotated

import typer

from beowire.commands.options import InterfaceOption, SshOption
from beowire.doctor import facts, show
from beowire.doctor.facts import Facts
from beowire.doctor.look import diagnose, look
from beowire.doctor.pairs import Pair, Visits
from beowire.doctor.ways import all_pass, judge
from beowire.errors import BeowireError
from beowire.interrupts import Interrupts
from beowire.places.launch.base import Node
from beowire.places.launch.local import LocalLauncher
from beowire.places.launch.ssh import SshLauncher

AllHostsOption = Annotated[
    str | None, typer.Option("--hosts", metavar="A,B,C", help="These hosts, over ssh.")
]


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("doctor")(doctor)


def doctor(
    *,
    hosts: AllHostsOption = None,
    interface: InterfaceOption = "",
    ssh_option: SshOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object.")] = False,
) -> None:
    """Checks hosts and links for what slows messages down.

    It changes nothing. With --hosts it also sends messages of each kind between every two hosts;
    the engine's copy stays there (~/.cache/beowire), as with `compare`. Exit status 1: something
    does not work.
    """
    if ssh_option and hosts is None:
        raise BeowireError("--ssh-option needs --hosts A,B,C")
    pairs: list[Pair] = []
    with Interrupts() as interrupts:
        if hosts is None:
            found = _here(interface, interrupts)
        else:
            with SshLauncher(hosts, ssh_option or [], interface, many=True) as launcher:
                found = there(launcher, interface, interrupts)
                with closing(Visits(launcher, found, interrupts)) as visits:
                    pairs = visits.pairs()
    diagnoses = [diagnose(one, udp_passes=all_pass(one.host, "UDP", pairs)) for one in found]
    between = judge(pairs, found) if pairs else []
    if as_json:
        print(json.dumps(show.as_data(diagnoses, between, pairs), allow_nan=False))
    else:
        print("\n".join(show.render(diagnoses, between, show.width_here())))
    if show.is_bad(diagnoses, between):
        raise typer.Exit(1)


def _here(interface: str, interrupts: Interrupts) -> list[Facts]:
    with LocalLauncher() as launcher:
        node = Node(socket.gethostname(), launcher.nodes[0].reach)
        return look(launcher, [node], lambda _, text: facts.ask_here(text), interrupts, interface)


def there(launcher: SshLauncher, interface: str, interrupts: Interrupts) -> list[Facts]:
    """What is so on the hosts of a launcher whose context is entered."""

    def ask(node: Node, text: str) -> dict[str, list[str]]:
        return facts.sections(launcher.run(node, "exec sh", text.encode()))

    return look(launcher, launcher.nodes, ask, interrupts, interface)
