# SPDX-License-Identifier: BSD-3-Clause
"""What will be measured, in which order, and how long each part may take. Pure.

The sizes are visited in random order (of a seed): with rising sizes a machine that slows down
during the run would bend the curve, and nobody could tell. Within a visit the drivers take turns,
round by round, so that what happens to the machine happens to all of them.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from beowire.plan.patterns import PATTERNS
from beowire.record.lines import DriverInfo, Skipped
from beowire.sizes import schedule

#: A round is long enough to hide the cost of starting it, and short enough to take many turns.
LONGEST_ROUND_NS = 20e6
SHORTEST_ROUND_NS = 1e6

#: A cell with less time than this says little: so the schedule of sizes is made coarser.
LEAST_CELL_S = 0.25

#: Of the powers of two only every so many are measured where time is shorter still.
_STEPS = (1, 2, 3, 4, 6, 8, 11, 16)

#: How often every size is visited, unless it is precise before or time is short.
VISITS = 2

#: Messages of one round, at most: bounds the round of a driver that is faster than it looked.
MAXIMUM_COUNT = 1_000_000

#: A sample shorter than this many clock readings is measured in batches (5 % rule).
_CLOCK_READINGS = 20

#: Share of a cell's time that is planned for its rounds; the rest is warm-up and asking.
_ROUNDS_SHARE = 0.8

#: Rounds below which no cell is called precise.
MINIMUM_ROUNDS = 20

#: Rounds that are planned for a cell: more than the least, for some are held up.
_PLANNED_ROUNDS = 2 * MINIMUM_ROUNDS

#: Families of drivers (`mpi` of `mpi:mpich/tcp`) whose sessions have two ends only, and why: who
#: has one enters it.
TWO_ENDS: dict[str, str] = {}

#: The number of messages of a round changes at most by this factor from round to round.
_LARGEST_STEP = 4


@dataclass(frozen=True)
class Group:
    """The cells that are measured side by side: one pattern and size, all drivers that can."""

    pattern: str
    size: int
    drivers: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """One launch: the groups in the order of their visits, and what is left out and why."""

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
    """As much of the schedule `sizes` as one launch of `seconds` has time for, and the seconds
    that all of it needs.

    All; or those that NetPIPE does not perturb; or powers of two; of these every second, third ...
    one; at last the smallest, one in the middle and the largest, however short the time.
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
    """Every so many of the sizes, both ends included, and one between them at least."""
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
    """The plan of one launch. `seconds` is what measuring may take; `scheduled`: `sizes` are those
    of the schedule, and not what somebody asked for."""
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
    """Those that this pattern is measured at: the smallest if it has none; its own, if it has some,
    where the schedule would be measured."""
    own = PATTERNS[pattern].sizes
    if not PATTERNS[pattern].sized:
        return [min(sizes)]
    if not scheduled or not own:
        return list(sizes)
    return [size for size in own if size <= max(sizes)] or [max(sizes)]


def round_target_ns(cell_seconds: float, longest_ns: float = LONGEST_ROUND_NS) -> float:
    """How long a round should take for a cell of `cell_seconds` to have enough of them."""
    wanted = cell_seconds * 1e9 * _ROUNDS_SHARE / _PLANNED_ROUNDS
    return min(longest_ns, max(SHORTEST_ROUND_NS, wanted))


def batch_for(message_ns: float, clock_overhead_ns: float) -> int:
    """Round trips to a sample, so that reading the clock is at most 5 % of it."""
    least_ns = _CLOCK_READINGS * clock_overhead_ns
    if message_ns >= least_ns:
        return 1
    return min(1000, int(least_ns / max(message_ns, 1.0)) + 1)


def count_for(message_ns: float, target_ns: float, batch: int) -> int:
    """Messages of a round of about `target_ns`: whole batches, at least one."""
    batches = int(target_ns / max(message_ns, 1.0) / batch)
    return max(1, min(batches, MAXIMUM_COUNT // batch)) * batch


def next_count(count: int, message_ns: float, target_ns: float, batch: int) -> int:
    """Messages of the next round, after one of `count`.

    A warm-up that met a stall has taken the driver for slow, or it really has become slower: so
    the count follows what rounds take, in steps. Small deviations change nothing.
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
