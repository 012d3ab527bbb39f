# SPDX-License-Identifier: BSD-3-Clause
"""The charts over message size, as plain plotly figures: latency, throughput, CPU.

Times are drawn in µs, rates in MB/s (10**6 bytes per second). All axes are logarithmic, so what is
not above zero is left out.
"""

from collections.abc import Callable, Sequence

from beowire.patterns import DEFAULT, Pattern
from beowire.record import Record, Summary
from beowire.report import palette, wire
from beowire.report.axes import (
    BYTES_PER_MB,
    NS_PER_S,
    NS_PER_US,
    Figure,
    Trace,
    log_axis,
    marker,
    positive,
    rounded,
    size_axis,
    size_layout,
    stroke,
    time_title,
    uid,
)
from beowire.report.curves import Cell, Curve, all_sizes
from beowire.report.hover import cell_text, chart_text, cpu_text
from beowire.units import bit_rate_text, count_rate_text, rate_text, significant, size_text

#: More points than this on a curve get smaller marks.
_MANY = 40


def latency(curves: Sequence[Curve], records: Sequence[Record]) -> Figure:
    """The pattern's time against size, with what the wire alone would take."""
    sizes = all_sizes(curves)
    traces = [
        _line(curve, [cell for cell in curve.cells if positive(cell.time)], _time_us)
        for curve in curves
    ]
    traces += _wire_time(records, curves)
    return Figure(traces, size_layout(sizes, time_title(curves)))


def throughput(curves: Sequence[Curve], records: Sequence[Record]) -> Figure:
    """Throughput against size, below the wire's limit."""
    sizes = all_sizes(curves)
    traces = [_line(curve, list(curve.cells), _rate_mb) for curve in curves]
    traces += _wire_rate(records, sizes, curves[0].kind if curves else DEFAULT)
    return Figure(traces, size_layout(sizes, "Throughput (MB/s)"))


def cpu(curves: Sequence[Curve]) -> Figure:
    """CPU time per message at either end, user and system together."""
    traces = [
        trace for curve in curves for end in (0, 1) if (trace := _cpu_line(curve, end)) is not None
    ]
    return Figure(traces, _two_ends(all_sizes(curves), "CPU time per message (µs)"))


def interrupts(curves: Sequence[Curve]) -> Figure:
    """Interrupts a second of the machines at either end."""
    traces = []
    for curve in curves:
        for end in (0, 1):
            known = [
                (cell, value)
                for cell in curve.cells
                if (value := cell.figure("interrupts", end)) is not None
            ]
            if trace := _end_line(curve, end, known, count_rate_text):
                traces.append(trace)
    return Figure(traces, _two_ends(all_sizes(curves), "Interrupts per second"))


def demand(curves: Sequence[Curve]) -> Figure:
    """CPU time of both ends to 1024 bytes."""
    traces = []
    for curve in curves:
        known = [
            (cell, value)
            for cell in curve.cells
            if (value := cell.service_demand_us_per_kb) is not None
        ]
        if trace := _end_line(curve, 0, known, lambda value: f"{significant(value)} µs/KB"):
            traces.append({name: part for name, part in trace.items() if "axis" not in name})
    return Figure(traces, size_layout(all_sizes(curves), "CPU time (µs/KB)"))


def _two_ends(sizes: Sequence[int], title: str) -> dict[str, object]:
    """The layout of two charts side by side, of the initiator and of the responder."""
    layout = size_layout(sizes, title)
    layout["xaxis"] = size_axis(sizes, ticks=6)
    layout["grid"] = {"rows": 1, "columns": 2, "pattern": "independent", "xgap": 0.12}
    layout["xaxis2"] = size_axis(sizes, ticks=6)
    layout["yaxis2"] = log_axis("") | {"matches": "y"}
    layout["annotations"] = [
        {
            "text": f"<b>{end}</b>",
            "xref": f"x{axis} domain",
            "yref": f"y{axis} domain",
            "x": 0.02,
            "y": 0.98,
            "xanchor": "left",
            "yanchor": "top",
            "showarrow": False,
        }
        for axis, end in (("", "initiator"), ("2", "responder"))
    ]
    return layout


def _end_line(
    curve: Curve, end: int, points: Sequence[tuple[Cell, float]], text: Callable[[float], str]
) -> Trace | None:
    """A quantity of one end against size; None if it never is above zero."""
    known = [(cell, value) for cell, value in points if value > 0]
    if not known:
        return None
    return _at_end(curve, end) | {
        "x": [cell.size for cell, _ in known],
        "y": [rounded(value) for _, value in known],
        "text": [
            f"<b>{chart_text(curve.label)}</b>, {size_text(cell.size)}<br>{text(value)}"
            for cell, value in known
        ],
    }


def _at_end(curve: Curve, end: int) -> Trace:
    """What all lines of one end of a driver have."""
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": chart_text(curve.label),
        "meta": {"driver": curve.driver},
        "uid": uid(end, curve.label),
        "legendgroup": curve.label,
        "showlegend": end == 0,
        "hovertemplate": "%{text}<extra></extra>",
        "line": stroke(curve),
        "marker": marker(curve, 6),
        "xaxis": "x2" if end else "x",
        "yaxis": "y2" if end else "y",
    }


def wire_text(record: Record) -> str:
    """What the wire's limit is, in words: `117 MB/s of payload: 1 Gbit/s, MTU 1500`."""
    if record.meta.wire is None:
        return ""
    link = record.meta.link
    facts = [bit_rate_text(link.rate_bits_per_s)] if link.rate_bits_per_s else []
    facts += [f"MTU {link.mtu}"] if link.mtu else []
    limit = rate_text(record.meta.wire.payload_bytes_per_s)
    return f"{limit} of payload" + (f": {', '.join(facts)}" if facts else "")


