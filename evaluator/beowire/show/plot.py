# SPDX-License-Identifier: BSD-3-Clause
"""The plot in the terminal: curves over message size, both axes logarithmic."""

import math
from collections.abc import Sequence
from typing import Any

from beowire.analysis import wire
from beowire.analysis.curves import Curve
from beowire.plan.patterns import Pattern
from beowire.record.reader import Record
from beowire.show.palette import look
from beowire.visible import visible

#: One mark a curve, so that nothing hangs on colour: as many as a dozen drivers have, idle and
#: loaded.
_MARKS = "ox+*#@%&=$svnzkmwtyecahu"

_WIRE_MARK = "."

#: Few distributions have a plotext that is new enough, and everything else works without.
MISSING = "no plot: it needs plotext 6 or later (pip install 'plotext>=6')"

#: In a pipe a line is for programs, too.
_ENDLESS = 1 << 16

_HEIGHT = 20

#: How bright each step of a terminal's colour cube is.
_LEVELS = (0, 95, 135, 175, 215, 255)


def plot(
    curves: Sequence[Curve],
    pattern: Pattern,
    record: Record | None = None,
    *,
    width: int,
    colour: bool,
) -> str:
    """Times in µs, or throughputs in MB/s, of `curves`, with what the wire alone would take where
    the record knows it. Empty if there is no curve of two sizes at least; a line that says why if
    nothing can draw here.
    """
    series = [(curve, points) for curve in curves if len(points := _points(curve, pattern)) > 1]
    if not series:
        return ""
    plotext = _plotext()
    if plotext is None:
        return MISSING
    bound = _wire(record, pattern, [points for _, points in series]) if record else []
    figure = plotext.figure
    figure.clear()
    plotext.terminal.limit(False, False)
    figure.plot_size(width, _HEIGHT)
    figure.legend(False)
    # The terminal's own background, be it light or dark.
    figure.theme("simple")
    marks = [
        plotext.colorize(_MARKS[number % len(_MARKS)], _colour(curve.driver))
        for number, (curve, _) in enumerate(series)
    ]
    names = [visible(curve.name) for curve, _ in series]
    lines = [points for _, points in series]
    if bound:
        marks.append(plotext.colorize(_WIRE_MARK, "default"))
        names.append("the wire alone")
        lines.append(bound)
    # Where curves meet, the last one drawn is seen: that of the first driver.
    for mark, points in reversed([*zip(marks, lines, strict=True)]):
        signal = figure.signal(
            [math.log10(size) for size, _ in points],
            [math.log10(value) for _, value in points],
            marker=mark,
        )
        figure.draw(signal.lines())
    everything = [point for points in lines for point in points]
    sizes = [size for size, _ in everything]
    across, up = figure.ruler("x"), figure.ruler("y")
    _ticks(across, min(sizes), max(sizes), [float(1 << power) for power in range(0, 31, 3)])
    values = [value for _, value in everything]
    _ticks(up, min(values), max(values), [10.0**power for power in range(-4, 10)])
    text = str(figure.build().string(colorless=not colour))
    figure.clear()
    title = f"{pattern.title} in µs" if pattern.is_times else "Throughput in MB/s"
    legend = [
        (mark.string(colorless=not colour), name) for mark, name in zip(marks, names, strict=True)
    ]
    head = _wrapped(
        f"{title} against message size in bytes:", legend, width if colour else _ENDLESS
    )
    return "\n".join(line.rstrip() for line in [*head, *text.splitlines()])


def _plotext() -> Any:
    """The library that draws; None if it is not there, or one of before version 6."""
    try:
        import plotext  # type: ignore[import-untyped]  # noqa: PLC0415
    except ImportError:
        return None
    return plotext if hasattr(plotext, "figure") and hasattr(plotext, "terminal") else None


def _wrapped(title: str, legend: Sequence[tuple[str, str]], width: int) -> list[str]:
    """The title and what marks which curve, no entry broken: marks have colours, and no length."""
    lines, used = [title], len(title)
    for mark, name in legend:
        needed = 2 + 1 + 1 + len(name)
        if used + needed > width:
            lines.append("")
            used = 0
        lines[-1] += f"  {mark} {name}"
        used += needed
    return lines


def _wire(
    record: Record, pattern: Pattern, lines: Sequence[Sequence[tuple[int, float]]]
) -> list[tuple[int, float]]:
    """What the wire alone would take, or carry, at the sizes and in the range of the curves."""
    limit = record.meta.wire
    if not wire.is_known(record) or (limit is None and not pattern.is_times):
        return []
    values = [value for points in lines for _, value in points]
    sizes = sorted({size for points in lines for size, _ in points if size > 0})
    points = [
        (
            size,
            wire.time_ns(record, size) / 1e3
            if limit is None or pattern.is_times
            else pattern.ways * limit.payload_bytes_per_s / 1e6,
        )
        for size in sizes
    ]
    return [point for point in points if min(values) <= point[1]]


def _colour(driver: str) -> int:
    """The driver's colour in the report, as near as the 256 of a terminal come."""
    wanted = (int(look(driver).colour[at : at + 2], 16) for at in (1, 3, 5))
    red, green, blue = (
        min(range(len(_LEVELS)), key=lambda step: abs(_LEVELS[step] - one)) for one in wanted
    )
    return 16 + 36 * red + 6 * green + blue


def _points(curve: Curve, pattern: Pattern) -> list[tuple[int, float]]:
    if not pattern.is_times:
        return [(cell.size, cell.rate_bytes_per_s.median / 1e6) for cell in curve.cells]
    return [
        (cell.size, cell.time.median / 1e3)
        for cell in curve.cells
        if cell.time is not None and cell.time.median > 0
    ]


def _ticks(ruler: Any, low: float, high: float, marks: Sequence[float]) -> None:
    """Ticks at round values; the ends too where fewer than two of those are in the range."""
    inside = [mark for mark in marks if low <= mark <= high]
    if len(inside) < 2:
        inside = [low, high]
    ruler.ticks(
        [math.log10(mark) for mark in inside],
        [f"{mark:.3g}" if mark < 1000 else _short(mark) for mark in inside],
    )


def _short(value: float) -> str:
    for unit, name in ((1 << 30, "Gi"), (1 << 20, "Mi"), (1 << 10, "Ki")):
        if value >= unit and value % unit == 0:
            return f"{value / unit:g}{name}"
    return f"{value:.3g}" if value >= 1e6 else f"{value:.0f}"
