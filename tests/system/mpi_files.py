# SPDX-License-Identifier: BSD-3-Clause
"""For the tests of MPI libraries: what a job has left behind in the nodes of its lab."""

import os
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from beowire.places.lab import cluster, processes
from beowire.places.lab.processes import Process
from beowire.places.lab.state import LabState
from system.conftest import ROOT, RunBeowire

#: Gives a node a /tmp and a /dev/shm of its own, empty but for directories that are needed: nobody
#: else on this machine writes there.
_OWN_DIRECTORIES = """
set -e
new=$1
shift
mount -t tmpfs -o size=1g tmpfs /dev/shm
mount -t tmpfs tmpfs "$new"
for path in "$@"; do
    mkdir -p "$new/${path#/tmp/}"
    mount --bind "$path" "$new/${path#/tmp/}"
done
mount --move "$new" /tmp
"""


#: What MPIs leave there themselves, also over their own TCP (see docs/UPSTREAM.md).
_THEIRS = re.compile(
    r"/dev/shm/mpich_shm_\w+|/tmp/hydra_hwloc_xmlfile_\w+"  # MPICH, after a killed rank
    r"|.*/(prte\w*|ompi|pmix)[.-][^/]*(/.*)?"  # Open MPI 5, after a killed launcher
)


class LabLeftovers:
    """What is in a lab and was not there when this was made: processes, and files that ranks and
    launchers would share with other programs of their node."""

    def __init__(self, run_beowire: RunBeowire, needed: Sequence[Path]) -> None:
        """`needed`: directories under /tmp, if they are there, that jobs use."""
        self._run_beowire = run_beowire
        self._temporary = Path(os.environ["TMPDIR"])
        self._lab: LabState = cluster.find()
        self._before = set(processes.members(self._lab.namespaces()))
        kept = [path for path in (ROOT, Path.cwd(), *needed) if path.is_relative_to("/tmp")]
        new = self._temporary / "new"
        new.mkdir()
        for node in self._lab.nodes:
            self._in_node(node.name, "sh", "-c", _OWN_DIRECTORIES, "sh", new, *dict.fromkeys(kept))
        new.rmdir()
        self._files_before = set(self._all_files())

    def processes(self) -> list[str]:
        """Command lines of ranks and of the launchers' agents on all nodes."""
        found = []
        for process in self._found():
            try:
                words = Path(f"/proc/{process.pid}/cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if process.alive():
                found.append(f"{process.pid}: {shlex.join(word.decode() for word in words)}")
        return found

    def end(self) -> None:
        """Ends these processes."""
        processes.end(self._found(), 0.0)

    def _found(self) -> set[Process]:
        return set(processes.members(self._lab.namespaces())) - self._before

    def files(self) -> list[str]:
        """Files in /tmp and /dev/shm of each node, and in the launcher's own TMPDIR, but for those
        that MPIs are known to leave."""
        new = set(self._all_files()) - self._files_before
        return sorted(path for path in new if not _THEIRS.fullmatch(path.partition(":")[2]))

    def _all_files(self) -> list[str]:
        found = [f"launcher:{path}" for path in self._temporary.rglob("*")]
        for node in self._lab.nodes:
            said = self._in_node(node.name, "find", "/tmp", "/dev/shm", "-xdev", "-mindepth", "1")
            found += [f"{node.name}:{path}" for path in said.splitlines()]
        return found

    def _in_node(self, node: str, *command: str | Path) -> str:
        done = self._run_beowire("lab", "exec", node, "--", *map(str, command))
        assert done.returncode == 0, done.stderr
        return done.stdout
