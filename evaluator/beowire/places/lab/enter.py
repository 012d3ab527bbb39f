# SPDX-License-Identifier: BSD-3-Clause
"""Runs a program inside a node: joins the namespaces of a process, then becomes the program.

    python3 -I -S enter.py PID START_TIME CPU PARENT DIRECTORY PROGRAM [ARGUMENT...]

PID and START_TIME (clock ticks, /proc/PID/stat field 22) name the process that holds the
namespaces. CPU is the core to pin to, or "-". PARENT is the process to die with (SIGKILL), or 0.
DIRECTORY is the working directory. Exit codes are those of a shell: 126 the program cannot be
run, 127 it was not found; 125 the node is gone.

It is a file of its own, run by a fresh interpreter, because a process of several threads may not
enter a user namespace (numpy starts threads), and because the program then takes the place of
this process: its exit status, its standard streams and its signals need no passing on.
It imports next to nothing of this package, so that it starts in a few milliseconds.
"""

import ctypes
import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
from beowire.become import become, refuse

_CLONE_NEWNS = 0x00020000
_CLONE_NEWUTS = 0x04000000
_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000
_PR_SET_PDEATHSIG = 1


def _start_time(pid: int) -> int:
    text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    return int(text.rpartition(")")[2].split()[19])


def _join(pid: int, start_time: int) -> None:
    """Joins all of the node's namespaces at once. Kernel 5.8 or later."""
    holder = os.pidfd_open(pid)
    # Checked after the pidfd is open: from here on the number cannot come to mean another process.
    if _start_time(pid) != start_time:
        raise ProcessLookupError
    flags = _CLONE_NEWNS | _CLONE_NEWUTS | _CLONE_NEWNET
    mine, theirs = Path("/proc/self/ns/user").stat(), Path(f"/proc/{pid}/ns/user").stat()
    if (mine.st_dev, mine.st_ino) != (theirs.st_dev, theirs.st_ino):
        flags |= _CLONE_NEWUSER
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(holder, flags) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    os.close(holder)


def _die_with(parent: int) -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:  # it ended before the line above
        sys.exit(125)


def main(arguments: list[str]) -> None:
    """Does what the module says; returns never."""
    pid, start_time, cpu, parent, directory, *command = arguments
    try:
        _join(int(pid), int(start_time))
    except (FileNotFoundError, ProcessLookupError):
        refuse(125, "this lab is gone: make one with `beowire lab up`")
    except OSError as error:
        refuse(125, f"cannot enter the node: {error.strerror}: is it another user's lab?")
    try:
        os.chdir(directory)  # a mount namespace was joined: that led back to /
    except OSError as error:
        refuse(126, f"{directory}: {error.strerror}")
    if cpu != "-":
        os.sched_setaffinity(0, {int(cpu)})
    if int(parent) != 0:
        _die_with(int(parent))
    become(command)


if __name__ == "__main__":
    main(sys.argv[1:])
