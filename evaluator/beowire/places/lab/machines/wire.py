# SPDX-License-Identifier: BSD-3-Clause
"""What joins the cards of machines: a cable for two, a switch for more.

A card's end is a socket of datagrams, each a frame. A cable is a pair of such sockets. The switch
is here: it learns which address is behind which port, floods what it does not know, and drops what
a port does not take, as switches do.
"""

import socket
from collections import deque

from beowire.places.lab.machines.loop import Callback, Loop
from beowire.places.lab.network import PORT_BUFFER_BYTES

BUFFER_BYTES = PORT_BUFFER_BYTES
"""What a port holds: as much as one of a lab of namespaces."""

ADDRESSES_MAX = 1024
"""What the switch remembers of who is where: senders can make up as many addresses as they like."""

_LARGEST_FRAME_BYTES = 1 << 17
_HEADER_BYTES = 14
_AT_ONCE = 64


def cable() -> tuple[socket.socket, socket.socket]:
    """Its two ends. What does not fit is kept back by the sender's card."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)


class _Port:
    """The switch's end of a cable, and what waits to go there."""

    def __init__(self, loop: Loop, end: socket.socket) -> None:
        end.setblocking(False)
        self.end = end
        self._loop = loop
        self._waiting: deque[bytes] = deque()
        self._waiting_bytes = 0
        self.arrived: Callback = lambda: None

    def send(self, frame: bytes) -> None:
        """Sends it as soon as the card takes it; drops it if too much waits already."""
        if self._waiting_bytes + len(frame) > BUFFER_BYTES:
            return
        self._waiting.append(frame)
        self._waiting_bytes += len(frame)
        self._flush()

    def _flush(self) -> None:
        while self._waiting:
            try:
                self.end.send(self._waiting[0])
            except BlockingIOError:
                break
            except OSError:  # nobody is there any more
                pass
            self._waiting_bytes -= len(self._waiting.popleft())
        self._loop.watch(self.end.fileno(), self.arrived, self._flush if self._waiting else None)


class Switch:
    """A learning switch in this process's loop."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._ports: list[_Port] = []
        self._behind: dict[bytes, _Port] = {}

    def port(self) -> socket.socket:
        """A card's end of a new port."""
        theirs, ours = cable()
        port = _Port(self._loop, ours)
        port.arrived = lambda: self._forward(port)
        self._ports.append(port)
        self._loop.watch(ours.fileno(), port.arrived, None)
        return theirs

    def _forward(self, source: _Port) -> None:
        for _ in range(_AT_ONCE):
            try:
                frame = source.end.recv(_LARGEST_FRAME_BYTES)
            except BlockingIOError:
                return
            except OSError:
                self._loop.forget(source.end.fileno())
                return
            target, sender = frame[:6], frame[6:12]
            if len(frame) < _HEADER_BYTES:
                continue
            if not sender[0] & 1:
                self._learn(sender, source)
            known = None if target[0] & 1 else self._behind.get(target)
            for port in self._ports if known is None else [known]:
                if port is not source:
                    port.send(frame)

    def _learn(self, sender: bytes, source: _Port) -> None:
        if sender not in self._behind and len(self._behind) == ADDRESSES_MAX:
            del self._behind[next(iter(self._behind))]  # what was learned first
        self._behind[sender] = source
