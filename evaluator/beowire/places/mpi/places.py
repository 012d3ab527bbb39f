# SPDX-License-Identifier: BSD-3-Clause
"""Where the ranks of a program run: in the nodes of a lab, on two hosts, or on this one.

Either way the MPI's own launcher starts them. On hosts it reaches them by ssh, and programs that
were compiled here are brought there, to the same path.
"""

import contextlib
import math
import os
import shlex
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from beowire import isolated, paths
from beowire.errors import BeowireError
from beowire.places.lab.network import NODE_INTERFACE
from beowire.places.launch.base import Launcher
from beowire.places.launch.lab import LabLauncher
from beowire.places.launch.local import LocalLauncher
from beowire.places.launch.slurm import SlurmLauncher
from beowire.places.launch.ssh import SshLauncher
from beowire.places.launch.walk import WALK
from beowire.places.mpi import environment, launch
from beowire.places.mpi import in_lab as mpirun
from beowire.places.mpi.installation import Installation
from beowire.places.mpi.ways import Way

_PIN = Path(__file__).with_name("pin.py")
_LOOPBACK = "lo"

#: A launcher's command line, and its whole environment.
Prepared = tuple[list[str], dict[str, str]]


@dataclass(frozen=True)
class Used:
    """What ranks run on."""

    nodes: Sequence[str]
    """All of them; none: the ends of the record are."""
    cores: int | None = None
    """How many ranks may compute at a time; None: it is not known here."""


class Place(Protocol):
    """Where ranks run. Its launcher's context has to be entered."""

    @property
    def launcher(self) -> Launcher:
        """What makes it ready, and starts engines there."""
        ...

    def prepared(
        self, mpi: Installation, way: Way, ranks: int, program: Sequence[str], files: Sequence[Path]
    ) -> contextlib.AbstractContextManager[Prepared]:
        """What starts a program there; `files` are what it needs of ours. BeowireError."""
        ...

    def used(self, ranks: int) -> Used:
        """The nodes that so many ranks are on, over a network."""
        ...


def pinned(program: Sequence[str], cores: Sequence[int]) -> list[str]:
    """The program, each rank of it on the core of its number."""
    return [*isolated.interpreter(), "-S", str(_PIN), ",".join(map(str, cores)), *program]


