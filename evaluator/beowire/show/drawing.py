# SPDX-License-Identifier: BSD-3-Clause
"""Charts as SVG: lines over two axes, and rows of bars. The report and the pictures of documents
are drawn here. Pure, and the same text of the same figures, so that a picture in a repository
changes only with what it shows.

A chart fills the width that it is given. Lines are in an inner `svg` that is stretched to it, while
strokes, dots and texts keep their size; what is not stretched is placed by percentages. So one
drawing is right on wide screens, on phones and on paper, before any script has run. Nothing depends
on colour alone: the name of a line is at its end.
"""

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

#: What the parts of a chart look like, in a page and in a picture by itself, which has no variables
#: and takes the colours behind the commas.
STYLE = """\
.plot text { fill: var(--ink, #333); font: 12px system-ui, sans-serif; }
.plot .soft { fill: var(--soft, #666); }
.plot line { stroke: var(--grid, #ddd); }
.plot .strong, .plot .whisker { stroke: var(--ink, #333); }
.plot polygon { stroke: none; opacity: 0.18; }
.plot polyline, .plot path { fill: none; stroke-width: 2; vector-effect: non-scaling-stroke; }
.plot path { stroke-width: 6; stroke-linecap: round; }
.plot .hollow { stroke: var(--panel, #fff); stroke-width: 3.5; }
.plot .over { fill: transparent; }
.plot .open { fill: var(--soft, #666); opacity: 0.15; }
.plot .value { font-weight: 600; paint-order: stroke; stroke: var(--panel, #fff); stroke-width: 3; }
"""

#: Of a picture by itself, in pixels, and of the area in which it has lines.
WIDTH = 780
_LEFT, _TOP, _BOTTOM, _NAMES = 72, 50, 44, 210
_HEIGHT, _PAGE_HEIGHT = 300, 225
#: The units of the inner drawing: whole numbers are fine enough.
_ACROSS, _UP = 4000, 2000

_MOST_TICKS, _PHONE_TICKS = 9, 6
_LINE = 15
"""Pixels from one line of text to the next."""
_ROW = 34
"""Pixels from one row of bars to the next: its name, and the bar below it."""
_LETTER = 7.2
"""Pixels of a letter, about."""
_SPARE = 1.5
"""An interval may make the scale of bars so many times as long as the bars need."""

Text = Callable[[float], str]


class Nothing(Exception):
    """There is nothing to draw; the message is the title."""


class Point(NamedTuple):
    """A value, and how far it may be wrong."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None
    hollow: bool = False
    """It does not differ significantly from what it is compared with."""
    label: str = ""
    """Its value, written beside it."""


@dataclass(frozen=True)
class Curve:
    """Points by rising x."""

    name: str
    colour: str
    points: tuple[Point, ...]
    dashed: bool = False
    """A bound, or what is only beside the others."""
    dotted: bool = True
    """Each point has a dot; of many they would hide one another."""


@dataclass(frozen=True)
class Axis:
    """What an axis is of."""

    title: str
    text: Text
    """A value for people."""
    base: int | None = None
    """Logarithmic, with ticks at powers of this; None: linear, with 0."""
    least: tuple[float, float] | None = None
    """It reaches at least from the one to the other."""
    marks: tuple[float, ...] = ()
    """Its ticks; none: round values."""
    strong: float | None = None
    """The value whose line stands out: that with which the others are compared."""


@dataclass(frozen=True)
class Interval:
    """How far a value may be wrong."""

    low: float
    high: float


@dataclass(frozen=True)
class Bar:
    """A part of a row."""

    name: str
    """The legend's, if there are several."""
    colour: str
    value: float


@dataclass(frozen=True)
class Row:
    """Bars one behind the other, and what is said above them."""

    name: str
    bars: tuple[Bar, ...]
    interval: Interval | None = None
    """That of all of it."""


@dataclass(frozen=True)
class Scale:
    """From values to shares of an axis, 0 to 1; calling it converts."""

    low: float
    high: float
    logarithmic: bool

    def __call__(self, value: float) -> float:
        """The place of a value."""
        low, high = self._inner(self.low), self._inner(self.high)
        return (self._inner(value) - low) / (high - low)

    def _inner(self, value: float) -> float:
        return math.log(value) if self.logarithmic else value


