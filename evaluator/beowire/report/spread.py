# SPDX-License-Identifier: BSD-3-Clause
"""The charts of how much the messages differ: tails at a few sizes, distributions at one."""

from collections.abc import Sequence

from beowire.record import Record, Summary
from beowire.report import palette, wire
from beowire.report.axes import (
    NS_PER_US,
    Figure,
    Trace,
    log_axis,
    marker,
    rounded,
    size_layout,
    stroke,
    time_title,
    uid,
)
from beowire.report.curves import Cell, Curve, all_sizes, distribution, telling_sizes
from beowire.report.hover import cell_text, chart_text
from beowire.units import size_text

_WIRE = "the wire alone"


def tails(curves: Sequence[Curve], records: Sequence[Record] = ()) -> Figure:
    """At a few sizes: median, p90 and p99 of each driver, side by side, and what the wire alone
    takes."""
    sizes = telling_sizes(all_sizes(curves))
    traces: list[Trace] = []
    for curve in curves:
        points = [
            (cell, half)
            for size in sizes
            if (cell := curve.at(size)) and (half := cell.time) and half.median > 0
        ]
        traces.append(_medians_to_p99(curve, points))
        traces.append(_p90(curve, points))
    traces += [
        _wire_marks(number, record, sizes) for number, record in enumerate(wire.different(records))
    ]
    layout = size_layout(sizes, time_title(curves))
    layout["scattermode"] = "group"
    layout["scattergap"] = 0.3
    layout["xaxis"] = {
        "type": "category",
        "categoryorder": "array",
        "categoryarray": [size_text(size) for size in sizes],
        "title": {"text": "Message size"},
        "showgrid": False,
    }
    return Figure(traces, layout)


def distributions(curves: Sequence[Curve], records: Sequence[Record] = ()) -> Figure:
    """The cumulative distribution of the times, one size at a time, beside what the wire takes."""
    choices: dict[str, list[Trace]] = {}
    for size in all_sizes(curves):
        cells = [(curve, cell) for curve in curves if (cell := curve.at(size))]
        traces = [trace for curve, cell in cells if (trace := _distribution(curve, cell))]
        if traces:
            upright = [
                _wire_upright(number, record, size)
                for number, record in enumerate(wire.different(records))
            ]
            choices[str(size)] = traces + upright
    layout: dict[str, object] = {
        "xaxis": log_axis(time_title(curves)),
        "yaxis": {"title": {"text": "Share of messages (%)"}, "range": [0, 101]},
        "hovermode": "closest",
    }
    return Figure(next(iter(choices.values()), []), layout, choices)


def exceedances(curves: Sequence[Curve]) -> Figure:
    """Which share of the messages takes longer than a time, one size at a time: the distribution
    from its other end, where the slow ones are."""
    choices: dict[str, list[Trace]] = {}
    for size in all_sizes(curves):
        cells = [(curve, cell) for curve in curves if (cell := curve.at(size))]
        traces = [trace for curve, cell in cells if (trace := _exceedance(curve, cell))]
        if traces:
            choices[str(size)] = traces
    layout: dict[str, object] = {
        "xaxis": log_axis(time_title(curves)),
        "yaxis": log_axis("Slower messages (%)"),
        "hovermode": "closest",
    }
    return Figure(next(iter(choices.values()), []), layout, choices)


def _medians_to_p99(curve: Curve, points: Sequence[tuple[Cell, Summary]]) -> Trace:
    reach = [(half.p99 or half.p90 or half.median) - half.median for _, half in points]
    return _grouped(curve, points) | {
        "y": [rounded(half.median / NS_PER_US) for _, half in points],
        "marker": marker(curve, 9),
        "error_y": {
            "type": "data",
            "symmetric": False,
            "array": [rounded(max(0.0, value) / NS_PER_US) for value in reach],
            "arrayminus": [0.0 for _ in reach],
            "color": palette.look(curve.driver).colour,
            "thickness": 2,
            "width": 5,
        },
    }


def _p90(curve: Curve, points: Sequence[tuple[Cell, Summary]]) -> Trace:
    known = [(cell, half) for cell, half in points if half.p90]
    return _grouped(curve, known) | {
        "showlegend": False,
        "uid": uid("p90", curve.label),
        "y": [rounded((half.p90 or 0) / NS_PER_US) for _, half in known],
        "marker": {
            "symbol": "line-ew",
            "size": 11,
            "line": {"width": 2, "color": palette.look(curve.driver).colour},
        },
    }


def _wire_marks(number: int, record: Record, sizes: Sequence[int]) -> Trace:
    """A stroke at each size."""
    return {
        "type": "scatter",
        "mode": "markers",
        "name": _WIRE,
        "meta": {"wire": True},
        "uid": uid("wire", number),
        "offsetgroup": "wire",
        "x": [size_text(size) for size in sizes],
        "y": [rounded(wire.time_ns(record, size) / NS_PER_US) for size in sizes],
        "hovertemplate": f"{_WIRE}: %{{y:.4~g}} µs<extra></extra>",
        "marker": {"symbol": "line-ew", "size": 14, "line": {"width": 2}},
    }


def _wire_upright(number: int, record: Record, size: int) -> Trace:
    """A line at the time before which no message can be there."""
    at = rounded(wire.time_ns(record, size) / NS_PER_US)
    return {
        "type": "scatter",
        "mode": "lines",
        "name": _WIRE,
        "meta": {"wire": True},
        "uid": uid("wire", number),
        "x": [at, at],
        "y": [0, 100],
        "hovertemplate": f"{_WIRE}: %{{x:.4~g}} µs<extra></extra>",
        "line": {"dash": "dash", "width": 1.5},
    }


def _grouped(curve: Curve, points: Sequence[tuple[Cell, Summary]]) -> Trace:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": chart_text(curve.label),
        "meta": {"driver": curve.driver},
        "uid": uid(curve.label),
        "offsetgroup": curve.label,
        "legendgroup": curve.label,
        "x": [size_text(cell.size) for cell, _ in points],
        "text": [cell_text(curve, cell) for cell, _ in points],
        "hovertemplate": "%{text}<extra></extra>",
    }


def _distribution(curve: Curve, cell: Cell) -> Trace | None:
    points = [(value, share) for value, share in distribution(curve, cell) if value > 0]
    if not points:
        return None
    name = chart_text(curve.label)
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "meta": {"driver": curve.driver},
        "x": [rounded(value / NS_PER_US) for value, _ in points],
        "y": [round(share * 100, 4) for _, share in points],
        "uid": uid(curve.label),
        "line": stroke(curve),
        "hovertemplate": "%{y:.4~g} % of the messages took<br>at most %{x:.4~g} µs"
        "<extra>%{fullData.name}</extra>",
    }


def _exceedance(curve: Curve, cell: Cell) -> Trace | None:
    """Up to the last bucket but one: beyond the last there is nothing, which has no logarithm."""
    points = [
        (value, 1 - share)
        for value, share in distribution(curve, cell, slow=True)
        if value > 0 and share < 1
    ]
    if not points:
        return None
    return {
        "type": "scatter",
        "mode": "lines",
        "name": chart_text(curve.label),
        "meta": {"driver": curve.driver},
        "x": [rounded(value / NS_PER_US) for value, _ in points],
        "y": [rounded(100 * above) for _, above in points],
        "uid": uid("above", curve.label),
        "line": stroke(curve) | {"shape": "hv"},
        "hovertemplate": "%{y:.3~g} % of the messages took<br>longer than %{x:.4~g} µs"
        "<extra>%{fullData.name}</extra>",
    }
