# SPDX-License-Identifier: BSD-3-Clause
"""For the tests of MPI libraries: the program that checks them, compiled for each of them."""

import contextlib
import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from beowire.errors import BeowireError
from beowire.places.mpi import installation
from system.conftest import PATIENCE_S, ROOT, RunBeowire, wait_until


def _open_mpi() -> str:
    for name in ("openmpi5", "openmpi4"):
        with contextlib.suppress(BeowireError):
            return installation.find(name, Path("/usr")).name
    return "openmpi4"  # which is missing, as each test that uses it says


#: The distribution's Open MPI: version 4 in Debian 12, 5 in Debian 13.
OPEN_MPI = _open_mpi()

#: Within this time an MPI's own handling of errors has to be reached.
BOUND_S = PATIENCE_S

_COMPILE_S = 120.0
_END_S = 10.0
_START_S = 60.0

#: MPICH and Intel MPI have a way of their own within a node, unless they are told not to use it.
ALONE = {"MPIR_CVAR_NOLOCAL": "1", "I_MPI_FABRICS": "ofi"}

#: Frames that a rank has sent to the other after some dozens of messages, and what it may send
#: over other lanes before it has found the shared memory.
_UNDER_WAY = 200
_FINDING = 20


@cache
def compiled_check(mpi: str, prefix: Path | None = None) -> Path:
    """tests/mpi, compiled with that MPI's own compiler wrapper: where nobody has from the same
    sources, and so that others may use it meanwhile."""
    asked = [str(ROOT / "beowire"), "mpi-env", "--mpi", mpi, "--print-cc"]
    if prefix is not None:
        asked += ["--prefix", str(prefix)]
    compiler = subprocess.run(asked, capture_output=True, text=True, check=True, timeout=60)
    program = ROOT / "build" / "tests" / f"mpi_check-{mpi if prefix is None else prefix.name}"
    program.parent.mkdir(parents=True, exist_ok=True)
    sources = sorted(str(path) for path in (ROOT / "tests" / "mpi").glob("*.c"))
    flags = ["-std=gnu17", "-O2", "-g", "-Wall", "-Wextra", "-Werror"]
    command = [compiler.stdout.strip(), *flags]
    made_of = program.with_name(f"{program.name}.made-of")
    parts = _parts(command)
    if program.exists() and made_of.exists() and made_of.read_text(encoding="utf-8") == parts:
        return program
    new = program.with_name(f"{program.name}.{os.getpid()}")
    done = subprocess.run(
        [*command, "-o", str(new), *sources],
        capture_output=True,
        text=True,
        check=False,
        timeout=_COMPILE_S,
    )
    assert done.returncode == 0, done.stderr
    new.replace(program)
    new.write_text(parts, encoding="utf-8")
    new.replace(made_of)
    return program


def _parts(command: Sequence[str]) -> str:
    """What the check is made of: sources, options and the compiler wrapper, as it is now."""
    digest = hashlib.sha256()
    for path in sorted((ROOT / "tests" / "mpi").glob("*.[ch]")):
        digest.update(path.name.encode() + path.read_bytes())
    wrapper = Path(shutil.which(command[0]) or command[0]).resolve().stat()
    return f"{digest.hexdigest()} {command} {wrapper.st_mtime_ns} {wrapper.st_size}\n"


@dataclass(frozen=True)
class Mpi:
    """An MPI library to try, and how its jobs are started in the lab of a test."""

    run_beowire: RunBeowire
    name: str
    prefix: Path | None = None

    @property
    def program(self) -> Path:
        """The check, compiled for it."""
        return compiled_check(self.name, self.prefix)

    def words(
        self,
        *words: str,
        ranks: int = 2,
        over: str = "beowire",
        on: tuple[str, ...] = (),
        before: Sequence[str] = (),
    ) -> list[str]:
        """Arguments of `beowire` that run the check, as for run()."""
        options = ["--mpi", self.name, "--over", over, "-n", str(ranks)]
        options += [word for node in on for word in ("--on", node)]
        if self.prefix is not None:
            options += ["--prefix", str(self.prefix)]
        return ["lab", "mpirun", *options, "--", *before, str(self.program), *words]

    def run(
        self,
        *words: str,
        ranks: int = 2,
        over: str = "beowire",
        on: tuple[str, ...] = (),
        environment: dict[str, str] | None = None,
        before: Sequence[str] = (),
        timeout: float = 100.0,
    ) -> "subprocess.CompletedProcess[str]":
        """Runs the check, `words` its arguments, to its end; `before` is a command that starts it
        on each rank."""
        line = self.words(*words, ranks=ranks, over=over, on=on, before=before)
        return self.run_beowire(*line, environment=environment, timeout=timeout)

    def check(
        self,
        *checks: str,
        ranks: int = 2,
        over: str = "beowire",
        on: tuple[str, ...] = (),
        environment: dict[str, str] | None = None,
    ) -> str:
        """Runs these checks, which have to be right; returns what was said."""
        done = self.run(*checks, ranks=ranks, over=over, on=on, environment=environment)
        assert done.returncode == 0, (done.stdout, done.stderr)
        for check in checks:
            assert f"mpi_check: {check} is right on {ranks} ranks" in done.stdout, done.stdout
        return done.stdout


