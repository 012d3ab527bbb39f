# SPDX-License-Identifier: BSD-3-Clause
"""Ctrl-C, SIGTERM and a terminal that hangs up as one exception, which never lands in the middle
of what must be whole.

Python raises KeyboardInterrupt between any two instructions: between starting an engine and
remembering it, or in the middle of a line of the record. Inside `held()` a signal waits.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupts:
    """SIGINT, SIGTERM and SIGHUP raise KeyboardInterrupt while this context is entered, but only
    once: what follows the first is cleaning up, which is bounded and must not be torn.

    Only in the main thread. The former handlers come back on leaving.
    """

    def __init__(self) -> None:
        """Changes nothing yet."""
        self._depth = 0
        self._pending = False
        self._raised = False
        self._former: dict[int, object] = {}

    def __enter__(self) -> "Interrupts":
        """Takes over the handlers."""
        for number in _SIGNALS:
            # nohup ignores SIGHUP for us, and means it.
            if number == signal.SIGHUP and signal.getsignal(number) == signal.SIG_IGN:
                continue
            self._former[number] = signal.signal(number, self._arrived)
        return self

    def __exit__(self, *exc: object) -> None:
        """Gives the handlers back."""
        for number, handler in self._former.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def hold(self) -> None:
        """From now on no signal is raised: the end has begun."""
        self._depth += 1

    @contextmanager
    def held(self) -> Iterator[None]:
        """A signal that comes inside is raised at the end."""
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            if self._depth == 0 and self._pending:
                self._raise()

    def _arrived(self, _number: int, _frame: FrameType | None) -> None:
        if self._depth:
            self._pending = True
        else:
            self._raise()

    def _raise(self) -> None:
        self._pending = False
        if not self._raised:
            self._raised = True
            raise KeyboardInterrupt
