# SPDX-License-Identifier: BSD-3-Clause
"""Which side is faster, over which sizes, by how much, and how sure that is. Pure.

Shifts are of logarithms of costs (time, or one over a rate): 0.03 is 3 % more. Sizes are not judged
one by one: the ranges that are told apart best are taken first, and what remains between them is
judged as a whole.

A range is `worse` or `better` where two things hold: it is stronger than the strongest range of all
is in 95 % of comparisons in which nothing differs (windows.py), and its shift is above the
threshold. The rest is `same` (or `no worse`, where it may be better) if the interval of its shift
ends below the threshold, and `unsure` if not, or where some part of it looks worse but not by more
than chance in so many comparisons.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import log1p
from typing import Literal, NoReturn

import numpy as np
import numpy.typing as npt

from beowire.analysis.statistics import CONFIDENCE, Estimate
from beowire.diff.shift import enough, p_value, shift_estimate
from beowire.diff.sides import Key, Side
from beowire.diff.windows import Chance, Scan, as_measured
from beowire.errors import BeowireError
from beowire.plan.patterns import PATTERNS

Floats = npt.NDArray[np.float64]

Verdict = Literal["worse", "better", "same", "no worse", "unsure"]
Overall = Literal["worse", "no worse", "cannot tell"]

#: Unless the user names one: what differs by less is of no interest.
DEFAULT_THRESHOLD = 0.02

#: Of 99th percentiles so many times that: they differ more from launch to launch.
TAIL_THRESHOLDS = 5

#: How often, at most, anything may be called different if nothing is.
ALPHA = 1 - CONFIDENCE

#: A range that is as strong as this looks different, if one looks at no other.
_LOOKS_DIFFERENT = 1.96

#: Launches that find 3 % in four cases of five where launches differ by 1.5 % (docs/STATISTICS.md).
ADVISED_LAUNCHES = 10


@dataclass(frozen=True)
class SizeShift:
    """One size by itself: for programs, and for who wants to look; verdicts are of ranges."""

    size: int
    launches: tuple[int, int]
    medians: tuple[float, float]
    """Of the launches' costs."""
    shift: Estimate
    p: float
    """Mann-Whitney's, of this size alone."""
    p_adjusted: float
    """As if it had been found by looking at everything."""


@dataclass(frozen=True)
class Range:
    """Neighbouring sizes with one verdict."""

    sizes: tuple[int, ...]
    shift: Estimate
    """Of the mean over the sizes."""
    p_adjusted: float
    verdict: Verdict


@dataclass(frozen=True)
class Group:
    """A driver, pattern and load."""

    key: Key
    is_rate: bool
    sizes: list[SizeShift]
    ranges: list[Range]


@dataclass(frozen=True)
class Lack:
    """What one side measured and the other did not."""

    key: Key
    sizes: tuple[int, ...]
    side: str
    """That lacks it."""
    reason: str
    """Empty: it was not asked for."""
    few: bool
    """It has some, but not in every launch."""


@dataclass(frozen=True)
class Comparison:
    """All of it."""

    sides: tuple[Side, Side]
    threshold: float
    """As a share: 0.03."""
    groups: list[Group]
    lacks: list[Lack]
    notes: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> Overall:
        """Of the whole: one range that is worse decides, of a 99th percentile, too; what failed
        cannot be told. (Whether a 99th percentile is worse can seldom be told.)"""
        if any(one.verdict == "worse" for group in self.groups for one in group.ranges):
            return "worse"
        medians = (group for group in self.groups if not group.key.is_tail)
        verdicts = {one.verdict for group in medians for one in group.ranges}
        of_second = self.sides[1].name
        failed = any(one.reason and (one.few or one.side == of_second) for one in self.lacks)
        return "cannot tell" if failed or "unsure" in verdicts else "no worse"


@dataclass(frozen=True)
class Measured:
    """What the launches of both sides found of a driver and pattern."""

    sizes: Sequence[int]
    costs: Floats
    """Logarithms, a row a launch (those of the first side first), a column a size; NaN where there
    is none."""
    is_rate: bool = False


def compare(
    first: Side, second: Side, threshold: float = DEFAULT_THRESHOLD, alpha: float = ALPHA
) -> Comparison:
    """What the launches tell. BeowireError, one line, if they can tell nothing. `alpha`: how often
    this look may call anything different if nothing is."""
    tables, lacks = _tables(first, second)
    if not tables:
        _nothing(first, second, any(lack.few for lack in lacks))
    counts = len(first.launches), len(second.launches)
    measured = {key: _measured(key, sizes, first, second) for key, sizes in tables.items()}
    groups = judge(measured, *counts, threshold, alpha)
    return Comparison((first, second), threshold, groups, lacks)


