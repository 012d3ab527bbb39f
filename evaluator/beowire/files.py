# SPDX-License-Identifier: BSD-3-Clause
"""Files for people, and files of our own. Nothing else in the evaluator writes any (test_files.py).

`write_named()` writes what a user has named, `write_beside()` what we name in a directory of
theirs. Both do what a shell's `>` would, but whole or not at all:

- A link is followed, and stays. Only the kernel's rules limit that (fs.protected_symlinks).
- A regular file keeps its name, mode and owner. Its new content is written beside it, reaches the
  disk, and takes its place by a rename. Where that cannot be (the directory is closed to us, the
  owner could not be kept, the file is mounted there), or would part it from its other names or its
  access list, it is written in place once its space is reserved.
- Devices, pipes, sockets and descriptors (/dev/stdout, /dev/fd/N) are written to as they are.

What is read may be anybody's: `open_regular()` opens no pipe and no device, which may have no end,
or nobody who writes; `read_regular()` reads no more than it is told.

`write_whole()` is for files of our own: no link of that name is followed, nor anything but a
regular file replaced.
"""

import errno
import os
import secrets
import select
import socket
import stat
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from beowire.errors import BeowireError

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_ATTEMPTS = 10

#: As many links as the kernel follows.
_MOST_LINKS = 40

#: What rules out a new file in a file's place, and not writing in place. ENOENT is said by /proc.
_NO_RENAME = (errno.EACCES, errno.EPERM, errno.EBUSY, errno.EROFS, errno.ENOENT)

#: What the user can do about it.
_ADVICE = {
    errno.EISDIR: "name a file in it",
    errno.ELOOP: "name the file itself",
    errno.ENOSPC: "make room, or name a file elsewhere",
    errno.EDQUOT: "make room, or name a file elsewhere",
    errno.EROFS: "name a file elsewhere",
    errno.EBADF: "name a descriptor that is open for writing, or a file",
    errno.EPIPE: "what reads it has ended",
}


def write_named(path: Path, content: str | bytes) -> None:
    """Writes to what the user has named, as the module says.

    BeowireError (exit code 1) if that cannot be: what was in a regular file then still is.
    """
    data = _bytes(content)
    try:
        _write(path, data)
    except OSError as error:
        raise BeowireError(f"cannot write {path}: {_reason(path, error)}", exit_code=1) from None


def write_beside(path: Path, content: str | bytes) -> None:
    """The same for a name that is ours, in a directory of the user's: a link of another user there
    is refused. BeowireError."""
    with suppress(OSError):
        found = path.lstat()
        if stat.S_ISLNK(found.st_mode) and found.st_uid not in (os.geteuid(), 0):
            raise BeowireError(f"{path} is another user's symbolic link: remove it", exit_code=1)
    write_named(path, content)


def open_regular(path: Path, what: str) -> BinaryIO:
    """Opens a file for reading. BeowireError for what is none, or cannot be read; a directory is
    said to be one. `what`: what it should be, for people."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            os.close(descriptor)
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    except OSError as error:
        raise BeowireError(f"cannot read {path}: {error.strerror}") from None
    except ValueError as error:  # a zero byte in its name
        raise BeowireError(f"cannot read {path}: {error}") from None
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        raise BeowireError(f"{path} is a device or a pipe: {what} is read from a file")
    return os.fdopen(descriptor, "rb")


def read_regular(path: Path, what: str, limit_bytes: int) -> bytes:
    """All of a file, which BeowireError refuses if it is longer, or as open_regular() does."""
    with open_regular(path, what) as file:
        try:
            content = file.read(limit_bytes + 1)
        except OSError as error:
            raise BeowireError(f"cannot read {path}: {error.strerror}") from None
    if len(content) > limit_bytes:
        raise BeowireError(f"{path} is longer than {limit_bytes} bytes: it is not {what}")
    return content


def refuse_unwritable(path: Path) -> None:
    """BeowireError if nothing could be written to what the user has named; nothing is changed.

    For before a long measurement. A directory that is not there yet may be by its end.
    """
    try:
        if descriptor_of(path) is not None:
            return
        target, found = _target(path)
        if found is not None and stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        asked = target.parent if found is None else target
        if asked.exists():
            _check_access(asked)
    except OSError as error:
        raise BeowireError(f"cannot write {path}: {_reason(path, error)}") from None


def refuse_records(path: Path, records: Sequence[Path]) -> None:
    """BeowireError if `path` is one of the records, from which all else can be made again."""
    for record in records:
        with suppress(OSError):
            if path.samefile(record):
                raise BeowireError(f"{path} is the record itself: name another file")


def is_standard_output(path: Path) -> bool:
    """Whether the path names our descriptor 1, as /dev/stdout does."""
    with suppress(OSError):
        return descriptor_of(path) == 1
    return False


def descriptor_of(path: Path) -> int | None:
    """The number of the descriptor of ours that the path names, as /dev/stdout and /dev/fd/3 do.

    OSError: it is not one that we were started with.
    """
    ours = {Path(os.path.realpath(f"/proc/{one}/fd")) for one in ("self", "thread-self")}
    at = path
    for _ in range(_MOST_LINKS):
        parent = Path(os.path.realpath(at.parent))
        if parent in ours and at.name.isdecimal():
            number = int(at.name)
            if os.get_inheritable(number):
                return number
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        try:
            at = parent / (parent / at.name).readlink()
        except OSError:
            return None
    return None


def write_whole(path: Path, content: str | bytes, mode: int = 0o666) -> None:
    """Writes a file of our own, with `mode` less the umask, or with the mode of our own that it
    replaces. The draft has a random name beside it, and is made by us (O_EXCL).

    OSError if it cannot be written: what was there before then still is, and no draft stays.
    """
    data = _bytes(content)
    try:
        found = path.lstat()
    except FileNotFoundError:
        found = None
    if found is not None and not stat.S_ISREG(found.st_mode):
        if not stat.S_ISLNK(found.st_mode):
            raise OSError(0, "it exists, and is not a regular file", str(path))
        found = None
    ours = found is not None and found.st_uid == os.geteuid()
    _rename_over(path, data, mode, found if ours else None)


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


def _bytes(content: str | bytes) -> bytes:
    """A name that is no text, such as that of a directory, is shown escaped."""
    return content.encode(errors="backslashreplace") if isinstance(content, str) else content


def _write(path: Path, data: bytes) -> None:
    """write_named(), with its OSError."""
    number = descriptor_of(path)
    if number is not None:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()  # what was said before stands before it
        _write_all(number, data)
        return
    target, found = _target(path)
    if found is None or stat.S_ISREG(found.st_mode):
        _write_file(target, found, data)
    elif stat.S_ISSOCK(found.st_mode):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.connect(os.fspath(target))
            connection.sendall(data)
    else:
        descriptor = os.open(target, os.O_WRONLY | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            _write_all(descriptor, data)
        finally:
            os.close(descriptor)


def _target(path: Path) -> tuple[Path, os.stat_result | None]:
    """Where the path leads, and what is there."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return path, None
    if not stat.S_ISLNK(found.st_mode):
        return path, found
    target = Path(os.path.realpath(path))
    try:
        # Through the link, for the kernel may not let us follow it.
        found = path.stat()
    except FileNotFoundError:
        return target, None
    if not stat.S_ISREG(found.st_mode):
        return path, found  # another process's descriptor of a pipe has no other name
    try:
        named = target.lstat()
    except FileNotFoundError:
        named = None
    if named is None or not os.path.samestat(found, named):
        raise OSError(errno.ESTALE, "it leads to a deleted file: name another")
    return target, found


