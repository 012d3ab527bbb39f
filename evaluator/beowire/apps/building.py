# SPDX-License-Identifier: BSD-3-Clause
"""Compiles the programs of `apps/` with an MPI's own wrapper. In a checkout they are under
build/apps; else in the user's cache."""

from pathlib import Path

from beowire import paths
from beowire.apps.catalogue import App
from beowire.errors import BeowireError
from beowire.places.mpi import compiling
from beowire.places.mpi.compiling import Options
from beowire.places.mpi.installation import Installation

_FLAGS = ("-std=c17", "-O3")
_PROFILE_FLAGS = ("-std=c17", "-O2", "-fPIC", "-shared")


def program(app: App, mpi: Installation) -> Path:
    """The program, compiled for this MPI. BeowireError with what the compiler said first."""
    sources = paths.apps_sources()
    source = sources / f"{app.file}.c"
    if not source.is_file():
        raise BeowireError(f"{source} is not there: {app.name} cannot be compiled", exit_code=1)
    common = sorted((sources / "common").glob("*.c"))
    return compiling.compiled(
        app.file,
        mpi,
        paths.apps_cache(),
        [source, *common, *(sources / "common").glob("*.h")],
        Options([*_FLAGS, "-I", str(sources)], ["-lm"]),
    )


def profile_library(mpi: Installation) -> Path:
    """The library that counts what a program asks of MPI. BeowireError, as above."""
    folder = paths.apps_sources() / "profile"
    files = sorted(folder.glob("*.[ch]"))
    if not files:
        raise BeowireError(f"{folder} has no sources: nothing can be counted", exit_code=1)
    name = "libapps-profile.so"
    return compiling.compiled(
        name, mpi, paths.apps_cache(), files, Options(_PROFILE_FLAGS, ["-ldl"])
    )


def phases_library(mpi: Installation) -> Path:
    """The library that takes the time of MPI_Init, of MPI_Finalize and of what is between them. It
    is linked with no MPI: it is loaded into the shells that start a program, too. BeowireError."""
    source = paths.apps_sources() / "phases" / "phases.c"
    if not source.is_file():
        raise BeowireError(f"{source} is not there", exit_code=1)
    return compiling.compiled(
        "libapps-phases.so",
        mpi,
        paths.apps_cache(),
        [source],
        Options([*_PROFILE_FLAGS, "-Wl,--as-needed"], ["-ldl"]),
    )