def judge(
    measured: Mapping[Key, Measured],
    first: int,
    second: int,
    threshold: float,
    alpha: float = ALPHA,
) -> list[Group]:
    """The verdicts of so many launches of either side, all taken together."""
    scans = {key: Scan(one.costs, first) for key, one in measured.items()}
    chance = Chance(list(scans.values()), first, second)
    return [
        _Judge(chance, first, second, threshold_of(key, threshold), alpha).group(
            key, one, scans[key]
        )
        for key, one in measured.items()
    ]


def threshold_of(key: Key, threshold: float) -> float:
    """What is of no interest there, where so much of a median is not."""
    return threshold * TAIL_THRESHOLDS if key.is_tail else threshold


def _tables(first: Side, second: Side) -> tuple[dict[Key, list[int]], list[Lack]]:
    """The sizes of each key that can be compared, and what is missing."""
    ours, theirs = first.costs, second.costs
    order = {name: at for at, name in enumerate(PATTERNS)}
    keys = sorted(
        ours.keys() | theirs.keys(), key=lambda key: (order.get(key.pattern, len(order)), key)
    )
    tables: dict[Key, list[int]] = {}
    lacks: list[Lack] = []
    for key in keys:
        missing: dict[tuple[str, str, bool], list[int]] = {}
        for size in sorted(ours.get(key, {}).keys() | theirs.get(key, {}).keys()):
            here, there = (len(side.get(key, {}).get(size, {})) for side in (ours, theirs))
            few = min(here, there) > 0
            if enough(here, there):
                tables.setdefault(key, []).append(size)
                lacking, reason = second, second.failed.get((key, size), "")
                if not reason:
                    continue
            else:
                lacking = first if here < there else second
                reason = lacking.failure(key, size)
                if few and not reason:
                    reason = f"too few launches: {here} of A, {there} of B"
            if key.is_tail:  # too few messages for one
                continue
            missing.setdefault((lacking.name, reason, few), []).append(size)
        lacks += [Lack(key, tuple(sizes), *what) for what, sizes in missing.items()]
    return tables, lacks


def _nothing(first: Side, second: Side, few: bool) -> NoReturn:
    """Says why there is nothing to compare, and what to do."""
    for side in (first, second):
        if not side.launches:
            raise BeowireError(f"{side.name} ({side.records[0].path}) has no result to compare")
    if few:
        raise BeowireError(
            f"{first.count_text()}, {second.count_text()}: too few for a verdict, because launches"
            f" differ. Measure both again with `beowire compare --launches {ADVISED_LAUNCHES}` (at"
            " least 4), or name several records of each: A1,A2,A3 B1,B2,B3"
        )
    kinds = [", ".join(sorted({key.text() for key in side.costs})) for side in (first, second)]
    raise BeowireError(
        "A and B have no driver, pattern and size in common:"
        + (
            " the same with other sizes"
            if kinds[0] == kinds[1]
            else f" A has {kinds[0]}; B has {kinds[1]}"
        )
    )


def _measured(key: Key, sizes: Sequence[int], first: Side, second: Side) -> Measured:
    values = [
        [costs.get(size, {}).get(launch, np.nan) for size in sizes]
        for side in (first, second)
        for costs in (side.costs[key],)
        for launch in side.launches
    ]
    return Measured(sizes, np.log(np.array(values)), first.reports_rates(key))