def _write_file(target: Path, found: os.stat_result | None, data: bytes) -> None:
    if found is None:
        _rename_over(target, data, 0o666, None)
        return
    _check_access(target)
    if found.st_nlink > 1 or _has_access_list(target):
        _write_in_place(target, data)
        return
    try:
        _rename_over(target, data, 0o600, found)
    except OSError as error:
        if error.errno not in _NO_RENAME:
            raise
        _write_in_place(target, data)


def _check_access(path: Path) -> None:
    """OSError if we may not write to it."""
    if not os.access(path, os.W_OK, effective_ids=True):
        read_only = os.statvfs(path).f_flag & os.ST_RDONLY
        number = errno.EROFS if read_only else errno.EACCES
        raise OSError(number, os.strerror(number))


def _has_access_list(path: Path) -> bool:
    """A new file would lack it, and give the group the rights that are the most in it."""
    with suppress(OSError):
        return "system.posix_acl_access" in os.listxattr(path)
    return False


def _rename_over(path: Path, data: bytes, mode: int, kept: os.stat_result | None) -> None:
    """A new file with the mode (less the umask), or with the mode and owner of what it replaces."""
    draft, descriptor = _create(path, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if kept is not None:
                made = os.fstat(descriptor)
                if (made.st_uid, made.st_gid) != (kept.st_uid, kept.st_gid):
                    os.fchown(descriptor, kept.st_uid, kept.st_gid)
                os.fchmod(descriptor, stat.S_IMODE(kept.st_mode) & 0o777)
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        draft.replace(path)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise
    sync_directory(path.parent)


def _write_in_place(path: Path, data: bytes) -> None:
    """Reserves the space first, so that a full disk costs nothing of what is there."""
    descriptor = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(descriptor, "wb") as file:
        before = os.fstat(descriptor).st_size
        try:
            if data:
                os.posix_fallocate(descriptor, 0, len(data))
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO):
                os.ftruncate(descriptor, before)
                raise
            # Otherwise the file system reserves nothing, as /proc.
        file.write(data)
        file.truncate()
        file.flush()
        os.fsync(descriptor)


def _write_all(descriptor: int, data: bytes) -> None:
    """All of it, also where another program has made the descriptor non-blocking."""
    left = memoryview(data)
    room = select.poll()
    room.register(descriptor, select.POLLOUT)
    while left:
        try:
            left = left[os.write(descriptor, left) :]
        except BlockingIOError:
            room.poll()


def _reason(path: Path, error: OSError) -> str:
    advice = _ADVICE.get(error.errno or 0, "")
    parent = Path(os.path.realpath(path)).parent
    if error.errno == errno.ENOENT and not parent.exists():
        advice = f"make {parent} first"
    return f"{error.strerror}: {advice}" if advice else str(error.strerror)


def _create(path: Path, mode: int) -> tuple[Path, int]:
    for attempt in range(_ATTEMPTS):
        draft = path.with_name(f".beowire-{secrets.token_hex(8)}")
        try:
            return draft, os.open(draft, _FLAGS, mode)
        except FileExistsError:
            if attempt == _ATTEMPTS - 1:
                raise
    raise AssertionError
