# SPDX-License-Identifier: BSD-3-Clause
"""`beowire info`: what is installed, and what can be used of it on this host."""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from beowire import __version__, paths
from beowire.conduct.survey import end_engines, greet, known_drivers, start_engine
from beowire.doctor.facts import OF_INTERFACES, ask_here, likely_interface, script
from beowire.errors import BeowireError
from beowire.interrupts import Interrupts
from beowire.places.engine import EngineError, EngineProcess
from beowire.places.launch.local import LocalLauncher
from beowire.places.mpi import environment, installation
from beowire.places.mpi.installation import KINDS
from beowire.plan.selection import driver_named
from beowire.record.lines import DriverInfo
from beowire.text_table import filled

#: The drivers that are one lane alone: whether they can run is whether the lane can be opened.
LANES: Mapping[str, str] = {
    "shm": "beowire-shm",
    "xdp": "beowire-xdp",
    "packet": "beowire-packet",
    "tso": "beowire-tso",
    "udp": "beowire-udp",
    "verbs": "beowire-verbs",
    "tipc": "beowire-tipc",
}

#: What others' libraries the drivers need, and a driver that is there with each.
LIBRARIES: Mapping[str, str] = {
    "libfabric": "fi-tcp",
    "UCX": "ucx:tcp",
    "libibverbs": "verbs-send",
    "PVM": "pvm",
}

_CAP_NET_RAW = 13
_INDENT = 13


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("info")(info)


def info(
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object.")] = False,
) -> None:
    """Shows version, libraries, MPIs and privileges.

    Add its output to bug reports. `beowire doctor` checks these facts, and `beowire drivers` lists
    all that can be measured.
    """
    found = gather()
    if as_json:
        print(json.dumps(found, allow_nan=False))
        return
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else 1 << 16
    for line in show(found):
        print(filled(line, columns, _INDENT))


def gather() -> dict[str, Any]:
    """All of it. BeowireError: nothing is built here."""
    version, facts, drivers = _ask()
    at_build = _headers_at_build()
    return {
        "version": __version__,
        "engine_version": version,
        "engine": str(paths.engine_directory()),
        "package": str(Path(__file__).resolve().parents[1]),
        "python": platform.python_version(),
        "kernel": facts.get("kernel", platform.release()),
        "machine": facts.get("architecture", platform.machine()),
        "libc": facts.get("libc"),
        "compiler": facts.get("engine_compiler"),
        "user": _user(),
        "may_send_frames": _may(_status("CapEff")),
        "frames_program": _frames_program(),
        "lanes": _of_drivers(LANES, drivers),
        "provider": _path_or_reason(paths.provider_directory),
        "pvm_library": _path_or_reason(paths.pvm_library),
        "libraries": _of_drivers(LIBRARIES, drivers),
        "headers_at_build": at_build,
        "headers_now": {name: _headers_now(name) for name in at_build},
        "mpis": list(_mpis()),
    }


def show(found: Mapping[str, Any]) -> Iterator[str]:
    """It as lines."""
    engine = found["engine_version"]
    other = "" if engine == found["version"] else f" (its engine is {engine}: build it again)"
    yield _line("beowire", f"{found['version']}{other}, {found['package']}")
    yield _line("engine", f"{found['engine']}, built by {found['compiler']}")
    yield _line(
        "host",
        f"Linux {found['kernel']}, {found['machine']}, libc {found['libc']},"
        f" Python {found['python']}",
    )
    yield _line("user", _privileges(found))
    for name, reason in found["lanes"].items():
        yield _line(f"lane {name}", reason or "can be used")
    for title, key in (("provider", "provider"), ("for PVM", "pvm_library")):
        one = found[key]
        yield _line(title, one["path"] or f"absent: {one['reason']}")
    for name, reason in found["libraries"].items():
        yield _line(name, f"cannot be used: {reason}" if reason else "found")
    yield from _headers(found["headers_at_build"], found["headers_now"])
    for one in found["mpis"]:
        yield _line("MPI", f"{one['title']} {one['version']}, {one['launcher']}{_but(one)}")
    if not found["mpis"]:
        yield _line("MPI", "none is found")


def _line(name: str, text: str) -> str:
    return f"{name:<{_INDENT - 2}}  {text}"


