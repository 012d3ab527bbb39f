# SPDX-License-Identifier: BSD-3-Clause
"""The result of a run in one sentence: how fast Beowire is beside TCP, over which sizes. Pure.

At each size the two are compared by their 95 % intervals and by `advice.ALIKE`, the difference
that two launches of the same driver may have. Neighbouring sizes with the same outcome are one
range. A single size without a significant difference between two ranges of the same outcome is
counted with them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from itertools import groupby

from beowire.analysis import advice, marks, verdict
from beowire.analysis.curves import BASELINE, SUBJECT, Curve, ratio
from beowire.plan.patterns import Pattern
from beowire.record.reader import Record
from beowire.units import significant, size_text

#: Ranges of sizes that one sentence can hold.
_MOST_RANGES = 3

_NAMES = {SUBJECT: "Beowire", BASELINE: f"TCP ({BASELINE})", "tcp": "TCP (blocking)"}


class Outcome(Enum):
    """The subject compared with the baseline at one size."""

    FASTER = auto()
    SLOWER = auto()
    ALIKE = auto()
    UNKNOWN = auto()
    """There were too few rounds for an interval."""


@dataclass(frozen=True)
class At:
    """One size."""

    size: int
    outcome: Outcome
    speed: float
    """The subject's speed divided by the baseline's."""


def headline(record: Record, found: Sequence[Curve], pattern: Pattern) -> str:
    """The sentence, without a full stop, about the curves of one record, pattern and load; empty
    if there are not two drivers to compare. If other programs disturbed the run, it says so."""
    return ". But ".join(one for one in parts(record, found, pattern) if one)


def parts(record: Record, found: Sequence[Curve], pattern: Pattern) -> tuple[str, str]:
    """The sentence, and what disturbed the run."""
    shown = verdict.within(record, found)
    by_name = {curve.driver: curve for curve in shown}
    if SUBJECT in by_name:
        for base in (BASELINE, "tcp"):
            if base in by_name:
                sizes = compared(by_name[SUBJECT], by_name[base], pattern)
                return _with_disturbance(record, sentence(SUBJECT, base, sizes))
    rows = advice.verdicts(shown, pattern, record.meta.drivers)
    if not rows:
        return "", ""
    known = [f"{use} for {span}" for span, use, _, _ in rows if use][:_MOST_RANGES]
    return _with_disturbance(record, f"Fastest: {'; '.join(known)}" if known else "")


def compared(subject: Curve, base: Curve, pattern: Pattern) -> list[At]:
    """Each size that both have, by rising size."""
    found = []
    for cell in subject.cells:
        other = base.at(cell.size)
        if other is None:
            continue
        if pattern.is_times and cell.time is not None and other.time is not None:
            speed = ratio(other.time, cell.time)
        else:
            speed = ratio(cell.rate_bytes_per_s, other.rate_bytes_per_s)
        if speed.low is None or speed.high is None:
            outcome = Outcome.UNKNOWN
        elif speed.low > 1 and speed.value > 1 + advice.ALIKE:
            outcome = Outcome.FASTER
        elif speed.high < 1 and speed.value < 1 / (1 + advice.ALIKE):
            outcome = Outcome.SLOWER
        else:
            outcome = Outcome.ALIKE
        found.append(At(cell.size, outcome, speed.value))
    return found


def open_text(sizes: Sequence[At]) -> str:
    """Where the two do not differ significantly: `no significant difference between beowire and
    tcp-spin at 256 KiB and from 1 MiB to 2 MiB`."""
    runs = groupby(sizes, key=lambda one: one.outcome in (Outcome.ALIKE, Outcome.UNKNOWN))
    places = [_place(list(run), 1, 2) for is_open, run in runs if is_open]
    where = f"{', '.join(places[:-1])} and {places[-1]}" if len(places) > 1 else "".join(places)
    return f"no significant difference between {SUBJECT} and {BASELINE} {where or 'at no size'}"


def _with_disturbance(record: Record, said: str) -> tuple[str, str]:
    busy = marks.used_by_others(record)
    if not said:
        return f"Inconclusive: {busy or f'there were too few rounds; {advice.REMEDY}'}", ""
    return said, f"{busy}: repeat this on an idle machine" if busy else ""


def sentence(subject: str, base: str, sizes: Sequence[At]) -> str:
    """The comparison of two drivers in words; empty if nothing is known."""
    known = [one for one in sizes if one.outcome is not Outcome.UNKNOWN]
    ranges = _ranges(known)
    if not ranges:
        return ""
    us, them = _NAMES[subject], _NAMES[base]
    rest: list[At] = []
    if len(ranges) > _MOST_RANGES:
        if 2 * len(ranges[0]) < len(known):
            return _counted(us, them, known)
        # What most sizes have in common, and between what the others are.
        rest = [one for some in ranges[1:] for one in some]
        ranges = ranges[:1]
    said: list[str] = []
    for index, one in enumerate(ranges):
        outcome = one[0].outcome
        at = _place(one, index, len(ranges) + len(rest))
        if outcome is Outcome.ALIKE:
            text = "no significant difference" if said else f"{us} and {them} do not differ"
        elif outcome is Outcome.FASTER:
            text = f"{us} is {_times(one)} as fast as {them}"
        else:
            text = f"{them} is {_times(one, inverse=True)} as fast"
            text += "" if said else f" as {us}"
        said.append(f"{at} {text}")
    if rest:
        # Speeds without a significant difference may be chance.
        decided = [one for one in rest if one.outcome is not Outcome.ALIKE]
        where = "" if len(decided) == len(rest) else ", where the difference is significant"
        said.append(f"{_place(rest, 1, 2)} {us} is {_times(decided)} as fast{where}")
    text = "; ".join(said)
    return text[0].upper() + text[1:]


def _ranges(sizes: Sequence[At]) -> list[list[At]]:
    """Neighbouring sizes of one outcome. A size without a significant difference does not end a
    range, and its speed, which may be chance, counts for no more than those beside it."""
    found = list(sizes)
    for index in range(1, len(found) - 1):
        before, one, after = found[index - 1 : index + 2]
        if one.outcome is Outcome.ALIKE and before.outcome is after.outcome:
            low, high = sorted((before.speed, after.speed))
            better = before.outcome is Outcome.FASTER
            speed = min(one.speed, high) if better else max(one.speed, low)
            found[index] = At(one.size, before.outcome, speed)
    return [list(run) for _, run in groupby(found, key=lambda one: one.outcome)]


def _place(one: Sequence[At], index: int, count: int) -> str:
    """`up to 8 KiB`, `from 64 KiB to 1 MiB`, `at 64 KiB`."""
    low, high = size_text(one[0].size), size_text(one[-1].size)
    if low == high:
        return f"at {low}"
    if index == 0 and count > 1:
        return f"up to {high}"
    return f"from {low} to {high}"


def _times(one: Sequence[At], *, inverse: bool = False) -> str:
    """`1.2 to 2.1 times`."""
    speeds = [1 / at.speed if inverse else at.speed for at in one]
    low, high = significant(min(speeds), 2), significant(max(speeds), 2)
    return f"{low} times" if low == high else f"{low} to {high} times"


def _counted(us: str, them: str, sizes: Sequence[At]) -> str:
    """Where outcomes change from size to size."""
    faster = sum(one.outcome is Outcome.FASTER for one in sizes)
    slower = sum(one.outcome is Outcome.SLOWER for one in sizes)
    decided = [one for one in sizes if one.outcome is not Outcome.ALIKE]
    return (
        f"{us} is faster than {them} at {faster} of {len(sizes)} sizes and slower at {slower}"
        f" ({_times(decided)} as fast)"
    )
