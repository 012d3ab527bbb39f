# SPDX-License-Identifier: BSD-3-Clause
"""Finds the MPI libraries of this machine.

The same commands (`mpirun`, `mpicc`) belong to different MPIs on different machines, so a launcher
counts as the one that is looked for when it says so itself (`--version`).
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from beowire import paths
from beowire.errors import BeowireError

_ASK_S = 20.0


@dataclass(frozen=True)
class Kind:
    """An MPI library that we know how to start."""

    title: str
    launchers: tuple[str, ...]
    """Names of its launcher, the one that no other MPI has first."""

    compilers: tuple[str, ...]
    """Names of its C compiler wrapper, likewise."""

    version: str
    """Pattern in what the launcher says of itself; its group is the version."""

    hint: str
    """How to get it."""


def _open_mpi(major: int, hint: str) -> Kind:
    return Kind(
        title=f"Open MPI {major}",
        launchers=("mpirun.openmpi", "mpirun"),
        compilers=("mpicc.openmpi", "mpicc"),
        # The launcher of version 4 calls itself so only where its name is mpirun.
        version=rf"\((?:Open MPI|OpenRTE)\) ({major}\.[\w.]+)",
        hint=hint,
    )


KINDS = {
    "openmpi4": _open_mpi(4, "install Debian 12's openmpi-bin and libopenmpi-dev"),
    "openmpi5": _open_mpi(
        5,
        "install Debian 13's openmpi-bin and libopenmpi-dev, or type `scripts/install-mpi"
        " openmpi5` in a checkout",
    ),
    "mpich": Kind(
        title="MPICH",
        launchers=("mpiexec.hydra", "mpiexec.mpich"),
        compilers=("mpicc.mpich", "mpicc"),
        version=r"HYDRA build details:\s+Version:\s+(\S+)",
        # Debian's own is built for UCX alone.
        hint="type `scripts/install-mpi mpich` in a checkout for one with libfabric",
    ),
    "intel": Kind(
        title="Intel MPI",
        launchers=("mpiexec.hydra",),
        compilers=("mpicc",),
        version=r"Intel\(R\) MPI Library.*?Version ([\d.]+)",
        hint="type `scripts/install-mpi intel` in a checkout",
    ),
}


@dataclass(frozen=True)
class Installation:
    """An MPI that is here."""

    name: str
    """As in KINDS."""

    version: str
    launcher: Path
    compiler: Path | None
    """None: programs cannot be compiled here, only run."""

    part: str = "mpi"
    """What of it launcher and compiler are for: its MPI, or what comes with that."""

    device: str = ""
    """What an MPICH was built for, such as `ch4:ofi`; empty: it does not say."""

    @property
    def is_open_mpi(self) -> bool:
        """Whether it is an Open MPI, of whichever version."""
        return self.name.startswith("openmpi")

    @property
    def has_libfabric(self) -> bool:
        """Whether its messages can go through libfabric, as far as it says."""
        return self.device in ("", "ch4") or "ofi" in self.device

    @property
    def prefix(self) -> Path:
        """The directory above its `bin`."""
        return self.launcher.parent.parent


def kind_of(name: str) -> Kind:
    """What is known of an MPI; BeowireError with all names when it is none of them."""
    if name not in KINDS:
        known = ", ".join(KINDS)
        raise BeowireError(f"no MPI is called {name!r}: --mpi is one of {known}")
    return KINDS[name]


def find(name: str, prefix: Path | None = None) -> Installation:
    """The MPI of this name: under `prefix` if that is given, otherwise of this checkout, of
    `I_MPI_ROOT` (Intel MPI), or in the search path. BeowireError, with a way to get it, if none."""
    kind = kind_of(name)
    for launcher in _launchers(name, kind, prefix):
        said = _said_by(launcher)
        if version := _found_version(said, kind):
            device = re.search(r"--with-device=([\w:,-]+)", said) if name == "mpich" else None
            return Installation(
                name,
                version,
                launcher,
                _compiler_beside(launcher, kind),
                device=device[1] if device else "",
            )
    where = f" in {prefix}" if prefix is not None else " here"
    raise BeowireError(
        f"there is no {kind.title}{where}: {kind.hint}; --prefix names the directory of another"
    )


def compiler_of(installation: Installation) -> Path:
    """Its C compiler wrapper; BeowireError if it has none."""
    if installation.compiler is None:
        title = KINDS[installation.name].title
        raise BeowireError(
            f"{title} {installation.version} has no mpicc in {installation.launcher.parent}:"
            " install its development package (Debian: libopenmpi-dev)"
        )
    return installation.compiler


def _launchers(name: str, kind: Kind, prefix: Path | None) -> Iterator[Path]:
    if prefix is not None:
        directories = [prefix]
    else:
        directories = paths.mpi_directories(name)
        if name == "intel" and os.environ.get("I_MPI_ROOT"):
            directories.append(Path(os.environ["I_MPI_ROOT"]))
    for directory in directories:
        for launcher in kind.launchers:
            path = directory.absolute() / "bin" / launcher
            if os.access(path, os.X_OK):
                yield path
    if prefix is None:
        for launcher in kind.launchers:
            found = shutil.which(launcher)
            if found:
                yield Path(found).absolute()


def _said_by(launcher: Path) -> str:
    """What it says of itself; empty when it does not."""
    try:
        return subprocess.run(
            [launcher, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=_ASK_S,
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""


def version_in(said: str, name: str) -> str:
    """The version of this MPI in what a launcher says of itself; empty: it is none of this."""
    return _found_version(said, kind_of(name))


def _found_version(said: str, kind: Kind) -> str:
    found = re.search(kind.version, said, re.DOTALL)
    return found[1] if found else ""


def _compiler_beside(launcher: Path, kind: Kind) -> Path | None:
    for name in kind.compilers:
        path = launcher.parent / name
        if os.access(path, os.X_OK):
            return path
    return None
