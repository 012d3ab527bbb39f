# SPDX-License-Identifier: BSD-3-Clause
"""`beowire run`: starts a native program. Options and calls; `beowire.places.job` does the work."""

import contextlib
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Annotated

import typer

from beowire.commands.options import ReadLab, SshOption, refuse_lab_options, with_lab_options
from beowire.errors import BeowireError
from beowire.interrupts import Interrupts
from beowire.places.job import mpiexec
from beowire.places.job.places import HerePlace, LabPlace, Place, SshPlace
from beowire.places.job.watch import Job
from beowire.places.lab import cluster
from beowire.places.lab.options import LabOptions
from beowire.places.launch.ssh import SshHosts, check_host

_MOST_PROCESSES = 4096


def register(app: typer.Typer) -> None:
    """Adds the command."""
    # What follows the program is the program's.
    app.command("run", context_settings={"allow_interspersed_args": False})(run)


@with_lab_options("nodes", "link", "mtu", "rate", "delay", "loss", "congestion")
def run(
    context: typer.Context,
    command: Annotated[list[str], typer.Argument(help="The program and its arguments.")],
    *,
    processes: Annotated[int, typer.Option("-n", help="How many processes.")] = 1,
    hosts: Annotated[
        str | None, typer.Option("--hosts", help="Where: A,B,... Default: on this host.")
    ] = None,
    lab: Annotated[
        bool, typer.Option("--lab", help="In the nodes of a virtual cluster made for it.")
    ] = False,
    lab_name: Annotated[
        str | None,
        typer.Option("--lab-name", help="In the nodes of the lab that `lab up --name` made."),
    ] = None,
    launcher: Annotated[
        str | None,
        typer.Option(
            "--launcher",
            help="prterun or an mpiexec, by name or path; ssh; or none (here, and in a lab). "
            "Default with --hosts: mpiexec, or ssh if there is none.",
        ),
    ] = None,
    label: Annotated[
        bool, typer.Option("--label", help="Prefix each line with the rank that printed it.")
    ] = False,
    interface: Annotated[
        str | None,
        typer.Option("--interface", help="Network interfaces of every process, such as eth0,eth1."),
    ] = None,
    ssh_option: SshOption = None,
    read_lab: ReadLab,
) -> None:
    """Starts programs that use Beowire's own interface.

    They find one another with beowire_job.h. The first that fails ends all others, and its exit
    status becomes this command's.
    """
    _check_options(processes, hosts=hosts, lab=lab or lab_name is not None, launcher=launcher)
    if lab and lab_name is not None:
        raise BeowireError("--lab makes a lab, --lab-name uses one that is there: choose one")
    if not lab:
        refuse_lab_options(context)
    environment = {} if interface is None else {"BEOWIRE_INTERFACE": interface}
    names = [] if hosts is None else [name.strip() for name in hosts.split(",")]
    for name in names:
        check_host(name)
    if names and launcher is None:
        launcher = mpiexec.usual() or "ssh"
    if ssh_option and launcher != "ssh":
        raise BeowireError("--ssh-option needs --launcher ssh --hosts A,B")
    where: AbstractContextManager[Sequence[Place]]
    if lab or lab_name is not None:
        options = read_lab()
        where = _in_lab(processes, options, lab_name)
    elif launcher == "ssh":
        where = _over_ssh(processes, names, ssh_option or [])
    elif launcher in (None, "none"):
        where = contextlib.nullcontext([HerePlace()] * processes)
    else:
        assert launcher is not None
        words = mpiexec.command_line(
            launcher, processes, names, command, environment=environment, label=label
        )
        with Interrupts():
            mpiexec.run(words, environment)
        return
    with Interrupts(), where as places:
        job = Job(places, command, environment, label)
        try:
            job.run()
        finally:
            job.end()


def _check_options(processes: int, *, hosts: str | None, lab: bool, launcher: str | None) -> None:
    if not 1 <= processes <= _MOST_PROCESSES:
        raise BeowireError(f"-n is 1 to {_MOST_PROCESSES} processes")
    if lab and hosts is not None:
        raise BeowireError("--hosts and a lab exclude each other")
    if lab and launcher not in (None, "none"):
        raise BeowireError(
            "in a lab processes are started without a launcher: leave --launcher out"
        )
    if launcher == "ssh" and hosts is None:
        raise BeowireError("--launcher ssh needs --hosts A,B")
    if launcher == "none" and hosts is not None:
        raise BeowireError("--hosts needs a launcher: ssh, prterun or an mpiexec")


def _spread(places: Sequence[Place], processes: int) -> list[Place]:
    """Neighbours in rank are neighbours in place."""
    return [places[rank * len(places) // processes] for rank in range(processes)]


@contextmanager
def _in_lab(processes: int, options: LabOptions, name: str | None) -> Iterator[list[Place]]:
    if name is not None:
        nodes = cluster.find(name).nodes
        if nodes[0].machine:
            raise BeowireError(
                f"the nodes of lab {name} are machines, in which `beowire run` starts nothing: use"
                " `beowire lab mpirun`"
            )
        yield _spread([LabPlace(node) for node in nodes], processes)
        return
    made = cluster.up_ephemeral(options, f"job-{os.getpid()}")
    try:
        yield _spread([LabPlace(node) for node in made.state.nodes], processes)
    finally:
        made.close()


@contextmanager
def _over_ssh(
    processes: int, names: Sequence[str], options: Sequence[str]
) -> Iterator[list[Place]]:
    hosts = SshHosts(names, options)
    for name in names:
        hosts.run(name, "true")
    with tempfile.TemporaryDirectory(prefix="beowire-job-") as directory:
        yield _spread([SshPlace(hosts, name, Path(directory)) for name in names], processes)
