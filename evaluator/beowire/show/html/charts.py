# SPDX-License-Identifier: BSD-3-Clause
"""The charts of a report: from curves of cells to the lines and bars of drawing.py. Each is HTML,
or `Nothing` where the records have nothing for it.

Bands are 95 % intervals, unless a caption says otherwise. A hollow dot is a size without a
significant difference from the baseline.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape

from beowire.analysis import headline, wire
from beowire.analysis.curves import (
    BASELINE,
    SUBJECT,
    Cell,
    Curve,
    all_sizes,
    distribution,
    median_or_none,
    ratio,
    telling_sizes,
)
from beowire.analysis.layer_tax import Layer, taxes, under
from beowire.errors import BeowireError
from beowire.plan.load import parse_load
from beowire.record.lines import PARTS, Level, Summary
from beowire.record.reader import Record
from beowire.show import drawing, palette
from beowire.show.drawing import Axis, Bar, Interval, Nothing, Point, Row
from beowire.units import (
    count_rate_text,
    interval_text,
    rate_text,
    significant,
    size_text,
    time_text,
)

#: Points of a line: more would hide one another, and make the page larger.
_MOST_SIZES = 40

#: Of a chart of one size: as many can be chosen.
_CHOICES = 4

_WIRE_COLOUR = "#808890"
_NOTHING = "nothing"


def short(text: str) -> str:
    """`10 µs` of `10.0 µs`."""
    return re.sub(r"\.0+ ", " ", text)


def _times_text(value: float) -> str:
    return f"{float(significant(value, 2)):g} ×"


SIZES = Axis("message size", lambda value: size_text(round(value)), base=2)
TIMES = Axis("time", lambda value: short(time_text(value)), base=10)
RATES = Axis("throughput", lambda value: short(rate_text(value)), base=10)

_RELATIVE = Axis(
    f"speed relative to {BASELINE}: above 1 is faster than TCP",
    _times_text,
    base=10,
    least=(0.5, 2.0),
    strong=1.0,
)
_PERCENTILES = Axis(
    "share of messages that took at most this time",
    lambda value: f"{100 - 100 / value:.6g} %",
    base=10,
)
_COUNTS = Axis("messages sent per second", lambda value: short(count_rate_text(value)), base=10)

#: A colour for each part of half a round trip, that can be told apart in print as well.
_PART_COLOURS = {
    "own code": "#4c78a8",
    "system call": "#f58518",
    "copy": "#54a24b",
    "protocol": "#e45756",
    "driver": "#72b7b2",
    "interrupt": "#b279a2",
    "softirq": "#eeca3b",
    "wake-up": "#9d755d",
    "other kernel": "#bab0ac",
}
_REST_COLOUR = "#c8c8c8"

#: Median and interval of a cell of a curve; None: it has none.
_Figure = Callable[[Curve, Cell], Summary | None]


def relative(found: Sequence[Curve]) -> str:
    """Each driver's speed divided by the baseline's, at each size that both have. Beowire's values
    are written at the ticks, and sizes at which it does not differ from the baseline are grey."""

    def speed(curve: Curve, cell: Cell) -> Summary | None:
        base = _baseline(curve, found)
        other = base.at(cell.size) if base is not None else None
        if other is None:
            return None
        if cell.time is not None and other.time is not None:
            quotient = ratio(other.time, cell.time)
        else:
            quotient = ratio(cell.rate_bytes_per_s, other.rate_bytes_per_s)
        value, low, high = quotient.value, quotient.low, quotient.high
        known = None if curve is base or low is None or high is None else (low, high)
        return _summary(value, known)

    title = f"Speed relative to {BASELINE}"
    return _over_sizes(title, found, speed, _RELATIVE, of=SUBJECT)


def times(found: Sequence[Curve], records: Sequence[Record]) -> str:
    """The pattern's times, and what the wire alone would take."""
    kind = found[0].kind
    axis = _titled(TIMES, f"{kind.quantity}: lower is better")
    if not kind.sized:
        return _bare_times(found, axis)
    known = [one.median for curve in found for cell in curve.cells if (one := cell.time)]
    least = min((one for one in known if one > 0), default=1.0)
    bounds = [
        drawing.Curve("lower bound of the link", _WIRE_COLOUR, points, dashed=True, dotted=False)
        for record in wire.different(records)
        if len(points := _wire_times(record, all_sizes(found), least)) > 1
    ]
    return _over_sizes(kind.title, found, lambda _, cell: cell.time, axis, bounds)


