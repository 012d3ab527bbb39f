# SPDX-License-Identifier: BSD-3-Clause
"""Samples of the CPUs of both ends, divided among the parts of a message's way. Pure.

All figures are of half a round trip, of both ends together. While a message is on its way one of
them works, and the other waits; so what is seen at work at either adds up to the half round trip,
but for the time in which neither works (the wire, a processor that wakes up) or both do.

A program that spins looks for its message all the time, and no sample tells a look that finds it
from one that does not. So its own code is what is left when all that can be told apart is taken
away.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from beowire.explain import symbols
from beowire.explain.perf import Sample
from beowire.record.lines import PARTS

#: How far samples may be from the time that has passed, and parts from the half round trip.
TOLERANCE = 0.10

#: What a CPU does when nothing else runs, or for the network on its own.
_OF_THE_MACHINE = ("swapper", "ksoftirqd")


@dataclass(frozen=True)
class Split:
    """Where half a round trip goes."""

    half_ns: float
    """It took so long while samples were taken."""
    parts: Mapping[str, float]
    """ns that are seen at work, by part (PARTS), without `waiting`."""
    spins: bool
    """Own code, and looks for messages, are not among the parts."""
    seen: float
    """How much of the time of the CPUs is known: 1 is all."""
    others: float
    """Which share of it other programs took."""
    samples: int

    @property
    def at_work_ns(self) -> float:
        """All parts."""
        return sum(self.parts.values())

    @property
    def rest_ns(self) -> float:
        """What is left of the half round trip; negative: both ends worked at once."""
        return self.half_ns - self.at_work_ns

    @property
    def complete(self) -> bool:
        """All the time is known, to 10 %."""
        return abs(self.seen - 1) <= TOLERANCE

    @property
    def adds_up(self) -> bool:
        """The parts, with what is left, are the half round trip, to 10 %."""
        return (
            self.complete and self.others <= TOLERANCE and self.rest_ns >= -TOLERANCE * self.half_ns
        )


def split(
    samples: Iterable[Sample],
    *,
    window_ns: float,
    cpus: int,
    pids: Collection[int],
    halves: float,
    half_ns: float,
    spins: bool,
    idle_ns: float | None = None,
) -> Split:
    """`window_ns`: how long samples were taken of so many `cpus`; `pids`: of the programs at both
    ends; `halves`: half round trips in that time, each of which took `half_ns`; `spins`: the
    program looks for messages all the time; `idle_ns`: how long the CPUs were idle, together, by
    the kernel's account: of a processor that is halted samples come late, or not at all, in a
    virtual machine. None: the samples have to say that, too."""
    parts = dict.fromkeys((name for name in PARTS if name != "waiting"), 0.0)
    seen = others = idle = 0.0
    count = 0
    for sample in samples:
        count += 1
        seen += sample.period_ns
        part = _part(sample, pids, spins)
        if part == "others":
            others += sample.period_ns
        elif part == "waiting":
            idle += sample.period_ns
        elif part in parts:
            parts[part] += sample.period_ns / halves
    if spins:
        del parts["own code"]
    whole = window_ns * cpus
    if idle_ns is not None:
        seen += idle_ns - idle
    return Split(
        half_ns,
        {name: value for name, value in parts.items() if value > 0},
        spins,
        seen / whole,
        others / whole,
        count,
    )


def _part(sample: Sample, pids: Collection[int], spins: bool) -> str:
    """One of PARTS, `others` or, of a program that spins, `looking`."""
    part = symbols.part_of(sample.kernel, sample.user)
    if sample.comm.startswith(_OF_THE_MACHINE) or symbols.is_serving(sample.kernel):
        return part
    if sample.pid not in pids:
        return "others"
    if spins and part in ("own code", "system call", "protocol", "other kernel"):
        looks = not sample.kernel or symbols.is_looking(sample.kernel)
        return "looking" if looks else part
    return part