class Endless:
    """Two ranks that exchange messages until something happens."""

    def __init__(
        self,
        mpi: Mpi,
        output: Path,
        on: tuple[str, ...] = (),
        environment: dict[str, str] | None = None,
    ) -> None:
        """Starts them, and waits until both are under way."""
        self._output = output
        self._run_beowire = mpi.run_beowire
        with output.open("wb") as stream:
            self.launcher = subprocess.Popen(
                [str(ROOT / "beowire"), *mpi.words("endless", on=on)],
                env={**os.environ, **(environment or {})},
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
            )
        assert wait_until(lambda: len(self.processes()) == 2, _START_S), self.said()

    def said(self) -> str:
        """All that ranks and launcher have said."""
        return self._output.read_text(encoding="utf-8", errors="replace")

    def processes(self) -> dict[int, int]:
        """Process of each rank that is under way."""
        found = re.findall(r"rank (\d), process (\d+), is under way", self.said())
        return {int(rank): int(process) for rank, process in found}

    def names(self, rank: int) -> bool:
        """Whether a line of ours names this rank's process and its host."""
        named = rf"beowire: node\d: process {self.processes()[rank]} on 10\.77\.0\.{rank + 1} \("
        return re.search(named, self.said()) is not None

    def launcher_names(self, rank: int) -> bool:
        """Whether a line of the launcher does: it may have ended the other ranks before they could
        say anything, since the end of a process is noticed at once only on its own host."""
        process = self.processes()[rank]
        address = rf"10\.77\.0\.{rank + 1}"
        hydras = rf"PID {process} RUNNING AT {address}"
        open_mpis = rf"process\s+rank\s+{rank}\s+with\s+PID\s+{process}\s+on\s+node\s+"
        named = rf"{hydras}|{open_mpis}(node{rank}|{address})\s"
        return re.search(named, self.said()) is not None

    def sent(self, rank: int) -> int:
        """Frames that a rank's endpoints have sent so far."""
        said = self._run_beowire("top", "--json", "--pid", str(self.processes()[rank])).stdout
        return sum(_sent(one) for one in json.loads(said)["endpoints"]) if said else 0

    def mpi_says(self) -> bool:
        """Whether an MPI's handling of errors has been reached: that of the program, or, of MPICH
        and Intel MPI, the usual one."""
        return re.search(r"rank \d: MPI says: |Fatal error in internal_", self.said()) is not None

    def end(self) -> None:
        """Ends the launcher if it has not ended."""
        with contextlib.suppress(ProcessLookupError):
            self.launcher.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.launcher.wait(_END_S)
        self.launcher.kill()
        self.launcher.wait()


def assert_goes_through_memory(
    mpi: Mpi, output: Path, environment: dict[str, str] | None = None
) -> None:
    """Two ranks of one node exchange their messages by the lane `shm`, and nothing by others but
    what finds that lane."""
    job = Endless(mpi, output, on=("node0",), environment=environment)
    try:
        for pid in job.processes().values():
            seen: list[dict[str, Any]] = []

            def settled(pid: int = pid, seen: list[dict[str, Any]] = seen) -> bool:
                said = mpi.run_beowire("top", "--json", "--pid", str(pid)).stdout
                seen[:] = json.loads(said)["endpoints"] if said else []
                return sum(_sent(one, "shm") for one in seen) > _UNDER_WAY

            assert wait_until(settled), (seen, job.said())
            others = sum(_sent(one) - _sent(one, "shm") for one in seen)
            assert others < _FINDING, seen
            assert {peer["lane"] for one in seen for peer in one["peers"]} == {"shm"}, seen
    finally:
        job.end()


def assert_settings_reach_all_nodes(mpi: Mpi) -> None:
    """What the environment of the launcher has for endpoints is there on each of two nodes."""
    settings = "authenticate=true,spin_ns=9000"
    tell = ("sh", "-c", 'echo "$(hostname) has $BEOWIRE_SETTINGS"; exec "$0" "$@"')
    done = mpi.run(before=tell, environment={"BEOWIRE_SETTINGS": settings})
    assert done.returncode == 0, (done.stdout, done.stderr)
    for node in ("node0", "node1"):
        assert f"{node} has {settings}\n" in done.stdout, done.stdout


def _sent(endpoint: dict[str, Any], lane: str = "") -> int:
    """Frames that an endpoint has sent over a lane; over all, if none is named."""
    rows = endpoint["lanes"]
    return sum(int(row["sent_frames"]) for row in rows if lane in ("", row["name"]))