def rates(found: Sequence[Curve], records: Sequence[Record]) -> str:
    """Throughputs, and what the wire carries."""
    axis = _titled(RATES, "throughput: higher is better")
    bounds = [
        drawing.Curve("limit of the link", _WIRE_COLOUR, points, dashed=True, dotted=False)
        for record in wire.different(records)
        if (points := _wire_rates(record, found))
    ]
    return _over_sizes("Throughput", found, lambda _, cell: cell.rate_bytes_per_s, axis, bounds)


def cpu(found: Sequence[Curve]) -> str:
    """CPU time of a message: user and system time of both ends together."""

    def cost(_: Curve, cell: Cell) -> Summary | None:
        ends = [one for end in (0, 1) if (one := cell.cpu(end)) is not None]
        return _summary(sum(one.user_ns + one.system_ns for one in ends)) if ends else None

    axis = _titled(TIMES, "CPU time of both ends: lower is better")
    return _over_sizes("CPU time per message", found, cost, axis, compared=False)


def at_sizes(name: str, found: Sequence[Curve], make: Callable[[Sequence[Curve], int], str]) -> str:
    """A chart of one size, for a few sizes, between which a switch changes."""
    views = []
    for size in telling_sizes(all_sizes(found), _CHOICES):
        try:
            views.append((size_text(size), make(found, size)))
        except Nothing:
            continue
    if not views:
        raise Nothing(name)
    return switch(name, views)


def switch(name: str, views: Sequence[tuple[str, str]]) -> str:
    """Charts of which one is seen, by their labels; a single one without a switch. It needs no
    script."""
    inputs = "".join(
        f'<input type="radio" name="{name}" id="{name}-{at}"{" checked" * (at == 0)}>'
        f'<label for="{name}-{at}">{escape(label)}</label>'
        for at, (label, _) in enumerate(views if len(views) > 1 else ())
    )
    shown = "".join(f"<figure>{chart}</figure>" for _, chart in views)
    return f'<div class="views">{inputs}{shown}</div>'


def percentiles(found: Sequence[Curve], size: int) -> str:
    """Over shares of the messages, the time that none of them exceeds: the slow ones have as much
    room as all others."""
    title = f"Distribution of {found[0].kind.quantity} at {size_text(size)}"
    lines, known = [], []
    for curve in found:
        cell = curve.at(size)
        # The slowest message has no share of the messages behind it, so it has no place.
        places = distribution(curve, cell) if cell is not None else []
        points = tuple(Point(1 / (1 - share), time) for time, share in places if share < 1)
        lines.append(_line(curve, points, dotted=False))
        if points and cell is not None and cell.time is not None:
            known.append((curve, cell.time))
    said = [
        (1 / (1 - share), "\n".join([label, *_shares(known, name)]))
        for share, label, name in (
            (0.5, "50 % took at most", "median"),
            (0.9, "90 % took at most", "p90"),
            (0.99, "99 % took at most", "p99"),
        )
    ]
    return drawing.plot(title, _PERCENTILES, _titled(TIMES, found[0].kind.quantity), lines, said)


def over_load(found: Sequence[Curve], size: int) -> str:
    """What each driver does beside nothing and beside each load. The band ends at p99."""
    levels = _levels(found)
    if len(levels) < 2:
        raise Nothing("one load")
    is_times = found[0].kind.is_times
    lines, said = [], {level: [level] for level in levels}
    for record, driver in dict.fromkeys((one.record, one.driver) for one in found):
        points = []
        for curve in found:
            cell = curve.at(size)
            if (curve.record, curve.driver) != (record, driver) or cell is None:
                continue
            level = curve.load or _NOTHING
            figure = cell.time if is_times else cell.rate_bytes_per_s
            if figure is not None:
                tail = figure.p99 if is_times else None
                points.append(Point(levels.index(level), figure.median, None, tail))
                text = (time_text if is_times else rate_text)(figure.median)
                said[level].append(
                    f"{driver}: {text}" + (f", p99 {time_text(tail)}" if tail else "")
                )
        first = next(one for one in found if (one.record, one.driver) == (record, driver))
        if len(points) > 1:
            name = driver if first.load is None else first.label
            line = drawing.Curve(
                name, palette.look(driver).colour, tuple(sorted(points)), record > 0
            )
            lines.append(line)
    across = Axis(
        "load of the processors",
        lambda value: levels[round(value)],
        least=(0, len(levels) - 1),
        marks=tuple(range(len(levels))),
    )
    up = _titled(TIMES, found[0].kind.quantity) if is_times else RATES
    columns = [(float(at), "\n".join(said[level])) for at, level in enumerate(levels)]
    return drawing.plot("With each load", across, up, lines, columns)


