# SPDX-License-Identifier: BSD-3-Clause
"""Runs a program in a machine of a lab, as if it were here.

    python3 -I isolated.py beowire.places.lab.machines.call CHANNEL MACHINE CPU PARENT DIRECTORY
        PROGRAM...

CHANNEL is the socket of the lab's keeper; in a machine of the lab, where that is not to be reached,
the socket of the machine's agent is used.
CPU is the machine's processor to pin to, or "-". PARENT is the process to die with, or 0.

Standard streams are ours, signals are passed on, the environment is the same, and so is the end:
the exit status, or the signal that ended it. If this process is killed, the program is killed.
Exit codes are otherwise those of enter.py: 126 it cannot be run, 127 it was not found, 125 the
lab is gone.
"""

import contextlib
import ctypes
import json
import os
import select
import signal
import socket
import sys
from pathlib import Path
from typing import NoReturn

from beowire.places.lab.machines import frames
from beowire.places.lab.machines.broker import GONE
from beowire.places.lab.machines.frames import Link
from beowire.places.lab.machines.loop import Loop

IN_A_MACHINE = Path("/run/beowire-machine.channel")
"""The socket that the agent of each machine has."""

_PASSED_ON = (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
)
_SESSION = 1
_CHUNK_BYTES = 32 << 10
_PR_SET_PDEATHSIG = 1


def refuse(code: int, message: str) -> NoReturn:
    """Ends with one line."""
    print(f"beowire: {message}", file=sys.stderr)
    sys.exit(code)


class Call:
    """A program that runs elsewhere."""

    def __init__(self, channel: socket.socket, request: dict[str, object]) -> None:
        """Starts it."""
        self._loop = Loop()
        self._credit = frames.WINDOW_BYTES
        self._ending: dict[str, object] | None = None
        self._unheard = False
        self._link = Link(self._loop, channel.detach(), self._arrived, self._lost)
        self._loop.watch_signals(_PASSED_ON, self._pass_on)
        self._link.send(_SESSION, frames.START, json.dumps(request, allow_nan=False).encode())
        self._loop.watch(0, self._read_input, None)

    def wait(self) -> dict[str, object]:
        """Returns when it has ended, and how: as EXIT says."""
        while self._ending is None:
            self._loop.step()
        return self._ending

    def _pass_on(self, number: int) -> None:
        self._link.send(_SESSION, frames.SIGNAL, bytes([number]))

    def _read_input(self) -> None:
        try:
            data = os.read(0, min(self._credit, _CHUNK_BYTES))
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self._credit -= len(data)
        self._link.send(_SESSION, frames.INPUT if data else frames.INPUT_END, data)
        if not data or self._credit <= 0:
            self._loop.forget(0)

    def _arrived(self, link: Link, session: int, kind: int, data: bytes) -> None:
        del session
        if kind in (frames.OUTPUT, frames.ERRORS):
            self._write(1 if kind == frames.OUTPUT else 2, data)
            link.send(_SESSION, frames.CREDIT, frames.credit(len(data)))
        elif kind == frames.CREDIT:
            paused = self._credit <= 0
            self._credit += frames.read_credit(data)
            if paused:
                self._loop.watch(0, self._read_input, None)
        elif kind == frames.EXIT:
            self._ending = json.loads(data)

    def _write(self, descriptor: int, data: bytes) -> None:
        while data and not self._unheard:
            try:
                data = data[os.write(descriptor, data) :]
            except BlockingIOError:  # whoever gave it to us does not want it to block
                select.select([], [descriptor], [])
            except BrokenPipeError:
                self._unheard = True
                self._pass_on(signal.SIGPIPE)
            except OSError as error:
                self._unheard = True
                self._ending = {"refused": [1, f"its output cannot be written: {error.strerror}"]}

    def _lost(self, link: Link) -> None:
        del link
        self._ending = self._ending or {"refused": [GONE, "this lab is gone"]}


def connect(channel: Path) -> socket.socket:
    """To the lab's keeper, or, where that is outside, to the agent of the machine that this is.
    Raises OSError."""
    try:
        return _connect_to(channel)
    except (FileNotFoundError, ConnectionRefusedError):
        if not IN_A_MACHINE.exists():
            raise
        return _connect_to(IN_A_MACHINE)


def _connect_to(path: Path) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    directory = os.open(path.parent, os.O_PATH | os.O_CLOEXEC)
    try:
        connection.connect(f"/proc/self/fd/{directory}/{path.name}")
    finally:
        os.close(directory)
    return connection


def main(arguments: list[str]) -> NoReturn:
    """Does what the module says."""
    channel, machine, cpu, parent, directory, *command = arguments
    if int(parent) != 0:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL), 0, 0, 0)
        if os.getppid() != int(parent):  # it ended before the line above
            sys.exit(GONE)
    try:
        connection = connect(Path(channel))
    except (FileNotFoundError, ConnectionRefusedError):
        refuse(GONE, "this lab is gone: make one with `beowire lab up`")
    except OSError as error:
        refuse(GONE, f"cannot reach the lab: {error.strerror}: is it another user's?")
    ending = Call(
        connection,
        {
            "machine": machine,
            "command": command,
            "environment": dict(os.environ),
            "directory": directory,
            "cpu": cpu,
        },
    ).wait()
    if refused := ending.get("refused"):
        assert isinstance(refused, list)
        refuse(*refused)
    status = ending["status"]
    assert isinstance(status, int)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        with contextlib.suppress(OSError):  # SIGKILL has no other
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    sys.exit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main(sys.argv[1:])
