# SPDX-License-Identifier: BSD-3-Clause
"""Charts as SVG: curves over a logarithmic axis, and bars with intervals. Pure, and the same text
of the same figures, so that a picture in a repository changes only with what it shows.

The report's charts (plotly) are pages that a browser draws; these are pictures that stand in a
text. Nothing hangs on colour alone: each curve has a mark of its own.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

#: In a picture's own units, which browsers show as pixels.
WIDTH, HEIGHT = 780, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 78.0, 210.0, 34.0, 52.0
_MOST_TICKS = 9
_FONT = 'font-family="sans-serif" font-size="12"'
_INK, _PALE = "#333333", "#dddddd"
#: The mark is left out where curves have more points than this: they would hide one another.
_MOST_MARKS = 40

Text = Callable[[float], str]


class Nothing(Exception):
    """There is nothing to draw; the message is the title."""


@dataclass(frozen=True)
class Interval:
    """How far a value may be wrong."""

    low: float
    high: float


@dataclass(frozen=True)
class Curve:
    """Points by rising x."""

    name: str
    colour: str
    points: tuple[tuple[float, float], ...]
    dashed: bool = False
    """A bound, or what is only beside the others."""


@dataclass(frozen=True)
class Axis:
    """What an axis is of."""

    title: str
    text: Text
    """A value for people."""
    base: int | None = None
    """Logarithmic, with ticks at powers of this; None: linear, from 0."""


@dataclass(frozen=True)
class Bar:
    """A value of a group."""

    name: str
    """The same in each group: the legend's."""
    colour: str
    value: float
    interval: Interval | None = None


@dataclass(frozen=True)
class Group:
    """Bars beside each other."""

    name: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True)
class Scale:
    """From values to places in the picture; calling it converts."""

    low: float
    high: float
    begin: float
    end: float
    logarithmic: bool

    def __call__(self, value: float) -> float:
        """The place of a value."""
        low, high = self._inner(self.low), self._inner(self.high)
        share = (self._inner(value) - low) / (high - low)
        return self.begin + share * (self.end - self.begin)

    def _inner(self, value: float) -> float:
        return math.log(value) if self.logarithmic else value


def curves(title: str, across: Axis, up: Axis, lines: Sequence[Curve]) -> str:
    """A picture of curves. Nothing: no curve has a point that the axes can show."""
    shown = [(line, _possible(line.points, across, up)) for line in lines]
    shown = [(line, points) for line, points in shown if points]
    if not shown:
        raise Nothing(title)
    of_x = _scale(across, [x for _, points in shown for x, _ in points], _LEFT, WIDTH - _RIGHT)
    of_y = _scale(up, [y for _, points in shown for _, y in points], HEIGHT - _BOTTOM, _TOP)
    parts = [*_frame(title), *_ticks_up(up, of_y), *_ticks_across(across, of_x)]
    for number, (line, points) in reversed([*enumerate(shown)]):
        place = [(of_x(x), of_y(y)) for x, y in points]
        path = " ".join(f"{coordinate(x)},{coordinate(y)}" for x, y in place)
        dash = ' stroke-dasharray="5 4"' if line.dashed else ""
        parts.append(
            f'<polyline points="{path}" fill="none" stroke="{line.colour}"'
            f' stroke-width="1.6"{dash}/>'
        )
        if len(place) <= _MOST_MARKS:
            parts += [_mark(number, x, y, line.colour) for x, y in place]
    parts += _legend([(line.name, line.colour, number) for number, (line, _) in enumerate(shown)])
    return _document(parts, title)


def bars(title: str, up: Axis, groups: Sequence[Group]) -> str:
    """A picture of groups of bars, each from 0 up, with its interval as a whisker. Nothing: there
    is none."""
    every = [bar for group in groups for bar in group.bars]
    tops = [bar.interval.high if bar.interval else bar.value for bar in every]
    if not every or max(tops) <= 0:
        raise Nothing(title)
    of_y = _scale(up, tops, HEIGHT - _BOTTOM, _TOP)
    parts = [*_frame(title), *_ticks_up(up, of_y)]
    width = (WIDTH - _RIGHT - _LEFT) / len(groups)
    for at, group in enumerate(groups):
        begin = _LEFT + at * width
        parts.append(_words(begin + width / 2, HEIGHT - _BOTTOM + 16, group.name, "middle"))
        each = 0.8 * width / max(1, len(group.bars))
        for place, bar in enumerate(group.bars):
            parts += _bar(bar, begin + 0.1 * width + place * each, each, of_y)
    names = {bar.name: bar.colour for bar in every}
    parts += _legend([(name, colour, None) for name, colour in names.items()])
    return _document(parts, title)


def _bar(bar: Bar, left: float, width: float, of_y: Scale) -> Iterator[str]:
    top, bottom = of_y(bar.value), of_y(of_y.low)
    yield (
        f'<rect x="{coordinate(left)}" y="{coordinate(top)}" width="{coordinate(0.92 * width)}"'
        f' height="{coordinate(bottom - top)}" fill="{bar.colour}"/>'
    )
    if bar.interval is not None:
        low, high, middle = of_y(bar.interval.low), of_y(bar.interval.high), left + 0.46 * width
        for one, other in (((middle, low), (middle, high)), *_caps(middle, low, high)):
            yield _segment(one, other, _INK)


def _caps(
    middle: float, low: float, high: float
) -> Iterator[tuple[tuple[float, float], tuple[float, float]]]:
    for y in (low, high):
        yield (middle - 4, y), (middle + 4, y)


