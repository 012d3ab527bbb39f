# SPDX-License-Identifier: BSD-3-Clause
"""A command that ends in time, whatever it does, and of which nothing is left behind."""

import ctypes
import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import psutil

from beowire.errors import BeowireError
from beowire.interrupts import Interrupts

#: A launcher that has been told to end, and has not after so long, is killed.
_GRACE_S = 5.0

#: What a program may print. What is beyond is no result.
_MOST_BYTES = 8 << 20
_LOOK_S = 0.5

#: prctl(2)
_PR_SET_CHILD_SUBREAPER = 36

#: Daemons that outlived the run in which they were made.
_adopted: set[int] = set()


@dataclass(frozen=True)
class Ended:
    """How it ended."""

    status: int
    """As a shell has it: 128 and the signal's number, if it was one."""
    output: str
    errors: str
    seconds: float
    """From its start to its end."""
    stopped: str = ""
    """Why it had to be ended; empty if it ended by itself."""


def run(
    command: Sequence[str],
    environment: Mapping[str, str],
    seconds: float,
    interrupts: Interrupts,
    directory: Path | None = None,
) -> Ended:
    """Runs it in a session of its own, so that Ctrl-C is for us, who then end it.

    BeowireError (exit code 1) if it cannot be started.
    """
    with (
        tempfile.TemporaryFile() as output,
        tempfile.TemporaryFile() as errors,
        _adopting(),
    ):
        process: subprocess.Popen[bytes] | None = None
        begun = time.monotonic()
        try:
            with interrupts.held():
                process = subprocess.Popen(
                    command,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=errors,
                    cwd=directory,
                    start_new_session=True,
                )
            stopped = _wait(process, seconds, [output, errors])
            took = time.monotonic() - begun
        except OSError as error:
            raise BeowireError(f"cannot start {command[0]}: {error.strerror}", 1) from None
        finally:
            if process is not None:
                with interrupts.held():
                    _end(process)
        status = process.returncode
        return Ended(
            128 - status if status < 0 else status, _text(output), _text(errors), took, stopped
        )


@contextmanager
def _adopting() -> Iterator[None]:
    """Daemons that a launcher makes (Open MPI 4's on each node) are ours: what they use is not
    others' (others.py). Those that have ended are reaped; who ends later is by the next run."""
    before = {child.pid for child in psutil.Process().children()} - _adopted
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
        _adopted.clear()
        for child in psutil.Process().children():
            if child.pid not in before:
                with suppress(ChildProcessError):
                    if os.waitpid(child.pid, os.WNOHANG)[0] == 0:
                        _adopted.add(child.pid)


def _wait(process: "subprocess.Popen[bytes]", seconds: float, files: Sequence[IO[bytes]]) -> str:
    """Why it has to be ended; empty if it has."""
    deadline = time.monotonic() + seconds
    handle = os.pidfd_open(process.pid)
    try:
        poller = select.poll()
        poller.register(handle, select.POLLIN)
        while not poller.poll(max(0.0, min(_LOOK_S, deadline - time.monotonic())) * 1000):
            if time.monotonic() >= deadline:
                return f"it did not end within {seconds:g} s: raise --timeout"
            if any(os.fstat(file.fileno()).st_size > _MOST_BYTES for file in files):
                return "its output does not end"
    finally:
        os.close(handle)
    process.wait()
    return ""


def _end(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is not None:
        return
    process.send_signal(signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        process.wait(_GRACE_S)
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(_MOST_BYTES).decode(errors="replace")
