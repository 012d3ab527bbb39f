# SPDX-License-Identifier: BSD-3-Clause
"""The plot in the terminal: curves over message size, both axes logarithmic."""

import math
from collections.abc import Sequence

import plotext  # type: ignore[import-untyped]

from beowire.patterns import Pattern
from beowire.report.curves import Curve
from beowire.report.palette import look
from beowire.visible import visible

#: One mark a driver, so that nothing hangs on colour.
_MARKS = "ox+*#@%&=$"

_HEIGHT = 20

#: How bright each step of a terminal's colour cube is.
_LEVELS = (0, 95, 135, 175, 215, 255)


def plot(curves: Sequence[Curve], pattern: Pattern, *, width: int, colour: bool) -> str:
    """Times in µs, or throughputs in MB/s, of `curves`. Empty if there is no curve
    of two sizes at least.
    """
    series = [(curve, points) for curve in curves if len(points := _points(curve, pattern)) > 1]
    if not series:
        return ""
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
    # Where curves meet, the last one drawn is seen: that of the first driver.
    for mark, (_, points) in reversed([*zip(marks, series, strict=True)]):
        signal = figure.signal(
            [math.log10(size) for size, _ in points],
            [math.log10(value) for _, value in points],
            marker=mark,
        )
        figure.draw(signal.lines())
    everything = [point for _, points in series for point in points]
    sizes = [size for size, _ in everything]
    _ticks("x", min(sizes), max(sizes), [float(1 << power) for power in range(0, 31, 3)])
    values = [value for _, value in everything]
    _ticks("y", min(values), max(values), [10.0**power for power in range(-4, 10)])
    text = str(figure.build().string(colorless=not colour))
    figure.clear()
    title = f"{pattern.title} in µs" if pattern.is_times else "Throughput in MB/s"
    legend = "  ".join(
        f"{mark.string(colorless=not colour)} {visible(curve.name)}"
        for mark, (curve, _) in zip(marks, series, strict=True)
    )
    lines = [f"{title} against message size in bytes:  {legend}", *text.splitlines()]
    return "\n".join(line.rstrip() for line in lines)


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


def _ticks(axis: str, low: float, high: float, marks: Sequence[float]) -> None:
    """Ticks at round values; the ends too where fewer than two of those are in the range."""
    inside = [mark for mark in marks if low <= mark <= high]
    if len(inside) < 2:
        inside = [low, high]
    ruler = plotext.figure.ruler(axis)
    ruler.ticks(
        [math.log10(mark) for mark in inside],
        [f"{mark:.3g}" if mark < 1000 else _short(mark) for mark in inside],
    )


def _short(value: float) -> str:
    for unit, name in ((1 << 30, "Gi"), (1 << 20, "Mi"), (1 << 10, "Ki")):
        if value >= unit and value % unit == 0:
            return f"{value / unit:g}{name}"
    return f"{value:.3g}" if value >= 1e6 else f"{value:.0f}"
