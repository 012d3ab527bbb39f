# SPDX-License-Identifier: BSD-3-Clause
"""Processes, named so that a reused number is never taken for the process that once had it."""

import contextlib
import os
import select
import signal
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Process:
    """A process: its number, and when it started in clock ticks since boot (/proc/PID/stat 22)."""

    pid: int
    start_time: int

    def alive(self) -> bool:
        """Whether it is still there and not a zombie."""
        try:
            fields = _stat(self.pid)
        except OSError:
            return False
        return int(fields[19]) == self.start_time and fields[0] not in ("Z", "X")


@dataclass(frozen=True)
class Namespaces:
    """Inodes of the namespaces that make a node: both, because a freed inode may be used again."""

    network: int
    hostname: int


def this_process() -> Process:
    """The calling process."""
    return find_process(os.getpid())


def find_process(pid: int) -> Process:
    """The process that has this number now; raises OSError when none has."""
    return Process(pid, int(_stat(pid)[19]))


def boot_id() -> str:
    """What tells one boot of this machine from the next."""
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def namespaces_of(pid: int) -> Namespaces:
    """The namespaces that a process is in; raises OSError when it is gone or another user's."""
    directory = Path(f"/proc/{pid}/ns")
    return Namespaces((directory / "net").stat().st_ino, (directory / "uts").stat().st_ino)


def members(namespaces: Iterable[Namespaces]) -> list[Process]:
    """Every process of this user (for root: of anybody) that is in one of these namespaces."""
    wanted = frozenset(namespaces)
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        pid = int(entry.name)
        with contextlib.suppress(OSError):
            if namespaces_of(pid) in wanted:
                found.append(find_process(pid))
    return found


def end(processes: Iterable[Process], grace_s: float) -> None:
    """Ends processes: SIGTERM, then SIGKILL for those that are still there after the grace time.

    Returns when all have ended, or 5 s after the SIGKILL (a process may hang in the kernel).
    """
    waiting = {}
    try:
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                handle = os.pidfd_open(process.pid)
                if process.alive():
                    waiting[handle] = process
                else:
                    os.close(handle)
        for number, patience_s in ((signal.SIGTERM, grace_s), (signal.SIGKILL, 5.0)):
            for handle in waiting:
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(handle, number)
            _wait(waiting, patience_s)
    finally:
        for handle in waiting:
            os.close(handle)


def _wait(waiting: dict[int, Process], patience_s: float) -> None:
    poller = select.poll()
    for handle in waiting:
        poller.register(handle, select.POLLIN)
    deadline = time.monotonic() + patience_s
    while waiting and (left_s := deadline - time.monotonic()) > 0:
        for handle, _ in poller.poll(left_s * 1000):
            poller.unregister(handle)
            del waiting[handle]
            os.close(handle)


def _stat(pid: int) -> list[str]:
    """Fields of /proc/PID/stat after the name, which may itself hold spaces and brackets."""
    text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    return text.rpartition(")")[2].split()