class _Judge:
    """Divides the sizes of a group into ranges."""

    def __init__(
        self, chance: Chance, first: int, second: int, threshold: float, alpha: float
    ) -> None:
        self._chance = chance
        self._alpha = alpha
        self._first = first
        self._deal = as_measured(first, second)
        self._threshold = log1p(threshold)

    def group(self, key: Key, measured: Measured, scan: Scan) -> Group:
        """All that is to say of it."""
        sizes, values = measured.sizes, measured.costs
        strengths = scan.strengths(self._deal)
        by_size = [
            self._by_size(size, values[:, at], strengths[at, at]) for at, size in enumerate(sizes)
        ]
        # Sizes have very different costs: only what launches add to them is to be averaged.
        level = values - np.nanmedian(values, axis=0)
        found = self._different(strengths, level)
        taken = _covered(found, len(sizes))
        found += self._suspect(strengths, level, taken)
        taken = _covered(found, len(sizes))
        found += [self._rest(run, strengths, level) for run in _runs(taken)]
        found.sort(key=lambda one: one.start)
        merged = self._merged(found, level)
        return Group(
            key,
            measured.is_rate,
            by_size,
            [
                Range(tuple(sizes[one.start : one.end]), one.shift, one.p, one.verdict)
                for one in merged
            ],
        )

    def _by_size(self, size: int, column: Floats, strength: float) -> SizeShift:
        first, second = self._known(column)
        return SizeShift(
            size,
            (len(first), len(second)),
            (float(np.exp(np.median(first))), float(np.exp(np.median(second)))),
            shift_estimate(first, second),
            p_value(first, second),
            self._chance.p_value(strength),
        )

    def _known(self, column: Floats) -> tuple[Floats, Floats]:
        first, second = column[: self._first], column[self._first :]
        return first[~np.isnan(first)], second[~np.isnan(second)]

    def _shift(
        self, level: Floats, start: int, end: int, confidence: float = CONFIDENCE
    ) -> Estimate:
        """Of the mean over a range, as far as a launch has it."""
        part = level[:, start:end]
        known = ~np.isnan(part)
        count = known.sum(axis=1)
        total = np.where(known, part, 0).sum(axis=1)
        return shift_estimate(
            *self._known(np.where(count > 0, total / np.maximum(count, 1), np.nan)), confidence
        )

    def _different(self, strengths: Floats, level: Floats) -> list["_Part"]:
        """Ranges that differ by more than chance and threshold, the strongest first."""
        found: list[_Part] = []
        for start, end in _strongest_first(strengths):
            strength = float(strengths[start, end - 1])
            p = self._chance.p_value(strength)
            if p > self._alpha:
                break
            if any(one.overlaps(start, end) for one in found):
                continue
            shift = self._shift(level, start, end)
            if abs(shift.value) > self._threshold and shift.value * strength > 0:
                found.append(_Part(start, end, shift, p, "worse" if strength > 0 else "better"))
        return found

    def _suspect(self, strengths: Floats, level: Floats, taken: Sequence[bool]) -> list["_Part"]:
        """Of the sizes that are left, ranges that would be worse if one had looked at no other."""
        found: list[_Part] = []
        for start, end in _strongest_first(strengths):
            strength = float(strengths[start, end - 1])
            if abs(strength) < _LOOKS_DIFFERENT:
                break
            if strength < 0 or any(taken[start:end]):
                continue
            if any(one.overlaps(start, end) for one in found):
                continue
            shift = self._shift(level, start, end)
            if shift.value > self._threshold:
                p = self._chance.p_value(strength)
                found.append(_Part(start, end, shift, p, "unsure"))
        return found

    def _rest(self, run: tuple[int, int], strengths: Floats, level: Floats) -> "_Part":
        start, end = run
        shift = self._shift(level, start, end)
        return _Part(
            start,
            end,
            shift,
            self._chance.p_value(float(strengths[start, end - 1])),
            self._within(self._shift(level, start, end, 1 - self._alpha)),
        )

    def _within(self, shift: Estimate) -> Verdict:
        if shift.high is None or shift.high >= self._threshold:
            return "unsure"
        if shift.low is None or shift.low <= -self._threshold:
            return "no worse"
        return "same"

    def _merged(self, parts: Sequence["_Part"], level: Floats) -> list["_Part"]:
        """Neighbours with the same verdict become one, if their intervals meet."""
        found: list[_Part] = []
        for part in parts:
            before = found[-1] if found else None
            if before is None or before.verdict != part.verdict or not before.meets(part):
                found.append(part)
                continue
            shift = self._shift(level, before.start, part.end)
            found[-1] = _Part(before.start, part.end, shift, max(before.p, part.p), before.verdict)
        return found


@dataclass(frozen=True)
class _Part:
    """A range by the numbers of its sizes: `start` up to, without, `end`."""

    start: int
    end: int
    shift: Estimate
    p: float
    verdict: Verdict

    def overlaps(self, start: int, end: int) -> bool:
        return start < self.end and self.start < end

    def meets(self, other: "_Part") -> bool:
        low, high = self.shift.low, self.shift.high
        below, above = other.shift.low, other.shift.high
        if low is None or high is None or below is None or above is None:
            return False
        return low <= above and below <= high


def _strongest_first(strengths: Floats) -> list[tuple[int, int]]:
    """All ranges; of those that are equally strong the longer one first."""
    starts, lasts = np.triu_indices(len(strengths))
    order = np.lexsort((starts - lasts, -np.round(np.abs(strengths[starts, lasts]), 9)))
    return [(int(starts[at]), int(lasts[at]) + 1) for at in order]


def _covered(parts: Sequence[_Part], count: int) -> list[bool]:
    return [any(one.overlaps(at, at + 1) for one in parts) for at in range(count)]


def _runs(taken: Sequence[bool]) -> list[tuple[int, int]]:
    """Neighbours that are not taken."""
    found: list[tuple[int, int]] = []
    for at, one in enumerate(taken):
        if one:
            continue
        if found and found[-1][1] == at:
            found[-1] = (found[-1][0], at + 1)
        else:
            found.append((at, at + 1))
    return found
