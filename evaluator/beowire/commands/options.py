# SPDX-License-Identifier: BSD-3-Clause
"""Options that several commands have, with the same words; those of a lab are in
`beowire.lab.options`."""

from collections.abc import Sequence
from typing import Annotated

import typer

from beowire.errors import BeowireError

TwoHostsOption = Annotated[
    str | None, typer.Option("--hosts", help="Between two hosts, reached by ssh: A,B.")
]
HostsOption = Annotated[
    str | None,
    typer.Option(
        "--hosts",
        help="Between two hosts, reached by ssh: A,B. More, for patterns between all: A,B,C.",
    ),
]
TwoNodesOption = Annotated[
    bool, typer.Option("--lab", help="Between two nodes of a virtual cluster made for it.")
]
TimeOption = Annotated[
    float, typer.Option("--time", help="Seconds that measuring may take in all.")
]
InterfaceOption = Annotated[
    str, typer.Option("--interface", help="Network interface. Default: by the route.")
]
SshOption = Annotated[
    list[str] | None,
    typer.Option("--ssh-option", help="For ssh, as in ssh_config: Port=2222. May be repeated."),
]

#: Options that say something only about a lab, by what typer calls their parameters.
_OF_A_LAB = {
    **{name: name for name in ("nodes", "link", "mtu", "rate", "delay", "loss", "congestion")},
    **{"backend": "backend", "nic": "nic", "modules": "module"},
}


def refuse_lab_options(context: typer.Context) -> None:
    """Raises BeowireError when the user describes a lab to a command that is to make none."""
    named = given(context)
    for name, option in _OF_A_LAB.items():
        if name in named:
            raise BeowireError(f"--{option} describes a lab: add --lab")


def check_where(
    context: typer.Context, *, lab: bool, hosts: str | None, ssh_options: Sequence[str] | None
) -> None:
    """Raises BeowireError when --lab, --hosts and the options that go with either do not agree."""
    if lab and hosts is not None:
        raise BeowireError("--lab and --hosts exclude each other")
    if not lab:
        refuse_lab_options(context)
    if ssh_options and hosts is None:
        raise BeowireError("--ssh-option needs --hosts A,B")


def given(context: typer.Context) -> set[str]:
    """The parameters that the user has named, and not left to their defaults."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return {
        name
        for name, source in sources.items()
        if source is not None and source.name == "COMMANDLINE"
    }
