# SPDX-License-Identifier: BSD-3-Clause
"""What to use between two nodes, said of ranges of sizes. Pure.

A range has one of these verdicts; there are few ranges, and few sizes of which more could be said:

- sure: one driver is the fastest at every size of it, and differs significantly from all others at
  the first and the last. Between them one size may lack a significant difference, but not two in a
  row;
- unsure: at every size the fastest is one of those that are named, and none of them differs
  significantly from it. Other drivers without a significant difference at some size are named after
  them;
- inconclusive: there were too few rounds for intervals.

So the driver that is ahead in a table is named in the advice on that size, and a driver that is
named alone is ahead everywhere. A difference at a size is significant if the intervals do not
overlap and the medians differ by more than ALIKE: as much as two launches of the same driver.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from beowire.analysis.curves import (
    BASELINE,
    FLOOR,
    SUBJECT,
    Cell,
    Curve,
    all_sizes,
    overlap,
    quantity_of,
)
from beowire.plan.load import described
from beowire.plan.patterns import Pattern
from beowire.record.lines import DriverInfo
from beowire.units import rate_text, significant, size_text, time_text

REMEDY = "use a longer --time, or fewer sizes or drivers"

#: Shares by which medians of the same thing differ from launch to launch.
ALIKE = 0.02

#: Drivers that are named as equally fast, at most, unless more of them are ahead somewhere.
_MOST_NAMED = 4

#: A range costs as much as so many sizes of which more could be said than their range says.
_RANGE = 2


@dataclass(frozen=True)
class Range:
    """Neighbouring sizes with one verdict."""

    names: tuple[str, ...]
    """What to use: one, or several without a significant difference; none: inconclusive."""
    close: tuple[str, ...]
    """Drivers without a significant difference from them at some of the sizes."""
    leaders: frozenset[str]
    """What is ahead at one of the sizes at least: they are among the names."""
    cells: tuple[Mapping[str, Cell], ...]
    """Of each size: by driver."""

    @property
    def sure(self) -> bool:
        """One is named, and nothing is to be said against it."""
        return len(self.names) == 1 and not self.close

    @property
    def sizes(self) -> list[int]:
        """That it is of."""
        return [next(iter(cells.values())).size for cells in self.cells]


def ranges(contenders: Sequence[Curve], pattern: Pattern) -> list[Range]:
    """All sizes that some contender has, by rising size."""
    tables = [
        {one.driver: cell for one in contenders if (cell := one.at(size)) is not None}
        for size in all_sizes(contenders)
    ]
    places = [_place(cells, pattern) for cells in tables]
    # What the first so many sizes cost at least, and where the last of their ranges begins.
    best: list[tuple[int, int]] = [(0, 0)]
    for end in range(1, len(places) + 1):
        run = _Run(places[end - 1])
        options = [(best[end - 1][0] + run.cost, end - 1)]
        for start in reversed(range(end - 1)):
            if not run.grows(places[start]):
                break
            options.append((best[start][0] + run.cost, start))
        best.append(min(options))
    found: list[Range] = []
    end = len(places)
    while end > 0:
        start = best[end][1]
        run = _Run(places[end - 1])
        for place in reversed(places[start : end - 1]):
            run.grows(place)
        found.append(run.as_range(tables[start:end], pattern))
        end = start
    return found[::-1]


def text(found: Sequence[Curve], pattern: Pattern, drivers: Sequence[DriverInfo]) -> str:
    """For each range of sizes what is fastest of the reliable drivers between two nodes; empty if
    there is no choice."""
    rows = verdicts(found, pattern, drivers)
    lines = [title(found, pattern)] if rows else []
    for span, use, why, cpu in rows:
        if not use:
            lines.append(f"  {span:<20} {why}")
            continue
        lines.append(f"  {span:<20} {use}: {why}")
        lines.append(f"  {'':<20} CPU time per {pattern.each}, both ends: {cpu}")
    return "\n".join(lines)


def title(found: Sequence[Curve], pattern: Pattern) -> str:
    """Of the verdicts on these curves."""
    beside = f", beside {described(found[0].load)}" if found[0].load else ""
    return f"What to use between two nodes, by {pattern.quantity}{beside}"


def able(drivers: Sequence[DriverInfo]) -> frozenset[str]:
    """What can be used between two nodes: it brings messages there, and loses none."""
    return frozenset(one.name for one in drivers if one.reliable and one.placement == "pair") - {
        FLOOR
    }


def verdicts(
    found: Sequence[Curve], pattern: Pattern, drivers: Sequence[DriverInfo]
) -> list[tuple[str, str, str, str]]:
    """For each range: its sizes, what to use there, why, and the CPU times of this, of the next
    driver, of TCP and of Beowire. What to use is empty where it is not known. None at all where
    there is no choice."""
    contenders = [curve for curve in found if curve.driver in able(drivers)]
    if len(contenders) < 2:
        return []
    rows = []
    for one in ranges(contenders, pattern):
        span = _span(*(size_text(one.sizes[at]) for at in (0, -1)))
        if not one.names:
            rows.append((span, "", f"inconclusive, too few rounds: {REMEDY}", ""))
        else:
            rows.append((span, names_text(one), *_cost(one, pattern)))
    return rows


def names_text(one: Range) -> str:
    """`beowire`, `beowire or tcp (no significant difference)`."""
    shown = [name for name in one.names if name in one.leaders]
    shown += [name for name in one.names if name not in one.leaders][: _MOST_NAMED - len(shown)]
    more = len(one.names) - len(shown)
    named = " or ".join(shown) + (f" or {more} others" if more > 0 else "")
    notes = ["no significant difference"] if len(one.names) > 1 else []
    if one.close:
        others = ", ".join(one.close[:_MOST_NAMED])
        more = len(one.close) - _MOST_NAMED
        notes.append(
            f"at some sizes no significant difference from {others}"
            + (f" and {more} others" if more > 0 else "")
        )
    return f"{named} ({'; '.join(notes)})" if notes else named


@dataclass(frozen=True)
class _Place:
    """What there is at a size."""

    leader: str
    alike: frozenset[str]
    """The leader, and drivers without a significant difference from it; none: inconclusive."""

    @property
    def alone(self) -> bool:
        """The leader differs significantly from all others."""
        return len(self.alike) == 1


def _place(cells: Mapping[str, Cell], pattern: Pattern) -> _Place:
    leader = min(cells, key=lambda name: _cost_of(cells[name], pattern))
    first = quantity_of(cells[leader], pattern)
    if first.ci95 is None:
        return _Place(leader, frozenset())
    limit = _cost_of(cells[leader], pattern) * (1 + ALIKE)
    alike = {
        name
        for name, cell in cells.items()
        if overlap(first, quantity_of(cell, pattern)) or _cost_of(cell, pattern) <= limit
    }
    return _Place(leader, frozenset(alike))


class _Run:
    """Neighbouring sizes of which one verdict is true; it grows towards the smaller ones."""

    def __init__(self, last: _Place) -> None:
        """Of one size, of which one always is."""
        self._leaders = frozenset({last.leader})
        self._names = self._near = last.alike
        self._first = last
        self._alone = int(last.alone)
        self._may_be_sure = last.alone

    def grows(self, place: _Place) -> bool:
        """Takes the size before its first, if there is a verdict then; none of a longer run if
        not."""
        leaders, names = self._leaders | {place.leader}, self._names & place.alike
        if bool(place.alike) != bool(self._near) or (self._near and not leaders <= names):
            return False
        self._may_be_sure &= len(leaders) == 1 and (place.alone or self._first.alone)
        self._leaders, self._names, self._near = leaders, names, self._near | place.alike
        self._first = place
        self._alone += place.alone
        return True

    @property
    def cost(self) -> int:
        """What it adds to a division into ranges."""
        return _RANGE + (0 if self._sure else self._alone)

    @property
    def _sure(self) -> bool:
        return self._may_be_sure and self._first.alone

    def as_range(self, cells: Sequence[Mapping[str, Cell]], pattern: Pattern) -> Range:
        """With what there is at its sizes."""
        names = self._leaders if self._sure else self._names
        close = frozenset[str]() if self._sure else self._near - self._names
        return Range(
            _by_cost(names if self._near else frozenset(), cells, pattern),
            _by_cost(close, cells, pattern),
            self._leaders,
            tuple(cells),
        )


def _by_cost(
    names: frozenset[str], cells: Sequence[Mapping[str, Cell]], pattern: Pattern
) -> tuple[str, ...]:
    """Those that usually cost less first: by how far they are from the best at the same sizes."""

    def usual(name: str) -> float:
        costs = [
            math.log(_cost_of(one[name], pattern) / min(_cost_of(c, pattern) for c in one.values()))
            for one in cells
            if name in one
        ]
        return sum(costs) / len(costs)

    return tuple(sorted(names, key=lambda name: (usual(name), name)))


def _cost_of(cell: Cell, pattern: Pattern) -> float:
    """Positive, and the less the better."""
    value = max(quantity_of(cell, pattern).median, 1e-9)
    return value if pattern.is_times else 1 / value


def _cost(one: Range, pattern: Pattern) -> tuple[str, str]:
    """What the first that is named takes at the ends of the range, and how far it is ahead; the
    CPU times: medians over the range."""
    name = one.names[0]
    values = [quantity_of(cells[name], pattern).median for cells in one.cells if name in cells]
    shown = time_text if pattern.is_times else rate_text
    absolute = _span(shown(values[0]), shown(values[-1]))
    following, factors = _following(one, pattern)
    ahead = ""
    if factors:
        # The most is of a size at which they differ significantly, if there is one.
        sure = [
            factor
            for factor, at in zip(factors, (at for at in one.cells if name in at), strict=True)
            if not overlap(quantity_of(at[name], pattern), quantity_of(at[following], pattern))
        ]
        low, high = significant(min(factors), 2), significant(max(sure or factors), 2)
        ahead = f"{_span(low, high)} times as fast as {following}; "
    second = next(iter([*one.names[1:], *one.close, following]))
    spent = [
        f"{driver} {time_text(median(costs))}"
        for driver in dict.fromkeys((name, second, BASELINE, SUBJECT))
        if (costs := [_cpu_ns(cells[driver]) for cells in one.cells if driver in cells])
    ]
    return f"{ahead}{absolute}", ", ".join(spent)


def _cpu_ns(cell: Cell) -> float:
    """User and system time of both ends, of a message."""
    return sum(cost.user_ns + cost.system_ns for end in (0, 1) if (cost := cell.cpu(end)))


def _following(one: Range, pattern: Pattern) -> tuple[str, list[float]]:
    """The next driver that is not named, and how many times as fast the first that is named is, at
    each size; empty if none is slower at every size."""
    name = one.names[0]
    cells = [cells for cells in one.cells if name in cells]
    factors = {
        other: [_cost_of(at[other], pattern) / _cost_of(at[name], pattern) for at in cells]
        for other in {other for at in cells for other in at} - {*one.names, *one.close}
        if all(other in at for at in cells)
    }
    factors = {other: found for other, found in factors.items() if min(found) > 1}
    if not factors:
        return "", []
    following = min(factors, key=lambda other: (median(factors[other]), other))
    return following, factors[following]


def _span(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"