class LabPlace:
    """The nodes of a lab."""

    def __init__(self, launcher: LabLauncher, on: Sequence[str] = ()) -> None:
        """The lab is made when the launcher is entered. `on`: its nodes to use, if not all."""
        self._lab = launcher
        self._on = tuple(on)

    @property
    def launcher(self) -> Launcher:
        """The lab's."""
        return self._lab

    def used(self, ranks: int) -> Used:
        """Nodes of namespaces share cores where there are more of them."""
        nodes = mpirun.nodes_of(self._lab.lab, self._on)
        nodes = nodes[: len(mpirun.spread(nodes, ranks))]
        pinned = {node.cpu for node in nodes}
        cores: int | None = None
        if self._lab.lab.options.backend == "namespaces":
            one = len(self._on) == 1 or None in pinned
            cores = len(os.sched_getaffinity(0)) if one else len(pinned)
        return Used([node.name for node in nodes], cores)

    def prepared(
        self, mpi: Installation, way: Way, ranks: int, program: Sequence[str], files: Sequence[Path]
    ) -> contextlib.AbstractContextManager[Prepared]:
        """All nodes share our files."""
        del files
        state = self._lab.lab
        on = self._on
        if way.one_node:
            # The same cores as over a network, or it would be no bound.
            nodes = mpirun.nodes_of(state, on)
            spread = mpirun.spread(nodes, ranks)
            cpus = [nodes[rank // spread[0].ranks].cpu for rank in range(ranks)]
            on = (nodes[0].name,)
            if known := [cpu for cpu in cpus if cpu is not None]:
                program = pinned(program, known)
        variables = {**way.variables, **_ucx_named(NODE_INTERFACE, way.variables)}
        return mpirun.prepared(state, mpi, variables, ranks=ranks, program=program, on=on)


class HostsPlace:
    """Two hosts over ssh."""

    def __init__(self, launcher: SshLauncher) -> None:
        """Its interface is the ranks', too; "": each MPI chooses."""
        self._ssh_launcher = launcher
        self._names = launcher.hosts
        self._ssh = launcher.ssh
        self._interface = launcher.interface
        self._there: set[tuple[str, Path]] = set()

    def used(self, ranks: int) -> Used:
        """In blocks; what their processors are, their ends say."""
        share = math.ceil(ranks / len(self._names))
        return Used(self._names[: math.ceil(ranks / share)])

    @property
    def launcher(self) -> Launcher:
        """That of engines on these hosts."""
        return self._ssh_launcher

    @contextlib.contextmanager
    def prepared(
        self, mpi: Installation, way: Way, ranks: int, program: Sequence[str], files: Sequence[Path]
    ) -> Iterator[Prepared]:
        """Brings the files that are missing."""
        names = self._names[:1] if way.one_node else self._names
        share = math.ceil(ranks / len(names))
        used = names[: math.ceil(ranks / share)]
        needed = [*files]
        if "FI_BEOWIRE_LANES" in way.variables or way.name == "beowire":
            provider = paths.provider_directory()
            needed += [
                provider / "libbeowire-fi.so",
                provider / environment.DIRECT / "libfabric.so.1",
            ]
        for name in used:
            for file in needed:
                self._bring(name, file)
        whole = {**os.environ, **_named(self._interface, way.variables), **launch.environment(mpi)}
        whole |= launch.handed_over(mpi, whole)
        with tempfile.TemporaryDirectory(prefix="beowire-apps-") as directory:
            agent = Path(directory) / "agent"
            agent.write_text(self._agent(), encoding="utf-8")
            agent.chmod(0o700)
            # Open MPI reads whom to log in as in its list of hosts; for others the agent knows it.
            reached = used if mpi.is_open_mpi else [name.rpartition("@")[2] for name in used]
            hosts = [launch.Host(name, share, share) for name in reached]
            job = launch.Job(
                ranks,
                hosts,
                self._interface,
                agent,
                program,
                on_first=False,
                remote_shell=self._remote_shell() if mpi.is_open_mpi else "",
            )
            file = Path(directory) / "hosts"
            file.write_text(launch.hosts_file(mpi, job), encoding="utf-8")
            yield launch.command(mpi, job, file), whole

    def _remote_shell(self) -> str:
        """ssh with the user's options, as words that Open MPI takes apart at spaces and colons."""
        for option in self._ssh.options:
            if any(one in option for one in " :\t"):
                raise BeowireError(
                    f"Open MPI cannot be told {option!r} for ssh: put it into ~/.ssh/config"
                )
        return " ".join(["ssh", "-x", "-o", "BatchMode=yes", *self._ssh.options])

    def _agent(self) -> str:
        """The remote shell of launchers: ssh, with the user's names and options."""
        words = shlex.join(["ssh", "-x", "-o", "BatchMode=yes", *self._ssh.options])
        lines = ["#!/bin/sh", "# Reaches a host by ssh.", "host=$1", "shift", 'case "$host" in']
        lines += [
            f"{shlex.quote(name.rpartition('@')[2])}) host={shlex.quote(name)} ;;"
            for name in self._names
        ]
        return "\n".join([*lines, "esac", f'exec {words} -- "$host" "$@"', ""])

    def _bring(self, name: str, file: Path) -> None:
        if (name, file) in self._there:
            return
        path = str(file)
        if not all(one.isalnum() or one in "/._-+" for one in path):
            raise BeowireError(f"{path} has characters that cannot be said to {name}: move it")
        content = file.read_bytes()
        way = _way(file)
        look = f"{way} && {_MINE} && cmp -s - {_IT} && echo same || echo other"
        if self._ssh.run(name, look, content).strip() != "same":
            self._ssh.run(
                name,
                # Others may be able to write there: the name is random, and no link is followed: mv
                # into a directory replaces a link itself. It has no -T in old BusyBoxes.
                f"umask 022; {way} yes || {_TELL}; new=$(mktemp -d {_IT}.XXXXXX)"
                ' && trap "rm -rf \\"$new\\"" EXIT && cat > "$new/$it"'
                ' && chmod 755 "$new/$it" && mv -f "$new/$it" ./',
                content,
            )
        self._there.add((name, file))


_IT = '"./$it"'

#: Whether it is a file that only we, or those whom we trust, can change.
_MINE = (
    f'set -- $(about {_IT}) && case " 0 $uid $also $nobody " in *" ${{1-}} "*)'
    ' [ $((0$2 & file_bits)) = 0 ] && [ "$5" = regular ] ;; *) false ;; esac'
)

_TELL = (
    "{ case $refused in shared*)"
    ' echo "${refused#* } belongs to another user there, or others can write to it: move the'
    ' program to a directory of your own" ;;'
    ' *) echo "mkdir: ${refused#* }" ;; esac >&2; exit 1; }'
)


def _way(file: Path) -> str:
    """Goes to the directory of the file on a host. It may be changed there by those who may change
    it here, and by nobody else: this program trusts them already."""
    folder, itself = file.parent.stat(), file.stat()
    owners = " ".join(sorted({str(one.stat().st_uid) for one in (file, *file.parents)}))
    bits, file_bits = (0o022 & ~about.st_mode | 0o002 for about in (folder, itself))
    return (
        f'{WALK} also="{owners}"; alone=no; bits=0{bits:o};'
        f' file_bits=0{file_bits:o}; it={file.name}; enter "{file.parent}"'
    )


def _named(interface: str, variables: Mapping[str, str]) -> dict[str, str]:
    """The variables, and those that name the interface to whatever goes over it."""
    if not interface:
        return dict(variables)
    return {
        **variables,
        "FI_BEOWIRE_INTERFACE": interface,
        "FI_TCP_IFACE": interface,
        "OMPI_MCA_btl_tcp_if_include": interface,
        **_ucx_named(interface, variables),
    }


def _ucx_named(interface: str, variables: Mapping[str, str]) -> dict[str, str]:
    """What names the interface to UCX, if it is told to go over TCP: it would take all of them,
    and in the nodes of a lab the loopback for one that leads to other nodes, on the same kernel."""
    over_tcp = "tcp" in variables.get("UCX_TLS", "").split(",")
    return {"UCX_NET_DEVICES": interface} if over_tcp else {}


class SlurmPlace:
    """The nodes of the Slurm allocation that this is typed in, which each MPI's launcher knows of
    by itself. Programs and provider are there by the path that they have here."""

    def __init__(self, launcher: SlurmLauncher) -> None:
        """Its interface is the ranks', too; "": each MPI chooses."""
        self._slurm = launcher

    @property
    def launcher(self) -> Launcher:
        """That of engines there."""
        return self._slurm

    def used(self, ranks: int) -> Used:
        """As many as there are ranks, at most."""
        return Used([node.name for node in self._slurm.nodes[:ranks]])

    @contextlib.contextmanager
    def prepared(
        self, mpi: Installation, way: Way, ranks: int, program: Sequence[str], files: Sequence[Path]
    ) -> Iterator[Prepared]:
        """Nothing has to be brought."""
        del files
        nodes = 1 if way.one_node else min(ranks, len(self._slurm.nodes))
        share = math.ceil(ranks / nodes)
        whole = {**os.environ, **_named(self._slurm.interface, way.variables)}
        whole |= launch.environment(mpi)
        whole |= launch.handed_over(mpi, whole)
        yield launch.slurm_command(mpi, ranks, share, program), whole


class LocalPlace:
    """This host. Ranks reach each other over the loopback, unless the way is memory."""

    def __init__(self, launcher: LocalLauncher) -> None:
        """Its engines are on this host as well."""
        self._local = launcher

    @property
    def launcher(self) -> Launcher:
        """That of engines on this host."""
        return self._local

    def used(self, ranks: int) -> Used:
        """This host alone."""
        del ranks
        return Used([], len(os.sched_getaffinity(0)))

    @contextlib.contextmanager
    def prepared(
        self, mpi: Installation, way: Way, ranks: int, program: Sequence[str], files: Sequence[Path]
    ) -> Iterator[Prepared]:
        """Nothing has to be brought, nor to be reached."""
        del files
        chosen = dict(way.variables)
        if not way.one_node:
            chosen = _named(_LOOPBACK, {**chosen, **environment.without_memory(mpi, chosen)})
        whole = {**os.environ, **chosen, **launch.environment(mpi)}
        whole |= launch.handed_over(mpi, whole)
        yield launch.local_command(mpi, ranks, program), whole


def place_of(launcher: Launcher) -> Place:
    """Where the engines of a launcher are. BeowireError: MPI programs cannot be started there."""
    if isinstance(launcher, LabLauncher):
        return LabPlace(launcher)
    if isinstance(launcher, SshLauncher):
        return HostsPlace(launcher)
    if isinstance(launcher, SlurmLauncher):
        return SlurmPlace(launcher)
    if isinstance(launcher, LocalLauncher):
        return LocalPlace(launcher)
    raise BeowireError(
        "drivers over an MPI are started over ssh (leave --launcher out), in a lab or by Slurm"
    )
