# SPDX-License-Identifier: BSD-3-Clause
"""For the tests of MPI libraries: the program that checks them, compiled for each of them."""

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from system.conftest import ROOT, RunBeowire

_COMPILE_S = 120.0


@cache
def compiled_check(mpi: str, prefix: Path | None = None) -> Path:
    """tests/mpi, compiled with that MPI's own compiler wrapper; once in a run of the tests."""
    asked = [str(ROOT / "beowire"), "mpi-env", "--mpi", mpi, "--print-cc"]
    if prefix is not None:
        asked += ["--prefix", str(prefix)]
    compiler = subprocess.run(asked, capture_output=True, text=True, check=True, timeout=60)
    program = ROOT / "build" / "tests" / f"mpi_check-{mpi if prefix is None else prefix.name}"
    program.parent.mkdir(parents=True, exist_ok=True)
    sources = sorted(str(path) for path in (ROOT / "tests" / "mpi").glob("*.c"))
    flags = ["-std=gnu17", "-O2", "-g", "-Wall", "-Wextra", "-Werror"]
    done = subprocess.run(
        [compiler.stdout.strip(), *flags, "-o", str(program), *sources],
        capture_output=True,
        text=True,
        check=False,
        timeout=_COMPILE_S,
    )
    assert done.returncode == 0, done.stderr
    return program


@dataclass(frozen=True)
class Mpi:
    """An MPI library to try, and how its jobs are started in the lab of a test."""

    run_beowire: RunBeowire
    name: str
    prefix: Path | None = None

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
        program = compiled_check(self.name, self.prefix)
        options = ["--mpi", self.name, "--over", over, "-n", str(ranks)]
        options += [word for node in on for word in ("--on", node)]
        if self.prefix is not None:
            options += ["--prefix", str(self.prefix)]
        return self.run_beowire(
            *("lab", "mpirun", *options, "--", *before, str(program), *words),
            environment=environment,
            timeout=timeout,
        )

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
