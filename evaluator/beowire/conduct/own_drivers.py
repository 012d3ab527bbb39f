# SPDX-License-Identifier: BSD-3-Clause
"""Users' own drivers, `--driver FILE.c`: compiled, looked at, tried, and put beside Beowire's.

What was compiled of the same source (with all that it includes), the same compiler and the same
flags is used again. A driver that has been put beside the others is in a copy of the engine's
directory, made for the run: so whatever launches engines, here, in a lab or on hosts, needs to know
nothing of it.

A driver is tried before anything is measured, both ends on this host: every byte of messages of
many sizes is verified (the engine's `check`). If one does not compile, crashes, hangs, returns
early or mixes up data, nothing is measured.
"""

import hashlib
import os
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from beowire import paths
from beowire.conduct.survey import end_engines, greet, known_drivers, start_engine
from beowire.errors import BeowireError
from beowire.interrupts import Interrupts
from beowire.places.engine import EngineError, EngineProcess
from beowire.places.launch.local import LocalLauncher
from beowire.record.lines import DriverInfo

_FLAGS = ("-std=gnu17", "-O2", "-g", "-fPIC", "-D_GNU_SOURCE")
_COMPILE_S = 120.0

#: Sizes that are tried, as far as the driver carries them, beside its smallest and largest.
_SIZES = (2, 7, 8, 9, 64, 65, 1000, 1500, 4096, 65507, 65536, 262145)
_LARGEST_TRIED = 1 << 20
_MESSAGES = 20
_CHECK_MS = 2000
_ANSWER_S = 5.0
#: Whoever hangs in a driver does not hear that it should end.
_END_S = 0.5

#: An unreliable driver's messages are told apart by their content, which takes so many bytes.
_LEAST_UNRELIABLE = 8


@contextmanager
def own_drivers(files: Sequence[Path], interrupts: Interrupts) -> Iterator[list[str]]:
    """Within it, engines know the drivers of these files; yields their names. BeowireError before
    that with the reason of each file that cannot be measured."""
    if not files:
        yield []
        return
    failures: list[str] = []
    ours = _built_in(interrupts)
    libraries: dict[str, Path] = {}
    for file in files:
        try:
            library = compiled(file)
            for info in _look_at(library, file, ours | libraries.keys(), interrupts):
                try_out(info, library.parent, interrupts)
                libraries[info.name] = library
        except BeowireError as error:
            failures.append(str(error))
    if failures:
        raise BeowireError("; ".join(failures))
    with (
        tempfile.TemporaryDirectory(prefix="beowire-engine-") as directory,
        _in_place(Path(directory) / "engine", libraries),
    ):
        yield list(libraries)


def compiled(source: Path) -> Path:
    """The shared object of a driver's source. BeowireError with what the compiler said first."""
    if not source.is_file():
        raise BeowireError(f"--driver {source}: there is no such file")
    compiler = os.environ.get("CC") or "cc"
    flags = [*_FLAGS, *os.environ.get("CFLAGS", "").split()]
    flags += ["-I", str(paths.driver_headers()), "-I", str(source.resolve().parent)]
    libraries = os.environ.get("LDLIBS", "").split()
    # Whatever it is called: the compiler would hand a name that it does not know to the linker.
    as_c = ["-x", "c", str(source), "-x", "none"]
    whole = _run([*compiler.split(), *flags, "-E", "-P", *as_c], source)
    version = _run([*compiler.split(), "--version"], source)
    words = "\0".join([compiler, *flags, *libraries]).encode()
    digest = hashlib.sha256(b"\0".join([words, version, whole])).hexdigest()[:16]
    directory = paths.drivers_cache() / digest
    library = directory / "beowire-driver-own.so"
    if library.is_file():
        return library
    try:
        directory.mkdir(mode=0o755, parents=True, exist_ok=True)
    except OSError as error:
        raise BeowireError(f"cannot make {directory}: {error.strerror}", exit_code=1) from None
    # Under a name of its own first: nobody ever finds half of it.
    fresh = directory / f"{secrets.token_hex(8)}.new"
    try:
        command = [*compiler.split(), *flags, "-shared", *as_c, "-o", str(fresh), *libraries]
        _run(command, source)
        fresh.chmod(0o755)
        fresh.replace(library)
    finally:
        fresh.unlink(missing_ok=True)
    return library


def try_out(info: DriverInfo, directory: Path, interrupts: Interrupts) -> None:
    """Two ends of the driver on this host, and every byte verified. BeowireError if it fails."""
    if not info.ready:
        raise BeowireError(f"driver {info.name} is not ready: {info.reason}", exit_code=1)
    engines: list[EngineProcess] = []
    with LocalLauncher([directory]) as launcher:
        ends = list(launcher.nodes)[: 1 if info.placement == "process" else 2]
        try:
            for node in ends:
                greet(start_engine(launcher, node, interrupts, engines))
            _connect(info, engines)
            for size in _sizes_of(info):
                _check(info, engines, size)
        except EngineError as error:
            error = _cause(error, engines)
            raise BeowireError(
                f"driver {info.name} fails its check on {error.node}: {_without_name(error, info)}:"
                " fix it (driver.h says what each function must do)",
                exit_code=1,
            ) from None
        finally:
            with interrupts.held():
                for engine in engines:
                    engine.request_end()
                for engine in engines:
                    engine.end(_END_S)


