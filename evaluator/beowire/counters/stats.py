# SPDX-License-Identifier: BSD-3-Clause
"""What endpoints publish of themselves, found and read: transport/endpoint/stats.h, from outside.

Whoever has made such a file is not trusted: any process of a user can make one that looks like it,
and change it while it is read. So it is copied out before it is looked at (a mapping that shrinks
would end us), every place and length is checked, and text has nothing in it that a terminal obeys.
What is made of a file is bounded by its length: no two rows have bytes in common, nor columns.
"""

import os
import stat
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from beowire.visible import visible

MAGIC = b"beostats"
VERSION = 1

#: What the link of such a file reads in /proc/PID/fd.
LINK = "/memfd:beowire-stats (deleted)"

_HEADER = struct.Struct("<8sIIQQQQI12x")
_TABLE = struct.Struct("<16sIIIII12x")
_FIELD = struct.Struct("<24sHHI")
_NUMBER = struct.Struct("<Q")
_TEXT, _NUMBER_KIND = 1, 2

_BYTES_MAX = 1 << 20
_TABLES_MAX = 32
_CELLS_MAX = 100_000

#: Of a command line, which may have some MB.
_COMMAND_BYTES = 4096

#: A writer needs some microseconds; one that takes longer than all this has been stopped.
_ATTEMPTS = 20
_PAUSE_S = 0.001

Row = dict[str, int | str]


class StatsError(Exception):
    """The file is not what it should be, or cannot be read now: one line that says why."""


@dataclass(frozen=True)
class Snapshot:
    """All counters of an endpoint at one moment. Times are of CLOCK_MONOTONIC."""

    process: int  # as it is called in its own process namespace
    opened_ns: int
    published_ns: int
    tables: dict[str, list[Row]]
    cells: int = 0
    """So many there are room for in the tables."""
    _by_name: dict[str, dict[str, Row]] = field(default_factory=dict, compare=False, repr=False)

    def rows(self, table: str) -> list[Row]:
        """The rows of a table, none if there is no such table."""
        return self.tables.get(table, [])

    def values(self, table: str) -> dict[str, int]:
        """A table of names and numbers as one dictionary."""
        return {text(row, "name"): number(row, "value") for row in self.rows(table)}

    def row(self, table: str, name: str) -> Row:
        """The first row of that name, an empty one if there is none."""
        if table not in self._by_name:
            self._by_name[table] = {
                text(row, "name"): row for row in reversed(self.rows(table)) if "name" in row
            }
        return self._by_name[table].get(name, {})


@dataclass(frozen=True)
class Found:
    """An endpoint's file, as a descriptor of a process."""

    pid: int
    descriptor: int
    identity: tuple[int, int]  # device and inode
    user: int = 0
    """Whose file it is. (A process that hides what it does is root's.)"""

    @property
    def path(self) -> str:
        """Where it can be opened."""
        return f"/proc/{self.pid}/fd/{self.descriptor}"


def number(row: Row, column: str) -> int:
    """A number of a row, 0 if it has none of that name."""
    value = row.get(column, 0)
    return value if isinstance(value, int) else 0


def text(row: Row, column: str) -> str:
    """A text of a row, empty if it has none of that name."""
    value = row.get(column, "")
    return value if isinstance(value, str) else ""


# ---- reading -------------------------------------------------------------------------------------


def parse(data: bytes) -> Snapshot:
    """Takes a whole file apart; raises StatsError if anything in it does not fit."""
    if len(data) < _HEADER.size:
        raise StatsError(f"it has {len(data)} bytes, less than a header")
    magic, version, tables, length, _, published, opened, process = _HEADER.unpack_from(data)
    if magic != MAGIC:
        raise StatsError("it is not (yet) a file of counters")
    if version != VERSION:
        raise StatsError(f"it has version {version}, and this program reads version {VERSION}")
    if length != len(data):
        raise StatsError(f"it has {len(data)} bytes, and says {length}")
    if tables > _TABLES_MAX:
        raise StatsError(f"it has {tables} tables")
    found: dict[str, list[Row]] = {}
    cells, room = 0, len(data)
    for index in range(tables):
        at = _HEADER.size + index * _TABLE.size
        name, *shape = _TABLE.unpack(_slice(data, at, _TABLE.size))
        fields_at, fields, rows_at, row_bytes, rows = shape
        cells += max(fields, 1) * max(rows, 1)
        room -= rows * row_bytes
        if row_bytes == 0 or cells > _CELLS_MAX or room < 0:
            raise StatsError("its tables are too large")
        columns = _columns(_slice(data, fields_at, fields * _FIELD.size), row_bytes)
        found[_clean(name)] = _rows(_slice(data, rows_at, rows * row_bytes), row_bytes, columns)
    return Snapshot(process, opened, published, found, cells)


def _slice(data: bytes, at: int, length: int) -> bytes:
    if at + length > len(data):
        raise StatsError("a table reaches beyond its end")
    return data[at : at + length]


