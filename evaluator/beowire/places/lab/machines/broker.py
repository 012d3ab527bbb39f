# SPDX-License-Identifier: BSD-3-Clause
"""Passes the frames of sessions on, between those who run programs and where these run.

Each lab's keeper has one. So has each machine, for programs in it that start others elsewhere in
the lab: all that is started there goes to the keeper.
"""

import itertools
import json
import os
import socket
from collections.abc import Callable
from pathlib import Path

from beowire.places.lab.machines import frames
from beowire.places.lab.machines.frames import Link
from beowire.places.lab.machines.loop import Loop

GONE = 125
"""Exit status for what ran in a lab that has ended."""

OF_MACHINES = 1 << 31
"""Sessions that a machine begins have this number or a higher one, so that they are no others'."""


class Broker:
    """Callers connect to it; what they start goes where `place_of` says."""

    def __init__(
        self, loop: Loop, place_of: Callable[[dict[str, object]], Link | None], first: int
    ) -> None:
        """`place_of` gets the request of a START. Sessions are numbered there from `first` on."""
        self._loop = loop
        self._place_of = place_of
        self._numbers = itertools.count(first)
        self._ways: dict[tuple[Link, int], tuple[Link, int]] = {}
        self._callers: set[Link] = set()

    def listen(self, path: Path) -> None:
        """Lets callers connect to a socket of this user's own, which must not be there yet."""
        listener = socket.socket(socket.AF_UNIX)
        directory = os.open(path.parent, os.O_PATH | os.O_CLOEXEC)
        try:
            # A path of any length: a socket's own may have 107 bytes.
            listener.bind(f"/proc/self/fd/{directory}/{path.name}")
        finally:
            os.close(directory)
        path.chmod(0o600)
        listener.listen(64)
        listener.setblocking(False)

        def accept() -> None:
            try:
                caller, _ = listener.accept()
            except OSError:  # it has gone again
                return
            self.add(caller)

        self._loop.watch(listener.fileno(), accept, None)

    def add(self, caller: socket.socket) -> None:
        """Takes over somebody who calls."""
        self._callers.add(Link(self._loop, caller.detach(), self.pass_on, self._caller_ended))

    def pass_on(self, source: Link, session: int, kind: int, data: bytes) -> None:
        """A frame has come, from a caller or from where programs run."""
        if kind == frames.START:
            self._start(source, session, data)
            return
        way = self._ways.get((source, session))
        if way is None:
            return  # the other end has ended it meanwhile
        target, number = way
        target.send(number, kind, data)
        if kind in (frames.EXIT, frames.CLOSE):
            self._forget(source, session)

    def _start(self, source: Link, session: int, data: bytes) -> None:
        request = json.loads(data)
        place = self._place_of(request)
        if place is None or not place.open:
            refuse(source, session, GONE, f"there is no machine {request.get('machine')}")
            return
        number = next(self._numbers)
        self._ways[source, session] = (place, number)
        self._ways[place, number] = (source, session)
        place.send(number, frames.START, data)

    def end_all(self, why: str) -> None:
        """Tells all callers that what they have started is gone, and why."""
        for (link, session), _ in list(self._ways.items()):
            if link in self._callers:
                refuse(link, session, GONE, why)
        self._ways.clear()

    def _caller_ended(self, caller: Link) -> None:
        self._callers.discard(caller)
        for link, session in [key for key in self._ways if key[0] is caller]:
            target, number = self._ways[link, session]
            target.send(number, frames.CLOSE)
            self._forget(link, session)

    def _forget(self, link: Link, session: int) -> None:
        other = self._ways.pop((link, session), None)
        if other is not None:
            self._ways.pop(other, None)


def refuse(link: Link, session: int, status: int, why: str) -> None:
    """Ends a session whose program does not run, or not any more."""
    link.send(
        session, frames.EXIT, json.dumps({"refused": [status, why]}, allow_nan=False).encode()
    )
