# SPDX-License-Identifier: BSD-3-Clause
"""Starting the processes of a job with the launcher of an MPI: prterun, or any mpiexec."""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence

from beowire.errors import BeowireError
from beowire.places.job.places import find

_VERSION_S = 20.0

#: When none is named. Not prterun: it starts nothing on hosts whose PATH lacks its prted.
USUAL = "mpiexec"


def usual() -> str | None:
    """The launcher that this host has and that reaches others with nothing to set there, if any."""
    if shutil.which(USUAL) is None:
        return None
    try:
        kind_of(USUAL)
    except BeowireError:
        return None  # one of somebody else, or that has one host only
    return USUAL


def kind_of(launcher: str) -> str:
    """`openmpi` or `hydra`, by what it says of itself; raises BeowireError."""
    path = shutil.which(launcher)
    if path is None:
        raise BeowireError(
            f"there is no launcher {launcher}: name another with --launcher (ssh needs none)"
        )
    try:
        told = subprocess.run(
            [path, "--version"], capture_output=True, text=True, check=False, timeout=_VERSION_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BeowireError(f"{launcher} does not say what it is: {error}") from None
    said = told.stdout + told.stderr
    if re.search(r"OpenRTE|Open MPI|PRRTE|prterun", said):
        return "openmpi"
    if re.search(r"HYDRA|Intel\(R\) MPI", said):
        return "hydra"
    raise BeowireError(
        f"{launcher} is no launcher known here: Open MPI, PRRTE, MPICH and Intel MPI have one"
    )


def command_line(
    launcher: str,
    processes: int,
    hosts: Sequence[str],
    command: Sequence[str],
    *,
    environment: dict[str, str],
    label: bool,
) -> list[str]:
    """What to execute, with `environment` added to the environment. Raises BeowireError."""
    kind = kind_of(launcher)
    words = [launcher, "-n", str(processes)]
    if kind == "openmpi":
        words += ["--map-by", "slot:OVERSUBSCRIBE"]
        words += ["--tag-output"] if label else []
        slots = -(-processes // max(1, len(hosts)))
        words += ["--host", ",".join(f"{host}:{slots}" for host in hosts)] if hosts else []
        carried = {name for name in os.environ if name.startswith("BEOWIRE_")} | set(environment)
        for name in sorted(carried):
            words += ["-x", name]
    else:
        words += ["-prepend-rank"] if label else []
        per_host = -(-processes // max(1, len(hosts)))
        words += ["-hosts", ",".join(hosts), "-ppn", str(per_host)] if hosts else []
    # Of a program here it can be said in one line that it is missing.
    return [*words, *(command if hosts else find(command))]


def run(words: Sequence[str], environment: dict[str, str]) -> None:
    """Runs the launcher to its end; raises BeowireError with its exit status."""
    process = subprocess.Popen(
        ["setpriv", "--pdeathsig", "TERM", "--", *words], env={**os.environ, **environment}
    )
    try:
        status = process.wait()
    except BaseException:  # an interrupt: the launcher ends its processes
        process.terminate()
        process.wait()
        raise
    if status != 0:
        code = status if status > 0 else 128 - status
        raise BeowireError(f"{words[0]} ended with status {code}", exit_code=code & 0xFF or 1)