def over_rate(found: Sequence[Curve], size: int) -> str:
    """Of messages that are sent at a rate: their time over the rate. The band ends at p99."""
    lines = []
    for curve in found:
        cell = curve.at(size)
        levels = _of_launches(cell) if cell is not None else []
        points = tuple(
            Point(one.rate_messages_per_s, one.time_ns.median, None, one.time_ns.p99)
            for one in levels
        )
        if len(points) > 1:
            lines.append(_line(curve, points))
    up = _titled(TIMES, "time from when the message was due")
    return drawing.plot("Over the rate of messages", _COUNTS, up, lines)


def layer_tax(found: Sequence[Curve], size: int) -> str:
    """What each driver adds to the one that it stands on."""
    alone = [curve for curve in found if curve.load is None]
    known: dict[int, dict[str, Summary]] = {}
    for curve in alone:
        if (cell := curve.at(size)) is not None and cell.time is not None:
            known.setdefault(curve.record, {})[curve.driver] = cell.time
    bars = []
    for curve in alone:
        layer = _layer(curve, known.get(curve.record, {}))
        if layer is None or layer.tax is None:
            continue
        tax = layer.tax
        said = f"{curve.label} over {layer.below}: {time_text(abs(tax.value))}"
        said += " less" if tax.value < 0 else ""
        known_ends = tax.low is not None and tax.high is not None
        interval = Interval(tax.low or 0.0, tax.high or 0.0) if known_ends else None
        bar = Bar(curve.label, palette.look(curve.driver).colour, tax.value)
        bars.append(Row(said, (bar,), interval))
    axis = Axis("added", lambda value: short(_signed(value)), strong=0.0)
    return drawing.rows(f"Layer tax at {size_text(size)}", axis, bars)


def explained(found: Sequence[Curve]) -> str:
    """Where half a round trip goes, of each cell that `beowire explain` has looked into."""
    bars = []
    for curve in found:
        for cell in curve.cells:
            for one in (launch.explained for launch in cell.launches):
                if one is None:
                    continue
                # A later version's parts are shown as well, and all of them is what adds up.
                names = [*(name for name in PARTS if name in one.parts_ns)]
                names += sorted(set(one.parts_ns) - set(names))
                parts = [
                    Bar(name, _PART_COLOURS.get(name, "#bab0ac"), one.parts_ns[name])
                    for name in names
                ]
                rest = "own code, polling" if one.spins else "waiting"
                parts.append(Bar(rest, _REST_COLOUR, max(0.0, one.rest_ns)))
                said = f"{curve.label}, {size_text(cell.size)}: {time_text(one.half_rtt_ns)}"
                bars.append(Row(said, tuple(parts)))
    axis = Axis("half a round trip, both ends together", lambda value: short(time_text(value)))
    return drawing.rows("Where the time goes", axis, bars)


def _over_sizes(
    label: str,
    found: Sequence[Curve],
    figure: _Figure,
    up: Axis,
    bounds: Sequence[drawing.Curve] = (),
    *,
    compared: bool = True,
    of: str = "",
) -> str:
    """`compared`: what does not differ from the baseline in speed is hollow. `of`: the driver whose
    values are written at the ticks, and whose hollow dots are in grey columns."""
    every = all_sizes(found)
    shown = {*telling_sizes(every, _MOST_SIZES)}
    written = drawing.ticks(max(every[0], 1), every[-1], SIZES.base) if of else []
    for curve in found:
        if curve.driver == of:
            shown |= _alike(curve, _baseline(curve, found)) | ({*every} & {*map(round, written)})
    sizes = sorted(shown)
    said = {size: [size_text(size)] for size in sizes}
    shaded: set[float] = set()
    lines = []
    for curve in found:
        alike = _alike(curve, _baseline(curve, found)) if compared else set()
        points = []
        for cell in curve.cells:
            value = figure(curve, cell) if cell.size in said else None
            if value is None or value.median <= 0:
                continue
            low, high = value.ci95 or (None, None)
            hollow, x = cell.size in alike, max(cell.size, 1)
            label = up.text(value.median) if curve.driver == of and x in written else ""
            points.append(Point(x, value.median, low, high, hollow, label))
            if hollow and curve.driver == of:
                shaded.add(x)
            said[cell.size].append(_value_text(curve, value, up, hollow=hollow))
        lines.append(_line(curve, tuple(points)))
    columns = [(float(max(size, 1)), "\n".join(said[size])) for size in sizes]
    return drawing.plot(label, SIZES, up, [*lines, *bounds], columns, shaded=shaded)