def _run(command: Sequence[str], source: Path) -> bytes:
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            env={**os.environ, "LC_ALL": "C.UTF-8"},
            timeout=_COMPILE_S,
        )
    except subprocess.TimeoutExpired:
        raise BeowireError(f"--driver {source}: {command[0]} does not end", exit_code=1) from None
    except OSError as error:
        raise BeowireError(
            f"--driver {source}: no C compiler ({command[0]}: {error.strerror}):"
            " install one, or name it in CC",
            exit_code=1,
        ) from None
    if done.returncode != 0:
        said = (done.stderr or done.stdout).decode(errors="replace").splitlines()
        lines = [line.strip() for line in said if "error" in line or "undefined" in line] or said
        cause = lines[0] if lines else f"{command[0]} ends with status {done.returncode}"
        raise BeowireError(f"--driver {source}: it does not compile: {cause}", exit_code=1)
    return done.stdout


def _ask(directories: Sequence[Path], interrupts: Interrupts) -> list[DriverInfo]:
    engines: list[EngineProcess] = []
    with LocalLauncher(directories) as launcher:
        try:
            engine = start_engine(launcher, launcher.nodes[0], interrupts, engines)
            greet(engine)
            return known_drivers(engine.request("drivers", "drivers"))
        except EngineError as error:
            raise BeowireError(str(error), exit_code=1) from None
        finally:
            with interrupts.held():
                end_engines(engines)


def _built_in(interrupts: Interrupts) -> set[str]:
    return {info.name for info in _ask([paths.engine_directory() / "drivers"], interrupts)}


def _look_at(
    library: Path, source: Path, taken: set[str], interrupts: Interrupts
) -> list[DriverInfo]:
    """The drivers of a library. BeowireError if there are none that can be used."""
    found = _ask([library.parent], interrupts)
    for info in found:
        if info.summary == "" and not info.ready:  # its file, or its table, is broken
            raise BeowireError(f"--driver {source}: {info.reason}", exit_code=1)
        if info.name in taken:
            raise BeowireError(
                f"--driver {source}: there is a driver {info.name} already: give yours another name"
            )
    if not found:
        raise BeowireError(f"--driver {source}: its table of drivers is empty", exit_code=1)
    return found


def _sizes_of(info: DriverInfo) -> list[int]:
    least = info.min_size if info.reliable else max(info.min_size, _LEAST_UNRELIABLE)
    largest = min(info.max_size, _LARGEST_TRIED)
    inner = [size for size in _SIZES if least < size < largest]
    return sorted({least, *inner, largest}) if least <= largest else [largest]


def _connect(info: DriverInfo, engines: Sequence[EngineProcess]) -> None:
    addresses = []
    for engine, role in zip(engines, ("initiator", "responder"), strict=False):
        words = {"driver": info.name, "role": role, "max_size": min(info.max_size, _LARGEST_TRIED)}
        opened = engine.request("open", "open", words, _ANSWER_S)
        addresses.append(str(opened.get("address", "")))
    if len(engines) == 2:
        for engine, peer in zip(engines, reversed(addresses), strict=True):
            engine.send("connect", {"peer": peer})
        for engine in engines:
            engine.receive("connected", 2 * _ANSWER_S)


def _check(info: DriverInfo, engines: Sequence[EngineProcess], size: int) -> None:
    words = {"size": size, "count": _MESSAGES, "deadline_ms": _CHECK_MS}
    for engine in engines[1:]:
        engine.request("check", "ready", words, _ANSWER_S)
    engines[0].send("check", words)
    engines[0].receive("checked", _ANSWER_S)
    for engine in engines[1:]:
        if not info.reliable:
            engine.send("stop")  # what was lost does not come any more
        engine.receive("checked", _ANSWER_S)


def _cause(error: EngineError, engines: Sequence[EngineProcess]) -> EngineError:
    """An end that died, or has found wrong data, is why the other one waits."""
    for engine in engines:
        if engine.has_died(0.1):
            return engine.died()
    for engine in engines:
        if error.code in ("ETIMEDOUT", "TIMEOUT", "ECONNRESET", "EPIPE") and not engine.has_died():
            with suppress(EngineError):
                engine.send("stop")
            try:
                engine.receive("checked", 0.5)
            except EngineError as other:
                if other.code == "EBADMSG":
                    return other
    return error


def _without_name(error: EngineError, info: DriverInfo) -> str:
    return str(error).removeprefix(f"{info.name}: ")


@contextmanager
def _in_place(directory: Path, libraries: dict[str, Path]) -> Iterator[None]:
    """A copy of the engine's directory with these drivers in it, which everybody then uses."""
    shutil.copytree(paths.engine_directory(), directory)
    for name, library in libraries.items():
        stem = name.replace("/", "-").replace(":", "-")
        target = directory / "drivers" / f"beowire-driver-{stem}.so"
        shutil.copy(library, target)
        target.chmod(0o755)
    before = os.environ.get("BEOWIRE_ENGINE_DIR")
    os.environ["BEOWIRE_ENGINE_DIR"] = str(directory)
    try:
        yield
    finally:
        if before is None:
            del os.environ["BEOWIRE_ENGINE_DIR"]
        else:
            os.environ["BEOWIRE_ENGINE_DIR"] = before
