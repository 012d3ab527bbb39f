# SPDX-License-Identifier: BSD-3-Clause
"""The pictures of a paper's page: curves over sizes, and groups of bars. Pure."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from beowire.reproduce import values
from beowire.reproduce.values import Scope, Value
from beowire.show import drawing
from beowire.show.drawing import Axis, Bar, Curve, Interval, Point, Row
from beowire.show.html.charts import RATES, SIZES, TIMES
from beowire.show.palette import look

_RATIOS = Axis("ratio", lambda value: f"{value:g}")

#: What a chart of curves has upwards: values by size, and their axis.
_UP: Mapping[str, tuple[Callable[..., Any], Axis]] = {
    "time": (values.time, TIMES),
    "rate": (values.rate, RATES),
    "signature": (values.rate, RATES),
    "relative": (values.time, _RATIOS),
    "system_rate": (
        values.system_rate,
        replace(RATES, title="payload to a second of system time"),
    ),
}


class Bars(BaseModel):
    """A row of bars, or one for each of what names go through: its name, and the expression of a
    bar's length."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    each: Mapping[str, Any] = {}
    name: str
    value: str


class Chart(BaseModel):
    """What a part of the page says of its picture, if it is one."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    each: Mapping[str, Any] = {}
    file: str = ""
    """Of the picture: without the paper's number and `.svg`."""
    chart: str = ""
    """The title in the picture."""
    up: Literal["time", "rate", "signature", "relative", "system_rate"] = "time"
    """Signature: throughput against the time of a message. Relative: to the curve `to`."""
    curves: str | Sequence[dict[str, Any]] = ()
    """Each by `driver`; `pattern`, `step`, `name` and `colour` if they are others than the
    picture's or the driver's. An expression: a list of these, or of drivers. `load` is a name."""
    pattern: str = "pingpong"
    to: Mapping[str, Any] = {}
    bars: Sequence[Bars] = ()
    parts: Mapping[str, Any] = {}
    """What the bars of a row go through: `part` and `colour` are those of a bar. None: a row is one
    bar, of `driver`."""
    axis: str = ""
    unit: str = ""


def drawn(chart: Chart, scope: Scope, step: str, colours: Mapping[str, str]) -> str:
    """The picture. Nothing: there is no value to show."""
    if chart.bars:
        across = Axis(chart.axis, lambda value: f"{float(f'{value:.4g}'):g}{chart.unit}")
        return drawing.bars(scope.text(chart.chart), across, [*_rows(chart, scope, colours)])
    wanted = chart.curves
    if isinstance(wanted, str):
        wanted = [one if isinstance(one, dict) else {"driver": one} for one in scope.value(wanted)]
    plain = {"step": step, "pattern": chart.pattern, "load": scope.names.get("load", "")}
    across, up = SIZES, _UP[chart.up][1]
    base: dict[float, float] = {}
    if chart.up == "signature":
        across = replace(TIMES, title="time of a message, one way")
    if chart.up == "relative":
        to = {**plain, **chart.to, "driver": scope.text(chart.to["driver"])}
        up = replace(up, title=f"time / that of {to.get('name') or to['driver']}")
        base = dict(_points(values.time, to, scope))
    lines = []
    for one in ({**plain, **one} for one in wanted):
        points = _points(_UP[chart.up][0], one, scope)
        if chart.up == "signature":
            times = dict(_points(values.time, one, scope))
            points = sorted((times[size], y) for size, y in points if size in times)
        if chart.up == "relative":
            points = [(x, y / base[x]) for x, y in points if base.get(x)]
        lines.append(_curve(one, points, colours))
    return drawing.curves(scope.text(chart.chart), across, up, lines)


def _points(
    value: Callable[..., Any], curve: Mapping[str, Any], scope: Scope
) -> list[tuple[float, float]]:
    """By size."""
    comparison = scope.found.comparisons.get(curve["step"])
    if comparison is None:
        return []
    step, driver, pattern = curve["step"], curve["driver"], curve["pattern"]
    known = [
        (size, values.number(value(scope.found, step, driver, pattern, size, curve["load"])))
        for size in comparison.sizes(pattern, (driver,))
    ]
    return [(float(size), y) for size, y in known if y is not None]


def _curve(
    curve: Mapping[str, Any], points: Sequence[tuple[float, float]], colours: Mapping[str, str]
) -> Curve:
    driver = curve["driver"]
    colour = curve.get("colour") or colours.get(driver) or look(driver).colour
    return Curve(
        curve.get("name") or driver,
        colour,
        tuple(Point(x, y) for x, y in points),
        dashed=look(driver).bound,
    )


def _rows(chart: Chart, scope: Scope, colours: Mapping[str, str]) -> Iterator[Row]:
    for row in chart.bars:
        for each in scope.each(row.each):
            known = [
                (part, value)
                for part in each.each(chart.parts)
                if (value := part.value(row.value)) is not None
            ]
            bars = [_bar(part.names, values.number(value) or 0.0, colours) for part, value in known]
            alone = known[0][1] if len(known) == 1 else None
            ci95 = alone.ci95 if isinstance(alone, Value) else None
            if bars:
                yield Row(each.text(row.name), tuple(bars), Interval(*ci95) if ci95 else None)


def _bar(names: Mapping[str, Any], value: float, colours: Mapping[str, str]) -> Bar:
    name = names["part"] if "part" in names else names["driver"]
    return Bar(name, names.get("colour") or colours[name], value)