def burst_text(record: Record) -> str:
    """Why points may lie beyond the wire's line, in a sentence; empty where they cannot."""
    burst_bytes = record.meta.link.burst_bytes
    if record.meta.wire is None or not burst_bytes:
        return ""
    return (
        f"The lab's shaper lets {burst_bytes / 1e3:.3g} kB pass at once after each pause, so a"
        " ping-pong of messages up to about that size can be faster than this wire."
    )


def _line(curve: Curve, cells: list[Cell], value: Callable[[Cell], Summary]) -> Trace:
    """Points, the line through them, and the 95 % interval of each as a bar."""
    figures = [value(cell) for cell in cells]
    look = palette.look(curve.driver)
    high = [(figure.ci95[1] if figure.ci95 else figure.median) for figure in figures]
    low = [(figure.ci95[0] if figure.ci95 else figure.median) for figure in figures]
    medians = [figure.median for figure in figures]
    meaning = palette.BOUND_MEANING.get(curve.driver)
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": chart_text(curve.label) + (f" <i>({meaning})</i>" if meaning else ""),
        "meta": {"driver": curve.driver},
        "uid": uid(curve.label),
        "x": [cell.size for cell in cells],
        "y": [rounded(median) for median in medians],
        "error_y": {
            "type": "data",
            "symmetric": False,
            "array": [rounded(max(0.0, a - b)) for a, b in zip(high, medians, strict=True)],
            "arrayminus": [rounded(max(0.0, a - b)) for a, b in zip(medians, low, strict=True)],
            "color": look.colour,
            "thickness": 1.2,
            "width": 3,
        },
        "text": [cell_text(curve, cell) for cell in cells],
        "hovertemplate": "%{text}<extra></extra>",
        "line": stroke(curve),
        "marker": marker(curve, 7 if len(cells) <= _MANY else 5),
    }


def _wire_time(records: Sequence[Record], curves: Sequence[Curve]) -> list[Trace]:
    """How long the wire alone takes: from where that begins to matter up to the largest size."""
    halves = [half.median for curve in curves for cell in curve.cells if (half := cell.time)]
    floor_ns = min((half for half in halves if half > 0), default=1.0)
    traces = []
    for number, record in enumerate(wire.different(records)):
        times = {size: wire.time_ns(record, size) for size in all_sizes(curves) if size > 0}
        ends = [size for size, time in times.items() if time >= floor_ns]
        if len(ends) > 1:
            drawn = [times[size] / NS_PER_US for size in ends]
            traces.append(_wire_line("the wire alone", number, record, ends, drawn))
    return traces


def _wire_rate(records: Sequence[Record], sizes: Sequence[int], kind: Pattern) -> list[Trace]:
    """What the wire carries: of messages that take turns one at a time, of others back to back."""
    name = "the wire’s limit" + (", all ways together" if kind.ways > 1 else "")
    ends = [size for size in sizes if size > 0]
    traces = []
    for number, record in enumerate(wire.different(records) if ends else []):
        limit = record.meta.wire
        if kind.is_times:
            rates = [size / wire.time_ns(record, size) * NS_PER_S / BYTES_PER_MB for size in ends]
            traces.append(_wire_line(name, number, record, ends, rates))
        elif limit is not None:
            rates = [kind.ways * limit.payload_bytes_per_s / BYTES_PER_MB] * 2
            traces.append(_wire_line(name, number, record, [ends[0], ends[-1]], rates))
    return traces


def _wire_line(name: str, number: int, record: Record, x: list[int], y: list[float]) -> Trace:
    return {
        "type": "scatter",
        "mode": "lines+text",
        "name": name,
        "meta": {"wire": True},
        "uid": uid("wire", number),
        "x": x,
        "y": [rounded(value) for value in y],
        # A curve would go through its own name: the legend has it.
        "text": [name if y[0] == y[-1] else "", *[""] * (len(x) - 1)],
        "textposition": "top right",
        "cliponaxis": False,
        "hovertemplate": f"{name}: {chart_text(wire_text(record))}<extra></extra>",
        "line": {"dash": "dash", "width": 1.5},
    }


def _cpu_line(curve: Curve, end: int) -> Trace | None:
    costs = [(cell, cost) for cell in curve.cells if (cost := cell.cpu(end)) is not None]
    costs = [(cell, cost) for cell, cost in costs if cost.user_ns + cost.system_ns > 0]
    if not costs:
        return None
    return _at_end(curve, end) | {
        "x": [cell.size for cell, _ in costs],
        "y": [rounded((cost.user_ns + cost.system_ns) / NS_PER_US) for _, cost in costs],
        "text": [cpu_text(curve, cell, cost) for cell, cost in costs],
    }


def _time_us(cell: Cell) -> Summary:
    assert cell.time is not None  # the caller leaves others out
    return _scale(cell.time, 1 / NS_PER_US)


def _rate_mb(cell: Cell) -> Summary:
    return _scale(cell.rate_bytes_per_s, 1 / BYTES_PER_MB)


def _scale(summary: Summary, factor: float) -> Summary:
    return Summary(
        median=summary.median * factor,
        ci95=None if summary.ci95 is None else (summary.ci95[0] * factor, summary.ci95[1] * factor),
        p90=None,
        p99=None,
        min=summary.min * factor,
        max=summary.max * factor,
    )