def plot(
    label: str,
    across: Axis,
    up: Axis,
    lines: Sequence[Curve],
    columns: Sequence[tuple[float, str]] = (),
    *,
    shaded: Collection[float] = (),
) -> str:
    """Lines in a page, as wide as there is room. `label`: what it is, for those who do not see it.
    `columns`: what is said when a pointer is over this x. `shaded`: those of them with a grey
    background. Nothing: no line has a point that the axes can show."""
    shown = _shown(label, across, up, lines)
    height = max(_PAGE_HEIGHT, _LINE * len(shown))
    right = 24 + _LETTER * max(len(line.name) for line, _ in shown)
    inner = "".join((*_lines(across, up, shown, height), *_columns(across, shown, columns, shaded)))
    keys = "".join(_key(line.name, line.colour, dashed=line.dashed) for line, _ in shown)
    return (
        f'<p class="legend keys">{keys}</p>'
        f'<div class="plot" style="--right:{min(right, 260):.0f}px"><svg height="{height}"'
        f' role="img" aria-label="{escape(label)}">{inner}</svg></div>'
    )


def curves(title: str, across: Axis, up: Axis, lines: Sequence[Curve]) -> str:
    """The same as a picture by itself."""
    shown = _shown(title, across, up, lines)
    height = max(_HEIGHT, _LINE * len(shown))
    return _picture(title, height, WIDTH - _LEFT - _NAMES, _lines(across, up, shown, height))


def rows(label: str, across: Axis, found: Sequence[Row]) -> str:
    """Rows of bars in a page. Nothing: there are none."""
    keys = "".join(_key(name, colour) for name, colour in _legend(found).items())
    inner = "".join(_bars(label, across, found))
    return (
        (f'<p class="legend">{keys}</p>' if keys else "")
        + f'<div class="plot bars"><svg height="{_ROW * len(found)}" role="img"'
        f' aria-label="{escape(label)}">{inner}</svg></div>'
    )


def bars(title: str, across: Axis, found: Sequence[Row]) -> str:
    """The same as a picture by itself."""
    parts = [*_bars(title, across, found)]
    for at, (name, colour) in enumerate(_legend(found).items()):
        parts.append(_name(name, colour, at * _LINE / (_ROW * len(found))))
    height = max(_ROW * len(found), _LINE * len(_legend(found)))
    return _picture(title, height, WIDTH - _LEFT - _NAMES, parts)


