# SPDX-License-Identifier: BSD-3-Clause
"""What is known about the labs of this user: one file a lab in a directory of the user's own.

A lab's keeper writes its file when the lab is ready, and removes it when it ends in order. A file
whose keeper is gone belongs to a lab that died: the kernel has taken its interfaces along.
"""

import contextlib
import fcntl
import functools
import hashlib
import json
import os
import re
import shutil
import stat
import struct
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from beowire import files
from beowire.errors import BeowireError
from beowire.places.lab import processes
from beowire.places.lab.options import LabOptions
from beowire.places.lab.processes import Namespaces, Process

_SCHEMA = 1
_SUFFIX = ".lab.json"
_FIRST_OF_NAMES = 1
_EVERYBODYS = "/tmp"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,31}", re.ASCII)


@dataclass(frozen=True)
class LabNode:
    """A node (or the switch) of a lab that exists."""

    name: str
    """node0, node1, ... or `switch`."""

    holder: Process
    """The process that holds its namespaces open."""

    namespaces: Namespaces
    address: str
    """IPv4 address of its eth0; "" for the switch."""

    address6: str
    """IPv6 address of its eth0; "" for the switch, and when the MTU is too small for IPv6."""

    mac: str
    cpu: int | None
    """The core that its programs are pinned to, or None: of its machine, if it has one."""

    machine: str = ""
    """The machine that it is, or is in, as the channel knows it; "": this host."""

    channel: str = ""
    """The socket by which programs are run in the machine."""

    nested: bool = False
    """Whether it is a namespace of its machine, to which `holder` belongs then."""


@dataclass(frozen=True)
class LabState:
    """A lab that exists, or that existed when its file was written."""

    name: str
    keeper: Process
    boot_id: str
    ephemeral: bool
    """Whether it ends with the process that made it."""

    options: LabOptions
    nodes: tuple[LabNode, ...]
    switch: LabNode
    """The namespace in which the switch, or what stands in the middle of the link, is."""

    delay_by: str
    """What delays the frames: `netem`, `relay`, or "" when there is no delay."""

    congestion_control: str = ""
    """TCP's in every node; "" when that is not known."""

    accelerator: str = ""
    """What runs its machines: `kvm`, `tcg` (emulation) or `uml`; "" when it has none."""

    kernel: str = ""
    """The version of its machines' kernel."""

    def alive(self) -> bool:
        """Whether the lab is there."""
        return self.boot_id == processes.boot_id() and self.keeper.alive()

    def namespaces(self) -> tuple[Namespaces, ...]:
        """Those of the nodes and of the switch."""
        return tuple(node.namespaces for node in (*self.nodes, self.switch))

    def to_json(self) -> str:
        """The text of the state file."""
        return json.dumps({"schema": _SCHEMA, **asdict(self)}, indent=1, allow_nan=False) + "\n"

    @staticmethod
    def from_json(text: str) -> "LabState":
        """Reads the text of a state file; raises ValueError when it is not one."""
        try:
            data = json.loads(text)
            if data.pop("schema") != _SCHEMA:
                raise ValueError("another version of beowire wrote it")
            return LabState(
                **{
                    **data,
                    "keeper": Process(**data["keeper"]),
                    "options": LabOptions(**data["options"]),
                    "nodes": tuple(_node(node) for node in data["nodes"]),
                    "switch": _node(data["switch"]),
                }
            )
        except (KeyError, TypeError, AttributeError, RecursionError, BeowireError) as error:
            raise ValueError(f"not a lab's state: {error}") from None


def _node(data: dict[str, Any]) -> LabNode:
    return LabNode(
        **{
            **data,
            "holder": Process(**data["holder"]),
            "namespaces": Namespaces(**data["namespaces"]),
        }
    )


def runtime_directory() -> Path:
    """The directory of this user's state files: made when it is missing, and nobody else's.

    `BEOWIRE_RUNTIME_DIR` names another one, in which no other labs are known. A name that somebody
    else has taken is passed over, which a line on standard error says once.
    """
    if os.environ.get("BEOWIRE_RUNTIME_DIR"):
        named = Path(os.environ["BEOWIRE_RUNTIME_DIR"])
        if problem := _taken(named):
            raise BeowireError(f"{problem} by BEOWIRE_RUNTIME_DIR")
        return named
    problems: list[str] = []
    for directory in _usual_directories():
        if not (problem := _taken(directory)):
            if problems:
                _say_once(f"beowire: {problems[0]}: labs are kept in {directory}")
            return directory
        problems.append(problem.partition(":")[0])
    raise BeowireError(f"{problems[0]}: name another by BEOWIRE_RUNTIME_DIR")


