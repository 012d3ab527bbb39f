# SPDX-License-Identifier: BSD-3-Clause
"""A machine that has been started: its process, what its kernel says, and its port."""

import contextlib
import os
import re
import signal
import socket
import subprocess
from collections import deque
from collections.abc import Callable, Sequence

from beowire.places.lab import kernel
from beowire.places.lab.machines.loop import Loop

_KEPT_LINES = 40

#: What QEMU and user-mode Linux say, and what that means.
_MEANINGS = (
    (r"'?([\w-]+)'? is not a valid device model name", "this QEMU has no card {0}: choose another"),
    (r"[Cc]annot allocate memory", "this host has too little memory for it"),
    (r"Kernel panic - not syncing: (.*)", "its kernel panicked: {0}"),
    (r"^beowire: (.*)", "{0}"),
)


class Guest:
    """A machine. It dies with this process, and with this process's calling thread."""

    def __init__(
        self,
        loop: Loop,
        name: str,
        ended: Callable[["Guest"], None],
    ) -> None:
        """`ended` is called when its process has ended. `start` starts it."""
        self.name = name
        self._loop = loop
        self._ended = ended
        self._lines: deque[str] = deque(maxlen=_KEPT_LINES)
        self._panic: list[str] = []  # the line that says so: more than is kept may follow it
        self._rest = b""
        self._console, self.console_end = socket.socketpair()
        self.control, self.control_end = socket.socketpair()
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, command: Sequence[str], inherited: Sequence[int]) -> None:
        """Starts it with these descriptors. What its program says goes where its kernel's messages
        go. It is not pinned: its network card is a thread of its own beside its processor."""
        keeper = os.getpid()

        def prepare() -> None:
            kernel.set_parent_death_signal(signal.SIGKILL)
            if os.getppid() != keeper:
                os._exit(1)

        with self.console_end, self.control_end:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=self.console_end.fileno(),
                stderr=self.console_end.fileno(),
                pass_fds=[*inherited, self.console_end.fileno(), self.control_end.fileno()],
                preexec_fn=prepare,  # noqa: PLW1509 - the keeper has one thread
            )
        self._console.setblocking(False)
        self._loop.watch(self._console.fileno(), self._hear, None)
        self._handle = os.pidfd_open(self.process.pid)
        self._loop.watch(self._handle, self._end, None)

    def _hear(self) -> None:
        try:
            data = self._console.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._loop.forget(self._console.fileno())
        *lines, self._rest = (self._rest + data).split(b"\n")
        for text in filter(None, map(_readable, lines)):
            self._lines.append(text)
            if not self._panic and text.startswith("Kernel panic"):
                self._panic.append(text)
        self._rest = self._rest[-4096:]

    def _end(self) -> None:
        self._loop.forget(self._handle)
        self._ended(self)

    def why(self) -> str:
        """Why it has ended, or does not come up, as far as it has said."""
        with contextlib.suppress(BlockingIOError):
            while data := self._console.recv(1 << 16):
                self._rest += data
        lines = [*self._panic, *self._lines, *(_readable(line) for line in self._rest.split(b"\n"))]
        for pattern, meaning in _MEANINGS:
            for line in lines:
                if found := re.search(pattern, line):
                    return meaning.format(*found.groups())
        said = [line for line in lines if line]
        last = f" (it says: {said[-1]})" if said else ""
        status = None if self.process is None else self.process.poll()
        if status is None:
            return f"nothing is heard of it{last}"
        return f"its process has ended with status {status}{last}"

    def end(self) -> None:
        """Ends it; returns when it has. May be called for one that has not been started."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()


def _readable(line: bytes) -> str:
    """Without a kernel's times, and what terminals are told."""
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line.decode(errors="replace"))
    text = re.sub(r"^\[\s*[0-9.]+\]\s*", "", text.strip())
    return "".join(one for one in text if one.isprintable())[:200]
