# SPDX-License-Identifier: BSD-3-Clause
"""SimGrid's SMPI: finds it, builds a program for it, and runs that once on a simulated cluster."""

import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from beowire import paths
from beowire.apps import bounded, catalogue, output
from beowire.apps.output import Unreadable
from beowire.errors import BeowireError
from beowire.interrupts import Interrupts
from beowire.places.mpi import compiling

#: By the end of a source's name.
_COMPILERS: Mapping[str, str] = {
    ".c": "smpicc",
    ".cc": "smpicxx",
    ".cpp": "smpicxx",
    ".f": "smpiff",
    ".f90": "smpif90",
}
#: NPB prints a shorter time as 0.00.
_LEAST_S = 1e-9
_NEEDED = ("smpirun", "smpicc")

#: What SimGrid says of itself before what is wrong: `[node0:1:(2) 0.000000] [root/CRITICAL] `.
_MARKS = re.compile(r"^((\[[^\]]*\]|\S+:\d+:) )+")
_TELLING = re.compile(
    r"CRITICAL|deadlock|not implemented|terminate called|what\(\)|[Ss]egmentation"
)


@dataclass(frozen=True)
class Program:
    """One that was built for SMPI."""

    binary: Path
    arguments: Sequence[str]
    own: bool
    """It is one of apps/, and prints what its timed part took."""
    name: str
    library: Path
    """Of apps/pieces, loaded with it."""


@dataclass(frozen=True)
class Cluster:
    """What is simulated."""

    nodes: int
    directory: Path
    """With platform.xml and hosts."""
    settings: Mapping[str, str]


@dataclass(frozen=True)
class Pieces:
    """Files that `apps/pieces` is told of."""

    read: Path | None = None
    write: Path | None = None


@dataclass(frozen=True)
class Ran:
    """A simulated run."""

    seconds: float
    """Of the part that the program times; if it prints none, from MPI_Init to MPI_Finalize."""
    communication: float
    """Share of that part in which ranks do not compute, 0 to 1."""
    pieces: int
    other: int
    """Pieces of work that were not those of the run in which they were measured."""


def check() -> None:
    """BeowireError if SimGrid is not here."""
    for name in _NEEDED:
        if shutil.which(name) is None:
            raise BeowireError(f"there is no {name} here: install SimGrid (Debian: libsimgrid-dev)")


def build(words: Sequence[str], flags: Sequence[str], scratch: Path) -> Program:
    """The program of these words: a name of `apps/`, or sources, and its arguments. BeowireError
    says in a line why it cannot be built."""
    check()
    own = {app.name: app for app in catalogue.OWN if app.kind == "own"}
    binary, library = scratch / "program", _pieces_library(scratch)
    if words[0].partition(":")[0] in own:
        app = catalogue.choose([words[0]], npb=False)[0][0]
        folder = paths.apps_sources()
        sources = [folder / f"{app.file}.c", *sorted((folder / "common").glob("*.c"))]
        _compile("smpicc", ["-std=c17", "-O3", "-I", str(folder)], sources, binary)
        return Program(binary, [*app.arguments, *words[1:]], True, app.name, library)
    named = [Path(word) for word in words]
    count = next((at for at, one in enumerate(named) if one.suffix not in _COMPILERS), len(named))
    if not count:
        raise BeowireError(
            f"{words[0]} is no program of apps/, and no source ({', '.join(_COMPILERS)}): SMPI"
            " needs the source, such as -- heat.c 512"
        )
    sources = named[:count]
    for source in sources:
        if not source.is_file():
            raise BeowireError(f"there is no file {source}")
    kinds = {_COMPILERS[one.suffix] for one in sources}
    if len(kinds) > 1:
        raise BeowireError("all sources have to be in the same language")
    _compile(kinds.pop(), ["-O2", *flags], sources, binary)
    return Program(binary, words[count:], False, sources[0].stem, library)


