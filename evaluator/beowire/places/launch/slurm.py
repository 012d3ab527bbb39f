# SPDX-License-Identifier: BSD-3-Clause
"""Starts engines on the nodes of a Slurm allocation, each as a job step of its own (`srun`).

This is typed in the allocation (salloc, sbatch), or is a step of it itself (`srun beowire ...`):
then one of its tasks measures, and the others have nothing to do. While it measures, a step waits
on the nodes; when that ends, so does the allocation, and the measurement with it.
"""

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Self

from beowire.errors import BeowireError
from beowire.places.launch.base import Node
from beowire.places.launch.steps import StepLauncher
from beowire.places.launch.watch import Watch

_ASK_S = 20.0
_END_S = 5.0

_OVER = (
    "Slurm has ended the job's steps, and the measurement with them: was it cancelled, is its time"
    " over, did a node fail?"
)


class SlurmLauncher(StepLauncher):
    """Engines on the first two nodes of the allocation, or on all."""

    title = "srun"

    def __init__(self, interface: str = "", *, many: bool = False) -> None:
        """As StepLauncher."""
        super().__init__(interface, many=many)
        self._waiting: subprocess.Popen[bytes] | None = None
        self._watch: Watch | None = None

    def find_nodes(self) -> list[Node]:
        """Those of the allocation, in Slurm's order."""
        if "SLURM_JOB_ID" not in os.environ:
            raise BeowireError(
                "not in a Slurm allocation: ask for two nodes (salloc -N 2, sbatch -N 2) and"
                " type it there"
            )
        for program in ("srun", "scontrol"):
            if shutil.which(program) is None:
                raise BeowireError(
                    f"{program} is missing: Slurm's commands have to be in PATH"
                    " (Debian: slurm-client)"
                )
        names = node_names()
        if len(names) < 2:
            raise BeowireError(
                "this Slurm allocation has one node: ask for two (salloc -N 2), or take --lab"
            )
        return [Node(name, _address_of(name), "auto", self.interface) for name in names]

    def __enter__(self) -> Self:
        """Brings the engine there, and has a step wait for the end."""
        super().__enter__()
        names = [node.name for node in self._nodes]
        self._waiting = subprocess.Popen(
            [*_step(names), "cat"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._watch = Watch(self._waiting.pid, _OVER)
        return self

    def __exit__(self, *exc: object) -> None:
        """Has the step that waits end."""
        said = False
        if self._watch is not None:
            self._watch.end()
            said = self._watch.fired
        if self._waiting is not None:
            assert self._waiting.stdin is not None
            self._waiting.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                self._waiting.wait(_END_S)
                if self._waiting.returncode and not said:  # an engine was ended before
                    print(f"beowire: {_OVER}", file=sys.stderr, flush=True)
            self._waiting.kill()
            self._waiting.wait()
        self._watch = self._waiting = None
        super().__exit__(*exc)

    def step(self, node: str) -> list[str]:
        """A step that shares the allocation with others, bound to no core: an engine chooses."""
        return _step([node])

    def said_there(self, lines: Sequence[str]) -> list[str]:
        """All but `srun: error: node1: task 0: Exited with exit code 1`, and the like."""
        return [line for line in lines if not re.match(r"srun: (error: .*: tasks? |\w+ing)", line)]

    def cause(self, lines: Sequence[str]) -> str:
        """The first line: others say what to look at, or what srun does about it."""
        return re.sub(r"^srun: (error: )?", "", lines[0])


def is_step() -> bool:
    """Whether this was started by srun, on two nodes or more."""
    return _number("SLURM_STEP_NUM_NODES") >= 2


def is_another_task() -> bool:
    """Whether this is one of the step's tasks that have nothing to do."""
    return is_step() and _number("SLURM_PROCID") > 0


def node_names() -> list[str]:
    """The nodes of the allocation that this runs in. BeowireError."""
    names = _asked("hostnames", os.environ.get("SLURM_JOB_NODELIST", "")).split()
    if not names:
        raise BeowireError("Slurm names no node of this allocation", 1)
    return names


#: Variables that would have srun label each line, read and write elsewhere, or bind and place tasks
#: in other ways. A profile may set them, and no option overrules them.
_NOT_FOR_STEPS = tuple(
    f"SLURM_{name}"
    for name in (
        *("LABELIO", "STDINMODE", "STDOUTMODE", "STDERRMODE", "OPEN_MODE", "DEBUG"),
        *("CPU_BIND", "DISTRIBUTION", "HOSTFILE", "EXCLUSIVE", "NTASKS_PER_CORE"),
    )
)


def _step(nodes: list[str]) -> list[str]:
    count = len(nodes)
    return [
        *("env", *(word for name in _NOT_FOR_STEPS for word in ("-u", name)), "srun"),
        *("--quiet", "--overlap", "--unbuffered", "--cpu-bind=none", "--export=ALL"),
        *(f"--nodes={count}", f"--ntasks={count}", "--ntasks-per-node=1"),
        f"--nodelist={','.join(nodes)}",
    ]


def _number(variable: str) -> int:
    text = os.environ.get(variable, "")
    return int(text) if text.isdecimal() else 0


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
    """By its name, or, where that leads nowhere or to this host alone (127.0.1.1), by what
    Slurm itself reaches it."""
    with suppress(OSError):
        address = socket.gethostbyname(name)
        if not address.startswith("127."):
            return address
    found = re.search(r"\bNodeAddr=(\S+)", _asked("node", name))
    try:
        return socket.gethostbyname(found[1] if found else name)
    except OSError as error:
        raise BeowireError(f"Slurm's node {name} has no address here: {error.strerror}") from None
