# SPDX-License-Identifier: BSD-3-Clause
"""Starts engines on hosts by the launcher of an MPI, each as a job of one process: for clusters
whose nodes ssh does not reach, or that only their batch system's mpirun does.

Which way the launcher itself takes is its own business; it hands on what an engine reads and says.
"""

import re
from collections.abc import Sequence

from beowire.errors import BeowireError
from beowire.job.mpiexec import kind_of
from beowire.launch.base import Node
from beowire.launch.steps import StepLauncher
from beowire.mpi.job import cause

#: What launchers put around what they say themselves, behind what the process has said.
_RULE = re.compile(r"\s*[-=]{20,}\s*")


class MpirunLauncher(StepLauncher):
    """Engines on two hosts (or more), as the launcher knows them."""

    def __init__(
        self, launcher: str, hosts: str, interface: str = "", *, many: bool = False
    ) -> None:
        """`launcher`: prterun, or an mpirun or mpiexec, by name or path. `hosts`: A,B. `interface`
        and `many` as in StepLauncher. BeowireError: there is no such launcher."""
        super().__init__(interface, many=many)
        names = [host.strip() for host in hosts.split(",")]
        if len(names) < 2 or len(set(names)) < len(names) or (len(names) > 2 and not many):
            what = "two or more different hosts are" if many else "two different hosts are"
            raise BeowireError(f"{what} needed: --hosts A,B")
        for name in names:
            if not re.fullmatch(r"[^\s\-,:@][^\s,:@]*", name):
                raise BeowireError(f"no host of {launcher} can be named {name!r}: write A,B")
        self._names = names
        self._launcher = launcher
        self._kind = kind_of(launcher)

    def find_nodes(self) -> list[Node]:
        """Those that the user has named."""
        return [Node(name, name, "auto", self.interface) for name in self._names]

    def step(self, node: str) -> list[str]:
        """A job of one process, bound to no core: an engine chooses."""
        words = [self._launcher, "-n", "1"]
        if self._kind == "openmpi":
            return [*words, "--host", node, "--bind-to", "none"]
        return [*words, "-hosts", node]

    def said_there(self, lines: Sequence[str]) -> list[str]:
        """What comes before the launcher's own words."""
        rules = [number for number, line in enumerate(lines) if _RULE.fullmatch(line)]
        return list(lines[: rules[0]] if rules else lines)

    def cause(self, lines: Sequence[str]) -> str:
        """What ssh, or whatever it goes by, has said; else its own paragraph that names one."""
        before = self.said_there(lines)
        return before[-1] if before else cause("\n".join(lines))
