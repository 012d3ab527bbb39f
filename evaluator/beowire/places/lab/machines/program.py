# SPDX-License-Identifier: BSD-3-Clause
"""A program that runs in a machine for somebody outside: its streams, its signals, its end."""

import contextlib
import json
import os
import signal
import subprocess
from pathlib import Path

from beowire.places.lab.machines import frames
from beowire.places.lab.machines.broker import refuse
from beowire.places.lab.machines.frames import Link
from beowire.places.lab.machines.loop import Loop

_CHUNK_BYTES = 32 << 10
_NOT_RUN, _NOT_FOUND = 126, 127


class Program:
    """It runs. Whoever reaps processes has to say `ended` when it has ended."""

    def __init__(
        self, loop: Loop, link: Link, session: int, process: "subprocess.Popen[bytes]"
    ) -> None:
        """Takes over the process, whose three standard streams are pipes."""
        assert process.stdin and process.stdout and process.stderr
        self._loop = loop
        self._link = link
        self._session = session
        self._process = process
        self._stdin = process.stdin.fileno()
        self._outputs = {
            process.stdout.fileno(): frames.OUTPUT,
            process.stderr.fileno(): frames.ERRORS,
        }
        self._credit = frames.WINDOW_BYTES
        self._input = bytearray()
        self._input_ended = False
        self._status: int | None = None
        self._closed = False
        for descriptor in (self._stdin, *self._outputs):
            os.set_blocking(descriptor, False)
        self._watch_outputs()

    @property
    def pid(self) -> int:
        """Its number, which is that of its group as well."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether its process has not ended: then its number is nobody else's."""
        return self._status is None

    @property
    def over(self) -> bool:
        """Whether it has ended and there is nothing left to say of it."""
        return self._closed and not self.running

    def arrived(self, kind: int, data: bytes) -> None:
        """A frame of its session."""
        if kind == frames.INPUT:
            self._input += data
            self._write_input()
        elif kind == frames.INPUT_END:
            self._input_ended = True
            self._write_input()
        elif kind == frames.CREDIT and not self._closed:
            self._credit += frames.read_credit(data)
            self._watch_outputs()
            if not self.running:
                self._say_the_rest()
        elif kind == frames.SIGNAL:
            self._signal(data[0])
        elif kind == frames.CLOSE:
            self._signal(signal.SIGKILL)
            self._close()

    def ended(self, status: int) -> None:
        """The process has ended, with the status that waitpid() gives."""
        self._process.returncode = status
        self._status = status
        if not self._closed:
            self._say_the_rest()

    def _signal(self, number: int) -> None:
        if self.running:
            with contextlib.suppress(ProcessLookupError, ValueError):
                os.killpg(self.pid, number)

    def _write_input(self) -> None:
        if self._stdin < 0:
            self._input.clear()
            return
        while self._input:
            try:
                written = os.write(self._stdin, self._input[:_CHUNK_BYTES])
            except BlockingIOError:
                break
            except OSError:  # it does not read any more
                written = len(self._input)
            del self._input[:written]
            self._link.send(self._session, frames.CREDIT, frames.credit(written))
        self._loop.watch(self._stdin, None, self._write_input if self._input else None)
        if self._input_ended and not self._input:
            self._close_input()

    def _close_input(self) -> None:
        if self._stdin >= 0:
            self._loop.forget(self._stdin)
            assert self._process.stdin is not None
            with contextlib.suppress(OSError):
                self._process.stdin.close()
            self._stdin = -1

    def _watch_outputs(self) -> None:
        for descriptor in self._outputs:
            self._loop.watch(descriptor, self._read_some if self._credit > 0 else None, None)

    def _read_some(self) -> None:
        self._read_outputs()

    def _read_outputs(self) -> bool:
        """Passes on what there is; whether that is all."""
        for descriptor, kind in list(self._outputs.items()):
            while self._credit > 0:
                try:
                    data = os.read(descriptor, min(self._credit, _CHUNK_BYTES))
                except BlockingIOError:
                    break
                if not data:
                    self._loop.forget(descriptor)
                    del self._outputs[descriptor]
                    break
                self._credit -= len(data)
                self._link.send(self._session, kind, data)
        if self._credit <= 0:
            self._watch_outputs()
            return not self._outputs
        return True

    def _say_the_rest(self) -> None:
        """What it has started may have its output open, and is not waited for."""
        if self._read_outputs():
            data = json.dumps({"status": self._status}, allow_nan=False).encode()
            self._link.send(self._session, frames.EXIT, data)
            self._close()

    def _close(self) -> None:
        self._closed = True
        self._close_input()
        for descriptor in self._outputs:
            self._loop.forget(descriptor)
        self._outputs.clear()
        for stream in (self._process.stdout, self._process.stderr):
            assert stream is not None
            stream.close()


def start(loop: Loop, link: Link, session: int, request: dict[str, object]) -> Program | None:
    """Starts what a START asks for; None if it cannot be started, which whoever asked is told."""
    command, directory = request["command"], str(request["directory"])
    environment, cpu = request["environment"], str(request["cpu"])
    assert isinstance(command, list) and isinstance(environment, dict)
    if not Path(directory).is_dir():
        refuse(link, session, _NOT_RUN, f"{directory}: no such directory in the machine")
        return None
    several = cpu != "-" and (os.cpu_count() or 1) > 1
    pin = {int(cpu)} if several else None
    try:
        process = subprocess.Popen(
            command,
            env=environment,
            cwd=directory,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
            preexec_fn=None if pin is None else lambda: os.sched_setaffinity(0, pin),  # noqa: PLW1509
        )
    except FileNotFoundError:
        refuse(link, session, _NOT_FOUND, f"{command[0]}: no such program")
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        said = error.strerror if isinstance(error, OSError) else str(error)
        refuse(link, session, _NOT_RUN, f"{command[0]}: {said}")
    else:
        return Program(loop, link, session, process)
    return None
