# SPDX-License-Identifier: BSD-3-Clause
"""Starts engines on the nodes of a Slurm allocation, each as a job step of its own.

This is typed in the allocation (salloc, sbatch), and what is installed here is, by the same path,
on its nodes: a cluster that has Slurm has a file system that its nodes share.
"""

import os
import re
import socket
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from typing import Self

from beowire import paths
from beowire.errors import BeowireError
from beowire.launch.base import Node

_ASK_S = 20.0


class SlurmLauncher:
    """Engines on the first two nodes of the allocation."""

    kind = "hosts"
    marker = b""

    def __init__(self, interface: str = "") -> None:
        """`interface`: the nodes' network interface; "": by the route."""
        self.interface = interface
        self._nodes: list[Node] = []

    def __enter__(self) -> Self:
        """Learns which nodes there are."""
        names = node_names()
        if len(names) < 2:
            raise BeowireError(
                "this Slurm allocation has one node: ask for two (salloc -N 2), or take --lab"
            )
        self._nodes = [Node(name, _address_of(name), None, self.interface) for name in names]
        return self

    def __exit__(self, *exc: object) -> None:
        """Nothing is left there."""

    @property
    def nodes(self) -> Sequence[Node]:
        """All of the allocation, in Slurm's order."""
        return self._nodes

    def start(self, node: Node, *, cpu: str | None = None) -> "subprocess.Popen[bytes]":
        """Starts an engine in a step that shares the allocation with other steps."""
        chosen = cpu or node.cpu
        return self._started(node, ["--cpu", chosen] if chosen else [])

    def start_proxy(self, node: Node) -> "subprocess.Popen[bytes]":
        """The same of a proxy."""
        return self._started(node, ["--proxy"])

    def describe_link(self) -> dict[str, object]:
        """What is known of it."""
        return {"kind": "hosts"}

    def _started(self, node: Node, options: Sequence[str]) -> "subprocess.Popen[bytes]":
        engine = str((paths.engine_directory() / "beowire-engine").resolve())
        step = ["srun", "--quiet", "--overlap", "--nodes=1", "--ntasks=1", "--unbuffered"]
        try:
            return subprocess.Popen(
                [*step, f"--nodelist={node.name}", engine, *options],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        except OSError as error:
            raise BeowireError(f"cannot start srun: {error.strerror}", 1) from None


def node_names() -> list[str]:
    """The nodes of the allocation that this runs in. BeowireError."""
    names = _asked("hostnames", os.environ.get("SLURM_JOB_NODELIST", "")).split()
    if not names:
        raise BeowireError("Slurm names no node of this allocation", 1)
    return names


def _asked(what: str, name: str) -> str:
    """What `scontrol show` says. BeowireError."""
    try:
        done = subprocess.run(
            ["scontrol", "show", what, name],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=_ASK_S,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BeowireError(f"cannot ask Slurm for the allocation's nodes: {error}", 1) from None
    if done.returncode != 0:
        said = (done.stderr.strip().splitlines() or ["it says nothing"])[-1]
        raise BeowireError(f"cannot ask Slurm for the allocation's nodes: {said}", 1)
    return done.stdout


def _address_of(name: str) -> str:
    """By its name, or, where that leads nowhere, by what Slurm itself reaches it."""
    with suppress(OSError):
        return socket.gethostbyname(name)
    found = re.search(r"\bNodeAddr=(\S+)", _asked("node", name))
    try:
        return socket.gethostbyname(found[1] if found else name)
    except OSError as error:
        raise BeowireError(f"Slurm's node {name} has no address here: {error.strerror}") from None
