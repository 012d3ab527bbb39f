# SPDX-License-Identifier: BSD-3-Clause
"""What a program says of the MPI that it was linked with."""

import struct
import sys
from pathlib import Path

import pytest

from beowire.errors import BeowireError
from beowire.places.mpi import linkage

BASE = 0x400000


def program(
    path: Path, libraries: list[str], *, wide: bool = True, order: str = "<", before: int = 0
) -> Path:
    """A file with nothing in it but `before` bytes of code, and a dynamic section that needs these
    libraries."""
    names, at = b"\0", []
    for library in libraries:
        at.append(len(names))
        names += library.encode() + b"\0"
    header, entry, size = (64, 56, 16) if wide else (52, 32, 8)
    begin = header + 2 * entry + before
    table = begin + size * (len(at) + 3)
    pairs = [*((1, one) for one in at), (5, BASE + table), (10, len(names)), (0, 0)]
    dynamic = b"".join(struct.pack(f"{order}{'qQ' if wide else 'iI'}", *pair) for pair in pairs)
    whole = table + len(names)

    def segment(kind: int, offset: int, length: int) -> bytes:
        if wide:
            words = (kind, 0, offset, BASE + offset, 0, length, length, 0)
            return struct.pack(f"{order}IIQQQQQQ", *words)
        return struct.pack(f"{order}8I", kind, offset, BASE + offset, 0, length, length, 0, 0)

    ident = b"\x7fELF" + bytes([2 if wide else 1, 1 if order == "<" else 2, 1]) + bytes(9)
    form = f"{order}HHI{'QQQ' if wide else 'III'}IHHHHHH"
    words = (2, 62, 1, 0, header, 0, 0, header, entry, 2, 0, 0, 0)
    data = ident + struct.pack(form, *words)
    data += segment(1, 0, whole) + segment(2, begin, len(dynamic)) + bytes(before) + dynamic + names
    path.write_bytes(data)
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(("wide", "order"), [(True, "<"), (True, ">"), (False, "<"), (False, ">")])
def test_needed__of_any_class_and_byte_order(tmp_path: Path, wide: bool, order: str) -> None:
    path = program(tmp_path / "a", ["libm.so.6", "libmpi.so.40"], wide=wide, order=order)
    assert linkage.needed(path) == ["libm.so.6", "libmpi.so.40"]


def test_needed__of_a_program_that_is_large(tmp_path: Path) -> None:
    path = program(tmp_path / "a", ["libmpi.so.40"], before=5_000_000)
    assert linkage.needed(path) == ["libmpi.so.40"]


def test_needed__of_a_real_program() -> None:
    assert any(name.startswith("libc.so") for name in linkage.needed(Path(sys.executable)))


@pytest.mark.parametrize("content", [b"", b"#!/bin/sh\n", b"\x7fELF", b"\x7fELF\2\1" + bytes(80)])
def test_needed__nothing_of_what_is_no_program(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a"
    path.write_bytes(content)
    assert linkage.needed(path) == []
    assert linkage.needed(tmp_path / "nothing") == []


@pytest.mark.parametrize(
    ("library", "able"),
    [
        ("libmpi.so.40", {"openmpi4", "openmpi5"}),
        ("libmpi_mpifh.so.40", {"openmpi4", "openmpi5"}),
        ("libmpi.so.12", {"mpich", "intel"}),
        ("libmpich.so.12", {"mpich", "intel"}),
        ("libmpifort.so.12", {"mpich", "intel"}),
        ("libmpiwrapper.so.1", {"openmpi4", "openmpi5", "mpich", "intel"}),
    ],
)
def test_check__takes_a_program_only_under_its_own_mpi(
    tmp_path: Path, library: str, able: set[str]
) -> None:
    path = str(program(tmp_path / "a", ["libc.so.6", library]))
    for mpi in ("openmpi4", "openmpi5", "mpich", "intel"):
        if mpi in able:
            linkage.check([path, "8"], mpi)
        else:
            with pytest.raises(BeowireError, match=rf"{path} is a program of .* \({library}\)"):
                linkage.check([path, "8"], mpi)
    linkage.check(["no-such-program"], "mpich")
