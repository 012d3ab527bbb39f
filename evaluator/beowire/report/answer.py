# SPDX-License-Identifier: BSD-3-Clause
"""The first chart of a report: how fast each driver is beside TCP, and its switch to times and
rates. It is drawn as SVG in the page itself, so that it is there before any script has run.

Only drivers that somebody can choose between two nodes are in it. A band is the 95 % interval; a
hollow mark is a size without a significant difference from the baseline.
"""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape

from beowire import advice
from beowire.drawing import Scale, coordinate, ticks
from beowire.patterns import PATTERNS, Pattern
from beowire.record import Record, Summary
from beowire.report import headline, layers, palette, verdict
from beowire.report.curves import Cell, Curve, all_sizes, telling_sizes
from beowire.report.summary import BASELINE, ratio
from beowire.units import rate_text, significant, size_text, time_text

#: Of the two sizes in which each chart is drawn: for wide and for narrow screens, in pixels.
_WIDE, _NARROW = (1180, 270), (370, 280)
_LEFT, _RIGHT, _TOP, _BOTTOM = 62.0, 24.0, 10.0, 40.0
#: A label of the size axis takes so many pixels.
_LABEL = 52
#: Of a driver: marks of more sizes would hide one another.
_MOST_SIZES = 40
#: A speed axis reaches at least from the one to the other.
_LEAST_REACH = (0.5, 2.0)


@dataclass(frozen=True)
class Point:
    """A value of a driver at a size."""

    size: int
    value: float
    low: float
    high: float
    differs: bool


@dataclass(frozen=True)
class Line:
    """A driver's values."""

    name: str
    colour: str
    points: tuple[Point, ...]


@dataclass(frozen=True)
class View:
    """What the switch can show."""

    name: str
    label: str
    text: Callable[[float], str]
    better: str
    lines: tuple[Line, ...]


def chosen(records: Sequence[Record], by_pattern: dict[str, list[Curve]]) -> tuple[str, str]:
    """The verdict and the section with its chart, as HTML; empty where there are several records,
    or nothing to compare."""
    pattern = next((one for one in PATTERNS.values() if by_pattern.get(one.name)), None)
    if len(records) != 1 or pattern is None:
        return "", ""
    found = [curve for curve in by_pattern[pattern.name] if curve.load is None]
    said = headline.headline(records[0], found, pattern)
    shown = [
        curve
        for curve in verdict.within(records[0], found)
        if curve.driver in advice.able(records[0].meta.drivers)
    ]
    first = layers.shown_first([curve.driver for curve in shown])
    sizes = telling_sizes(all_sizes(shown), _MOST_SIZES)
    drawn = [
        replace(curve, cells=tuple(cell for cell in curve.cells if cell.size in sizes))
        for curve in shown
        if curve.driver in first
    ]
    views = list(_views([curve for curve in drawn if curve.cells], pattern))
    # A size is not broken from its unit.
    unbroken = re.sub(r"(\d) ([KMG]?i?B)\b", r"\1&nbsp;\2", escape(said))
    return (f"{unbroken}." if said else ""), (_section(views) if views else "")


def _views(found: Sequence[Curve], pattern: Pattern) -> Iterator[View]:
    base = next((curve for curve in found if curve.driver == BASELINE), None)
    if base is not None and len(found) > 1:
        lines = tuple(_relative(curve, base, pattern) for curve in found)
        text = f"speed relative to {BASELINE}"
        yield View("relative", f"Speed relative to TCP ({BASELINE})", _times_text, text, lines)
    if len(found) > 1 and pattern.is_times:
        lines = tuple(_absolute(curve, base, pattern, _time) for curve in found)
        yield View("time", pattern.title, time_text, "lower is better", lines)
    if len(found) > 1 and pattern.sized:
        lines = tuple(_absolute(curve, base, pattern, _rate) for curve in found)
        yield View("rate", "Throughput", rate_text, "higher is better", lines)


def _times_text(value: float) -> str:
    return f"{significant(value, 2)} ×"


def _time(cell: Cell) -> Summary | None:
    return cell.time


def _rate(cell: Cell) -> Summary | None:
    return cell.rate_bytes_per_s


def _outcomes(curve: Curve, base: Curve | None, pattern: Pattern) -> dict[int, bool]:
    """Of each size: whether it differs significantly from the baseline."""
    if base is None or base is curve:
        return {}
    far = (headline.Outcome.FASTER, headline.Outcome.SLOWER)
    return {one.size: one.outcome in far for one in headline.compared(curve, base, pattern)}


def _relative(curve: Curve, base: Curve, pattern: Pattern) -> Line:
    differs = _outcomes(curve, base, pattern)
    points = []
    for cell in curve.cells:
        other = base.at(cell.size)
        if other is None:
            continue
        if cell.time is not None and other.time is not None:
            speed = ratio(other.time, cell.time)
        else:
            speed = ratio(cell.rate_bytes_per_s, other.rate_bytes_per_s)
        low, high = speed.low or speed.value, speed.high or speed.value
        if curve is base:
            low = high = speed.value
        points.append(Point(cell.size, speed.value, low, high, differs.get(cell.size, True)))
    return Line(curve.driver, palette.look(curve.driver).colour, tuple(points))


def _absolute(
    curve: Curve, base: Curve | None, pattern: Pattern, figure: Callable[[Cell], Summary | None]
) -> Line:
    differs = _outcomes(curve, base, pattern)
    points = []
    for cell in curve.cells:
        value = figure(cell)
        if value is not None and value.median > 0:
            low, high = value.ci95 or (value.median, value.median)
            low = low if low > 0 else value.median
            points.append(Point(cell.size, value.median, low, high, differs.get(cell.size, True)))
    return Line(curve.driver, palette.look(curve.driver).colour, tuple(points))


