# SPDX-License-Identifier: BSD-3-Clause
"""How much of this machine's processors others used while something ran.

What all programs used is the kernel's, without the time of interrupts, which our own traffic makes;
what we used, and what has ended that we started, is taken off. So it is asked for after everything
has ended.
"""

import os
import time
from dataclasses import dataclass
from pathlib import Path

#: Of the kernel's columns: user, nice, system, and what a hypervisor gave to others.
_COLUMNS = (0, 1, 2, 7)


@dataclass(frozen=True)
class Usage:
    """What was used until one moment."""

    at_s: float
    all_s: float
    own_s: float


class Others:
    """Looks at the beginning, and once more when it is asked."""

    def __init__(self, stat: Path = Path("/proc/stat")) -> None:
        """`stat` is for tests."""
        self._stat = stat
        self._begun = _usage(stat)

    def cpus(self) -> float | None:
        """So many processors' time others used since, in the mean; None: the kernel does not say,
        or it was too short to tell."""
        now = _usage(self._stat)
        if now is None or self._begun is None or now.at_s - self._begun.at_s < 1.0:
            return None
        used = (now.all_s - self._begun.all_s) - (now.own_s - self._begun.own_s)
        return max(0.0, used / (now.at_s - self._begun.at_s))


def _usage(stat: Path) -> Usage | None:
    try:
        words = stat.read_text(encoding="ascii").split("\n", 1)[0].split()[1:]
        ticks = sum(int(words[column]) for column in _COLUMNS)
    except (OSError, ValueError, IndexError):
        return None
    own = os.times()
    of_us = own.user + own.system + own.children_user + own.children_system
    return Usage(time.monotonic(), ticks / os.sysconf("SC_CLK_TCK"), of_us)
