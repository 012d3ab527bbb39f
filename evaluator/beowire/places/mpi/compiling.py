# SPDX-License-Identifier: BSD-3-Clause
"""Compiles with an MPI's own wrapper, once: what was compiled of the same content by the same
wrapper is used again."""

import hashlib
import os
import re
import secrets
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from beowire.errors import BeowireError
from beowire.places.mpi import installation
from beowire.places.mpi.installation import Installation

_COMPILE_S = 300.0

#: A distribution's wrapper may be there without what it compiles with.
_HEADERS = "install this MPI's headers (Debian: libmpich-dev, libopenmpi-dev)"


@dataclass(frozen=True)
class Options:
    """What a compiler is told besides."""

    flags: Sequence[str]
    libraries: Sequence[str] = ()
    """After the files."""


def digest(words: Iterable[str], files: Iterable[Path]) -> str:
    """One short name for words and the content of files."""
    found = hashlib.sha256()
    for word in words:
        found.update(word.encode() + b"\0")
    for file in files:
        content = file.read_bytes()
        found.update(f"{file.name} {len(content)}\0".encode() + content)
    return found.hexdigest()[:16]


def run(
    command: Sequence[str],
    mpi: Installation,
    directory: Path | None = None,
    patience_s: float = _COMPILE_S,
) -> None:
    """Runs what builds. BeowireError (exit code 1), in a line, with what it said of its cause."""
    done = ended(command, _root(mpi), directory, patience_s)
    if done.returncode != 0:
        raise BeowireError(
            f"{command[0]} fails: {cause(done.stderr or done.stdout, done.returncode)}",
            exit_code=1,
        )


def ended(
    command: Sequence[str],
    variables: Mapping[str, str] | None = None,
    directory: Path | None = None,
    patience_s: float = _COMPILE_S,
) -> subprocess.CompletedProcess[str]:
    """What a compiler that ran to its end has said. BeowireError (exit code 1) if it did not.

    `variables` are added to the environment.
    """
    try:
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            cwd=directory,
            env={**os.environ, "LC_ALL": "C.UTF-8", **(variables or {})},
            timeout=patience_s,
        )
    except subprocess.TimeoutExpired:
        raise BeowireError(f"{command[0]} does not end", exit_code=1) from None
    except OSError as error:
        raise BeowireError(f"{command[0]}: {error.strerror}", exit_code=1) from None


def cause(said: str, status: int) -> str:
    """The line of a compiler, a linker or make that says what is wrong."""
    lines = [line.strip() for line in said.splitlines() if line.strip("- \t")]
    # Open MPI's wrapper says so in a box, on two lines.
    if found := re.search(r"unable to find the specified compiler\s+(\S+) in your PATH", said):
        return f"there is no compiler {found[1]}: install it"
    for line in lines:
        if "fatal error: mpi.h: " in line:
            return f"it finds no mpi.h: {_HEADERS}"
        if "error" in line.lower() or "not found" in line or "cannot find" in line:
            return line
    return lines[-1] if lines else f"it ends with status {status}"


def _root(mpi: Installation) -> dict[str, str]:
    """Intel's wrappers do not know where they are."""
    return {"I_MPI_ROOT": str(mpi.prefix)} if mpi.name == "intel" else {}


def compiled(
    name: str,
    mpi: Installation,
    cache: Path,
    files: Sequence[Path],
    options: Options,
) -> Path:
    """The file of this name, in a directory of its own beneath `cache`. `files`: what is compiled,
    and the headers that it includes. BeowireError (exit code 1), in a line, with what the compiler
    said of its cause."""
    sources = [file for file in files if file.suffix == ".c"]
    compiler = installation.compiler_of(mpi)
    words = [str(compiler), mpi.version, *options.flags, *options.libraries]
    try:
        made = digest(words, [compiler.resolve(), *sorted(files)])
        target = cache / f"{mpi.name}-{made}" / name
        if target.is_file():
            return target
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BeowireError(
            f"cannot compile {name}: {error.filename}: {error.strerror}", exit_code=1
        ) from None
    # Under another name first: whoever sees the file sees all of it.
    draft = target.with_name(f".{name}.{secrets.token_hex(8)}")
    try:
        run(
            [
                str(compiler),
                *options.flags,
                *map(str, sources),
                *options.libraries,
                "-o",
                str(draft),
            ],
            mpi,
        )
        draft.replace(target)
    except OSError as error:
        raise BeowireError(f"cannot write {target}: {error.strerror}", exit_code=1) from None
    finally:
        draft.unlink(missing_ok=True)
    return target


def clear(directory: Path) -> None:
    """Takes away a directory that was not finished."""
    shutil.rmtree(directory, ignore_errors=True)
