# SPDX-License-Identifier: BSD-3-Clause
"""How much of this machine's processors others used while something ran: in the mean, and how long
it was much, since a burst that spoils a third of a run is little in the mean.

What all used is the kernel's; what we used is taken off: this process, what has ended that it
started, what of that still runs, and engines that an MPI's daemons have started for us. The time of
interrupts, most of which our own traffic makes, is nobody's. Where the kernel leaves it in the time
of processes (interrupt_time.py), it has to be in what all used as well, or others vanish behind our
own interrupts.
"""

import os
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from beowire.conduct import interrupt_time
from beowire.record.lines import BUSY_SHARE

#: Of the kernel's columns: user, nice, system, and what a hypervisor gave to others.
_COLUMNS = (0, 1, 2, 7)

#: Interrupts and softirqs.
_INTERRUPTS = (5, 6)

#: Of a process's, after its name: its parent, user and system time, the same of its children that
#: have ended.
_PARENT = 1
_TIMES = slice(11, 15)

#: The kernel's own threads have this parent.
_KERNEL = 2


#: Looks are at least so far apart, and so much has to be left for one at the end. What the kernel
#: says of processes and of processors does not agree to the tick, nor is all of it read at the same
#: moment: on a machine of two processors that were busy with short processes pieces of two seconds
#: were wrong by 0.1 of one (standard deviation), and some by 0.2, which the next took back.
#: So only what is much in two pieces on end counts, or in one that is so long that this is nothing.
_INTERVAL_S = 2.0
_LONG_S = 10.0
_SHORTEST_S = 1.0


@dataclass(frozen=True)
class Busy:
    """The time in which others used BUSY_SHARE of the processors or more."""

    seconds: float
    cpus: float
    """Processors' time that they used then, in the mean; 0: they never did."""


@dataclass(frozen=True)
class Usage:
    """What was used until one moment."""

    at_s: float
    all_s: float
    own_s: float


class Others:
    """Looks at the beginning, when it is told to, and once more when it is asked."""

    def __init__(self, proc: Path = Path("/proc")) -> None:
        """`proc` is for tests."""
        self._proc = proc
        self._apart = interrupt_time.is_apart()
        self._engines: Collection[int] = ()
        #: Ticks of those that daemons have started, also after their end: nobody of ours waits for
        #: them.
        self._strays: dict[int, int] = {}
        self._begun = self._usage()
        self._last = self._begun
        self._busy_at = BUSY_SHARE * (os.cpu_count() or 1)
        self._busy_s = 0.0
        self._busy_cpu_s = 0.0
        #: Of the piece before, if others used much in it: its time, and theirs; twice 0 if it has
        #: been counted.
        self._before: tuple[float, float] | None = None

    def look(self, engines: Collection[int] = ()) -> None:
        """Looks, if the last time is long enough ago: may be called as often as one likes, when
        nothing is measured. `engines`: processes that are ours, whoever started them."""
        if self._last is not None and time.monotonic() - self._last.at_s >= _INTERVAL_S:
            self._engines = engines
            self._count(self._usage())

    def follow(self, engines: Collection[int]) -> None:
        """To be called before these end: what they use later is not seen."""
        self._engines = engines
        self._usage()
        self._engines = ()  # others may get their numbers

    def busy(self) -> Busy | None:
        """How long others used much, and how much then, as far as it was looked at; None: it cannot
        be told, or it was too short."""
        if self._last is not None and time.monotonic() - self._last.at_s >= _SHORTEST_S:
            self._count(self._usage())
        if self._begun is None or self._last is None or self._last is self._begun:
            return None
        return Busy(self._busy_s, self._busy_cpu_s / self._busy_s if self._busy_s else 0.0)

    def _count(self, now: Usage | None) -> None:
        """What was used since the last look."""
        if now is None or self._last is None:
            return
        seconds = now.at_s - self._last.at_s
        used_s = (now.all_s - self._last.all_s) - (now.own_s - self._last.own_s)
        much = used_s >= self._busy_at * seconds
        if much and (self._before is not None or seconds >= _LONG_S):
            before_s, before_cpu_s = self._before or (0.0, 0.0)
            self._busy_s += before_s + seconds
            self._busy_cpu_s += before_cpu_s + used_s
            self._before = 0.0, 0.0
        else:
            self._before = (seconds, used_s) if much else None
        self._last = now

    def cpus(self) -> float | None:
        """So many processors' time others used since, in the mean; None: it cannot be told, or it
        was too short."""
        now = self._usage()
        if now is None or self._begun is None or now.at_s - self._begun.at_s < 1.0:
            return None
        used = (now.all_s - self._begun.all_s) - (now.own_s - self._begun.own_s)
        return max(0.0, used / (now.at_s - self._begun.at_s))

    def _usage(self) -> Usage | None:
        if self._apart is None:
            return None
        columns = _COLUMNS if self._apart else (*_COLUMNS, *_INTERRUPTS)
        try:
            words = (self._proc / "stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:]
            ticks = sum(int(words[column]) for column in columns)
        except (OSError, ValueError, IndexError):
            return None
        running = self._running() / os.sysconf("SC_CLK_TCK")
        ended = os.times()
        own_s = ended.user + ended.system + ended.children_user + ended.children_system + running
        return Usage(time.monotonic(), ticks / os.sysconf("SC_CLK_TCK"), own_s)

    def _running(self) -> int:
        """Ticks of what runs that is ours; and of the kernel's threads for softirqs, which take
        them up where there are many."""
        ticks: dict[int, int] = {}
        children: dict[int, list[int]] = {}
        softirqs = 0
        for directory in self._proc.iterdir():
            if not directory.name.isdecimal():
                continue
            try:
                text = (directory / "stat").read_text(encoding="ascii", errors="replace")
            except OSError:
                continue  # it has ended
            before, _, after = text.rpartition(")")
            words = after.split()
            pid, parent = int(directory.name), int(words[_PARENT])
            ticks[pid] = sum(map(int, words[_TIMES]))
            children.setdefault(parent, []).append(pid)
            if not self._apart and parent == _KERNEL and "(ksoftirqd/" in before:
                softirqs += ticks[pid]
        ours = _below(os.getpid(), children)
        for pid in self._engines:
            if pid in ticks and pid not in ours:
                self._strays[pid] = sum(ticks[one] for one in (pid, *_below(pid, children)))
        return softirqs + sum(ticks[pid] for pid in ours) + sum(self._strays.values())


def _below(pid: int, children: Mapping[int, list[int]]) -> list[int]:
    """What this process has started, directly or not."""
    found = list(children.get(pid, []))
    for one in found:
        found += children.get(one, [])
    return found