def _but(one: Mapping[str, Any]) -> str:
    """What it cannot do, without saying again which it is."""
    if not one["caution"]:
        return ""
    itself = f"{one['title']} {one['version']} ({one['launcher']}) "
    told = one["caution"].removeprefix(itself)
    return f": {told}" if told == one["caution"] else f": it {told}"


def _privileges(found: Mapping[str, Any]) -> str:
    may = "may" if found["may_send_frames"] else "may not"
    program = found["frames_program"]
    hint = ""
    if not found["may_send_frames"] and program:
        hint = f"; programs that {program} starts may"
    return f"{found['user']}, {may} send Ethernet frames{hint}"


def _ask() -> tuple[str, Mapping[str, Any], Sequence[DriverInfo]]:
    with Interrupts() as interrupts, LocalLauncher() as launcher:
        engines: list[EngineProcess] = []
        try:
            engine = start_engine(launcher, launcher.nodes[0], interrupts, engines)
            hello = greet(engine)
            facts = engine.request("environment", "environment")["fields"]
            interface = likely_interface(ask_here(script("", OF_INTERFACES)))
            words = {"interface": interface} if interface else {}
            drivers = known_drivers(engine.request("drivers", "drivers", words))
            return str(hello.get("version", "unknown")), facts, drivers
        except EngineError as error:
            raise BeowireError(str(error), exit_code=1) from None
        finally:
            with interrupts.held():
                end_engines(engines)


def _of_drivers(names: Mapping[str, str], drivers: Sequence[DriverInfo]) -> dict[str, str]:
    """For each name why its driver cannot run, or nothing."""
    known = {one.name: one for one in drivers}
    found = {}
    for name, driver in names.items():
        one = driver_named(driver, known)
        found[name] = "it was not built" if one is None else "" if one.ready else one.reason
    return found


def _headers_at_build() -> dict[str, str]:
    """The libraries whose headers the build looked for, and their versions, or `absent`. Empty if
    this was not built by `make`."""
    try:
        text = (paths.engine_directory() / "libraries").read_text(encoding="utf-8")
    except OSError:
        return {}
    return {name: version for name, version in map(str.split, text.splitlines())}


def _headers_now(name: str) -> str:
    """The same of one of them now, as scripts/libraries has it; `unknown`: nothing can tell."""
    header = name.endswith(".h")
    asked = ["cc", "-E", "-include", name, "-x", "c", os.devnull]
    try:
        done = subprocess.run(
            asked if header else ["pkg-config", "--modversion", name],
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return "unknown"
    if done.returncode:
        return "absent"
    return "present" if header else done.stdout.strip()


def _headers(at_build: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    """With which libraries this was built, and which of them are others now."""
    if at_build:
        yield _line("built with", ", ".join(f"{name} {at_build[name]}" for name in at_build))
    others = [
        f"{name} {now[name]}" for name in at_build if now[name] not in (at_build[name], "unknown")
    ]
    if others:
        yield _line("", f"now {', '.join(others)}: `make` builds with that")


def _status(field: str) -> str:
    text = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    match = re.search(rf"^{field}:\s*(\S+)", text, re.MULTILINE)
    return match[1] if match else "0"


def _may(capabilities: str) -> bool:
    return bool(int(capabilities, 16) >> _CAP_NET_RAW & 1)


def _user() -> str:
    return "root" if os.geteuid() == 0 else f"user {os.geteuid()}"


def _frames_program() -> str | None:
    """A beowire-frames in the search path that has its capability."""
    path = shutil.which("beowire-frames")
    if path is None:
        return None
    try:
        os.getxattr(path, "security.capability")
    except OSError:
        return None
    return path


def _path_or_reason(find: Any) -> dict[str, str | None]:
    try:
        return {"path": str(find()), "reason": None}
    except BeowireError as error:
        return {"path": None, "reason": str(error)}


def _mpis() -> Iterator[dict[str, str | None]]:
    for name in KINDS:
        try:
            mpi = installation.find(name)
        except BeowireError:
            continue
        try:
            environment.variables(mpi, "beowire")
            caution = environment.caution(mpi, "beowire")
        except BeowireError as error:
            caution = str(error)
        yield {
            "name": name,
            "title": KINDS[name].title,
            "version": mpi.version,
            "launcher": str(mpi.launcher),
            "caution": caution,
        }
