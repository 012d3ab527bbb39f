# SPDX-License-Identifier: BSD-3-Clause
"""Runs an MPI program across the nodes of a lab, with the launcher of its MPI.

That launcher reaches other hosts by a remote shell. Here this is a script, made for one run, that
enters a node of the lab instead; like ssh it hands over no variables of the environment.
"""

import contextlib
import math
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

from beowire.errors import BeowireError
from beowire.places.lab import cluster
from beowire.places.lab.state import LabNode, LabState
from beowire.places.mpi import launch
from beowire.places.mpi.installation import Installation

_INTERFACE = "eth0"

#: A launcher that has been told to end, and has not after so long, is killed.
_GRACE_S = 10.0

#: What a login on another host would set.
_HANDED_OVER = ("HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER")


def nodes_of(lab: LabState, names: Sequence[str]) -> list[LabNode]:
    """The nodes of these names, all if there are none; BeowireError for one that is not there."""
    if not names:
        return list(lab.nodes)
    return [cluster.node_of(lab, name) for name in dict.fromkeys(names)]


def spread(nodes: Sequence[LabNode], ranks: int) -> list[launch.Host]:
    """How many ranks go to which node: in blocks, as evenly as possible."""
    if ranks < 1:
        raise BeowireError(f"a program has at least one rank, not {ranks}: -n 2")
    share = math.ceil(ranks / len(nodes))
    pinned = len(nodes) > 1 and nodes[0].cpu is not None
    cores = 1 if pinned else len(os.sched_getaffinity(0))
    used = nodes[: math.ceil(ranks / share)]
    return [launch.Host(node.address, share, min(cores, share)) for node in used]


def agent_script(nodes: Sequence[LabNode], kept: Mapping[str, str], *, pin: bool) -> str:
    """The remote shell of a run: `AGENT HOST COMMAND...`, as rsh and ssh are called."""
    variables = " ".join(f"{name}={shlex.quote(value)}" for name, value in kept.items())
    lines = ["#!/bin/sh", "# Enters a node of a lab in place of ssh.", "host=$1", "shift"]
    lines.append('case "$host" in')
    for node in nodes:
        inside = cluster.command_in(node, ["sh", "-c"], pin=pin)
        lines.append(
            f'{node.name}|{node.address}) exec env -i {variables} {shlex.join(inside)} "$*" ;;'
        )
    lines += ["esac", 'echo "beowire: this job has no host $host" >&2', "exit 255", ""]
    return "\n".join(lines)


def run(
    lab: LabState,
    mpi: Installation,
    variables: Mapping[str, str],
    *,
    ranks: int,
    program: Sequence[str],
    on: Sequence[str] = (),
    output: IO[bytes] | None = None,
) -> int:
    """Runs a program to its end; returns the launcher's exit status.

    `variables` are added to our environment. Standard streams are ours, or `output` is where the
    program's output and errors go. The launcher ends with the calling thread. BeowireError (exit
    code 130) after Ctrl-C, when all has ended.
    """
    with prepared(lab, mpi, variables, ranks=ranks, program=program, on=on) as (inside, whole):
        sys.stdout.flush()
        errors = None if output is None else subprocess.STDOUT
        with (
            # What the caller has handed to us is the launcher's; ours are closed by execve().
            subprocess.Popen(
                inside, env=whole, stdout=output, stderr=errors, close_fds=False
            ) as launcher,
            _signals_go_to(launcher) as got,
        ):
            waiting = threading.Thread(target=launcher.wait, daemon=True)
            waiting.start()
            while waiting.is_alive():
                waiting.join(1.0)  # waitpid() would not end by a signal that came just before it
            status = launcher.returncode
    if signal.SIGINT in got:
        # Whatever the launcher makes of it: some end with 0, or with a status of their own.
        raise BeowireError("interrupted", exit_code=130)
    return 128 - status if status < 0 else status


@contextlib.contextmanager
def prepared(
    lab: LabState,
    mpi: Installation,
    variables: Mapping[str, str],
    *,
    ranks: int,
    program: Sequence[str],
    on: Sequence[str] = (),
) -> Iterator[tuple[list[str], dict[str, str]]]:
    """The command line of the launcher, and its environment, for as long as the files are there
    that it needs. What is started ends with the calling thread."""
    nodes = nodes_of(lab, on)
    hosts = spread(nodes, ranks)
    whole = {**os.environ, **variables, **launch.environment(mpi)}
    whole |= launch.handed_over(mpi, whole)
    kept = {name: os.environ[name] for name in _HANDED_OVER if name in os.environ}
    pin = len(nodes) > 1
    with tempfile.TemporaryDirectory(prefix="beowire-mpirun-") as directory:
        agent = Path(directory) / "agent"
        agent.write_text(agent_script(nodes, kept, pin=pin), encoding="utf-8")
        agent.chmod(0o700)
        job = launch.Job(ranks, hosts, _INTERFACE, agent, program)
        file = Path(directory) / "hosts"
        file.write_text(launch.hosts_file(mpi, job), encoding="ascii")
        line = launch.command(mpi, job, file)
        yield cluster.command_in(nodes[0], line, pin=pin, die_with=os.getpid()), whole


@contextlib.contextmanager
def _signals_go_to(process: "subprocess.Popen[bytes]") -> Iterator[list[int]]:
    """What is to end this command ends the launcher, which then ends the ranks. If it does not, it
    is killed: then its agents end, and they end the ranks. Gives the signals that have come."""
    got: list[int] = []
    last = threading.Timer(_GRACE_S, process.kill)
    last.daemon = True

    def pass_on(number: int, _frame: object) -> None:
        got.append(number)
        process.send_signal(number)
        if last.ident is None:
            last.start()

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.signal(number, pass_on) for number in numbers]
    try:
        yield got
    finally:
        last.cancel()
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