def _section(views: Sequence[View]) -> str:
    inputs = "".join(
        f'<input type="radio" name="answer" id="answer-{view.name}"{" checked" * (at == 0)}>'
        f'<label for="answer-{view.name}">{escape(view.label)}</label>'
        for at, view in enumerate(views)
    )
    legend = "".join(
        f'<span><i class="swatch" style="background:{line.colour}"></i>{escape(line.name)}</span>'
        for line in views[0].lines
    )
    shown = "".join(
        f'<figure class="answer-{view.name}">{_chart(view, _WIDE, "wide")}'
        f"{_chart(view, _NARROW, 'narrow')}</figure>"
        for view in views
    )
    return (
        f'<section id="answer">{inputs}<p class="legend">{legend}<small>bands: 95 % intervals;'
        f" hollow marks: no significant difference from {BASELINE}; point at the chart for values"
        f"</small></p>{shown}</section>"
    )


def _chart(view: View, extent: tuple[int, int], kind: str) -> str:
    width, height = extent
    points = [point for line in view.lines for point in line.points]
    lows, highs = [one.low for one in points], [one.high for one in points]
    low, high = min(lows), max(highs)
    if view.name == "relative":
        low, high = min(low, _LEAST_REACH[0]), max(high, _LEAST_REACH[1])
    sizes = sorted({point.size for point in points})
    first, last = max(sizes[0], 1), max(sizes[-1], 2 * max(sizes[0], 1))
    across = Scale(first, last, _LEFT, width - _RIGHT, logarithmic=True)
    up = Scale(low * 0.95, high * 1.05, height - _BOTTOM, _TOP, logarithmic=True)
    parts = [*_grid(view, across, up, width, height)]
    for line in reversed(view.lines):
        parts += _drawn(line, across, up)
    if kind == "wide":
        parts += _values(view, sizes, across, height)
    label = f"{view.label} against message size; all values are in the table of results"
    return (
        f'<svg class="{kind}" viewBox="0 0 {width} {height}" role="img"'
        f' aria-label="{escape(label)}">{"".join(parts)}</svg>'
    )


def _grid(view: View, across: Scale, up: Scale, width: int, height: int) -> Iterator[str]:
    bottom = height - _BOTTOM
    for value in ticks(up.low, up.high, 10):
        y = coordinate(up(value))
        strong = ' class="one"' if view.name == "relative" and value == 1 else ""
        yield f'<line{strong} x1="{_LEFT:g}" x2="{coordinate(width - _RIGHT)}" y1="{y}" y2="{y}"/>'
        yield f'<text x="{_LEFT - 6:g}" y="{y}" dy="4" text-anchor="end">{view.text(value)}</text>'
    last = int(math.log2(across.high))
    marks = [2.0**power for power in range(math.ceil(math.log2(across.low)), last + 1)]
    step = -(-len(marks) * _LABEL // int(width - _LEFT - _RIGHT))
    for value in marks[:: step + step % 2]:
        x = coordinate(across(value))
        yield f'<line x1="{x}" x2="{x}" y1="{_TOP:g}" y2="{coordinate(bottom)}"/>'
        yield (
            f'<text x="{x}" y="{coordinate(bottom + 16)}" text-anchor="middle">'
            f"{size_text(int(value))}</text>"
        )
    yield (
        f'<text x="{coordinate((_LEFT + width - _RIGHT) / 2)}" y="{height - 6}"'
        f' text-anchor="middle" class="soft">message size · {escape(view.better)}</text>'
    )


def _drawn(line: Line, across: Scale, up: Scale) -> Iterator[str]:
    places = [(point, coordinate(across(max(point.size, 1)))) for point in line.points]
    if not places:
        return
    upper = [f"{x},{coordinate(up(point.high))}" for point, x in places]
    lower = [f"{x},{coordinate(up(point.low))}" for point, x in reversed(places)]
    path = " ".join(f"{x},{coordinate(up(point.value))}" for point, x in places)
    yield f'<polygon points="{" ".join(upper + lower)}" fill="{line.colour}" class="band"/>'
    yield f'<polyline points="{path}" fill="none" stroke="{line.colour}" stroke-width="2"/>'
    for point, x in places:
        fill = line.colour if point.differs else "var(--panel)"
        yield (
            f'<circle cx="{x}" cy="{coordinate(up(point.value))}" r="3" fill="{fill}"'
            f' stroke="{line.colour}"/>'
        )


def _values(view: View, sizes: Sequence[int], across: Scale, height: int) -> Iterator[str]:
    """Of each size a column that shows all values at it when a pointer is over it."""
    places = [across(max(size, 1)) for size in sizes]
    for at, size in enumerate(sizes):
        left = (places[at - 1] + places[at]) / 2 if at else across.begin
        right = (places[at] + places[at + 1]) / 2 if at + 1 < len(sizes) else across.end
        rows = [size_text(size)]
        for line in view.lines:
            for point in line.points:
                if point.size == size:
                    reach = f"{view.text(point.low)} to {view.text(point.high)}"
                    rows.append(f"{line.name}: {view.text(point.value)} ({reach})")
        yield (
            f'<rect x="{coordinate(left)}" y="{_TOP:g}" width="{coordinate(right - left)}"'
            f' height="{coordinate(height - _BOTTOM - _TOP)}" class="over">'
            f"<title>{escape(chr(10).join(rows))}</title></rect>"
        )
