# SPDX-License-Identifier: BSD-3-Clause
"""A user's own tree of the NAS Parallel Benchmarks, MPI version 3.3 or 3.4: found, and built.

It is built in a copy, whose config/make.def is ours: nothing is ever written to the user's tree.
NPB 3.3 fixes the number of ranks when it is compiled.
"""

import fcntl
import re
import secrets
import shutil
from dataclasses import dataclass
from pathlib import Path

from beowire import paths
from beowire.apps.catalogue import App
from beowire.errors import BeowireError
from beowire.places.mpi import compiling, installation
from beowire.places.mpi.installation import Installation

_SUPPORTED = ("3.3", "3.4")
_FORTRAN = ("mpif90.openmpi", "mpif90", "mpifort")
_BUILD_S = 900.0

#: The others are in Fortran.
_IN_C = ("is",)

#: Compilers refuse today what is usual where MPI has no interfaces, and when 3.3 was written.
_LOOSE = "-fallow-argument-mismatch"
_OLD = f"-std=legacy {_LOOSE} -fallow-invalid-boz"

_MAKE_DEF = """\
MPIF77 = {fortran}
MPIFC = {fortran}
FLINK = {fortran}
FMPI_LIB =
FMPI_INC =
FFLAGS = -O3 {flags}
FLINKFLAGS = -O3
MPICC = {c}
CLINK = {c}
CMPI_LIB = -lm
CMPI_INC =
CFLAGS = -O3 -std=gnu17 -w
CLINKFLAGS = -O3
CC = cc -g -std=gnu17 -w
BINDIR = ../bin
RAND = randi8
CONVERTFLAG =
"""


@dataclass(frozen=True)
class Tree:
    """A tree that can be built."""

    path: Path
    version: str
    """As it says itself: 3.3, 3.3.1, 3.4.2 ..."""

    @property
    def ranks_are_fixed(self) -> bool:
        """Whether a program is compiled for one number of ranks."""
        return self.version.startswith("3.3")


def find(directory: Path) -> Tree:
    """The tree in a directory, or in one that is in it. BeowireError: there is none, it is another
    version, or not the one for MPI."""
    if not directory.is_dir():
        raise BeowireError(f"--npb {directory}: there is no such directory")
    inside = sorted(directory.glob("NPB*-MPI"), reverse=True)
    for path in (directory, *inside):
        setparams = path / "sys" / "setparams.c"
        if not setparams.is_file():
            continue
        text = setparams.read_text(encoding="utf-8", errors="replace")
        found = re.search(r'#define\s+VERSION\s+"([\d.]+)"', text)
        version = found[1] if found else "?"
        if not version.startswith(_SUPPORTED):
            raise BeowireError(
                f"--npb {path}: it is NPB {version}, and {' or '.join(_SUPPORTED)} is needed"
            )
        if not (path / "MPI_dummy").is_dir():
            raise BeowireError(
                f"--npb {path}: it is not NPB's MPI version: name NPB{version[:3]}-MPI"
            )
        return Tree(path.resolve(), version)
    raise BeowireError(f"--npb {directory}: there is no NPB in it (no sys/setparams.c)")


def fortran_of(mpi: Installation) -> Path:
    """An MPI's Fortran compiler wrapper. BeowireError if it has none."""
    for name in _FORTRAN:
        path = mpi.launcher.parent / name
        if path.is_file():
            return path
    raise BeowireError(
        f"{mpi.name} has no Fortran compiler wrapper in {mpi.launcher.parent}: NPB cannot be built"
        " for it",
        exit_code=1,
    )


def make_def(tree: Tree, mpi: Installation, benchmark: str) -> str:
    """Content of config/make.def for an MPI and a benchmark. BeowireError if it has no compiler
    wrapper of the benchmark's language."""
    flags = _OLD if tree.ranks_are_fixed else _LOOSE
    c = installation.compiler_of(mpi)
    try:
        fortran = fortran_of(mpi)
    except BeowireError:
        if benchmark not in _IN_C:
            raise
        fortran = c  # is not called
    return _MAKE_DEF.format(fortran=fortran, c=c, flags=flags)


def program(tree: Tree, app: App, mpi: Installation, letter: str, ranks: int) -> Path:
    """The benchmark, built for this MPI, class and number of ranks; once. BeowireError."""
    what = make_def(tree, mpi, app.file)
    sources = sorted(
        one for one in tree.path.rglob("*") if one.suffix in (".f", ".f90", ".c", ".h", ".common")
    )
    try:
        name = compiling.digest([what, mpi.version, str(tree.path)], sources)
        copy = paths.apps_cache() / f"npb-{mpi.name}-{name}"
        ending = str(ranks) if tree.ranks_are_fixed else "x"
        binary = copy / "bin" / f"{app.file}.{letter}.{ending}"
        if binary.is_file():
            return binary
        if not copy.is_dir():
            _copy(tree, copy, what)
    except (OSError, shutil.Error) as error:
        raise BeowireError(f"cannot copy {tree.path}: {error}", exit_code=1) from None
    words = ["make", app.file, f"CLASS={letter}", f"NPROCS={ranks}"]
    with (copy / ".beowire-lock").open("w") as lock:
        # Another run may be compiling another class in the same folder.
        fcntl.flock(lock, fcntl.LOCK_EX)
        compiling.run(words, mpi, copy, _BUILD_S)
    if not binary.is_file():
        raise BeowireError(f"make left no {binary.name}", exit_code=1)
    return binary


def _copy(tree: Tree, copy: Path, what: str) -> None:
    draft = copy.with_name(f".{copy.name}.{secrets.token_hex(8)}")
    try:
        shutil.copytree(
            tree.path,
            draft,
            ignore=shutil.ignore_patterns("*.o", "*.mod", "bin", "npbparams.h"),
            ignore_dangling_symlinks=True,
        )
        (draft / "bin").mkdir()
        definitions = draft / "config" / "make.def"
        definitions.unlink(missing_ok=True)  # it may be a link
        definitions.write_text(what, encoding="utf-8")
        draft.replace(copy)
    finally:
        compiling.clear(draft)
