# SPDX-License-Identifier: BSD-3-Clause
"""Writes a record, line by line."""

import errno
import os
from contextlib import suppress
from pathlib import Path

from beowire.errors import BeowireError
from beowire.record.parts import RecordLine


class RecordWriter:
    """Writes a new record one line at a time; never overwrites a file.

    Each line is passed to the kernel before `write` returns, so killing the process loses none. A
    line that does not fit on the disk is removed. Not thread-safe.
    """

    def __init__(self, path: Path) -> None:
        """Creates the file. BeowireError if it exists, or cannot be created."""
        self.path = path
        self._last = ""
        self._kept = 0
        self._unfinished: set[object] = set()
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            self._fd = os.open(path, flags, 0o644)
        except FileExistsError:
            raise BeowireError(
                f"{path} exists already and is not overwritten: name another directory"
            ) from None
        except OSError as error:
            raise BeowireError(f"cannot create {path}: {error.strerror}") from None

    def write(self, line: RecordLine) -> None:
        """Appends one line: `Meta` first and once, nothing after `End`.

        BeowireError (exit code 1) if it cannot be written; the file then ends with the line before.
        """
        if self._fd < 0:
            raise BeowireError(f"cannot write {self.path}: it is closed", exit_code=1)
        if (self._last == "") != (line.type == "meta") or self._last == "end":
            raise ValueError(f"a {line.type} line cannot follow {self._last or 'nothing'}")
        data = line.model_dump_json(by_alias=True).encode() + b"\n"
        before = os.fstat(self._fd).st_size
        try:
            written = os.write(self._fd, data)
            # A short write means that the disk is full; writing the rest returns the error.
            while written < len(data):
                written += os.write(self._fd, data[written:])
            if line.type == "meta":
                self._sync()  # a full disk may be reported only now
        except OSError as error:
            self._take_back(before)
            raise self._failed(error) from None
        self._last = line.type
        self._count(line)

    def _count(self, line: RecordLine) -> None:
        """Counts the cells with a result."""
        cell = line.cell()
        if cell is not None and line.type == "partial":
            self._unfinished.add(cell)
        elif cell is not None:
            self._unfinished.discard(cell)
            self._kept += 1

    def _failed(self, error: OSError) -> BeowireError:
        """The error, with what the file contains. Removes an empty file."""
        if self._last == "":
            self.close()
            with suppress(OSError):
                self.path.unlink()
            kept = "nothing was measured"
        elif not (count := self._kept + len(self._unfinished)):
            kept = "no result was in it yet"
        else:
            number = "1 result" if count == 1 else f"{count} results"
            kept = f"what was measured before is kept ({number})"
        return BeowireError(f"cannot write {self.path}: {error.strerror}; {kept}", exit_code=1)

    def _take_back(self, length_bytes: int) -> None:
        try:
            os.ftruncate(self._fd, length_bytes)
        except OSError:
            # Half a line may remain. Nothing may follow it: a reader accepts only a last one.
            self.close()

    def finish(self) -> None:
        """Writes the file to the disk, and closes it. BeowireError (exit code 1) on failure: a
        network file system may report only now that it is full."""
        if self._fd < 0:
            return
        try:
            self._sync()
        except OSError as error:
            raise BeowireError(
                f"cannot write {self.path}: {error.strerror}; its last lines may be missing",
                exit_code=1,
            ) from None
        finally:
            self.close()

    def _sync(self) -> None:
        try:
            os.fsync(self._fd)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.EROFS):  # these: not on a disk
                raise

    def close(self) -> None:
        """Closes the file; may be called again."""
        if self._fd >= 0:
            descriptor, self._fd = self._fd, -1
            os.close(descriptor)

    def __enter__(self) -> "RecordWriter":
        """Returns itself; the file is open already."""
        return self

    def __exit__(self, *exc: object) -> None:
        """Closes the file."""
        self.close()
