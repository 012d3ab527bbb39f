# SPDX-License-Identifier: BSD-3-Clause
"""Files that are written whole or not at all, in directories that others may be able to write to.

The draft has a random name in the directory of the file, is made by us (O_EXCL, no link followed),
reaches the disk, and takes the file's place by a rename. A symbolic link of the file's name is
replaced and never followed; a device, a pipe or a directory of that name is refused.
"""

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from beowire.errors import BeowireError

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_ATTEMPTS = 10


def write_whole(path: Path, content: str | bytes, mode: int = 0o666) -> None:
    """Writes a file, with `mode` less the umask, or with the mode of our own that it replaces.

    OSError if it cannot be written: what was there before then still is, and no draft stays.
    """
    data = content.encode() if isinstance(content, str) else content
    kept = _mode_of(path)
    draft, descriptor = _create(path, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if kept is not None:
                os.fchmod(descriptor, kept)
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        draft.replace(path)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise
    sync_directory(path.parent)


def make_directory(path: Path, *, new: bool) -> None:
    """Makes a directory for results, and those above it. `new`: none may be there yet.

    BeowireError if that cannot be.
    """
    try:
        path.mkdir(parents=True, exist_ok=not new)
    except FileExistsError:
        problem = "is there already" if path.is_dir() else "is no directory"
        raise BeowireError(f"{path} {problem}: name another by --out") from None
    except OSError as error:
        raise BeowireError(f"cannot make {path}: {error.strerror}") from None


def sync_directory(directory: Path) -> None:
    """Has the names in a directory reach the disk, as far as its file system knows how to."""
    with suppress(OSError):
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _mode_of(path: Path) -> int | None:
    """The permissions of a file of ours that is to be replaced; OSError if none may be."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(found.st_mode):
        return None
    if not stat.S_ISREG(found.st_mode):
        raise OSError(0, "it is there, and no regular file", str(path))
    return stat.S_IMODE(found.st_mode) & 0o777 if found.st_uid == os.geteuid() else None


def _create(path: Path, mode: int) -> tuple[Path, int]:
    for attempt in range(_ATTEMPTS):
        draft = path.with_name(f".beowire-{secrets.token_hex(8)}")
        try:
            return draft, os.open(draft, _FLAGS, mode)
        except FileExistsError:
            if attempt == _ATTEMPTS - 1:
                raise
    raise AssertionError