def _value_text(curve: Curve, value: Summary, up: Axis, *, hollow: bool) -> str:
    text = f"{curve.label}: {up.text(value.median)}"
    if value.ci95 is not None:
        text += f" ({interval_text(*map(up.text, value.ci95))})"
    return text + (f", not significantly different from {BASELINE}" if hollow else "")


def _bare_times(found: Sequence[Curve], axis: Axis) -> str:
    """Of what has no size: a bar a driver."""
    bars = []
    for curve in found:
        time = curve.cells[0].time
        if time is not None:
            said = f"{curve.label}: {time_text(time.median)}"
            bar = Bar(curve.label, palette.look(curve.driver).colour, time.median)
            bars.append(Row(said, (bar,), Interval(*time.ci95) if time.ci95 else None))
    return drawing.rows(found[0].kind.title, Axis(axis.title, axis.text), bars)


def _line(curve: Curve, points: tuple[Point, ...], *, dotted: bool = True) -> drawing.Curve:
    """In the driver's colour; bounds, further records and what was measured beside a load are
    dashed."""
    look = palette.look(curve.driver)
    meaning = palette.BOUND_MEANING.get(curve.driver)
    name = f"{curve.label} ({meaning})" if meaning else curve.label
    dashed = look.dashed or curve.record > 0 or curve.load is not None
    return drawing.Curve(name, look.colour, points, dashed, dotted)


def _baseline(curve: Curve, found: Sequence[Curve]) -> Curve | None:
    """What a curve is compared with: the baseline of its record, beside its load."""
    return next((one for one in found if one.driver == BASELINE and one.is_beside(curve)), None)


def _alike(curve: Curve, base: Curve | None) -> set[int]:
    """The sizes at which there is no significant difference from the baseline."""
    if base is None or base is curve:
        return set()
    far = (headline.Outcome.FASTER, headline.Outcome.SLOWER)
    compared = headline.compared(curve, base, curve.kind)
    return {one.size for one in compared if one.outcome not in far}


def _summary(value: float, ci95: tuple[float, float] | None = None) -> Summary:
    return Summary(median=value, ci95=ci95, p90=None, p99=None, min=value, max=value)


def _titled(axis: Axis, title: str) -> Axis:
    return Axis(title, axis.text, axis.base)


def _signed(value: float) -> str:
    return f"−{time_text(-value)}" if value < 0 else time_text(value)


def _wire_times(record: Record, sizes: Sequence[int], least_ns: float) -> tuple[Point, ...]:
    """How long the wire alone takes, from where that begins to matter."""
    known = [(size, wire.time_ns(record, size)) for size in sizes if size > 0]
    return tuple(Point(size, time) for size, time in known if time >= least_ns)


def _wire_rates(record: Record, found: Sequence[Curve]) -> tuple[Point, ...]:
    """What the wire carries: of messages that take turns one at a time, of others back to back."""
    sizes, kind = [size for size in all_sizes(found) if size > 0], found[0].kind
    if kind.is_times:
        return tuple(Point(size, 1e9 * size / wire.time_ns(record, size)) for size in sizes)
    if record.meta.wire is None:
        return ()
    limit = kind.ways * record.meta.wire.payload_bytes_per_s
    return tuple(Point(size, limit) for size in sizes)


def _shares(known: Sequence[tuple[Curve, Summary]], name: str) -> Iterator[str]:
    for curve, time in known:
        value = getattr(time, name)
        yield f"{curve.label}: {'unknown (too few)' if value is None else time_text(value)}"


def _levels(found: Sequence[Curve]) -> list[str]:
    """What ran besides, the least first: nothing, what gives way, more and more of a duty."""
    return sorted({curve.load or _NOTHING for curve in found}, key=_weight)


def _weight(level: str) -> tuple[int, int, str]:
    try:
        load = parse_load(level)
    except BeowireError:
        return (0 if level == _NOTHING else 9), 0, level
    order = ("idle", "duty", "memory", "hog").index(load.kind) + 1
    return order, load.percent - load.nice, level


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


def _layer(curve: Curve, known: Mapping[str, Summary]) -> Layer | None:
    """The driver beside what it stands on: the next below it that was measured at that size.
    `known`: times of all drivers there, in the same record."""
    return taxes([curve.driver, *under(curve.driver)], known)[0] if curve.driver in known else None