def _possible(
    points: Sequence[tuple[float, float]], across: Axis, up: Axis
) -> list[tuple[float, float]]:
    """Those that the axes can show: none at 0 of a logarithmic one."""
    return [
        (x, y)
        for x, y in points
        if (x > 0 or across.base is None) and (y > 0 or (up.base is None and y >= 0))
    ]


def _scale(axis: Axis, values: Sequence[float], begin: float, end: float) -> Scale:
    low, high = min(values), max(values)
    if axis.base is None:
        return Scale(0.0, 1.05 * high if high > 0 else 1.0, begin, end, logarithmic=False)
    if low == high:
        low, high = low / axis.base, high * axis.base
    return Scale(low, high, begin, end, logarithmic=True)


def ticks(low: float, high: float, base: int | None) -> list[float]:
    """Round values from `low` to `high`: powers of the base, as many as an axis has room for, and
    of a short logarithmic axis also 2 and 5 of each; of a linear one (None) equal steps."""
    if base is None:
        step = _round_step((high - low) / (_MOST_TICKS - 2))
        return [step * number for number in range(math.ceil(low / step), int(high / step) + 1)]
    first, last = math.log(low, base), math.log(high, base)
    powers = range(math.ceil(first - 1e-9), math.floor(last + 1e-9) + 1)
    if len(powers) > 2 or base == 2:
        return [float(base) ** power for power in powers[:: math.ceil(len(powers) / _MOST_TICKS)]]
    many = [
        digit * float(base) ** power
        for power in range(math.floor(first), math.ceil(last) + 1)
        for digit in (1, 2, 5)
    ]
    return [one for one in many if low <= one * (1 + 1e-9) and one <= high * (1 + 1e-9)]


def _round_step(least: float) -> float:
    power = 10.0 ** math.floor(math.log10(least))
    return next(digit * power for digit in (1, 2, 5, 10) if digit * power >= least * (1 - 1e-9))


def _frame(title: str) -> Iterator[str]:
    yield f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>'
    yield _words(_LEFT, 20, title, "start", bold=True)
    yield _segment((_LEFT, HEIGHT - _BOTTOM), (WIDTH - _RIGHT, HEIGHT - _BOTTOM), _INK)


def _ticks_up(axis: Axis, scale: Scale) -> Iterator[str]:
    for value in ticks(scale.low, scale.high, axis.base):
        y = scale(value)
        yield _segment((_LEFT, y), (WIDTH - _RIGHT, y), _PALE)
        yield _words(_LEFT - 6, y + 4, axis.text(value), "end")
    middle = (_TOP + HEIGHT - _BOTTOM) / 2
    yield (
        f'<text {_FONT} fill="{_INK}" text-anchor="middle"'
        f' transform="translate(13 {coordinate(middle)}) rotate(-90)">{escape(axis.title)}</text>'
    )


def _ticks_across(axis: Axis, scale: Scale) -> Iterator[str]:
    for value in ticks(scale.low, scale.high, axis.base):
        x = scale(value)
        yield _segment((x, _TOP), (x, HEIGHT - _BOTTOM), _PALE)
        yield _words(x, HEIGHT - _BOTTOM + 16, axis.text(value), "middle")
    yield _words((_LEFT + WIDTH - _RIGHT) / 2, HEIGHT - 12, axis.title, "middle")


def _legend(rows: Sequence[tuple[str, str, int | None]]) -> Iterator[str]:
    """Names beside their marks; None: a bar's."""
    for at, (name, colour, number) in enumerate(rows):
        x, y = WIDTH - _RIGHT + 16, _TOP + 8 + 18 * at
        if number is None:
            place = f'x="{coordinate(x - 4)}" y="{coordinate(y - 5)}"'
            yield f'<rect {place} width="9" height="9" fill="{colour}"/>'
        else:
            yield _segment((x - 8, y), (x + 8, y), colour)
            yield _mark(number, x, y, colour)
        yield _words(x + 14, y + 4, name, "start")


def _mark(number: int, x: float, y: float, colour: str) -> str:
    """The mark of the curve of this number: each of ten has another."""
    shape, filled = number % 5, number // 5 % 2 == 0
    paint = f'fill="{colour if filled else "#ffffff"}" stroke="{colour}"'
    if shape == 0:
        return f'<circle cx="{coordinate(x)}" cy="{coordinate(y)}" r="3" {paint}/>'
    corners = {
        1: ((-3, -3), (3, -3), (3, 3), (-3, 3)),
        2: ((0, -4), (4, 0), (0, 4), (-4, 0)),
        3: ((0, -4), (4, 3), (-4, 3)),
        4: ((0, 4), (4, -3), (-4, -3)),
    }[shape]
    path = " ".join(f"{coordinate(x + dx)},{coordinate(y + dy)}" for dx, dy in corners)
    return f'<polygon points="{path}" {paint}/>'


def _words(x: float, y: float, text: str, anchor: str, *, bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return (
        f'<text x="{coordinate(x)}" y="{coordinate(y)}" {_FONT}{weight} fill="{_INK}"'
        f' text-anchor="{anchor}">{escape(text)}</text>'
    )


def _segment(one: tuple[float, float], other: tuple[float, float], colour: str) -> str:
    return (
        f'<line x1="{coordinate(one[0])}" y1="{coordinate(one[1])}" x2="{coordinate(other[0])}"'
        f' y2="{coordinate(other[1])}" stroke="{colour}"/>'
    )


def coordinate(value: float) -> str:
    """A place in a picture, as SVG writes it."""
    return f"{value:.1f}".removesuffix(".0")


def _document(parts: Sequence[str], title: str) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}"'
        f' viewBox="0 0 {WIDTH} {HEIGHT}" role="img"><title>{escape(title)}</title>'
    )
    return "\n".join([head, *parts, "</svg>"]) + "\n"
