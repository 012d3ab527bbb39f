# SPDX-License-Identifier: BSD-3-Clause
"""Writes a record, line by line."""

import errno
import os
from contextlib import suppress
from pathlib import Path

from beowire.errors import BeowireError
from beowire.record.parts import RecordLine


class RecordWriter:
    """Writes a new record, a whole line at a time; never an existing file.

    Each line reaches the kernel before `write` returns, so killing the process loses nothing that
    was written. A line that does not fit on the disk is taken back whole. Not thread-safe.
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
            # A short write means that the disk filled up in the middle of the line; writing the
            # rest asks the kernel for the cause.
            while written < len(data):
                written += os.write(self._fd, data[written:])
            if line.type == "meta":
                self._sync()  # a disk that has no room at all may say so only now
        except OSError as error:
            self._take_back(before)
            raise self._failed(error) from None
        self._last = line.type
        self._count(line)

    def _count(self, line: RecordLine) -> None:
        """How many cells have a result by now."""
        cell = line.cell()
        if cell is not None and line.type == "partial":
            self._unfinished.add(cell)
        elif cell is not None:
            self._unfinished.discard(cell)
            self._kept += 1

    def _failed(self, error: OSError) -> BeowireError:
        """What is true of the file by now. One in which nothing is, is taken away."""
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
            # Half a line may be there now. Nothing may follow it: a reader forgives only the last.
            self.close()

    def finish(self) -> None:
        """Has the file reach the disk, and closes it. BeowireError (exit code 1) if it does not: a
        file system that is elsewhere may say only now that it is full."""
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
            if error.errno not in (errno.EINVAL, errno.EROFS):  # these: there is no disk to reach
                raise

    def close(self) -> None:
        """Closes the file; may be called again."""
        if self._fd >= 0:
            descriptor, self._fd = self._fd, -1
            os.close(descriptor)

    def __enter__(self) -> "RecordWriter":
        """Nothing to do: the file is open already."""
        return self

    def __exit__(self, *exc: object) -> None:
        """Closes the file."""
        self.close()
