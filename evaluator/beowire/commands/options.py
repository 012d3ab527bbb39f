# SPDX-License-Identifier: BSD-3-Clause
"""Options that several commands have, with the same words."""

import functools
import inspect
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from beowire.errors import BeowireError
from beowire.places.lab.options import LabOptions, read_lab_options
from beowire.places.launch.base import Launcher
from beowire.places.launch.local import LocalLauncher
from beowire.places.launch.machines import lab_launcher
from beowire.places.launch.ssh import SshLauncher

TwoHostsOption = Annotated[
    str | None, typer.Option("--hosts", help="Between two hosts, over ssh: A,B.")
]
HostsOption = Annotated[
    str | None,
    typer.Option(
        "--hosts",
        help="Between two hosts, over ssh: A,B. Or more, for patterns between all: A,B,C.",
    ),
]
TwoNodesOption = Annotated[
    bool, typer.Option("--lab", help="Between two nodes of a virtual cluster made for it.")
]
SlurmOption = Annotated[
    bool,
    typer.Option("--slurm", help="Between nodes of the current Slurm allocation (salloc -N 2)."),
]
LauncherOption = Annotated[
    str | None,
    typer.Option(
        "--launcher",
        help="Start the measuring processes on --hosts with prterun, mpirun or mpiexec instead"
        " of ssh.",
    ),
]
OutOption = Annotated[
    Path | None,
    typer.Option("--out", help="Directory for record.jsonl and report.html. Default: new."),
]
TimeOption = Annotated[
    float,
    typer.Option(
        "--time", help="Seconds to measure, all launches together; starting drivers takes more."
    ),
]
InterfaceOption = Annotated[
    str, typer.Option("--interface", help="Network interface. Default: the one of the route.")
]
SshOption = Annotated[
    list[str] | None,
    typer.Option(
        "--ssh-option", help="Option for ssh, as in ssh_config: Port=2222. May be repeated."
    ),
]

#: What starts engines on hosts unless something else is named.
SSH = "ssh"

#: Options that say something only about a lab, by what typer calls their parameters.
_OF_A_LAB = inspect.signature(read_lab_options).parameters

#: Reads them. BeowireError.
ReadLab = Callable[[], LabOptions]


def with_lab_options(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Gives a command options that describe a lab, all or these, in place of its parameter
    `read_lab`, by which it gets them."""
    added = [one for name, one in _OF_A_LAB.items() if not names or name in names]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command)
        parameters: list[inspect.Parameter] = []
        for name, one in signature.parameters.items():
            parameters += added if name == "read_lab" else [one]

        @functools.wraps(command)
        def with_them(*words: Any, **given: Any) -> None:
            described = {one.name: given.pop(one.name) for one in added if one.name in given}
            command(*words, **given, read_lab=functools.partial(read_lab_options, **described))

        vars(with_them)["__signature__"] = signature.replace(parameters=parameters)
        return with_them

    return decorate


def refuse_lab_options(context: typer.Context) -> None:
    """Raises BeowireError when the user describes a lab to a command that is to make none."""
    named = given(context)
    for name in _OF_A_LAB:
        if name in named:
            option = "module" if name == "modules" else name
            raise BeowireError(f"--{option} describes a lab: add --lab")


def check_where(
    context: typer.Context,
    *,
    lab: bool,
    hosts: str | None,
    ssh_options: Sequence[str] | None,
    slurm: bool = False,
    launcher: str | None = None,
) -> None:
    """Raises BeowireError when --lab, --hosts, --slurm and the options that go with one of them do
    not agree."""
    named = [("--lab", lab), ("--hosts", hosts is not None), ("--slurm", slurm)]
    chosen = [option for option, there in named if there]
    if len(chosen) > 1:
        raise BeowireError(f"{chosen[0]} and {chosen[1]} exclude each other")
    if not lab:
        refuse_lab_options(context)
    if ssh_options and hosts is None:
        raise BeowireError("--ssh-option needs --hosts A,B")
    if launcher is not None and hosts is None:
        raise BeowireError("--launcher needs --hosts A,B")
    if ssh_options and launcher not in (None, SSH):
        raise BeowireError(f"--ssh-option is for ssh, not for {launcher}: leave one of them out")


def directory_of(out: Path | None) -> Path:
    """What `--out` names, or a new one's name."""
    return out or Path(datetime.now().strftime("beowire-%Y%m%d-%H%M%S"))


def check_seconds(seconds: float, most: float) -> None:
    """BeowireError unless `--time` is something."""
    if not 0 < seconds <= most:
        raise BeowireError(f"--time is more than 0 and at most {most:g} seconds")


def launcher_of(
    lab: LabOptions | None,
    hosts: str | None,
    ssh_options: Sequence[str] | None,
    interface: str = "",
    *,
    many: bool = False,
) -> Launcher:
    """What starts engines in a lab, on hosts over ssh, or else here."""
    if lab is not None:
        return lab_launcher(lab)
    if hosts is not None:
        return SshLauncher(hosts, list(ssh_options or []), interface, many=many)
    return LocalLauncher()


def given(context: typer.Context) -> set[str]:
    """The parameters that the user has named, and not left to their defaults."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return {
        name
        for name, source in sources.items()
        if source is not None and source.name == "COMMANDLINE"
    }
