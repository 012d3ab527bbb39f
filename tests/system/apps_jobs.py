# SPDX-License-Identifier: BSD-3-Clause
"""For the tests of apps/: its programs, compiled with an MPI's own wrapper, and run."""

import json
import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from system.conftest import ROOT
from system.mpi_jobs import OPEN_MPI

#: All programs, and the numbers of ranks that they are tried with.
PROGRAMS = tuple(sorted(path.stem for path in (ROOT / "apps").glob("*.c")))

WARNINGS = ("-Wall", "-Wextra", "-Werror")

#: Open MPI within this host, by memory, and by its loopback where its launcher needs a network.
#: Ranks that are more than there are cores leave them to one another.
_HERE = {
    "OMPI_MCA_btl": "self,vader",
    "OMPI_MCA_pml": "ob1",
    "OMPI_MCA_oob_tcp_if_include": "lo",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": "slot:oversubscribe",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
}

Done = subprocess.CompletedProcess[str]


def compile_with(compiler: str, name: str, *words: str, label: str = OPEN_MPI) -> Path:
    """A file that the wrapper makes of these sources and options; others may do so meanwhile."""
    made = ROOT / "build" / "tests" / f"apps-{label}" / name
    made.parent.mkdir(parents=True, exist_ok=True)
    new = made.with_name(f"{name}.{os.getpid()}")
    done = subprocess.run(
        [compiler, "-std=c17", *WARNINGS, *words, "-o", str(new)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    new.replace(made)
    return made


def sources(folder: str) -> list[str]:
    """All C files of a folder of the project."""
    return sorted(str(path) for path in (ROOT / folder).glob("*.c"))


@cache
def compiled(name: str, compiler: str = "mpicc.openmpi", label: str = OPEN_MPI) -> Path:
    """A program of apps/; once in a process of pytest."""
    program = ["-O3", "-I", str(ROOT / "apps"), str(ROOT / "apps" / f"{name}.c")]
    return compile_with(compiler, name, *program, *sources("apps/common"), "-lm", label=label)


@cache
def compiled_phases() -> Path:
    """The library that takes the time of a program's parts: of no MPI."""
    return compile_with(
        "cc", "libapps-phases.so", "-O2", "-fPIC", "-shared", *sources("apps/phases"), "-ldl"
    )


@cache
def compiled_profile(compiler: str = "mpicc.openmpi", label: str = OPEN_MPI) -> Path:
    """The library that counts messages."""
    options = ["-O2", "-fPIC", "-shared", *sources("apps/profile")]
    return compile_with(compiler, "libapps-profile.so", *options, label=label)


def run_ranks(
    ranks: int, program: Path, *arguments: str, environment: Mapping[str, str] | None = None
) -> Done:
    """Runs a program over Open MPI on this host, to its end; the environment is for the ranks. All
    have to end in the same way, which is the exit status."""
    own = [f"{name}={value}" for name, value in (environment or {}).items()]
    # A launcher that sees a rank fail takes its time, and has much to say.
    tell = ("sh", "-c", '"$@"; echo "ended with $?" >&2', "sh")
    done = subprocess.run(
        ["mpirun.openmpi", "-n", str(ranks), *tell, "env", *own, str(program), *arguments],
        env={**os.environ, **_HERE},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    statuses = re.findall(r"^ended with (\d+)\n", done.stderr, re.MULTILINE)
    assert len(statuses) == ranks, (done.stdout, done.stderr)
    assert len(set(statuses)) == 1, (done.stdout, done.stderr)
    rest = re.sub(r"^ended with \d+\n", "", done.stderr, flags=re.MULTILINE)
    return Done(done.args, int(statuses[0]), done.stdout, rest)


def result_of(done: Done) -> dict[str, Any]:
    """The one line that a program says."""
    lines = done.stdout.splitlines()
    assert len(lines) == 1, (done.stdout, done.stderr)
    result: dict[str, Any] = json.loads(lines[0])
    return result


def profile_of(done: Done) -> dict[str, Any]:
    """The one line that the library which counts says."""
    mark = "beowire-apps-profile "
    lines = [line for line in done.stderr.splitlines() if line.startswith(mark)]
    assert len(lines) == 1, (done.stdout, done.stderr)
    profile: dict[str, Any] = json.loads(lines[0].removeprefix(mark))
    return profile


def refused(done: Done, name: str, words: Sequence[str]) -> None:
    """One line of the program says what to do, and every rank ended with 2."""
    assert (done.returncode, done.stdout) == (2, ""), (done.stdout, done.stderr)
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith(f"{name}: ")
    for word in words:
        assert word in lines[0]
