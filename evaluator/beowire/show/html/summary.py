# SPDX-License-Identifier: BSD-3-Clause
"""The result in words and in a small table, computed from the cells."""

from collections.abc import Callable, Sequence
from html import escape

from beowire.analysis import layers, marks, verdict
from beowire.analysis.curves import (
    BASELINE,
    FLOOR,
    WIDE,
    Cell,
    Curve,
    curves,
    idle_of,
    overlap,
    ratio,
    reach,
    record_labels,
    under_groups,
)
from beowire.analysis.statistics import PRECISE_MEDIAN, PRECISE_P99
from beowire.analysis.wire import burst_text
from beowire.plan.load import described
from beowire.plan.patterns import PATTERNS
from beowire.record.lines import Result, Summary
from beowire.record.parts import Found
from beowire.record.reader import Record
from beowire.show import palette
from beowire.show.html import tables
from beowire.units import interval_text, rate_text, significant, size_text, time_text

_NO_INTERVAL = '<small title="too few rounds for an interval">(±?)</small>'

#: Maximum number in a sentence.
_MOST_NAMED = 4


def best_rate(curve: Curve, record: Record) -> Cell:
    """The cell with the highest throughput, by the lower end of its interval.

    The highest median may be that of a cell with few rounds. Figures above the limit of the link
    are left out.
    """
    known = [cell for cell in curve.cells if not marks.is_beyond_wire(record, cell, curve)]
    return max(known or curve.cells, key=_sure_rate)


def sentences(records: Sequence[Record], pingpong: Sequence[Curve]) -> list[str]:
    """The findings as sentences of HTML."""
    found: list[str] = []
    for index, record in enumerate(records):
        contenders = [
            curve
            for curve in pingpong
            if curve.record == index and curve.load is None and _is_contender(curve, record)
        ]
        found += _latency_sentences(marks.within_wire(record, contenders), pingpong)
        found += _throughput_sentences(contenders, record)
        found += _load_sentences([curve for curve in pingpong if curve.record == index])
        found += _method_sentences(record)
        found += _schedule_sentences(record)
        if busy := marks.busy_text(record):
            found.append(f"<b>The machine was busy</b>: {escape(busy)}.")
    found += _loss_sentences(records)
    found.append(_precision_sentence([result for one in records for result in one.results]))
    return found


def costs(records: Sequence[Record], pingpong: Sequence[Curve]) -> list[str]:
    """Settings that cost time, and the cost of one link compared with another, as HTML."""
    said: list[str] = []
    for record, label in zip(records, record_labels(records), strict=True):
        prefix = f"<b>{escape(label)}</b>: " if label else ""
        said += [prefix + _cost_text(record, one) for one in verdict.costly(record)]
    return said + [f"{escape(text)}." for text in verdict.links(records, pingpong)]


def _cost_text(record: Record, one: Found) -> str:
    at = f" at {escape(place)}" if (place := verdict.where(record, one)) else ""
    said = f"<b>{escape(one.check)}</b>{at}: {escape(one.text)}"
    said += f". {escape(one.costs[0].upper() + one.costs[1:])}" if one.costs else ""
    return f"{said}." if not one.do else f"{said}: <code>{escape(one.do)}</code>"


def table(records: Sequence[Record], pingpong: Sequence[Curve]) -> str:
    """The drivers side by side: their smallest message and their throughput; in groups if they are
    many."""
    if not pingpong:
        return ""
    with_wire = any(record.meta.wire for record in records)
    common = _common_size(pingpong)
    smallest = {curve.cells[0].size for curve in pingpong}
    of_size = f" of {size_text(min(smallest))}" if len(smallest) == 1 else ""
    heads = [
        "Driver",
        *([] if of_size else ["Smallest message"]),
        f"Half round trip{of_size}",
        f"÷ {BASELINE}",
        "÷ the layer below",
        f"Throughput at {size_text(common)}" if common else "Best throughput",
        *(["Share of the link"] if with_wire else []),
        "CPU per round trip",
    ]
    body = "".join(
        group_row(title, len(heads))
        + "".join(
            _row(curve, records, pingpong, common, same_size=bool(of_size)) for curve in found
        )
        for title, found in under_groups(pingpong)
    )
    label = "The drivers side by side"
    return tables.table("side-by-side", label, heads, body, "figures summary cards") + (
        '<p class="note">Ratios are of half round trips at the same size in the same record; below'
        " 1 is faster. The layer below is the driver that this one is built on. In small print:"
        " 95 % intervals, or ±? if there were too few rounds. CPU: user and system time of the"
        " initiator + the responder.</p>"
    )


def _common_size(found: Sequence[Curve]) -> int:
    """The largest size that all curves have; 0: none."""
    sizes = [{cell.size for cell in curve.cells} for curve in found]
    return max(set.intersection(*sizes), default=0)