def run(
    program: Program, cluster: Cluster, pieces: Pieces, timeout_s: float, interrupts: Interrupts
) -> Ran:
    """Runs it there. BeowireError says in a line why it does not end well."""
    nodes, directory = cluster.nodes, cluster.directory
    said = directory / "said.json"
    said.unlink(missing_ok=True)
    told = {"SAY": said, "READ": pieces.read, "WRITE": pieces.write}
    environment = {f"BEOWIRE_PIECES_{name}": str(one) for name, one in told.items() if one}
    command = [
        "smpirun",
        *("-np", str(nodes), "-hostfile", str(directory / "hosts")),
        *("-platform", str(directory / "platform.xml")),
        *("-wrapper", f"env LD_PRELOAD={program.library}"),
        *(f"--cfg={name}:{value}" for name, value in cluster.settings.items()),
        # Otherwise it prints its settings.
        *(f"--log={part}.thres:error" for part in ("xbt_cfg", "smpi_config", "smpi_coll")),
        str(program.binary.resolve()),
        *program.arguments,
    ]
    ended = bounded.run(
        command, {**os.environ, **environment}, timeout_s, interrupts, directory=Path.cwd()
    )
    if ended.stopped:
        raise BeowireError(f"simulating {program.name} on {nodes} nodes: {ended.stopped}", 1)
    about = _said(said)
    if ended.status != 0 or about.get("finalized", 0) < nodes:
        cause = _cause(program, ended) or "it ends without MPI_Finalize"
        raise BeowireError(f"SMPI cannot run {program.name} on {nodes} nodes: {cause}", 1)
    seconds = _timed(program, ended.output)
    timed = about["timed_computing"]
    computing = about["computing"] if seconds is None or timed is None else timed
    return Ran(
        seconds=max(about["run_s"] if seconds is None else seconds, _LEAST_S),
        communication=min(1.0, max(0.0, 1.0 - computing)),
        pieces=about["pieces"],
        other=about["other"],
    )


def _pieces_library(scratch: Path) -> Path:
    library = scratch / "libapps-pieces.so"
    source = paths.apps_sources() / "pieces" / "pieces.c"
    command = ["cc", "-std=c17", "-O2", "-fPIC", "-shared", str(source), "-ldl", "-o", str(library)]
    _run_compiler(command)
    return library


def _said(file: Path) -> dict[str, Any]:
    """What apps/pieces has written; empty if it has written nothing."""
    try:
        found = json.loads(file.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _timed(program: Program, text: str) -> float | None:
    """What it says that its timed part took. BeowireError: its result is wrong."""
    try:
        said = output.own(text) if program.own else output.npb(text)
    except Unreadable:
        return None
    if not said.verified:
        raise BeowireError(f"{program.name} finds its result wrong: {said.check}", 1)
    return said.seconds


def _cause(program: Program, ended: bounded.Ended) -> str:
    lines = [line for line in ended.errors.splitlines() if line.strip()]
    for line in lines:
        if _TELLING.search(line):
            return _MARKS.sub("", line).strip()
    said = output.reason(program.name, [ended.errors, ended.output])
    if ended.status > 128 and not said:
        return f"ended by signal {ended.status - 128}"
    if ended.status and not said:
        return f"it ended with status {ended.status} and printed no reason"
    return _MARKS.sub("", said)


def _compile(compiler: str, flags: Sequence[str], sources: Sequence[Path], target: Path) -> None:
    if shutil.which(compiler) is None:
        raise BeowireError(f"there is no {compiler} here: install SimGrid (Debian: libsimgrid-dev)")
    files = [str(one.resolve()) for one in sources]
    _run_compiler([compiler, *flags, *files, "-lm", "-o", str(target)])


def _run_compiler(command: Sequence[str]) -> None:
    done = compiling.ended(command)
    if done.returncode != 0:
        said = done.stderr or done.stdout
        missing = re.search(r"undefined reference to [`'](p?mpi_\w+)'", said, re.IGNORECASE)
        cause = (
            f"SMPI has no {missing[1].rstrip('_')}"
            if missing
            else compiling.cause(said, done.returncode)
        )
        raise BeowireError(f"{command[0]} fails: {cause}", 1)
