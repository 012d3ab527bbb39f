# SPDX-License-Identifier: BSD-3-Clause
"""The client of the engine's control protocol (docs/ENGINE.md): lines down, JSON lines up.

One `EngineProcess` is one engine on one node. Everything runs in one thread, and nothing blocks
without a deadline. Failures of an engine are `EngineError`s, which name the node; the caller
decides whether the run can continue.
"""

import contextlib
import json
import os
import select
import signal
import subprocess
import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from beowire.visible import visible

#: Longer events are rejected: a histogram of all buckets has about 150 KB.
_MAXIMUM_LINE_BYTES = 4 << 20

#: Bytes that a login may print before the engine starts.
MAXIMUM_NOISE_BYTES = 256 << 10

#: Bytes of standard error kept for messages.
_STDERR_TAIL_BYTES = 4096

#: How long an engine may take to answer if it needs no other end.
ANSWER_TIMEOUT_S = 20.0

#: How long an engine may take to exit once its input is closed (a driver's close() has 1 s).
_EXIT_TIMEOUT_S = 3.0
_TERMINATE_TIMEOUT_S = 0.5

Event = dict[str, Any]


class EngineError(Exception):
    """An engine failed or refused. `node`: where; `fatal`: its session has ended."""

    def __init__(self, node: str, message: str, *, fatal: bool = True, code: str = "") -> None:
        """`code` is the engine's (`EMSGSIZE`), `DIED`, `GARBAGE` or `TIMEOUT`."""
        super().__init__(message)
        self.node = node
        self.fatal = fatal
        self.code = code


