# SPDX-License-Identifier: BSD-3-Clause
"""Ends a measurement when what it stands on goes."""

import os
import select
import signal
import sys
from threading import Thread


class Watch:
    """Ends this process, as SIGTERM does, when a child that all depends on ends before `end()`: the
    keeper of a lab, with whom the wires between its nodes go, or what waits on a cluster's nodes.
    """

    def __init__(self, child: int, why: str) -> None:
        """`child`: the id of a child that has not been waited for. `why`: what it means that it has
        ended, for standard error."""
        self._child = os.pidfd_open(child)
        self._why = why
        self.fired = False
        """The child has ended, and that was said."""
        self._over, self._leave = os.pipe()
        self._thread = Thread(target=self._run, name="watch", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Before the child is let go."""
        os.close(self._leave)
        self._thread.join()
        os.close(self._over)
        os.close(self._child)

    def _run(self) -> None:
        both = select.poll()
        both.register(self._child, select.POLLIN)
        both.register(self._over, select.POLLIN)
        if self._over not in (ready for ready, _ in both.poll()):
            self.fired = True
            print(f"beowire: {self._why}", file=sys.stderr, flush=True)
            os.kill(os.getpid(), signal.SIGTERM)
