# SPDX-License-Identifier: BSD-3-Clause
"""Where the compiled parts are: in the build tree of a checkout, or in the installed package."""

import os
from pathlib import Path

from beowire.errors import BeowireError

_PACKAGE = Path(__file__).resolve().parent


def engine_directory() -> Path:
    """The directory with `beowire-engine`, `drivers/*.so` and the lab's `beowire-relay`, complete
    enough to be copied to another host.

    `BEOWIRE_ENGINE_DIR` wins; then what pip, or `meson install`, has put beside the package; then
    the build tree of the checkout.
    """
    above = _PACKAGE.parent.parent
    candidates = [_PACKAGE / "_engine", above, above / "build" / "engine"]
    chosen = os.environ.get("BEOWIRE_ENGINE_DIR")
    if chosen:
        candidates = [Path(chosen).absolute()]
    for candidate in candidates:
        if (candidate / "beowire-engine").is_file():
            return candidate
    raise BeowireError(
        f"no beowire-engine in {candidates[-1]}: build it first"
        " (`make` at the root of the checkout)"
    )


def driver_headers() -> Path:
    """The directory with driver.h, which a user's own driver is compiled against."""
    candidates = [engine_directory() / "include", _PACKAGE.parent / "drivers"]
    for candidate in candidates:
        if (candidate / "driver.h").is_file():
            return candidate
    raise BeowireError(f"driver.h is not in {candidates[0]}: install Beowire again")


def simulator() -> Path:
    """The program `beowire-simulate`."""
    program = engine_directory() / "beowire-simulate"
    if not program.is_file():
        raise BeowireError(f"no {program}: build it first (`make` at the root of the checkout)")
    return program


def provider_directory() -> Path:
    """The directory with `libbeowire-fi.so`, for libfabric's FI_PROVIDER_PATH."""
    directory = engine_directory() / "fabric"
    if not (directory / "libbeowire-fi.so").is_file():
        raise BeowireError(
            "the libfabric provider is not built: install the package libfabric-dev, then `make` at"
            " the root of the checkout"
        )
    return directory.resolve()


def pvm_library() -> Path:
    """The library that PVM programs load in front of their own."""
    library = engine_directory() / "pvm" / "libbeowire-pvm.so"
    if not library.is_file():
        raise BeowireError(
            "the library for PVM programs is not built: install the package pvm-dev, then `make` at"
            " the root of the checkout"
        )
    return library.resolve()


def mpi_directories(name: str) -> list[Path]:
    """Where an MPI may be that was installed for this checkout (scripts/install-mpi)."""
    return [_PACKAGE.parent.parent / "build" / "mpi" / name]


def apps_sources() -> Path:
    """The directory with the sources of the programs that `beowire apps` compiles."""
    candidates = [_PACKAGE / "_apps", _PACKAGE.parent.parent / "apps"]
    for candidate in candidates:
        if (candidate / "common").is_dir():
            return candidate
    raise BeowireError(f"the programs' sources are not in {candidates[-1]}: install Beowire again")


def mpi_drivers_sources() -> Path:
    """The directory above the sources of the drivers that an MPI's own wrapper compiles."""
    candidates = [_PACKAGE / "_drivers", _PACKAGE.parent / "drivers"]
    for candidate in candidates:
        if (candidate / "mpi").is_dir():
            return candidate
    raise BeowireError(f"the drivers' sources are not in {candidates[-1]}: install Beowire again")


def apps_cache() -> Path:
    """Where compiled programs go. Not made yet."""
    return _cache("apps")


def drivers_cache() -> Path:
    """Where drivers go that are compiled when they are wanted. Not made yet."""
    return _cache("drivers")


def _cache(name: str) -> Path:
    """In the build tree of a checkout that is ours, else in the user's cache."""
    root = _PACKAGE.parent.parent
    if (root / "apps").is_dir() and os.access(root, os.W_OK):
        return root / "build" / name
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(cache) / "beowire" / name