def group_row(title: str, columns: int) -> str:
    """The row that begins a group; empty without a title."""
    if not title:
        return ""
    return f'<tr class="group"><th scope="colgroup" colspan="{columns}">{escape(title)}</th></tr>'


def _row(
    curve: Curve,
    records: Sequence[Record],
    pingpong: Sequence[Curve],
    common: int,
    *,
    same_size: bool,
) -> str:
    with_wire = any(record.meta.wire for record in records)
    cell = curve.cells[0]
    best = curve.at(common) or best_rate(curve, records[curve.record])
    wire = records[curve.record].meta.wire
    share = f"{best.rate_bytes_per_s.median / wire.payload_bytes_per_s:.0%}" if wire else ""
    return (
        f'<tr><th scope="row">{swatch(curve)}</th>'
        + ("" if same_size else f"<td>{size_text(cell.size)}</td>")
        + f"<td>{_with_interval(cell.time, time_text)}</td>"
        f"<td>{_ratio_text(curve, cell, pingpong, BASELINE)}</td>"
        f"<td>{_below_text(curve, cell, pingpong)}</td>"
        f"<td>{rate_text(best.rate_bytes_per_s.median)}"
        + ("" if common else f" <small>at {size_text(best.size)}</small>")
        + "</td>"
        + (
            f"<td>{share if marks.meets_wire(records[curve.record], curve) else '–'}</td>"
            * with_wire
        )
        + f"<td>{_cpu_text(cell)}</td></tr>"
    )


def swatch(curve: Curve) -> str:
    """The driver's name after a spot of its colour."""
    colour = palette.look(curve.driver).colour
    meaning = palette.BOUND_MEANING.get(curve.driver)
    note = f" <small>({meaning})</small>" if meaning else ""
    return f'<span class="swatch" style="background:{colour}"></span>{escape(curve.label)}{note}'


def _latency_sentences(contenders: list[Curve], pingpong: Sequence[Curve]) -> list[str]:
    if not contenders:
        return []
    size = min(curve.cells[0].size for curve in contenders)
    cells = [(curve, half) for curve in contenders if (half := _half(curve, size)) is not None]
    if not cells:
        return []
    fastest, half = min(cells, key=lambda item: item[1].median)
    close = [curve for curve, other in cells if curve is not fastest and overlap(half, other)]
    text = (
        f"The smallest message ({size_text(size)}) is fastest over {_name(fastest)}: half a round"
        f" trip takes {_with_interval(half, time_text)}"
    )
    comparisons = [
        f"{significant(half.median / base.median)} times {_name(other)} ({time_text(base.median)})"
        for other in pingpong
        if other.is_beside(fastest)
        and other.driver in (BASELINE, FLOOR)
        and other is not fastest
        and (base := _half(other, size)) is not None
    ]
    text += f", {' and '.join(comparisons)}." if comparisons else "."
    if close:
        names = ", ".join(_name(curve) for curve in close[:_MOST_NAMED])
        if len(close) > _MOST_NAMED:
            names += f" and {len(close) - _MOST_NAMED} others"
        text += f" There is no significant difference from {names}: the intervals overlap."
    return [text]


def _throughput_sentences(contenders: list[Curve], record: Record) -> list[str]:
    if not contenders:
        return []
    best = max(contenders, key=lambda curve: _sure_rate(best_rate(curve, record)))
    cell = best_rate(best, record)
    rate = cell.rate_bytes_per_s
    highest = "throughput, by the lower end of its interval," if rate.ci95 else "median throughput"
    text = (
        f"The highest {highest} is {_with_interval(rate, rate_text)}, over"
        f" {_name(best)} with messages of {size_text(cell.size)}"
    )
    if record.meta.wire is not None:
        limit = record.meta.wire.payload_bytes_per_s
        text += f": {rate.median / limit:.0%} of what the link can carry ({rate_text(limit)})"
        if rate.median > limit and (reason := burst_text(record)):
            return [f"{text}. {reason}"]
    return [text + "."]


def _loss_sentences(records: Sequence[Record]) -> list[str]:
    """Which drivers lost messages in which pattern, because figures count only what arrived."""
    lossy = {one.pattern for record in records for one in record.results if one.lost}
    return [
        f"<b>Lost</b>: in {escape(pattern.noun)}, {escape(text)}. Reliable drivers retransmit."
        for name, pattern in PATTERNS.items()
        if name in lossy and (text := marks.loss_text(curves(records, name)))
    ]


def _load_sentences(pingpong: Sequence[Curve]) -> list[str]:
    """The effect of each load on the drivers, at their smallest message."""
    return [
        sentence
        for load in dict.fromkeys(curve.load for curve in pingpong)
        if load and (sentence := _load_sentence(load, pingpong))
    ]