class EngineProcess:
    """A running engine. Owns the process, so `end()` must always be called."""

    def __init__(self, process: subprocess.Popen[bytes], node: str, marker: bytes = b"") -> None:
        """Takes over `process`, whose three standard streams are pipes. The engine's output begins
        after `marker` and a line break; earlier output comes from a login shell."""
        if process.stdin is None or process.stdout is None or process.stderr is None:
            raise ValueError("the engine needs pipes for its three standard streams")
        self.node = node
        self.process = process
        self._input = process.stdin
        self._output = process.stdout
        self._errors = process.stderr
        self._buffer = bytearray()
        self._stderr_tail = bytearray()
        self._events: deque[Event] = deque()
        self._marker = marker + b"\n" if marker else b""
        self._ending = False
        self._open_streams = {self._output.fileno(), self._errors.fileno()}
        for stream in (self._input, self._output, self._errors):
            os.set_blocking(stream.fileno(), False)

    def send(self, verb: str, values: Mapping[str, object] | None = None) -> None:
        """Sends one command; values are encoded here. Raises EngineError if the engine is gone."""
        words = [verb, *(f"{key}={_encode(str(value))}" for key, value in (values or {}).items())]
        line = (" ".join(words) + "\n").encode("ascii")
        try:
            # A line is shorter than PIPE_BUF, so it is written completely or not at all.
            if os.write(self._input.fileno(), line) != len(line):
                raise EngineError(self.node, "the engine does not read its commands")
        except BlockingIOError:
            raise EngineError(
                self.node, "the engine does not read its commands", code="TIMEOUT"
            ) from None
        except (OSError, ValueError):
            raise self.died() from None

    def request(
        self,
        verb: str,
        expected: str,
        values: Mapping[str, object] | None = None,
        timeout_s: float = ANSWER_TIMEOUT_S,
    ) -> Event:
        """Sends a command and returns its answer, the event `expected`."""
        self.send(verb, values)
        return self.receive(expected, timeout_s)

    def receive(self, expected: str, timeout_s: float = ANSWER_TIMEOUT_S) -> Event:
        """The next event, which must be `expected`; an `error` event raises EngineError."""
        deadline = time.monotonic() + timeout_s
        while (event := self.take()) is None:
            left = deadline - time.monotonic()
            if left <= 0:
                raise EngineError(
                    self.node, f"the engine gave no answer within {timeout_s:g} s", code="TIMEOUT"
                )
            wait_for_events([self], left)
        return self.check(event, expected)

    def check(self, event: Event, expected: str) -> Event:
        """`event` if it is the `expected` one; otherwise raises EngineError."""
        if event["event"] == "error":
            message = " ".join(str(event.get("message", "no reason given")).split())
            raise EngineError(
                self.node,
                message[:300],
                fatal=bool(event.get("fatal", True)),
                code=str(event.get("code", "")),
            )
        if event["event"] != expected:
            name = str(event["event"])[:40]
            raise self._garbage(f"it answered {name!r} where {expected!r} was due")
        return event

    def take(self) -> Event | None:
        """An event that has arrived, or None. Raises EngineError if none can come any more."""
        if self._events:
            return self._events.popleft()
        if self._output.fileno() not in self._open_streams:
            raise self.died()
        return None

    def has_news(self) -> bool:
        """Whether `take()` would return or raise at once."""
        return bool(self._events) or self._output.fileno() not in self._open_streams

    def read_available(self, descriptor: int) -> None:
        """Reads available output from one of the engine's streams; never blocks."""
        try:
            data = os.read(descriptor, 1 << 16)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._open_streams.discard(descriptor)
        elif descriptor == self._errors.fileno():
            self._stderr_tail = (self._stderr_tail + data)[-_STDERR_TAIL_BYTES:]
        elif not self._ending:
            self._buffer += data
            if self._begins():
                self._split()

    def descriptors(self) -> set[int]:
        """The descriptors to poll for input."""
        return set(self._open_streams)

    def died(self) -> EngineError:
        """The error for an engine that ended by itself."""
        try:
            status = self.process.wait(timeout=_TERMINATE_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            return EngineError(self.node, "the engine closed its output", code="DIED")
        if self._errors.fileno() in self._open_streams:
            self.read_available(self._errors.fileno())
        said = self.last_words()
        return EngineError(
            self.node, f"the engine {_ending(status)}" + (f": {said}" if said else ""), code="DIED"
        )

    def has_died(self, wait_s: float = 0.0) -> bool:
        """Whether the process has ended by itself."""
        try:
            self.process.wait(timeout=wait_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def last_words(self) -> str:
        """The last line of its standard error, for messages."""
        lines = self._stderr_tail.decode("utf-8", "replace").split("\n")
        words = (visible(line.strip()) for line in lines)
        return ([line for line in words if line] or [""])[-1][:300]

    def request_end(self) -> None:
        """Asks the engine to exit, without waiting, so that many can end at the same time."""
        if self._input.closed:
            return
        # end() handles an engine that has ended, or does not read.
        with contextlib.suppress(EngineError):
            self.send("quit")
        with contextlib.suppress(OSError):
            self._input.close()

    def end(self, timeout_s: float = _EXIT_TIMEOUT_S) -> None:
        """Ends the process: asks, waits a bounded time, then terminates and kills it by its id."""
        self.request_end()
        self._ending = True  # later output is ignored
        deadline = time.monotonic() + timeout_s
        while not self.has_died() and (left := deadline - time.monotonic()) > 0:
            if not wait_for_events([self], min(left, 0.05)):
                self.has_died(0.01)
        for number, wait_s in ((signal.SIGTERM, _TERMINATE_TIMEOUT_S), (signal.SIGKILL, 5.0)):
            if self.has_died():
                break
            self.process.send_signal(number)
            self.has_died(wait_s)
        self._output.close()
        self._errors.close()
        self._open_streams.clear()

    def _begins(self) -> bool:
        """Drops output before the engine's; true: the engine's output has begun."""
        if self._marker:
            at = self._buffer.find(self._marker)
            if at < 0:
                if len(self._buffer) > MAXIMUM_NOISE_BYTES:
                    raise self._garbage("the login's startup files there print without end")
                return False
            del self._buffer[: at + len(self._marker)]
            self._marker = b""
        return True

    def _split(self) -> None:
        *lines, rest = self._buffer.split(b"\n")
        self._buffer = rest
        if len(rest) > _MAXIMUM_LINE_BYTES:
            raise self._garbage("its answer has no end")
        for line in lines:
            try:
                event = json.loads(line)
            except (ValueError, RecursionError):
                raise self._garbage(repr(line[:60].decode("utf-8", "replace"))) from None
            if not isinstance(event, dict) or not isinstance(event.get("event"), str):
                raise self._garbage(repr(line[:60].decode("utf-8", "replace")))
            self._events.append(event)

    def _garbage(self, what: str) -> EngineError:
        return EngineError(self.node, f"the engine broke the protocol: {what}", code="GARBAGE")


def wait_for_events(engines: Sequence[EngineProcess], timeout_s: float) -> bool:
    """Waits until one of `engines` has output or dies, at most `timeout_s`.

    Also reads their standard error, so that none blocks there. True: there was output.
    """
    if any(engine.has_news() for engine in engines):
        return True
    owners = {descriptor: engine for engine in engines for descriptor in engine.descriptors()}
    if not owners:
        return False
    poll = select.poll()
    for descriptor in owners:
        poll.register(descriptor, select.POLLIN)
    ready = poll.poll(max(0.0, timeout_s) * 1000)
    for descriptor, _ in ready:
        owners[descriptor].read_available(descriptor)
    return bool(ready)


def _encode(text: str) -> str:
    """Percent-encodes characters that a value must not contain."""
    return "".join(
        chr(byte) if 0x21 <= byte <= 0x7E and byte != 0x25 else f"%{byte:02X}"
        for byte in text.encode("utf-8", "surrogateescape")
    )


#: What to do about an engine that a signal ended.
_ADVICE = {
    signal.SIGKILL: "; if dmesg says that memory ran out, measure again with a smaller --max-size",
    **dict.fromkeys(
        (signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGFPE, signal.SIGILL),
        ": a bug in its driver, or in the library below; leave it out of --drivers",
    ),
}


def _ending(status: int) -> str:
    # Programs that start engines elsewhere return 128 plus the number of the signal.
    signalled = status - 128 if status > 128 else -status
    try:
        number = signal.Signals(signalled)
    except ValueError:
        killed = status < 0
        return f"was killed by signal {-status}" if killed else f"ended with status {status}"
    return f"was killed by {number.name}{_ADVICE.get(number, '')}"
