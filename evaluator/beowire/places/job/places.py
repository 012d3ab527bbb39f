# SPDX-License-Identifier: BSD-3-Clause
"""Where the processes of a job run: on this host, in a node of a lab, on a host behind ssh.

A place starts one process and says how its launcher (this program) is reached from there: through
a socket that the process inherits, or, over ssh, one that ssh forwards.
"""

import contextlib
import os
import secrets
import shlex
import shutil
import socket
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from beowire.errors import BeowireError
from beowire.places.lab import cluster
from beowire.places.lab.state import LabNode
from beowire.places.launch.ssh import SshHosts

#: What another launcher may have left: it speaks of its job, not of ours.
_FOREIGN = ("PMI_FD", "PMI_PORT", "PMI_ID", "PMIX_NAMESPACE", "PMIX_RANK", "BEOWIRE_JOB_SOCKET")

#: What a host behind ssh gets of this process's environment.
_CARRIED = "BEOWIRE_"


@dataclass(frozen=True)
class Task:
    """One process of a job."""

    rank: int
    size: int
    command: Sequence[str]
    environment: Mapping[str, str]
    """What is added to the environment of this program."""
    piped: bool
    """Its output is read by this program, or goes where this program's goes."""

    @property
    def output(self) -> int | None:
        """Of the process: `stdout` and `stderr` for subprocess."""
        return subprocess.PIPE if self.piped else None

    def variables(self) -> dict[str, str]:
        """How the process learns who it is."""
        return {**self.environment, "PMI_RANK": str(self.rank), "PMI_SIZE": str(self.size)}


@dataclass
class Started:
    """A process, and the socket by which it reaches this program."""

    process: "subprocess.Popen[bytes]"
    channel: socket.socket
    listening: bool
    """The process is still to connect to `channel`."""


class Place(Protocol):
    """Where processes can be started."""

    @property
    def name(self) -> str:
        """As people know it; "" is here."""
        ...

    def start(self, task: Task) -> Started:
        """Starts a process, which ends with this program. Raises BeowireError."""
        ...


class HerePlace:
    """This host."""

    name = ""

    def start(self, task: Task) -> Started:
        """Starts the program, once it is sure that there is one."""
        return _start_below(["setpriv", "--pdeathsig", "KILL", "--", *find(task.command)], task)


@dataclass
class LabPlace:
    """A node of a lab, on the node's core."""

    node: LabNode

    @property
    def name(self) -> str:
        """Of the node."""
        return self.node.name

    def start(self, task: Task) -> Started:
        """Starts the program in the node."""
        inside = cluster.command_in(self.node, find(task.command), pin=True, die_with=os.getpid())
        return _start_below(inside, task)


@dataclass
class SshPlace:
    """A host behind ssh, which has the program under the same path."""

    hosts: SshHosts
    name: str
    directory: Path
    """Private to this user: for the sockets that ssh forwards."""

    def start(self, task: Task) -> Started:
        """Starts the program, in the same directory as here if the host has it."""
        ours = self.directory / str(task.rank)
        theirs = f"/tmp/beowire-job-{secrets.token_hex(8)}"
        channel = socket.socket(socket.AF_UNIX)
        channel.bind(str(ours))
        channel.listen(1)
        command = self.hosts.command(
            self.name, _remote_command(theirs), forward=(theirs, str(ours))
        )
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=task.output,
            stderr=task.output,
            process_group=0,
        )
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # its exit status says why
            process.stdin.write(_remote_script(task, theirs).encode() + b"\n")
            process.stdin.flush()
        return Started(process, channel, listening=True)


def _remote_command(path: str) -> str:
    """What ssh runs: it waits for the line of `_remote_script`. sshd has made the socket `path`,
    and does not take it away: not even if nothing is to be run."""
    return f'read -r line || exec rm -f {path}; eval "$line"'


def _remote_script(task: Task, path: str) -> str:
    """One line of POSIX sh: runs the program until it ends or the connection does."""
    if any("\n" in word for word in task.command):
        raise BeowireError("an argument with a line break in it cannot go over ssh")
    carried = {key: value for key, value in os.environ.items() if key.startswith(_CARRIED)}
    variables = {**carried, **task.variables(), "BEOWIRE_JOB_SOCKET": path}
    words = [f"{key}={shlex.quote(value)}" for key, value in variables.items()]
    words += [shlex.quote(word) for word in task.command]
    return (
        # The watcher reads what never comes: it sees the end of the connection. It must be one
        # process: what outlives the script keeps the connection open.
        f"cd {shlex.quote(str(Path.cwd()))} 2>/dev/null; exec 3<&0;"
        f" env {' '.join(words)} </dev/null 3<&- & p=$!;"
        " { read -r x <&3; kill -TERM $p; sleep 2; kill -KILL $p; } >/dev/null 2>&1 & w=$!;"
        # The shell says how the program ended, and there may be nobody to hear it any more.
        f" trap '' PIPE; wait $p; c=$?; rm -f {path}; kill $w 2>/dev/null; exit $c"
    )


def find(command: Sequence[str]) -> list[str]:
    """The command with the program's path; raises BeowireError when there is no such program."""
    path = shutil.which(command[0])
    if path is None and Path(command[0]).exists():
        raise BeowireError(f"{command[0]} cannot be run: it is no program", exit_code=126)
    if path is None:
        raise BeowireError(f"there is no program {command[0]}: give its path", exit_code=127)
    return [path, *command[1:]]


def _start_below(command: Sequence[str], task: Task) -> Started:
    ours, theirs = socket.socketpair()
    environment = {key: value for key, value in os.environ.items() if key not in _FOREIGN}
    environment |= {**task.variables(), "PMI_FD": str(theirs.fileno())}
    # A group of its own, so that what it starts can be ended with it. A terminal's input would stop
    # such a group.
    reads = task.rank == 0 and not os.isatty(0)
    with theirs:
        process = subprocess.Popen(
            command,
            stdin=None if reads else subprocess.DEVNULL,
            env=environment,
            pass_fds=(theirs.fileno(),),
            process_group=0,
            stdout=task.output,
            stderr=task.output,
        )
    return Started(process, ours, listening=False)
