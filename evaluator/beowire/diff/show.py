# SPDX-License-Identifier: BSD-3-Clause
"""A comparison as a table, as a sentence, and as JSON. Pure."""

import math
from collections.abc import Sequence
from typing import Any

from beowire.analysis.statistics import CONFIDENCE, Estimate
from beowire.diff.sides import range_text
from beowire.diff.verdict import (
    ADVISED_LAUNCHES,
    TAIL_THRESHOLDS,
    Comparison,
    Group,
    Lack,
    Range,
    SizeShift,
)
from beowire.plan.patterns import PATTERNS
from beowire.units import significant

#: Ranges that the sentence names; the table has all.
_MOST_NAMED = 3

_FIELDS = ("driver", "sizes", "B to A", "95 % interval", "B is")


def render(comparison: Comparison) -> str:
    """Tables, what is missing or differs besides, and the sentence; without a newline at the end,
    and with whatever the records have in them: whoever prints makes that visible."""
    first, second = comparison.sides
    threshold = _percent_of(comparison.threshold)
    parts = [
        f"A: {_records(first.records)} ({_launches(len(first.launches))})\n"
        f"B: {_records(second.records)} ({_launches(len(second.launches))})\n"
        f"Differences below {threshold}{_of_tails(comparison)}are ignored. If nothing differs,"
        " at most 5 % of comparisons report a difference."
    ]
    by_table: dict[tuple[str, str, bool], list[Group]] = {}
    for group in comparison.groups:
        key = group.key
        by_table.setdefault((key.pattern, key.load, key.is_tail), []).append(group)
    parts += [_table(groups) for groups in by_table.values()]
    lines = [_lack_text(lack, comparison) for lack in comparison.lacks]
    lines += [f"note: {note}" for note in comparison.notes]
    if lines:
        parts.append("\n".join(lines))
    parts.append(sentence(comparison))
    return "\n\n".join(parts)


def sentence(comparison: Comparison) -> str:
    """The verdict in words."""
    found = [(group, one) for group in comparison.groups for one in group.ranges]
    by_verdict = {
        name: [(group, one) for group, one in found if one.verdict == name]
        for name in ("worse", "better", "unsure")
    }
    # Of 99th percentiles that is the usual case, and decides nothing.
    by_verdict["unsure"] = [one for one in by_verdict["unsure"] if not one[0].key.is_tail]
    threshold = _percent_of(comparison.threshold)
    text = {
        "worse": f"B is worse than A: {_named(by_verdict['worse'])}",
        "no worse": f"B is no worse than A by {threshold} anywhere",
        "cannot tell": f"It is unclear whether B is worse than A by {threshold}",
    }[comparison.verdict]
    if comparison.verdict == "cannot tell":
        text += f": {_unsure(by_verdict['unsure'], comparison)}"
    if by_verdict["better"]:
        text += f"; it is better: {_named(by_verdict['better'])}"
    if comparison.verdict == "worse" and by_verdict["unsure"]:
        text += f"; unsure: {_places(by_verdict['unsure'])}"
    return f"{text}."


def as_json(comparison: Comparison) -> dict[str, Any]:
    """For programs: shares in per cent, times in ns, rates in bytes per second."""
    return {
        "verdict": comparison.verdict,
        "sentence": sentence(comparison),
        "threshold_percent": comparison.threshold * 100,
        "confidence": CONFIDENCE,
        "a": _side_json(comparison, 0),
        "b": _side_json(comparison, 1),
        "groups": [_group_json(group) for group in comparison.groups],
        "missing": [
            {**_key_json(lack.key), "sizes": list(lack.sizes), "side": lack.side.lower()}
            | {"reason": lack.reason or None}
            for lack in comparison.lacks
        ],
        "notes": comparison.notes,
    }


def change(shift: float, is_rate: bool) -> float:
    """Per cent that B's time, or rate, is above A's; of a shift of the logarithm of costs."""
    return 100 * math.expm1(-shift if is_rate else shift)


def _of_tails(comparison: Comparison) -> str:
    if not any(group.key.is_tail for group in comparison.groups):
        return " "
    return f" ({_percent_of(comparison.threshold * TAIL_THRESHOLDS)} of 99th percentiles) "