def ticks(low: float, high: float, base: int | None) -> list[float]:
    """Round values from `low` to `high`: powers of the base, as many as an axis has room for (of
    2, those of 4, 16 or 256), and of a short logarithmic axis also 2 and 5 of each; of a linear one
    (None) equal steps."""
    if base is None:
        step = _round_step((high - low) / (_MOST_TICKS - 2))
        return [step * number for number in range(math.ceil(low / step), int(high / step) + 1)]
    first, last = math.log(low, base), math.log(high, base)
    powers = range(math.ceil(first - 1e-9), math.floor(last + 1e-9) + 1)
    if len(powers) > 2 or base == 2:
        step = math.ceil(len(powers) / _MOST_TICKS)
        if base == 2:
            step = 1 << (step - 1).bit_length()
            powers = range(-(-powers.start // step) * step, powers.stop)
        return [float(base) ** power for power in powers[::step]]
    many = [
        digit * float(base) ** power
        for power in range(math.floor(first), math.ceil(last) + 1)
        for digit in (1, 2, 5)
    ]
    return [one for one in many if low <= one * (1 + 1e-9) and one <= high * (1 + 1e-9)]


def _round_step(least: float) -> float:
    power = 10.0 ** math.floor(math.log10(least))
    return next(digit * power for digit in (1, 2, 5, 10) if digit * power >= least * (1 - 1e-9))


_Shown = list[tuple[Curve, list[Point]]]


def _shown(title: str, across: Axis, up: Axis, lines: Sequence[Curve]) -> _Shown:
    """Lines with what the axes can show of them: nothing at 0 of a logarithmic one."""
    found = [
        (
            line,
            [
                one
                for one in line.points
                if (one.x > 0 or across.base is None) and (one.y > 0 or up.base is None)
            ],
        )
        for line in lines
    ]
    found = [(line, points) for line, points in found if points]
    if not found:
        raise Nothing(title)
    return found


def _scale(axis: Axis, values: Sequence[float], margin: float = 1.0) -> Scale:
    low, high = min(values), max(values)
    if axis.least is not None:
        low, high = min(low, axis.least[0]), max(high, axis.least[1])
    if axis.base is None:
        low = min(low, 0.0)
        return Scale(low, low + (margin * (high - low) or 1.0), logarithmic=False)
    if low == high:
        low, high = low / axis.base, high * axis.base
    return Scale(low / margin, high * margin, logarithmic=True)


def _lines(across: Axis, up: Axis, shown: _Shown, height: int) -> Iterator[str]:
    every = [point for _, points in shown for point in points]
    of_x = _scale(across, [point.x for point in every])
    of_y = _scale(up, [value for one in every for value in (one.y, *_reach(one, up))], 1.07)
    for value in up.marks or ticks(of_y.low, of_y.high, up.base):
        y = _percent(1 - of_y(value))
        strong = ' class="strong"' if value == up.strong else ""
        yield f'<line{strong} x2="100%" y1="{y}" y2="{y}"/>'
        yield f'<text x="-8" y="{y}" dy="4" text-anchor="end">{escape(up.text(value))}</text>'
    yield from _ticks_across(across, of_x)
    yield f'<text x="-60" y="-14" class="soft">{escape(up.title)}</text>'
    yield f'<svg viewBox="0 0 {_ACROSS} {_UP}" preserveAspectRatio="none" overflow="visible">'
    for line, points in reversed(shown):
        yield from _line(line, points, up, of_x, of_y)
    yield "</svg>"
    ends = [(1 - of_y(points[-1].y), line) for line, points in shown]
    for place, line in _apart(ends, _LINE / height):
        yield _name(line.name, line.colour, place, dashed=line.dashed)
    for point in (point for point in every if point.label):
        above = up.strong is None or point.y >= up.strong
        yield (
            f'<text class="value" x="{_percent(of_x(point.x))}" y="{_percent(1 - of_y(point.y))}"'
            f' dy="{-8 if above else 18}" text-anchor="middle">{escape(point.label)}</text>'
        )


def _ticks_across(across: Axis, of_x: Scale) -> Iterator[str]:
    found = across.marks or ticks(of_x.low, of_x.high, across.base)
    for at, value in enumerate(found):
        x = _percent(of_x(value))
        # Phones have room for a few.
        more = ' class="more"' if at % 2 and len(found) > _PHONE_TICKS else ""
        strong = ' class="strong"' if value == across.strong else ""
        yield f'<line{strong} x1="{x}" x2="{x}" y2="100%"/>'
        text = escape(across.text(value))
        yield f'<text{more} x="{x}" y="100%" dy="17" text-anchor="middle">{text}</text>'
    title = escape(across.title)
    yield f'<text class="soft" x="50%" y="100%" dy="36" text-anchor="middle">{title}</text>'


def _reach(point: Point, up: Axis) -> tuple[float, float]:
    """Where a point's interval begins and ends; at the point itself where it has none."""
    low = point.y if point.low is None else point.low
    high = point.y if point.high is None else point.high
    return (low if low > 0 or up.base is None else point.y), high


def _line(
    line: Curve, points: Sequence[Point], up: Axis, of_x: Scale, of_y: Scale
) -> Iterator[str]:
    def place(x: float, y: float) -> str:
        return f"{_ACROSS * of_x(x):.0f} {_UP * (1 - of_y(y)):.0f}"

    yield f'<g stroke="{line.colour}" fill="{line.colour}">'
    reach = [_reach(one, up) for one in points]
    if any(low != high for low, high in reach):
        around = [place(one.x, high) for one, (_, high) in zip(points, reach, strict=True)]
        back = [place(one.x, low) for one, (low, _) in zip(points, reach, strict=True)]
        yield f'<polygon points="{",".join(around + back[::-1])}"/>'
    path = ",".join(place(one.x, one.y) for one in points)
    dash = ' stroke-dasharray="5 4"' if line.dashed else ""
    yield f'<polyline points="{path}"{dash}/>'
    if line.dotted or len(points) == 1:
        yield f'<path d="{"".join(f"M{place(one.x, one.y)}h0" for one in points)}"/>'
        if hollow := "".join(f"M{place(one.x, one.y)}h0" for one in points if one.hollow):
            yield f'<path class="hollow" d="{hollow}"/>'
    yield "</g>"


def _apart(ends: Sequence[tuple[float, Curve]], least: float) -> list[tuple[float, Curve]]:
    """The places of names, as near to the ends of their lines as they do not cover one another."""
    ordered = sorted(ends, key=lambda one: one[0])
    places: list[float] = []
    for y, _ in ordered:
        places.append(max(y, places[-1] + least) if places else max(y, 0.0))
    limit = 1.0
    for at in range(len(places) - 1, -1, -1):
        places[at] = min(places[at], limit)
        limit = places[at] - least
    return [(y, line) for y, (_, line) in zip(places, ordered, strict=True)]


def _name(name: str, colour: str, y: float, *, dashed: bool = False) -> str:
    """A name right of the chart, behind a stroke of its colour."""
    stroke = "-- " if dashed else "— "
    return (
        f'<text class="name" x="100%" y="{_percent(y)}" dx="8" dy="4">'
        f'<tspan style="fill:{colour}" font-weight="bold">{stroke}</tspan>{escape(name)}</text>'
    )


def _key(name: str, colour: str, *, dashed: bool = False) -> str:
    fill = f"border:2px dashed {colour}" if dashed else f"background:{colour}"
    return f'<span><i class="swatch" style="{fill}"></i>{escape(name)}</span>'


def _columns(
    across: Axis, shown: _Shown, columns: Sequence[tuple[float, str]], shaded: Collection[float]
) -> Iterator[str]:
    of_x = _scale(across, [point.x for _, points in shown for point in points])
    places = [of_x(x) for x, _ in columns]
    for at, (x, said) in enumerate(columns):
        left = (places[at - 1] + places[at]) / 2 if at else 0.0
        right = (places[at] + places[at + 1]) / 2 if at + 1 < len(columns) else 1.0
        mark = " open" * (x in shaded)
        yield (
            f'<rect class="over{mark}" x="{_percent(left)}" width="{_percent(right - left)}"'
            f' height="100%"><title>{escape(said)}</title></rect>'
        )


def _legend(found: Sequence[Row]) -> dict[str, str]:
    """The colours of parts, by their names; empty where rows have one part each."""
    if all(len(row.bars) < 2 for row in found):
        return {}
    return {bar.name: bar.colour for row in found for bar in row.bars}


def _bars(title: str, across: Axis, found: Sequence[Row]) -> Iterator[str]:
    sums = [sum(bar.value for bar in row.bars) for row in found]
    if not any(sums):
        raise Nothing(title)
    reaches = [value for row in found if (one := row.interval) for value in (one.low, one.high)]
    low, high = _SPARE * min(*sums, 0.0), _SPARE * max(*sums, 0.0)
    of_x = _scale(across, [*sums, *(min(max(one, low), high) for one in reaches)], 1.03)
    yield from _ticks_across(across, of_x)
    for at, row in enumerate(found):
        top, begin = at * _ROW, 0.0
        yield f'<text x="3" y="{top + 13}">{escape(row.name)}</text>'
        for bar in row.bars:
            left, right = sorted((of_x(begin), of_x(begin + bar.value)))
            begin += bar.value
            said = f"<title>{escape(f'{bar.name}: {across.text(bar.value)}')}</title>"
            yield (
                f'<rect x="{_percent(left)}" width="{_percent(right - left)}" y="{top + 18}"'
                f' height="12" fill="{bar.colour}">{said}</rect>'
            )
        if row.interval is not None:
            ends = [
                _percent(min(max(of_x(x), 0), 1)) for x in (row.interval.low, row.interval.high)
            ]
            y = top + 24
            yield f'<line class="whisker" x1="{ends[0]}" x2="{ends[1]}" y1="{y}" y2="{y}"/>'
            for x in ends:
                yield f'<line class="whisker" x1="{x}" x2="{x}" y1="{y - 4}" y2="{y + 4}"/>'


def _percent(share: float) -> str:
    return f"{100 * share:.2f}".rstrip("0").rstrip(".") + "%"


def _picture(title: str, height: int, width: int, parts: Iterator[str] | Sequence[str]) -> str:
    whole = height + _TOP + _BOTTOM
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="plot" width="{WIDTH}"'
            f' height="{whole}" viewBox="0 0 {WIDTH} {whole}" role="img">'
            f"<title>{escape(title)}</title>",
            f"<style>\n{STYLE}</style>",
            f'<rect width="{WIDTH}" height="{whole}" fill="#ffffff"/>',
            f'<text x="{_LEFT}" y="20" style="font-weight:bold">{escape(title)}</text>',
            f'<svg x="{_LEFT}" y="{_TOP}" width="{width}" height="{height}" overflow="visible">',
            *parts,
            "</svg>",
            "</svg>\n",
        ]
    )
