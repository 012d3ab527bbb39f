# SPDX-License-Identifier: BSD-3-Clause
"""Starts engines on hosts by the launcher of an MPI, each as a job of one process: for clusters
whose nodes ssh does not reach, or that only their batch system's mpirun does.

Which way the launcher itself takes is its own business; it hands on what an engine reads and says.
"""

import os
import re
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Self

from beowire.errors import BeowireError
from beowire.places.job.mpiexec import kind_of
from beowire.places.launch.base import Node
from beowire.places.launch.steps import StepLauncher
from beowire.places.mpi.job import cause

#: Where Open MPI 4, and PRRTE, keep their files: everywhere, and where the launcher is.
_DIRECTORIES = ("OMPI_MCA_orte_tmpdir_base", "PRTE_MCA_prte_tmpdir_base")
_OWN_DIRECTORIES = ("OMPI_MCA_orte_local_tmpdir_base", "PRTE_MCA_prte_local_tmpdir_base")

#: What launchers put around what they say themselves, behind what the process has said.
_RULE = re.compile(r"\s*[-=]{20,}\s*")


class MpirunLauncher(StepLauncher):
    """Engines on two hosts (or more), as the launcher knows them."""

    #: Open MPI's meet in a directory of the user, which one makes while another takes it away.
    at_once = 1
    in_pieces = True

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
        self.title = self._launcher = launcher
        self._scratch = ExitStack()
        self._own = Path()
        self._started_count = count()
        self._kind = kind_of(launcher)

    def __enter__(self) -> Self:
        """As StepLauncher, with a directory for what the launchers leave behind."""
        made = tempfile.TemporaryDirectory(prefix="beowire-mpirun-")
        self._own = Path(self._scratch.enter_context(made))
        try:
            return super().__enter__()
        except BaseException:
            self._scratch.close()
            raise

    def __exit__(self, *exc: object) -> None:
        """Takes that directory away."""
        self._scratch.close()
        super().__exit__(*exc)

    def find_nodes(self) -> list[Node]:
        """Those that the user has named."""
        return [Node(name, name, "auto", self.interface) for name in self._names]

    def step(self, node: str) -> list[str]:
        """A job of one process, bound to no core: an engine chooses."""
        words = [self._launcher, "-n", "1"]
        if self._kind == "openmpi":
            # PRRTE 3.0.8 counts no slots of its own host where that is named by its address.
            free = ["--bind-to", "none", "--map-by", "slot:OVERSUBSCRIBE"]
            return [*self._apart(), *words, "--host", node, *free]
        return [*words, "-hosts", node]

    def _apart(self) -> list[str]:
        """Words that give each launcher a directory of its own, unless the user has named one."""
        if any(name in os.environ for name in _DIRECTORIES):
            return []
        own = self._own / str(next(self._started_count))
        return ["env", *(f"{name}={own}" for name in _OWN_DIRECTORIES)]

    def said_there(self, lines: Sequence[str]) -> list[str]:
        """What comes before the launcher's own words."""
        rules = [number for number, line in enumerate(lines) if _RULE.fullmatch(line)]
        return list(lines[: rules[0]] if rules else lines)

    def cause(self, lines: Sequence[str]) -> str:
        """What ssh, or whatever it goes by, has said; else its own paragraph that names one."""
        before = self.said_there(lines)
        return before[-1] if before else cause("\n".join(lines))
