# SPDX-License-Identifier: BSD-3-Clause
"""The charts of what load does: figures over how busy the processors are, and, of messages that are
sent at a rate, over how busy the network is as well: the surface, a line for each load."""

from collections.abc import Sequence

from beowire.errors import BeowireError
from beowire.load import parse_load
from beowire.record import Level
from beowire.report import palette
from beowire.report.axes import (
    BYTES_PER_MB,
    NS_PER_US,
    Figure,
    Trace,
    log_axis,
    marker,
    rounded,
    time_title,
    uid,
)
from beowire.report.curves import Cell, Curve, all_sizes, median_or_none
from beowire.report.hover import cell_text, chart_text
from beowire.units import count_rate_text, time_text

_NOTHING = "nothing"

#: A line of each load, in the order of loads.
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")


def over_load(curves: Sequence[Curve]) -> Figure:
    """What each driver does beside nothing and beside each load, one size at a time. Empty where
    there was no load."""
    levels = _levels(curves)
    choices: dict[str, list[Trace]] = {}
    for size in all_sizes(curves) if len(levels) > 1 else ():
        traces = []
        for record, driver in dict.fromkeys((one.record, one.driver) for one in curves):
            of_driver = [one for one in curves if (one.record, one.driver) == (record, driver)]
            by_level = {one.load or _NOTHING: one for one in of_driver}
            found = [
                (level, by_level[level], cell)
                for level in levels
                if level in by_level and (cell := by_level[level].at(size)) is not None
            ]
            if len(found) > 1:
                traces.append(_line(found))
        if traces:
            choices[str(size)] = traces
    times = bool(curves) and curves[0].kind.is_times
    layout: dict[str, object] = {
        "xaxis": {"type": "category", "title": {"text": "What ran besides"}},
        "yaxis": log_axis(time_title(curves) if times else "Throughput (MB/s)"),
        "hovermode": "closest",
    }
    return Figure(next(iter(choices.values()), []), layout, choices)


def over_both(curves: Sequence[Curve]) -> Figure:
    """Of messages sent at a rate: their time over the rate, a line for each driver and load, one
    size at a time. Empty where there was one rate only."""
    loads = _levels(curves)
    choices: dict[str, list[Trace]] = {}
    for size in all_sizes(curves):
        traces = [
            _rates(curve, levels, loads.index(curve.load or _NOTHING))
            for curve in curves
            if (cell := curve.at(size)) is not None and len(levels := _of_launches(cell)) > 1
        ]
        if traces:
            choices[str(size)] = traces
    layout: dict[str, object] = {
        "xaxis": log_axis("Messages sent a second"),
        "yaxis": log_axis("Time from when a message was due (µs)"),
        "hovermode": "closest",
    }
    return Figure(next(iter(choices.values()), []), layout, choices)


def _levels(curves: Sequence[Curve]) -> list[str]:
    """What ran besides, the least first: nothing, what gives way, more and more of a duty."""
    return sorted({curve.load or _NOTHING for curve in curves}, key=_weight)


def _weight(level: str) -> tuple[int, int, str]:
    try:
        load = parse_load(level)
    except BeowireError:
        return (0 if level == _NOTHING else 9), 0, level
    order = ("idle", "duty", "memory", "hog").index(load.kind) + 1
    return order, load.percent - load.nice, level


def _line(found: Sequence[tuple[str, Curve, Cell]]) -> Trace:
    curve = found[0][1]
    times = curve.kind.is_times
    values = [
        cell.time.median / NS_PER_US
        if times and cell.time is not None
        else cell.rate_bytes_per_s.median / BYTES_PER_MB
        for _, _, cell in found
    ]
    ends = [
        (cell.time.p99 or cell.time.median) / NS_PER_US if times and cell.time is not None else None
        for _, _, cell in found
    ]
    trace: Trace = {
        "type": "scatter",
        "mode": "lines+markers",
        "name": chart_text(curve.driver if curve.load is None else curve.label),
        "meta": {"driver": curve.driver},
        "uid": uid("load", curve.record, curve.driver),
        "x": [level for level, _, _ in found],
        "y": [rounded(value) for value in values],
        "text": [cell_text(one, cell) for _, one, cell in found],
        "hovertemplate": "%{text}<extra></extra>",
        "marker": marker(curve, 8),
        "line": {
            "color": palette.look(curve.driver).colour,
            "width": 2,
            "dash": _DASHES[curve.record % len(_DASHES)],
        },
    }
    if times:
        trace["error_y"] = {
            "type": "data",
            "symmetric": False,
            "array": [
                rounded(max(0.0, (end or value) - value))
                for value, end in zip(values, ends, strict=True)
            ],
            "arrayminus": [0.0 for _ in values],
            "color": palette.look(curve.driver).colour,
        }
    return trace


def _rates(curve: Curve, levels: Sequence[Level], load: int) -> Trace:
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": chart_text(curve.label),
        "meta": {"driver": curve.driver},
        "uid": uid("rate", curve.label),
        "x": [rounded(one.rate_messages_per_s) for one in levels],
        "y": [rounded(one.time_ns.median / NS_PER_US) for one in levels],
        "text": [_level_text(curve, one) for one in levels],
        "hovertemplate": "%{text}<extra></extra>",
        "marker": marker(curve, 8),
        "line": {
            "color": palette.look(curve.driver).colour,
            "width": 2,
            "dash": _DASHES[load % len(_DASHES)],
        },
        "error_y": {
            "type": "data",
            "symmetric": False,
            "array": [
                rounded(
                    max(0.0, (one.time_ns.p99 or one.time_ns.median) - one.time_ns.median) / 1e3
                )
                for one in levels
            ],
            "arrayminus": [0.0 for _ in levels],
            "color": palette.look(curve.driver).colour,
        },
    }


def _level_text(curve: Curve, level: Level) -> str:
    time = level.time_ns
    share = "" if level.share is None else f" ({level.share:.0%} of the loss-free rate)"
    tail = "" if time.p99 is None else f", p99 {time_text(time.p99)}"
    return "<br>".join(
        (
            f"<b>{chart_text(curve.label)}</b>",
            f"{count_rate_text(level.rate_messages_per_s)}{share}",
            f"median {time_text(time.median)}{tail}; {level.lost:,} lost, {level.late:,} late",
        )
    )


def _of_launches(cell: Cell) -> list[Level]:
    """The levels of the launches: those of one, or what is in the middle of several."""
    every = [one.levels for one in cell.launches if one.levels]
    if len(every) < 2:
        return list(every[0]) if every else []
    count = min(map(len, every))
    return [_middle([levels[at] for levels in every]) for at in range(count)]


def _middle(levels: Sequence[Level]) -> Level:
    ordered = sorted(levels, key=lambda one: one.time_ns.median)
    middle = ordered[(len(ordered) - 1) // 2]
    rate = median_or_none([one.rate_messages_per_s for one in levels])
    return middle.model_copy(update={"rate_messages_per_s": rate})