def _columns(data: bytes, row_bytes: int) -> list[tuple[str, int, int, int]]:
    columns = []
    room = row_bytes
    for name, offset, length, kind in _FIELD.iter_unpack(data):
        if offset + length > row_bytes or (kind == _NUMBER_KIND and length != _NUMBER.size):
            raise StatsError("a column reaches beyond its row")
        room -= length
        if room < 0:
            raise StatsError("its columns are longer than its rows")
        if kind in (_TEXT, _NUMBER_KIND):  # others are for later readers
            columns.append((_clean(name), offset, length, kind))
    return columns


def _rows(data: bytes, row_bytes: int, columns: list[tuple[str, int, int, int]]) -> list[Row]:
    rows = []
    for at in range(0, len(data), row_bytes):
        if data[at] == 0:
            continue  # not used
        row: Row = {}
        for name, offset, length, kind in columns:
            begin = at + offset
            if kind == _TEXT:
                row[name] = _clean(data[begin : begin + length])
            else:
                (row[name],) = _NUMBER.unpack_from(data, begin)
        rows.append(row)
    return rows


def _clean(data: bytes) -> str:
    """Text up to its end, with nothing in it that is not to be seen."""
    return visible(data.partition(b"\0")[0].decode(errors="replace"))


class Stopped(StatsError):
    """It is not in one consistent state."""


def read(path: str, attempts: int = _ATTEMPTS) -> Snapshot:
    """Reads a file in one consistent state; raises StatsError, or OSError if it is gone."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode) or about.st_size > _BYTES_MAX:
            raise StatsError("it is not a file of counters")
        for attempt in range(attempts):
            if attempt:
                time.sleep(_PAUSE_S)
            before = _sequence(descriptor)
            data = os.pread(descriptor, about.st_size, 0) if before % 2 == 0 else b""
            if before % 2 == 0 and _sequence(descriptor) == before:
                return parse(data)
    finally:
        os.close(descriptor)
    raise Stopped("its process has stopped while it was writing")


def _sequence(descriptor: int) -> int:
    data = os.pread(descriptor, _NUMBER.size, 24)
    return int(_NUMBER.unpack(data)[0]) if len(data) == _NUMBER.size else 0


# ---- finding -------------------------------------------------------------------------------------


def find(pid: int | None = None, proc: Path = Path("/proc")) -> list[Found]:
    """The endpoints of all processes that we may look at, or of one; each once, in their order.

    A child that was forked has its parent's descriptors: the file is shown with the process that
    made it.
    """
    best: dict[tuple[int, int], Found] = {}
    pids = [pid] if pid is not None else sorted(_pids(proc))
    for found in (one for each in pids for one in _files_of(each, proc)):
        known = best.get(found.identity)
        if known is None or (
            known.pid != found.pid and _made_by(found, proc) and not _made_by(known, proc)
        ):
            best[found.identity] = found
    return sorted(best.values(), key=lambda found: (found.pid, found.descriptor))


def _pids(proc: Path) -> Iterator[int]:
    for entry in os.scandir(proc):
        if entry.name.isdecimal():
            yield int(entry.name)


def _files_of(pid: int, proc: Path) -> Iterator[Found]:
    try:
        descriptors = os.listdir(proc / str(pid) / "fd")  # noqa: PTH208 names only: there are many
    except OSError:
        return  # it has ended, or is not ours to look at
    for name in descriptors:
        path = proc / str(pid) / "fd" / name
        with suppress(OSError):
            if os.readlink(path) == LINK:  # noqa: PTH115 text, and not a path
                about = path.stat()
                yield Found(pid, int(name), (about.st_dev, about.st_ino), about.st_uid)


def _made_by(found: Found, proc: Path) -> bool:
    """Is this the process that the file names? (By its name in its own namespace.)"""
    with suppress(OSError, StatsError, ValueError, IndexError):
        status = (proc / str(found.pid) / "status").read_text(encoding="utf-8", errors="replace")
        (line,) = (line for line in status.splitlines() if line.startswith("NSpid:"))
        path = proc / str(found.pid) / "fd" / str(found.descriptor)
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            head = os.pread(descriptor, _HEADER.size, 0)
        finally:
            os.close(descriptor)
        return len(head) == _HEADER.size and _HEADER.unpack(head)[-1] == int(line.split()[-1])
    return False


def command_of(pid: int, proc: Path = Path("/proc")) -> str:
    """What the process is, for people: its program without the folder, and with the arguments;
    empty if it has ended."""
    with suppress(OSError):
        # The kernel cuts this name after 15 bytes; the command line has all of it.
        name = (proc / str(pid) / "comm").read_bytes().rstrip(b"\n")
        with (proc / str(pid) / "cmdline").open("rb") as line:
            words = line.read(_COMMAND_BYTES).rstrip(b"\0").split(b"\0")
        at = _program(words, name)
        words = [_base(words[at]), *words[at + 1 :]]
        return visible((b" ".join(words) or name).decode(errors="replace").strip())
    return ""


def _program(words: Sequence[bytes], name: bytes) -> int:
    """Which word of a command line is the program: the first, unless the process has the name of a
    script that stands behind its interpreter and that one's options."""
    script = next((at for at, word in enumerate(words) if at and not word.startswith(b"-")), 0)
    if name and not _base(words[0]).startswith(name) and _base(words[script]).startswith(name):
        return script
    return 0


def _base(path: bytes) -> bytes:
    return path.rpartition(b"/")[2]
