# SPDX-License-Identifier: BSD-3-Clause
"""Waits for descriptors, and calls what is to be done when one is ready."""

import os
import select
import signal
from collections.abc import Callable, Iterable

Callback = Callable[[], None]


class Loop:
    """Descriptors, and what each is watched for. For one thread."""

    def __init__(self) -> None:
        self._poller = select.poll()
        self._readers: dict[int, Callback] = {}
        self._writers: dict[int, Callback] = {}

    def watch(self, descriptor: int, reader: Callback | None, writer: Callback | None) -> None:
        """From now on, `reader` is called when there is something to read, or an end, `writer` when
        something can be written. None of both: it is not watched."""
        for calls, wanted in ((self._readers, reader), (self._writers, writer)):
            if wanted is None:
                calls.pop(descriptor, None)
            else:
                calls[descriptor] = wanted
        events = (select.POLLIN if reader else 0) | (select.POLLOUT if writer else 0)
        if events:
            self._poller.register(descriptor, events)
        else:
            self.forget(descriptor)

    def forget(self, descriptor: int) -> None:
        """It is watched no more: to be called before it is closed."""
        self._readers.pop(descriptor, None)
        self._writers.pop(descriptor, None)
        try:
            self._poller.unregister(descriptor)
        except KeyError:
            return

    def step(self, timeout_s: float | None = None) -> None:
        """Waits until something is ready, and does what is to be done then."""
        for descriptor, events in self._poller.poll(None if timeout_s is None else timeout_s * 1e3):
            if events & ~select.POLLOUT and (reader := self._readers.get(descriptor)):
                reader()
            if events & ~select.POLLIN and (writer := self._writers.get(descriptor)):
                writer()

    def watch_signals(self, numbers: Iterable[int], heard: Callable[[int], None]) -> None:
        """Signals are heard of in `step`, and do nothing else."""
        reading, writing = os.pipe()
        for end in (reading, writing):
            os.set_blocking(end, False)

        def read() -> None:
            for number in os.read(reading, 512):
                heard(number)

        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        for number in numbers:
            signal.signal(number, lambda *_: None)
        self.watch(reading, read, None)
