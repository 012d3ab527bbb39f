# SPDX-License-Identifier: BSD-3-Clause
"""A record as text: the table, the plot, and what to use. Works without colour and in a pipe."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from beowire import text_table
from beowire.analysis import advice, headline, layers, marks, verdict
from beowire.analysis.curves import (
    BASELINE,
    WIDE,
    Cell,
    Curve,
    all_sizes,
    curves,
    idle_of,
    quantity_of,
    reach,
    telling_sizes,
)
from beowire.analysis.finding import Finding, State
from beowire.analysis.link import link_text
from beowire.analysis.marks import schedule_text, walk_text
from beowire.analysis.sheets import Sheet, nodes_text, sheets
from beowire.analysis.statistics import PRECISE_MEDIAN, PRECISE_P99
from beowire.analysis.wire import burst_text
from beowire.plan.load import described
from beowire.plan.patterns import PATTERNS, Pattern
from beowire.record.lines import Summary
from beowire.record.reader import Record
from beowire.show import terminal_probes
from beowire.show.findings import lines_of
from beowire.show.plot import plot
from beowire.units import (
    count_rate_text,
    rate_text,
    reach_text,
    significant,
    size_text,
    time_text,
)
from beowire.visible import LINES, visible

_NARROWEST = 60
_REPORT = "report.html beside the record"

#: Where the words of an advice begin, behind its sizes.
_ADVICE_INDENT = 21

#: What uses less of the wire is limited by something else.
_LIMITED_BY_WIRE = 0.1

#: Rows of a table, at most; a longer schedule is shown at selected sizes.
_MAXIMUM_ROWS = 14


def render(record: Record, *, width: int, colour: bool, probes: bool = False) -> str:
    """All of it, ending without a newline, with nothing of the record in it that a terminal obeys.
    `width` in columns. `probes`: with what probes counted."""
    width = max(_NARROWEST, width)
    # Where nobody looks, a program may look for whole lines.
    fold = partial(text_table.filled, width=width) if colour else str
    parts = [fold(_heading(record))]
    if busy := marks.busy_text(record):
        parts.append(fold(f"note: {busy}"))
    drawn: list[str] = []
    for pattern in PATTERNS.values():
        found = curves([record], pattern.name)
        if not found:
            continue
        parts += _tables(found, pattern, record, width, fold)
        if probes:
            parts += terminal_probes.tables(found, record, width)
        parts += [sheet_text(one) for one in sheets(record, pattern.name)]
        drawn.append(plot(_plotted(found), pattern, record, width=width, colour=colour))
        parts.append(drawn[-1])
        for load in dict.fromkeys(curve.load for curve in found):
            beside = [curve for curve in found if curve.load == load]
            words = advice.text(verdict.within(record, beside), pattern, record.meta.drivers)
            if out := verdict.left_out(record, beside):
                words += f"\n  ^ {out}" if words else ""
            parts.append(_advice(words, width) if colour else words)
    parts.append(_costs_text(record, width))
    if probes:
        parts.append(fold(terminal_probes.absent(record)))
    parts.append(fold(_left_out(record)))
    parts += [fold(one) for one in _verdicts(record)]
    # What is drawn has colours, and has made its words visible.
    return "\n\n".join(part if part in drawn else visible(part, LINES) for part in parts if part)


def _verdicts(record: Record) -> list[str]:
    """The result in a sentence, of each pattern and load that compares something."""
    found = []
    for pattern in PATTERNS.values():
        of_pattern = curves([record], pattern.name)
        for load in dict.fromkeys(curve.load for curve in of_pattern):
            beside = [curve for curve in of_pattern if curve.load == load]
            if said := headline.headline(record, beside, pattern):
                found.append(
                    (pattern.quantity, f", beside {described(load)}" if load else "", said)
                )
    if len(found) == 1:
        return [f"Verdict: {found[0][2]}."]
    return [f"Verdict on {quantity}{beside}: {said}." for quantity, beside, said in found]


def _advice(words: str, width: int) -> str:
    """Its lines broken below what they say; the heading as any other."""
    heading, *rest = words.split("\n")
    lines = [text_table.filled(heading, width)]
    for line in rest:
        deep = len(line) - len(line.lstrip(" "))
        lines.append(text_table.filled(line, width, max(0, _ADVICE_INDENT + 2 - deep)))
    return "\n".join(lines)


def _plotted(found: Sequence[Curve]) -> list[Curve]:
    """So many curves as can be told apart."""
    shown = layers.shown_first([curve.driver for curve in found])
    return [curve for curve in found if curve.driver in shown]


def _heading(record: Record) -> str:
    return f"{nodes_text(record)}: {link_text(record.meta)}"


def _tables(
    found: list[Curve], pattern: Pattern, record: Record, width: int, fold: Callable[[str], str]
) -> list[str]:
    sizes = _shown_sizes(all_sizes(found))
    baselines = {curve.load: curve for curve in found if curve.driver == BASELINE}
    comparison = f", and times that of {BASELINE}" if baselines else ""
    parts = []
    with_wire = record.meta.wire is not None
    if pattern.is_times:
        title = f"{pattern.title} in µs: median, and how far its 95 % interval reaches"
        parts.append(_laid_out(title, found, sizes, width, _latency_entry(record)))
        if load := load_text(record):
            parts.append(_table(f"99th percentile of it, {load}", found, sizes, width, _tail_cell))
        if any(cell.overlap("send") is not None for curve in found for cell in curve.cells):
            title = "Share of a transfer that went on while its sender, its receiver computed"
            parts.append(_table(title, found, sizes, width, _overlap_cell))
        title = f"{pattern.rate[0].upper()}{pattern.rate[1:]}{comparison}"
    else:
        title = f"{pattern.title}: median and 95 % interval{comparison}"
    if with_wire:
        title += ", % of the wire"
    if pattern.sized:
        parts.append(_laid_out(title, found, sizes, width, _rate_entry(record, baselines)))
    parts += _load_costs(found, pattern, sizes, width)
    if not pattern.is_times:
        title = "Messages per second, and CPU time of a message (user, system, softirq, both ends)"
        parts.append(_table(title, found, sizes, width, _messages_cell))
    notes = _mark_notes(found, record)
    notes += _precision_notes([cell for curve in found for cell in curve.cells], pattern)
    texts = (schedule_text(record), walk_text(found), offset_text(record))
    notes += [text for text in texts if text]
    if _are_many(found):
        notes.append(f"all sizes, and charts of any of the drivers, are in {_REPORT}")
    elif len(sizes) < len(all_sizes(found)):
        notes.append(
            f"{len(sizes)} of {len(all_sizes(found))} sizes are shown; all are in {record.path}"
        )
    return [*parts, fold("\n".join(notes))]


def _mark_notes(found: Sequence[Curve], record: Record) -> list[str]:
    """What the marks ! and ^ mean, where there are some."""
    notes = []
    if lost := marks.loss_text(found):
        notes.append(f"! {lost}")
    if any(marks.is_beyond_wire(record, cell, curve) for curve in found for cell in curve.cells):
        notes.append(f"^ no figure of the wire: {burst_text(record)}")
    return notes


def _precision_notes(cells: Sequence[Cell], pattern: Pattern) -> list[str]:
    wide = sum(_is_wide(quantity_of(cell, pattern)) for cell in cells)
    precise = sum(cell.stopped_by == "precise" for cell in cells)
    if precise == len(cells):
        return []
    goal = f"±{PRECISE_MEDIAN:.0%}" + (f", p99 ±{PRECISE_P99:.0%}" if pattern.is_times else "")
    what = "cells (a driver at a size)"
    notes = [f"{precise} of {len(cells)} {what} met the goal ({goal}): {advice.REMEDY}"]
    if wide:
        notes.insert(0, f"~ wider than ±{WIDE:.0%}: {wide} of {len(cells)} cells")
    return notes


def _table(
    title: str,
    found: Sequence[Curve],
    sizes: Sequence[int],
    width: int,
    text: Callable[[Cell], str],
) -> str:
    """A table of sizes against drivers."""

    def entry(curve: Curve, size: int) -> str:
        cell = curve.at(size)
        return "- " if cell is None else text(cell)

    return _laid_out(title, found, sizes, width, entry)


def _laid_out(
    title: str,
    found: Sequence[Curve],
    sizes: Sequence[int],
    width: int,
    entry: Callable[[Curve, int], str],
) -> str:
    """A row for each size and a column for each driver, or several tables below each other where
    the drivers do not fit side by side; of many drivers a row for each."""
    if _are_many(found):
        return _drivers_down(title, found, sizes, width, entry)
    columns = [[f"{one.name} ", *(entry(one, size) for size in sizes)] for one in found]
    return text_table.grid(title, columns, [size_text(size) for size in sizes], width)


def _are_many(found: Sequence[Curve]) -> bool:
    return len({curve.driver for curve in found}) > layers.FEW


def _drivers_down(
    title: str,
    found: Sequence[Curve],
    sizes: Sequence[int],
    width: int,
    entry: Callable[[Curve, int], str],
) -> str:
    """A row for each driver, idle and beside a load, under the title of its group, at as many sizes
    as fit."""
    lines: list[tuple[str, Curve | None]] = []
    for group in layers.grouped(curve.driver for curve in found):
        lines.append((group.title, None))
        lines += [(f"  {curve.name}", curve) for curve in found if curve.driver in group.drivers]
    columns = [
        [f"{size_text(size)} ", *(entry(curve, size) if curve else "" for _, curve in lines)]
        for size in sizes
    ]
    labels = ["driver", *(label for label, _ in lines)]
    return text_table.rows(title, columns, labels, width, telling_sizes)


def sheet_text(sheet: Sheet) -> str:
    """A table of words, with its notes."""
    columns = [
        text_table.to_the_right(list(column))
        for column in zip(sheet.heads, *sheet.rows, strict=True)
    ]
    lines = ["".join(row).rstrip() for row in zip(*columns, strict=True)]
    return "\n".join([sheet.title, *lines, *sheet.notes])


def _rate_entry(
    record: Record, baselines: Mapping[str | None, Curve]
) -> Callable[[Curve, int], str]:
    """Throughput, told against the baseline beside the same load, and against the wire."""

    def entry(curve: Curve, size: int) -> str:
        cell = curve.at(size)
        if cell is None:
            return "- "
        if marks.is_beyond_wire(record, cell, curve):
            return "^ "
        base = baselines.get(curve.load)
        at = base.at(size) if base else None
        if base and at and marks.is_beyond_wire(record, at, base):
            base = None
        share = marks.of_wire(record, cell, curve) or 0.0
        return _rate_cell(
            cell, curve.kind, base, f" {share:.0%}" if share >= _LIMITED_BY_WIRE else ""
        )

    return entry


def _latency_entry(record: Record) -> Callable[[Curve, int], str]:
    def entry(curve: Curve, size: int) -> str:
        cell = curve.at(size)
        if cell is None:
            return "- "
        return "^ " if marks.is_beyond_wire(record, cell, curve) else _latency_cell(cell)

    return entry


def _load_costs(
    found: Sequence[Curve], pattern: Pattern, sizes: Sequence[int], width: int
) -> list[str]:
    """What each driver loses beside a load: its own figure there to its figure without."""
    loaded = [curve for curve in found if idle_of(curve, found) is not None]
    if not loaded:
        return []

    def entry(curve: Curve, size: int) -> str:
        idle = idle_of(curve, found)
        return _load_cost(curve.at(size), idle.at(size) if idle else None, pattern)

    what = "median, 99th percentile" if pattern.is_times else "median"
    title = f"{pattern.title} beside the load, to that without ({what})"
    return [_laid_out(title, loaded, sizes, width, entry)]


def _load_cost(loaded: Cell | None, idle: Cell | None, pattern: Pattern) -> str:
    if loaded is None or idle is None:
        return "- "
    own, other = quantity_of(loaded, pattern), quantity_of(idle, pattern)
    if other.median <= 0:
        return "- "
    text = f"x{significant(own.median / other.median)} "
    if pattern.is_times:
        text += f"x{significant(own.p99 / other.p99)} " if own.p99 and other.p99 else "- "
    return text


def _latency_cell(cell: Cell) -> str:
    time = cell.time
    return "-" if time is None else f"{_microseconds(time.median)} {_around(cell, time)}"


def _tail_cell(cell: Cell) -> str:
    time = cell.time
    return "-" if time is None or time.p99 is None else f"{_microseconds(time.p99)} "


def _overlap_cell(cell: Cell) -> str:
    sent, received = cell.overlap("send"), cell.overlap("receive")
    return "-" if sent is None or received is None else f"{sent:.0%} {received:.0%} "


def _microseconds(value_ns: float) -> str:
    value = value_ns / 1e3
    decimals = max(0, 3 - math.floor(math.log10(value))) if value > 0 else 3
    return f"{value:.{min(decimals, 4)}f}"


def _messages_cell(cell: Cell) -> str:
    rate = count_rate_text(cell.rate_bytes_per_s.median / cell.size)
    cpu = cell.cpu_ns_per_message
    return f"{rate} {'-' if cpu is None else time_text(cpu)}{'!' if cell.lost else ' '}"


def load_text(record: Record) -> str:
    """What ran besides, in words; empty if nothing did."""
    load = record.meta.options.get("load")
    if not isinstance(load, dict):
        return ""
    if isinstance(load.get("load"), str):
        each = [described(one) for one in str(load["load"]).split(",")]
        return f"idle, and beside {', '.join(each)}" if len(each) == 1 else _several(each)
    return f"with a hog at nice {load.get('nice')} on every CPU"


def _several(loads: Sequence[str]) -> str:
    return f"idle, and beside each of: {'; '.join(loads)}"


def offset_text(record: Record) -> str:
    """Where buffers began, if not at a page; empty if they did."""
    offset = record.meta.options.get("offset")
    if not isinstance(offset, list) or len(offset) != 2:
        return ""
    return f"messages began {offset[0]} (sent) and {offset[1]} (received) bytes after a page"


def _rate_cell(cell: Cell, pattern: Pattern, baseline: Curve | None, of_wire: str) -> str:
    text = rate_text(cell.rate_bytes_per_s.median) + of_wire
    base = baseline.at(cell.size) if baseline else None
    if base is not None and base.rate_bytes_per_s.median > 0:
        ratio = cell.rate_bytes_per_s.median / base.rate_bytes_per_s.median
        shown = significant(ratio, 2) if ratio < 999 else ">999"
        return f"{text} x{shown}{_mark(cell, quantity_of(cell, pattern))}"
    if not pattern.is_times:
        return f"{text} {_around(cell, cell.rate_bytes_per_s)}"
    return f"{text}{_mark(cell, quantity_of(cell, pattern))}"


def _around(cell: Cell, summary: Summary) -> str:
    """The farther end of the interval; `±?` where there were too few rounds for one."""
    return f"{reach_text(reach(summary))}{_mark(cell, summary)}"


def _mark(cell: Cell, summary: Summary) -> str:
    """What is lost is worse than what is uncertain."""
    if cell.lost:
        return "!"
    return "~" if _is_wide(summary) else " "


def _is_wide(summary: Summary) -> bool:
    return reach(summary) > WIDE


def _shown_sizes(sizes: list[int]) -> list[int]:
    """All sizes if they are few; else some, about evenly on the logarithmic axis, ends included.

    Of the sizes near such a point the roundest is shown (1024, not 1021).
    """
    if len(sizes) <= _MAXIMUM_ROWS:
        return sizes
    low, high = math.log2(sizes[0]), math.log2(sizes[-1])
    shown = {sizes[0], sizes[-1]}
    for step in range(1, _MAXIMUM_ROWS - 1):
        point = low + (high - low) * step / (_MAXIMUM_ROWS - 1)
        near = [size for size in sizes if abs(math.log2(size) - point) <= 0.6]
        if near:
            shown.add(max(near, key=lambda size: (size & -size, -size)))
    return sorted(shown)


def _span(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"


def _left_out(record: Record) -> str:
    """What was not measured, one line a reason; never endless."""
    sizes: dict[tuple[str, str], set[int]] = {}
    for one in record.skipped:
        sizes.setdefault((one.reason, one.driver), set()).update([one.size] if one.size else [])
    for result in record.results:
        if result.status != "ok":
            sizes.setdefault((result.status, result.driver), set()).add(result.size)
    drivers: dict[tuple[str, str], list[str]] = {}
    for (reason, driver), at in sizes.items():
        span = f" ({_span(size_text(min(at)), size_text(max(at)))})" if at else ""
        drivers.setdefault((reason, span), []).append(driver)
    if not drivers:
        return ""
    lines = [f"  {', '.join(names)}{span}: {reason}" for (reason, span), names in drivers.items()]
    return "\n".join(["Not measured, or incomplete", *lines])


def _costs_text(record: Record, width: int) -> str:
    """Settings of the nodes that cost time, as `beowire doctor` shows them; empty: none found."""
    lines = []
    for one in verdict.costly(record):
        at = f" at {place}" if (place := verdict.where(record, one)) else ""
        finding = Finding(one.check + at, State(one.state), one.text, one.costs, one.do)
        lines += lines_of([finding], width)
    return (
        "\n".join(["Settings of the nodes that cost time, and what to type", *lines])
        if lines
        else ""
    )