def _usual_directories() -> Iterator[Path]:
    """In their order. The last is one with a random name, which is found again."""
    user = os.geteuid()
    if user == 0 and os.access("/run", os.W_OK):
        yield Path("/run/beowire")
    for runtime in (os.environ.get("XDG_RUNTIME_DIR"), f"/run/user/{user}"):
        if runtime and os.access(runtime, os.W_OK | os.X_OK):
            yield Path(runtime) / "beowire"
    everybodys = Path(f"{_EVERYBODYS}/beowire-{user}")
    yield everybodys
    for found in sorted(everybodys.parent.glob(f"{everybodys.name}.*")):
        if found.is_dir() and found.lstat().st_uid == user:
            yield found
    yield Path(tempfile.mkdtemp(prefix=f"{everybodys.name}.", dir=everybodys.parent))


def _taken(directory: Path) -> str:
    """Why it cannot be ours, though it may be another: `WHAT: DO`; empty: it is ours. BeowireError
    for what only its owner can mend."""
    user = os.geteuid()
    try:
        directory.mkdir(mode=0o700, exist_ok=True)
        found = directory.lstat()
    except FileExistsError:
        found = directory.lstat()
    except OSError as error:
        raise BeowireError(f"cannot keep a lab's state in {directory}: {error.strerror}") from None
    if not stat.S_ISDIR(found.st_mode):
        return f"{directory} is no directory: remove it, or name another"
    if found.st_uid != user:
        return f"{directory} is another user's: name one of your own"
    if found.st_mode & 0o077:
        raise BeowireError(f"others can enter {directory}: run `chmod 700 {directory}`")
    return ""


@functools.cache
def _say_once(line: str) -> None:
    print(line, file=sys.stderr)


@contextlib.contextmanager
def _alone(start: int, count: int) -> Iterator[None]:
    """Locks bytes of the file `lock`, none of which is there; count 0: all from `start` on. The
    kernel lets go of them when a process ends, however it ends."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(runtime_directory() / "lock", flags, 0o600)
    try:
        fcntl.fcntl(handle, fcntl.F_OFD_SETLKW, _lock_of(fcntl.F_WRLCK, start, count))
        yield
    finally:
        os.close(handle)


def _lock_of(kind: int, start: int, count: int) -> bytes:
    """A `struct flock` (fcntl(2)), relative to the beginning of the file."""
    return struct.pack("hhqqi0q", kind, os.SEEK_SET, start, count, 0)


def lock() -> contextlib.AbstractContextManager[None]:
    """Lets one process at a time look at labs of this user and clean up after them. Held for
    moments; not while machines boot (`making`)."""
    return _alone(0, 1)


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise BeowireError(
            f"no lab can be named {name!r}: use up to 32 letters, digits, '.', '-' and '_'"
        )


def making(name: str) -> contextlib.AbstractContextManager[None]:
    """Lets one process at a time make or remove the lab of this name; labs of other names are made
    and removed meanwhile. Taken before `lock`, if both are. BeowireError: none can have it."""
    _check_name(name)
    return _alone(_FIRST_OF_NAMES + int.from_bytes(hashlib.sha256(name.encode()).digest()[:7]), 1)


def none_being_made() -> contextlib.AbstractContextManager[None]:
    """Waits until nobody makes or removes a lab."""
    return _alone(_FIRST_OF_NAMES, 0)


def is_one_being_made() -> bool:
    """Whether somebody makes or removes a lab just now."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(runtime_directory() / "lock", flags, 0o600)
    try:
        asked = _lock_of(fcntl.F_WRLCK, _FIRST_OF_NAMES, 0)
        answer = fcntl.fcntl(handle, fcntl.F_OFD_GETLK, asked)
        return bool(struct.unpack_from("h", answer)[0] != fcntl.F_UNLCK)
    finally:
        os.close(handle)


@dataclass(frozen=True)
class LabFiles:
    """The files of one lab. Their paths are fixed when this is made: the keeper makes it before it
    enters a user namespace, in which it would find itself to be another user."""

    state: Path
    counters: Path
    """What the relay counts: three 64-bit numbers, see evaluator/lab/relay.h."""

    machine: Path
    """Directory of the virtual machine of PVM that may be in the lab (pvm.py)."""

    channel: Path
    """The socket by which programs are run in machines."""

    @staticmethod
    def of(name: str) -> "LabFiles":
        """The files of the lab of this name, whether it exists or not."""
        _check_name(name)
        directory = runtime_directory()
        return LabFiles(
            directory / (name + _SUFFIX),
            directory / f"{name}.counters",
            directory / f"{name}.pvm",
            directory / f"{name}.channel",
        )

    def read(self) -> LabState | None:
        """The state of a living or a dead lab; None when there is none that can be read."""
        try:
            return LabState.from_json(self.state.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def write(self, state: LabState) -> None:
        """Writes the state file, all of it or nothing."""
        files.write_whole(self.state, state.to_json(), mode=0o600)

    def remove(self) -> None:
        """Removes files and directory; it is no error when there are none."""
        for path in (self.state, self.counters, self.channel):
            path.unlink(missing_ok=True)
        shutil.rmtree(self.machine, ignore_errors=True)


def names() -> list[str]:
    """Names of all labs that have a state file, sorted."""
    found = [path.name.removesuffix(_SUFFIX) for path in runtime_directory().glob(f"*{_SUFFIX}")]
    return sorted(name for name in found if _NAME.fullmatch(name))
