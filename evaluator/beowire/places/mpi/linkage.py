# SPDX-License-Identifier: BSD-3-Clause
"""Which MPI a program was linked with.

A program of one MPI under the launcher of another runs as so many programs of one rank each, and
ends well: so it is looked at before it is started. Only what the file itself says counts (the names
of the libraries that its dynamic section needs); nothing of it is run. Scripts, static programs and
what loads its MPI later (Python) say nothing.

Source of the layout: Tool Interface Standard, Executable and Linking Format, version 1.2; elf(5).
"""

import re
import shutil
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from mmap import ACCESS_READ, mmap
from pathlib import Path

from beowire.errors import BeowireError
from beowire.places.mpi.installation import KINDS

_PT_LOAD, _PT_DYNAMIC = 1, 2
_DT_NEEDED, _DT_STRTAB, _DT_STRSZ = 1, 5, 10

#: MPIs by the number of their library, which is that of its interface: those with the same one can
#: take each other's programs.
_INTERFACES = {
    "40": ("Open MPI", ("openmpi4", "openmpi5")),
    "12": ("MPICH or Intel MPI", ("mpich", "intel")),
}
_LIBRARY = re.compile(r"libmpi[a-z_+]*\.so\.(\d+)")


@dataclass(frozen=True)
class Linked:
    """What a program says of its MPI."""

    library: str
    """Such as `libmpi.so.40`."""
    title: str
    mpis: tuple[str, ...]
    """Names, as in KINDS, of MPIs that can run it."""


def linked_with(program: Path) -> Linked | None:
    """The MPI that a program was linked with; None: it does not say."""
    for library in needed(program):
        found = _LIBRARY.fullmatch(library)
        if found and found[1] in _INTERFACES:
            return Linked(library, *_INTERFACES[found[1]])
    return None


def check(words: Sequence[str], mpi: str) -> None:
    """BeowireError if the program of a command line was linked with another MPI than this one."""
    path = shutil.which(words[0])
    found = None if path is None else linked_with(Path(path))
    if found is None or mpi in found.mpis:
        return
    others = " or ".join(f"--mpi {name}" for name in found.mpis)
    raise BeowireError(
        f"{words[0]} is a program of {found.title} ({found.library}), and {KINDS[mpi].title} would"
        f" run each rank of it alone: take {others}, or compile it with the compiler that"
        f" `beowire mpi-env --mpi {mpi} --print-cc` names"
    )


def needed(program: Path) -> list[str]:
    """The libraries that a file needs, by its own account; none if it is no dynamic program."""
    try:
        # Mapped: of a large program only its beginning, and what that points to, is looked at.
        with program.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data:
            return _needed(data)
    except (OSError, struct.error, ValueError, LookupError, StopIteration):
        return []


def _needed(data: mmap) -> list[str]:
    if data[:4] != b"\x7fELF":
        return []
    wide = data[4] == 2
    order = "<" if data[5] == 1 else ">"
    at, size, count = _program_headers(data, order, wide=wide)
    # (type, offset in the file, address in memory, length in the file)
    headers = [_program_header(data, at + size * i, order, wide=wide) for i in range(count)]
    dynamic = next((one for one in headers if one[0] == _PT_DYNAMIC), None)
    if dynamic is None:
        return []
    entries = list(
        struct.iter_unpack(f"{order}qQ" if wide else f"{order}iI", _slice(data, dynamic, wide=wide))
    )
    words = dict(entries)
    start = next(
        offset + words[_DT_STRTAB] - address
        for kind, offset, address, length in headers
        if kind == _PT_LOAD and address <= words[_DT_STRTAB] < address + length
    )
    names = data[start : start + words[_DT_STRSZ]]
    return [
        names[value : names.index(b"\0", value)].decode(errors="replace")
        for tag, value in entries
        if tag == _DT_NEEDED
    ]


def _program_headers(data: mmap, order: str, *, wide: bool) -> tuple[int, int, int]:
    """Where they begin, how long each is, and how many there are."""
    begin = struct.unpack_from(f"{order}{'Q' if wide else 'I'}", data, 32 if wide else 28)[0]
    size, count = struct.unpack_from(f"{order}HH", data, 54 if wide else 42)
    return begin, size, count


def _program_header(data: mmap, at: int, order: str, *, wide: bool) -> tuple[int, int, int, int]:
    if wide:
        kind, _, offset, address, _, length = struct.unpack_from(f"{order}IIQQQQ", data, at)
    else:
        kind, offset, address, _, length = struct.unpack_from(f"{order}IIIII", data, at)
    return kind, offset, address, length


def _slice(data: mmap, header: tuple[int, int, int, int], *, wide: bool) -> bytes:
    """What a header speaks of, in whole entries."""
    _, offset, _, length = header
    entry = 16 if wide else 8
    return data[offset : offset + length // entry * entry]
