# SPDX-License-Identifier: BSD-3-Clause
"""What it takes to start an engine on a node, whatever the node is."""

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Node:
    """One end of a measurement.

    `name` is what people read (node0, or the host's name). `reach` is the name or address by
    which the *other* end reaches it. `cpu` is the `--cpu` value for its engine ("0", "auto") or
    None for not pinned. `interface` is the one that the user asked for, or "" to follow the route.
    """

    name: str
    reach: str
    cpu: str | None = None
    interface: str = ""


class Launcher(Protocol):
    """Starts engines on two or more nodes. Used as a context manager: entering makes the nodes
    ready (a lab is made, the engine is copied to a host), leaving undoes all of that."""

    kind: str
    """`lab`, `machines`, `hosts` or `local`: the `link.kind` of the record, where `machines` is a
    `lab` as well."""

    @property
    def marker(self) -> bytes:
        """What comes on an engine's standard output before its first line, and a line break:
        whatever is before that is not the engine's. Empty: nothing comes."""
        ...

    @property
    def nodes(self) -> Sequence[Node]:
        """The nodes, the initiator first; known once the context is entered."""
        ...

    def __enter__(self) -> "Launcher": ...

    def __exit__(self, *exc: object) -> None: ...

    def start(self, node: Node, *, cpu: str | None = None) -> subprocess.Popen[bytes]:
        """Starts `beowire-engine` on the node with pipes for its three standard streams.

        `cpu` overrides the node's own (a second engine on the same node takes another core).
        The process ends when its standard input is closed. Raises BeowireError with one line.
        """
        ...

    def start_proxy(self, node: Node) -> subprocess.Popen[bytes]:
        """Starts a proxy (docs/ENGINE.md) on the node, as start() does an engine: it stands for one
        that somebody else starts there."""
        ...

    def describe_link(self) -> dict[str, object]:
        """The `link` member of the record's meta line."""
        ...


class Starter:
    """How a launcher starts an engine and its proxy, if `_started()` does both."""

    def start(self, node: Node, *, cpu: str | None = None) -> subprocess.Popen[bytes]:
        """As Launcher has it."""
        chosen = cpu or node.cpu
        return self._started(node, ["--cpu", chosen] if chosen else [])

    def start_proxy(self, node: Node) -> subprocess.Popen[bytes]:
        """As Launcher has it."""
        return self._started(node, ["--proxy"])

    def _started(self, node: Node, options: Sequence[str]) -> subprocess.Popen[bytes]:
        raise NotImplementedError


def one_machine(launcher: Launcher) -> bool:
    """Whether all nodes are on one kernel: with one clock, and sharing their processors."""
    return launcher.kind not in ("hosts", "machines")