def _table(groups: Sequence[Group]) -> str:
    key = groups[0].key
    kind = PATTERNS.get(key.pattern)
    quantity = kind.title if kind else key.pattern
    if key.is_tail:
        quantity += ", 99th percentile"
    direction = "more" if groups[0].is_rate else "less"
    beside = f" beside the load {key.load}" if key.load else ""
    rows = [_FIELDS]
    for group in groups:
        for one in group.ranges:
            rows.append(
                (
                    group.key.driver if one is group.ranges[0] else "",
                    range_text(one.sizes),
                    _change_text(one.shift.value, group),
                    _interval_text(one.shift, group),
                    one.verdict,
                )
            )
    widths = [max(len(row[at]) for row in rows) for at in range(len(_FIELDS))]
    lines = [
        "  ".join(
            cell.rjust(width) if at in (2, 3) else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    return "\n".join([f"{quantity}{beside} ({direction} is better)", *lines])


def _named(found: Sequence[tuple[Group, Range]]) -> str:
    """The largest shifts in words."""
    ordered = sorted(found, key=lambda item: -abs(item[1].shift.value))
    texts = []
    for group, one in ordered[:_MOST_NAMED]:
        by = change(one.shift.value, group.is_rate)
        quantity = f"{'rate' if group.is_rate else 'time'} {'+' if by > 0 else '−'}"
        texts.append(
            f"{group.key.text()}, {range_text(one.sizes)}: {quantity}{_number(by)} %"
            f" ({_interval_text(one.shift, group)})"
        )
    more = len(found) - len(texts)
    return "; ".join(texts) + (f"; and {more} more" if more else "")


def _places(found: Sequence[tuple[Group, Range]]) -> str:
    texts = [f"{group.key.text()}, {range_text(one.sizes)}" for group, one in found[:_MOST_NAMED]]
    more = len(found) - len(texts)
    return "; ".join(texts) + (f"; and {more} more" if more else "")


def _unsure(found: Sequence[tuple[Group, Range]], comparison: Comparison) -> str:
    if not found:
        return "some of it failed, or has too few launches (see above)"
    launches = [len(side.launches) for side in comparison.sides]
    advice = (
        f"{ADVISED_LAUNCHES} launches of each are needed as a rule (there are {launches[0]} and"
        f" {launches[1]})"
        if min(launches) < ADVISED_LAUNCHES
        else "take more launches, or a larger --threshold"
    )
    return f"{_places(found)}; {advice}"


def _lack_text(lack: Lack, comparison: Comparison) -> str:
    where = f"{lack.key.text()}, {range_text(lack.sizes)}"
    if lack.reason:
        return f"{where}: {lack.side}: {lack.reason}"
    other = next(side.name for side in comparison.sides if side.name != lack.side)
    return f"{where}: only in {other}"


def _change_text(shift: float, group: Group) -> str:
    by = change(shift, group.is_rate)
    return f"{'+' if by >= 0 else '−'}{_number(by)} %"


def _interval_text(shift: Estimate, group: Group) -> str:
    if shift.low is None or shift.high is None:
        return "none"
    ends = sorted(change(end, group.is_rate) for end in (shift.low, shift.high))
    low, high = (f"{'+' if end >= 0 else '−'}{_number(end)}" for end in ends)
    return f"{low} to {high} %"


def _number(percent: float) -> str:
    """Without its sign: one digit after the point is all that is of interest below 100 %."""
    size = abs(percent)
    return f"{size:.1f}" if size < 100 else significant(size, 3)


def _percent_of(share: float) -> str:
    return f"{share * 100:g} %"


def _launches(count: int) -> str:
    return "1 launch" if count == 1 else f"{count} launches"


def _records(records: Sequence[Any]) -> str:
    paths = [str(record.path) for record in records]
    shown = paths if len(paths) <= _MOST_NAMED else [paths[0], "...", paths[-1]]
    return ", ".join(shown)


def _side_json(comparison: Comparison, at: int) -> dict[str, Any]:
    side = comparison.sides[at]
    return {
        "records": [str(record.path) for record in side.records],
        "launches": len(side.launches),
    }


def _key_json(key: Any) -> dict[str, Any]:
    return {"driver": key.driver, "pattern": key.pattern, "load": key.load or None}


def _group_json(group: Group) -> dict[str, Any]:
    return {
        **_key_json(group.key),
        "quantity": _quantity_of(group),
        "ranges": [
            {
                "sizes": list(one.sizes),
                **_shift_json(one.shift, group),
                "p_adjusted": one.p_adjusted,
                "verdict": one.verdict,
            }
            for one in group.ranges
        ],
        "sizes": [_size_json(one, group) for one in group.sizes],
    }


def _quantity_of(group: Group) -> str:
    if group.key.is_tail:
        return "p99_ns"
    return "rate_bytes_per_s" if group.is_rate else "time_ns"


def _size_json(one: SizeShift, group: Group) -> dict[str, Any]:
    a, b = (1 / median if group.is_rate else median for median in one.medians)
    return {
        "size": one.size,
        "launches": list(one.launches),
        "a": a,
        "b": b,
        **_shift_json(one.shift, group),
        "p": one.p,
        "p_adjusted": one.p_adjusted,
    }


def _shift_json(shift: Estimate, group: Group) -> dict[str, Any]:
    known = shift.low is not None and shift.high is not None
    ends = [change(end, group.is_rate) for end in (shift.low, shift.high) if end is not None]
    return {
        "change_percent": change(shift.value, group.is_rate),
        "ci95_percent": sorted(ends) if known else None,
    }
