# SPDX-License-Identifier: BSD-3-Clause
"""Runs the processes of a job to their end: answers their questions, passes on their output, and
ends all of them when one fails."""

import contextlib
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import IO

from beowire.errors import BeowireError
from beowire.places.job.places import Place, Started, Task
from beowire.places.job.pmi import LINE_BYTES_MAX, Board

_GRACE_S = 2.0
"""How long a process may take to end after SIGTERM."""


class Job:
    """The processes of one program. `run()` once, then `end()` whatever happened."""

    def __init__(
        self,
        places: Sequence[Place],
        command: Sequence[str],
        environment: dict[str, str],
        label: bool,
    ) -> None:
        """One process for each of `places`, in the order of ranks."""
        self._places = places
        self._command = command
        self._environment = environment
        self._label = label
        self._board = Board(len(places))
        self._selector = selectors.DefaultSelector()
        self._started: list[Started] = []
        self._living: set[int] = set()
        self._readers: list[Callable[[], bool]] = []
        self._partial: dict[int, bytes] = {}

    def run(self) -> None:
        """Returns when all have ended well; raises BeowireError with the status of the first that
        has not."""
        for rank, place in enumerate(self._places):
            self._start(rank, place)
        while self._living:
            self._turn()

    def end(self) -> None:
        """Ends what still runs, passes on what it had printed, and closes everything."""
        self._signal(signal.SIGTERM)
        deadline = time.monotonic() + _GRACE_S
        for started in self._started:
            with contextlib.suppress(subprocess.TimeoutExpired):
                started.process.wait(max(0.0, deadline - time.monotonic()))
        self._signal(signal.SIGKILL)
        for started in self._started:
            started.process.wait()
        for read in self._readers:
            while read():
                pass
        for started in self._started:
            started.channel.close()
            for pipe in (started.process.stdin, started.process.stdout, started.process.stderr):
                if pipe is not None:
                    with contextlib.suppress(BrokenPipeError):
                        pipe.close()
        self._selector.close()

    def _start(self, rank: int, place: Place) -> None:
        task = Task(rank, len(self._places), self._command, self._environment, self._label)
        started = place.start(task)
        self._started.append(started)
        self._living.add(rank)
        handle = os.pidfd_open(started.process.pid)
        self._on(handle, lambda: self._ended(rank, handle))
        if started.listening:
            self._on(started.channel, lambda: self._accept(rank))
        else:
            self._on(started.channel, lambda: self._question(rank))
        for pipe, target in (
            (started.process.stdout, sys.stdout.buffer),
            (started.process.stderr, sys.stderr.buffer),
        ):
            if pipe is not None:
                self._pass_on(rank, pipe, target)

    def _on(self, file: int | socket.socket | IO[bytes], call: Callable[[], object]) -> None:
        self._selector.register(file, selectors.EVENT_READ, call)

    def _turn(self) -> None:
        # Questions and output before ends: what a process said comes before that it is gone.
        events = sorted(
            self._selector.select(), key=lambda event: isinstance(event[0].fileobj, int)
        )
        for key, _ in events:
            key.data()

    def _accept(self, rank: int) -> None:
        started = self._started[rank]
        self._selector.unregister(started.channel)
        connected, _ = started.channel.accept()
        started.channel.close()
        started.channel, started.listening = connected, False
        self._on(connected, lambda: self._question(rank))

    def _question(self, rank: int) -> None:
        channel = self._started[rank].channel
        try:
            data = channel.recv(LINE_BYTES_MAX)
        except ConnectionError:
            data = b""
        if not data:
            self._selector.unregister(channel)
            channel.close()  # ssh does not end while we hold a connection that it forwards
            return
        *lines, rest = (self._partial.get(rank, b"") + data).split(b"\n")
        if len(rest) > LINE_BYTES_MAX:
            raise BeowireError(f"rank {rank} sends a request without end", exit_code=1)
        self._partial[rank] = rest
        for line in lines:
            for reply in self._board.handle(rank, line.decode("ascii", "replace")):
                with contextlib.suppress(OSError):  # its end says more
                    self._started[reply.rank].channel.sendall(reply.line.encode() + b"\n")
        self._see_that_all_can_meet()

    def _see_that_all_can_meet(self) -> None:
        gone = set(range(len(self._started))) - self._living - self._board.waiting
        if self._board.waiting and gone:
            raise BeowireError(
                f"{self._name(min(gone))} ended, but"
                f" {self._name(min(self._board.waiting))} waits for it",
                exit_code=1,
            )

    def _ended(self, rank: int, handle: int) -> None:
        self._selector.unregister(handle)
        os.close(handle)
        status = self._started[rank].process.wait()
        self._living.discard(rank)
        if status > 0:
            raise BeowireError(f"{self._name(rank)} ended with status {status}", exit_code=status)
        if status < 0:
            name = signal.Signals(-status).name
            raise BeowireError(f"{self._name(rank)} was ended by {name}", exit_code=128 - status)
        self._see_that_all_can_meet()

    def _name(self, rank: int) -> str:
        place = self._places[rank].name
        return f"rank {rank} on {place}" if place else f"rank {rank}"

    def _pass_on(self, rank: int, pipe: IO[bytes], target: IO[bytes]) -> None:
        prefix = f"[{rank}] ".encode()
        left = b""
        os.set_blocking(pipe.fileno(), False)

        def read() -> bool:
            nonlocal left
            try:
                data = os.read(pipe.fileno(), 1 << 16)
            except BlockingIOError:
                data = b""
            else:
                if not data and pipe in self._selector.get_map():
                    self._selector.unregister(pipe)
            *lines, left = (left + data).split(b"\n")
            if not data and left:
                lines, left = [left], b""
            target.writelines(prefix + line + b"\n" for line in lines)
            target.flush()
            return bool(data)

        self._readers.append(read)
        self._on(pipe, read)

    def _signal(self, number: signal.Signals) -> None:
        for started in self._started:
            if started.process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(started.process.pid, number)
