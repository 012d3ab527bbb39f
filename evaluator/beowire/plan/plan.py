# SPDX-License-Identifier: BSD-3-Clause
"""Plans what is measured, in which order, and for how long. Pure.

Sizes are visited in random order (from a seed), because with rising sizes a machine that becomes
slower would bend the curve unnoticed. Within a visit the drivers take turns, round by round, so
that changes of the machine affect all of them.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from beowire.plan.patterns import PATTERNS
from beowire.record.lines import DriverInfo, Skipped
from beowire.sizes import schedule

#: A round is long enough to hide the cost of its start, and short enough for many turns.
LONGEST_ROUND_NS = 20e6
SHORTEST_ROUND_NS = 1e6

#: A cell needs this time to be useful; with less, fewer sizes are measured.
LEAST_CELL_S = 0.25

#: If time is even shorter, only every so many of the powers of two are measured.
_STEPS = (1, 2, 3, 4, 6, 8, 11, 16)

#: How often each size is visited, unless it is precise earlier or time is short.
VISITS = 2

#: Maximum number of messages of a round, in case a driver is faster than it seemed.
MAXIMUM_COUNT = 1_000_000

#: A sample shorter than this many clock readings is measured in batches (5 % rule).
_CLOCK_READINGS = 20

#: Share of a cell's time planned for its rounds; the rest is for warm-up and commands.
_ROUNDS_SHARE = 0.8

#: Rounds below which no cell is called precise.
MINIMUM_ROUNDS = 20

#: Rounds planned for a cell: more than the minimum, because some are delayed.
_PLANNED_ROUNDS = 2 * MINIMUM_ROUNDS

#: Families of drivers (`mpi` of `mpi:mpich/tcp`) whose sessions have two ends only, and why: who
#: has one enters it.
TWO_ENDS: dict[str, str] = {}

#: The number of messages changes by at most this factor from round to round.
_LARGEST_STEP = 4


@dataclass(frozen=True)
class Group:
    """Cells that are measured in turns: one pattern and size, of all drivers that support it."""

    pattern: str
    size: int
    drivers: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """One launch: the groups in the order of their visits, and what is left out, with reasons."""

    groups: tuple[Group, ...]
    skipped: tuple[Skipped, ...]
    seconds: float

    @property
    def cells(self) -> int:
        """Number of cells."""
        return sum(len(group.drivers) for group in self.groups)


def affordable_sizes(
    sizes: Sequence[int],
    drivers: Sequence[DriverInfo],
    patterns: Sequence[str],
    seconds: float,
) -> tuple[list[int], float]:
    """The part of the schedule `sizes` for which one launch of `seconds` has time, and the seconds
    that the whole schedule needs.

    All; or those that NetPIPE does not perturb; or powers of two, or every second, third ... of
    them; at least the smallest, one in the middle and the largest, however short the time.
    """

    def needed_s(chosen: Sequence[int]) -> float:
        cells = [
            size
            for pattern in patterns
            for size in sizes_of(pattern, chosen, scheduled=True)
            for driver in drivers
            if not _cannot(driver, pattern, size)
        ]
        return len(cells) * LEAST_CELL_S

    round_sizes = set(schedule(1, max(sizes), 0))
    powers = [size for size in sizes if size & (size - 1) == 0]
    choices = [list(sizes), [size for size in sizes if size in round_sizes]]
    choices += [_every(powers or sizes, step) for step in _STEPS]
    fitting = (chosen for chosen in choices if needed_s(chosen) <= seconds)
    return next(fitting, choices[-1]), needed_s(sizes)


def _every(sizes: Sequence[int], step: int) -> list[int]:
    """Every so many of the sizes, including both ends and at least one between them."""
    step = max(1, min(step, len(sizes) // 2))
    return [*sizes[:-1:step], sizes[-1]]


def make_plan(
    drivers: Sequence[DriverInfo],
    patterns: Sequence[str],
    sizes: Sequence[int],
    seconds: float,
    seed: int,
    *,
    scheduled: bool = False,
) -> Plan:
    """The plan of one launch of `seconds`. `scheduled`: `sizes` are those of the schedule, not the
    user's."""
    groups: list[Group] = []
    skipped: list[Skipped] = []
    for pattern in patterns:
        for size in sizes_of(pattern, sizes, scheduled=scheduled):
            able: list[str] = []
            for driver in drivers:
                reason = _cannot(driver, pattern, size)
                if reason:
                    skipped.append(
                        Skipped(driver=driver.name, pattern=pattern, size=size, reason=reason)
                    )
                else:
                    able.append(driver.name)
            if able:
                groups.append(Group(pattern, size, tuple(able)))
    random.Random(seed).shuffle(groups)
    return Plan(tuple(groups), tuple(skipped), seconds)


def sizes_of(pattern: str, sizes: Sequence[int], *, scheduled: bool) -> list[int]:
    """The sizes of this pattern: the smallest if it has no sizes; instead of the schedule its own,
    if it has some."""
    own = PATTERNS[pattern].sizes
    if not PATTERNS[pattern].sized:
        return [min(sizes)]
    if not scheduled or not own:
        return list(sizes)
    return [size for size in own if size <= max(sizes)] or [max(sizes)]


def round_target_ns(cell_seconds: float, longest_ns: float = LONGEST_ROUND_NS) -> float:
    """How long a round should take so that a cell of `cell_seconds` has enough rounds."""
    wanted = cell_seconds * 1e9 * _ROUNDS_SHARE / _PLANNED_ROUNDS
    return min(longest_ns, max(SHORTEST_ROUND_NS, wanted))


def batch_for(message_ns: float, clock_overhead_ns: float) -> int:
    """Round trips per sample, so that reading the clock takes at most 5 % of it."""
    least_ns = _CLOCK_READINGS * clock_overhead_ns
    if message_ns >= least_ns:
        return 1
    return min(1000, int(least_ns / max(message_ns, 1.0)) + 1)


def count_for(message_ns: float, target_ns: float, batch: int) -> int:
    """Messages of a round of about `target_ns`: complete batches, at least one."""
    batches = int(target_ns / max(message_ns, 1.0) / batch)
    return max(1, min(batches, MAXIMUM_COUNT // batch)) * batch


def next_count(count: int, message_ns: float, target_ns: float, batch: int) -> int:
    """Messages of the next round, after one of `count`.

    The warm-up may have measured a stall, or the driver may have become slower, so the count
    follows the time of rounds, in steps. Small deviations change nothing.
    """
    wanted = count_for(message_ns, target_ns, batch)
    if count / 2 <= wanted <= count * 2:
        return count
    bounded = max(count // _LARGEST_STEP, min(wanted, count * _LARGEST_STEP))
    return max(1, bounded // batch) * batch


def _cannot(driver: DriverInfo, pattern: str, size: int) -> str:
    if size < driver.min_size:
        return f"its smallest message has {driver.min_size} bytes"
    if size > driver.max_size:
        return f"its largest message has {driver.max_size} bytes"
    if size < PATTERNS[pattern].min_size:
        return f"{pattern} needs messages of {PATTERNS[pattern].min_size} bytes or more"
    family = driver.name.partition(":")[0]
    if PATTERNS[pattern].many and family in TWO_ENDS:
        return TWO_ENDS[family]
    return PATTERNS[pattern].obstacle(driver)
