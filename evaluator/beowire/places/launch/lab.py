# SPDX-License-Identifier: BSD-3-Clause
"""Starts engines in the nodes of a virtual cluster."""

import os
import subprocess
from collections.abc import Sequence
from typing import Self

from beowire import paths
from beowire.errors import BeowireError
from beowire.places.lab import cluster, network
from beowire.places.lab.cluster import EphemeralLab
from beowire.places.lab.options import LabOptions
from beowire.places.lab.state import LabState
from beowire.places.launch.base import Node, Starter
from beowire.places.launch.watch import Watch


class LabLauncher(Starter):
    """Engines in the nodes of a lab: of its own, made on entering and removed on leaving
    (it also goes when this process is killed), or, with `attach`, of one that is there."""

    kind = "lab"
    marker = b""

    def __init__(self, options: LabOptions, name: str | None = None) -> None:
        """`name` is what `beowire lab status` shows while the lab is there."""
        self._options = options
        self._name = name or f"run-{os.getpid()}"
        self._lab: LabState | None = None
        self._own: EphemeralLab | None = None
        self._watch: Watch | None = None
        self._attached = False

    @classmethod
    def attach(cls, name: str) -> Self:
        """A launcher for the lab that `beowire lab up --name NAME` made; leaving lets it be."""
        launcher = cls(cluster.find(name).options, name)
        launcher._attached = True
        return launcher

    def __enter__(self) -> Self:
        """Makes the lab, or finds it."""
        if self._attached:
            self._lab = cluster.find(self._name)
        else:
            self._own = cluster.up_ephemeral(self._options, self._name)
            self._lab = self._own.state
            self._watch = Watch(
                self._own.keeper.pid, "the lab's keeper was killed, and the lab with it"
            )
        return self

    def __exit__(self, *exc: object) -> None:
        """Removes the lab if it was made on entering."""
        self._lab = None
        if self._watch is not None:
            self._watch.end()
            self._watch = None
        if self._own is not None:
            self._own.close()
            self._own = None

    @property
    def nodes(self) -> Sequence[Node]:
        """node0, node1 and so on, each with its core; known while the lab is there."""
        return [
            Node(node.name, node.address, None if node.cpu is None else str(node.cpu), "eth0")
            for node in self._current().nodes
        ]

    @property
    def lab(self) -> LabState:
        """The lab itself; known while it is there."""
        return self._current()

    def _started(self, node: Node, options: Sequence[str]) -> subprocess.Popen[bytes]:
        engine = paths.engine_directory() / "beowire-engine"
        command = [str(engine.resolve()), *options]
        # The engine pins itself; pinned by us it could not take the core that `cpu` names.
        inside = cluster.command_in(
            cluster.node_of(self._current(), node.name), command, pin=False, die_with=os.getpid()
        )
        return subprocess.Popen(
            inside, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def describe_link(self) -> dict[str, object]:
        """The lab's options, as the record holds them, and how they came about."""
        described = self._options.describe()
        if self._options.rate_bits_per_s is not None:
            described["burst_bytes"] = network.burst_bytes(self._options)
        if self._lab is not None and self._lab.delay_by:
            described["delay_by"] = self._lab.delay_by
        if self._lab is not None and self._lab.congestion_control:
            described["congestion_control"] = self._lab.congestion_control
        if self._lab is not None and self._lab.accelerator:
            described["accelerator"] = self._lab.accelerator
            described["kernel"] = self._lab.kernel
        return described

    def _current(self) -> LabState:
        if self._lab is None:
            raise BeowireError("the lab is not there: enter the launcher first", exit_code=1)
        return self._lab
