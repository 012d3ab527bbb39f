# SPDX-License-Identifier: BSD-3-Clause
"""What passes between whoever runs programs in a machine, and the machine.

A frame is a header, 9 bytes, and its data. The header: the number of the *session*, which is one
program (4 bytes), the kind (1), the length of the data (4), lowest byte first. A program's output,
and its input, may be `WINDOW_BYTES` ahead of what the other end has said it is done with.
"""

import os
import struct
from collections.abc import Callable

from beowire.places.lab.machines.loop import Loop

HELLO = 0
"""Machine to keeper: its agent reads from now on."""

SETUP = 1
"""Keeper to machine: what it is to be; JSON, see agent.py."""

READY = 2
"""Machine to keeper: it is that; JSON, with `error` if it is not."""

START = 3
"""Runs a program; JSON: `machine`, `command`, `environment`, `directory`, `cpu` ("-": any)."""

INPUT = 4
INPUT_END = 5
OUTPUT = 6
ERRORS = 7
CREDIT = 8
"""So many more bytes may come: 4 bytes."""

SIGNAL = 9
"""For the program and what it has started: 1 byte."""

EXIT = 10
"""It has ended, and all that it said has been sent. JSON: `status`, as waitpid() gives it, or
`refused`: an exit status and why."""

CLOSE = 11
"""Nobody wants it any more: it ends."""

WINDOW_BYTES = 128 << 10

_HEADER = struct.Struct("<IBI")
_CREDIT = struct.Struct("<I")
_CHUNK_BYTES = 32 << 10
_LARGEST_BYTES = 16 << 20
"""A command and an environment can be long; anything longer is no frame."""


def credit(amount: int) -> bytes:
    """The data of a CREDIT."""
    return _CREDIT.pack(amount)


def read_credit(data: bytes) -> int:
    """The amount that `credit` wrote."""
    return int(_CREDIT.unpack(data)[0])


class Link:
    """Frames both ways over a descriptor, which it owns and makes non-blocking."""

    def __init__(
        self,
        loop: Loop,
        descriptor: int,
        arrived: Callable[["Link", int, int, bytes], None],
        ended: Callable[["Link"], None],
    ) -> None:
        """`arrived` gets the session, the kind and the data of each frame."""
        self._loop = loop
        self._descriptor = descriptor
        self._arrived = arrived
        self._ended = ended
        self._in = bytearray()
        self._out = bytearray()
        self.open = True
        os.set_blocking(descriptor, False)
        loop.watch(descriptor, self._read, None)

    def send(self, session: int, kind: int, data: bytes = b"") -> None:
        """Sends it now, or as soon as the other end takes it. Nothing, if there is none any more.

        An end that is found here is told in the loop, not before this returns.
        """
        if self.open:
            self._out += _HEADER.pack(session, kind, len(data)) + data
            self._write()

    def close(self) -> None:
        """Ends it, without a word to `ended`."""
        if self.open:
            self.open = False
            self._loop.forget(self._descriptor)
            os.close(self._descriptor)

    def _write(self) -> None:
        while self._out:
            try:
                written = os.write(self._descriptor, self._out[:_CHUNK_BYTES])
            except BlockingIOError:
                break
            except OSError:
                self._out.clear()  # reading finds the end
                break
            del self._out[:written]
        self._loop.watch(self._descriptor, self._read, self._write if self._out else None)

    def _read(self) -> None:
        try:
            data = os.read(self._descriptor, _CHUNK_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self._in += data
        while self.open and len(self._in) >= _HEADER.size:
            session, kind, length = _HEADER.unpack_from(self._in)
            if length > _LARGEST_BYTES:
                data = b""
                break
            if len(self._in) < _HEADER.size + length:
                break
            body = bytes(self._in[_HEADER.size : _HEADER.size + length])
            del self._in[: _HEADER.size + length]
            self._arrived(self, session, kind, body)
        if not data and self.open:
            self.close()
            self._ended(self)
