# SPDX-License-Identifier: BSD-3-Clause
"""The tables of what probes counted, and what each of them is."""

from collections.abc import Sequence
from html import escape

from beowire.analysis import layers
from beowire.analysis.curves import Cell, Curve, curves, median_or_none, probe_reach, under_groups
from beowire.analysis.probes import heading_words, in_order, reasons
from beowire.plan.patterns import PATTERNS
from beowire.record.lines import ProbeInfo, Result
from beowire.record.reader import Record
from beowire.show.html import tables
from beowire.show.html.summary import group_row, swatch
from beowire.units import reach_text, significant, size_text


def counted(records: Sequence[Record]) -> str:
    """A row a result, a column a figure, both ends in a cell; then what the figures are. Of many
    drivers first a table at one size, under the titles of their groups."""
    infos = {info.name: info for record in records for info in record.meta.probes}
    known = {
        name
        for record in records
        for result in record.results
        for end in (0, 1)
        for name in result.figures(end)
    }
    shown = [info for info in infos.values() if info.name in known]
    if not shown:
        return "<p>The record has no counts: an older version measured it.</p>"
    every = _every(records, shown)
    drivers = {result.driver for record in records for result in record.results}
    if len(drivers) > layers.FEW:
        glance = _at_a_glance(records, in_order(shown))
        every = f"{glance}<details><summary>More sizes</summary>{every}</details>"
    return (
        "<p>Each cell has the initiator, then the responder; a heading sorts by the first. Times"
        " and counts are means per message, of a ping-pong per round trip. Interrupts are per"
        " second, with the reach of the 95 % interval (±? if there were too few rounds)."
        f"</p>{every}{_meanings(shown)}{_absent(records)}"
    )


def _every(records: Sequence[Record], shown: Sequence[ProbeInfo]) -> str:
    measured, which = tables.some(records)
    with_methods = any(one.cpu_methods for _, one in measured)
    loaded = any(one.load for _, one in measured)
    heads = [
        "Driver",
        *(["Record"] if len(records) > 1 else []),
        "Pattern",
        *(["Load"] if loaded else []),
        "Size",
        *(_heading(info) for info in shown),
        "Throughput per second of system time <small>MB</small>",
        *(
            ["CPU time: kernel's accounts, low-priority program <small>µs</small>"]
            if with_methods
            else []
        ),
    ]
    rows = []
    for label, result in measured:
        cells = [
            f'<th scope="row">{escape(result.driver)}</th>',
            *([_text(label)] if len(records) > 1 else []),
            _text(result.pattern),
            *([_text(result.load or "nothing")] if loaded else []),
            f"<td>{result.size:,}</td>",
            *(_figure(info, [result]) for info in shown),
            _per_system(result),
            *([_methods(result)] if with_methods else []),
        ]
        rows.append(f"<tr>{''.join(cells)}</tr>")
    buttons = [f'<button type="button">{text}</button>' for text in heads]
    classes = "figures sortable named cards"
    return which + tables.table(
        "all-probes", "What probes counted", buttons, "".join(rows), classes
    )


def _at_a_glance(records: Sequence[Record], shown: Sequence[ProbeInfo]) -> str:
    """Each pattern at its smallest size: a row a driver, in their groups; the first is open."""
    tables = [
        _of_pattern(row.noun, found, shown)
        for name, row in PATTERNS.items()
        if (found := curves(records, name))
    ]
    return "".join(
        f"<details{' open' if number == 0 else ''}>{text}</details>"
        for number, text in enumerate(tables)
    )


def _of_pattern(noun: str, found: Sequence[Curve], shown: Sequence[ProbeInfo]) -> str:
    size = min(curve.cells[0].size for curve in found)
    heads = ["Driver", "Service demand <small>µs/KB</small>", *(_heading(info) for info in shown)]
    body = "".join(
        group_row(group, len(heads))
        + "".join(
            f'<tr><th scope="row">{swatch(curve)}</th>'
            f"{_demand(cell)}{''.join(_figure(info, cell.launches) for info in shown)}</tr>"
            for curve in members
            if (cell := curve.at(size)) is not None
        )
        for group, members in under_groups(found)
    )
    title = f"{noun[0].upper() + noun[1:]} at {size_text(size)}"
    name = f"probes-{found[0].pattern}"
    made = tables.table(name, title, heads, body, "figures named cards")
    return f"<summary>{escape(title)}</summary>{made}"


def _heading(info: ProbeInfo) -> str:
    words, unit = heading_words(info)
    return f"{escape(words)}" + (f" <small>{unit}</small>" if unit else "")


def _figure(info: ProbeInfo, launches: Sequence[Result]) -> str:
    """What was counted at each end; of launches their median."""
    ends = range(max(1, *(len(one.cpu) for one in launches)))
    values = [median_or_none([one.figures(end).get(info.name) for one in launches]) for end in ends]
    factor = 1e3 if info.unit == "ns" else 1.0
    texts = []
    for end, value in zip(ends, values, strict=True):
        reach = probe_reach(launches, info.name, end)
        text = "–" if value is None else significant(value / factor)
        texts.append(text if reach is None else f"{text} {reach_text(reach)}")
    known = any(value is not None for value in values)
    return _text(", ".join(texts) if known else "–")


def _demand(cell: Cell) -> str:
    demand = cell.service_demand_us_per_kb
    return _text("–" if demand is None else significant(demand))


def _per_system(result: Result) -> str:
    rates = result.bytes_per_system_s
    texts = ["–" if rate is None else significant(rate / 1e6) for rate in rates]
    return _text(", ".join(texts) or "–")


def _methods(result: Result) -> str:
    both = result.cpu_methods
    if both is None:
        return _text("–")
    text = f"{significant(both.accounted_ns / 1e3)}, {significant(both.taken_ns / 1e3)}"
    mark = ' <span class="mark">differ</span>' if both.differ else ""
    return f"<td>{text}{mark}</td>"


def _meanings(shown: Sequence[ProbeInfo]) -> str:
    items = "".join(
        f"<dt>{_heading(info)}</dt><dd>{escape(info.summary)}: {escape(info.how)}"
        f"{'; in separate rounds' if info.disturbs else ''}</dd>"
        for info in shown
    )
    return f'<dl class="drivers">{items}</dl>'


def _absent(records: Sequence[Record]) -> str:
    lines = dict.fromkeys(line for record in records for line in reasons(record))
    if not lines:
        return ""
    items = "".join(f"<li>{escape(text)}</li>" for text in lines)
    return f"<p>Not counted:</p><ul>{items}</ul>"


def _text(value: str) -> str:
    return f"<td>{escape(value)}</td>"