def _load_sentence(load: str, pingpong: Sequence[Curve]) -> str:
    losses = [
        f"{_name(idle)} {significant(own.median / base.median)} times as long"
        + (f" (p99 {significant(own.p99 / base.p99)} times)" if own.p99 and base.p99 else "")
        for curve in pingpong
        if curve.load == load
        and (idle := idle_of(curve, pingpong)) is not None
        and (own := _half(curve, curve.cells[0].size)) is not None
        and (base := _half(idle, curve.cells[0].size)) is not None
    ]
    if not losses:
        return ""
    return (
        f"With {escape(described(load))}, half a round trip of the smallest message takes, compared"
        f" with an idle machine: {', '.join(losses)}."
    )


def _method_sentences(record: Record) -> list[str]:
    """In how many cells the two measurements of CPU time differ."""
    both = [one.cpu_methods for one in record.results if one.cpu_methods is not None]
    if not both:
        return []
    differ = sum(one.differ for one in both)
    return [
        f"CPU time was measured in two ways in {len(both)} cells, by the kernel's accounts and by a"
        " program of the lowest priority that uses what is left. They differ by more than 5 % in"
        f" {differ} cells."
    ]


def _schedule_sentences(record: Record) -> list[str]:
    text = marks.schedule_text(record)
    return [text] if text else []


def _precision_sentence(results: Sequence[Result]) -> str:
    if not results:
        return "No cell was measured."
    reaches = [
        reach(quantity)
        for result in results
        if (quantity := result.time() or result.rate_bytes_per_s) is not None
    ]
    near = sum(one <= WIDE for one in reaches)
    precise = sum(result.stopped_by == "precise" for result in results)
    whole = sum(result.status == "ok" for result in results)
    return (
        f"{len(results)} cells (driver × pattern × size × launch) were measured. In {near} of them"
        f" the 95 % interval is within {WIDE:.0%} of the median, and {precise} met the goal"
        f" ({PRECISE_MEDIAN:.0%}, and {PRECISE_P99:.0%} for p99) in time."
        + ("" if whole == len(results) else f" {len(results) - whole} are incomplete.")
        + (" A longer run would be more precise." if near < 0.9 * len(results) else "")
    )


def _sure_rate(cell: Cell) -> tuple[float, float]:
    rate = cell.rate_bytes_per_s
    return (rate.ci95[0] if rate.ci95 else 0.0, rate.median)


def _is_contender(curve: Curve, record: Record) -> bool:
    """It can be used between two nodes, and loses no messages."""
    unreliable = {info.name for info in record.meta.drivers if not info.reliable}
    bound = palette.look(curve.driver).bound
    return marks.meets_wire(record, curve) and not bound and curve.driver not in unreliable


def _half(curve: Curve, size: int) -> Summary | None:
    cell = curve.at(size)
    half = cell.time if cell else None
    return half if half is not None and half.median > 0 else None


def _name(curve: Curve) -> str:
    return f"<b>{escape(curve.label)}</b>"


def _with_interval(summary: Summary | None, text: Callable[[float], str]) -> str:
    if summary is None:
        return "–"
    if summary.ci95 is None:
        return f"{text(summary.median)} {_NO_INTERVAL}"
    low, high = text(summary.ci95[0]), text(summary.ci95[1])
    return f"{text(summary.median)} <small>({interval_text(low, high)})</small>"


def _ratio_text(curve: Curve, cell: Cell, pingpong: Sequence[Curve], driver: str) -> str:
    base = next((c for c in pingpong if c.driver == driver and c.is_beside(curve)), None)
    base_half = _half(base, cell.size) if base else None
    if base_half is None or cell.time is None:
        return "–"
    if base is curve:
        return "1"
    quotient = ratio(cell.time, base_half)
    text = significant(quotient.value)
    if quotient.low is None or quotient.high is None:
        return text
    reach = interval_text(significant(quotient.low), significant(quotient.high))
    return f"{text} <small>({reach})</small>"


def _below_text(curve: Curve, cell: Cell, pingpong: Sequence[Curve]) -> str:
    """The ratio to the layer below, and its name."""
    driver = layers.below(curve.driver)
    if driver is None:
        return "–"
    text = _ratio_text(curve, cell, pingpong, driver)
    return text if text == "–" else f"{text} <small>{escape(driver)}</small>"


def _cpu_text(cell: Cell) -> str:
    costs = [cost for end in (0, 1) if (cost := cell.cpu(end)) is not None]
    if not costs:
        return "–"
    return " + ".join(time_text(cost.user_ns + cost.system_ns) for cost in costs)
