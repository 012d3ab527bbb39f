# SPDX-License-Identifier: BSD-3-Clause
"""Starts both engines on this host; they reach one another over loopback."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from beowire import paths
from beowire.places.launch.base import Node, Starter

_LOOPBACK = "127.0.0.1"


class LocalLauncher(Starter):
    """Two ends on this host, each on a core of its own where this process may use two."""

    kind = "local"
    marker = b""

    def __init__(self, directories: Sequence[Path] = ()) -> None:
        """Takes the first two cores that this process may use. `directories`: of the drivers that
        the engines know; by default those beside the engine."""
        self._directories = ":".join(str(directory.resolve()) for directory in directories)
        cores = sorted(os.sched_getaffinity(0))
        first, second = (str(core) for core in cores[:2]) if len(cores) > 1 else (None, None)
        self.nodes: Sequence[Node] = (
            Node("local0", _LOOPBACK, first),
            Node("local1", _LOOPBACK, second),
        )

    def __enter__(self) -> Self:
        """There is nothing to make."""
        return self

    def __exit__(self, *exc: object) -> None:
        """There is nothing to undo."""

    def _started(self, node: Node, options: Sequence[str]) -> subprocess.Popen[bytes]:
        del node
        command = [str(paths.engine_directory().resolve() / "beowire-engine"), *options]
        if self._directories:
            command += ["--drivers", self._directories]
        return subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def describe_link(self) -> dict[str, object]:
        """There is nothing to say about loopback but that it is."""
        return {"kind": self.kind}
