# SPDX-License-Identifier: BSD-3-Clause
"""What probes counted, as text: tables at a few sizes, and what could not be counted."""

from collections.abc import Callable, Sequence
from statistics import median
from textwrap import fill

from beowire.analysis import layers
from beowire.analysis.curves import Cell, Curve, all_sizes, under_groups
from beowire.analysis.probes import heading_words, in_order, reasons
from beowire.record.lines import ProbeInfo
from beowire.record.reader import Record
from beowire.text_table import grid, how_many_fit, rows
from beowire.units import (
    count_rate_text,
    rate_text,
    reach_text,
    significant,
    size_text,
    time_text,
)


def tables(found: Sequence[Curve], record: Record, width: int) -> list[str]:
    """For the smallest and the largest size, a row a figure and a column a driver; of many drivers
    a row for each, and as many figures as fit."""
    sizes = all_sizes(found)
    many = len({curve.driver for curve in found}) > layers.FEW
    table = _drivers_down if many else _table
    return [table(found, record, size, width) for size in dict.fromkeys((sizes[0], sizes[-1]))]


def absent(record: Record) -> str:
    """What could not be counted, and why; empty if all could."""
    lines = reasons(record)
    return "\n".join(["Not counted", *(f"  {line}" for line in lines)]) if lines else ""


def figure_text(info: ProbeInfo, value: float | None) -> str:
    """One value of a figure."""
    if value is None:
        return "-"
    if info.per == "second":
        return count_rate_text(value)
    return time_text(value) if info.unit == "ns" else _number(value)


def row_text(info: ProbeInfo) -> str:
    """What a figure is, and of what."""
    return info.summary if info.per == "second" else f"{info.summary}, a message"


def counted(record: Record, cells: Sequence[Cell]) -> list[ProbeInfo]:
    """The figures that some of the cells have."""
    known = {
        name
        for cell in cells
        for one in cell.launches
        for end in (0, 1)
        for name in one.figures(end)
    }
    return [info for info in record.meta.probes if info.name in known]


def methods_text(cell: Cell) -> str:
    """Both ways to see CPU time, of launches their medians, and whether they differ; `-` if only
    one was looked at."""
    found = [one.cpu_methods for one in cell.launches if one.cpu_methods is not None]
    if not found:
        return "-"
    accounted = median(one.accounted_ns for one in found)
    taken = median(one.taken_ns for one in found)
    differ = " DIFFER" if any(one.differ for one in found) else ""
    return f"{time_text(accounted)}, {time_text(taken)}{differ}"


def demand_text(cell: Cell) -> str:
    """CPU time of both ends to 1024 bytes."""
    demand = cell.service_demand_us_per_kb
    return "-" if demand is None else f"{significant(demand)} µs/KB"


def per_system_text(cell: Cell, end: int) -> str:
    """Payload to a second of system time."""
    values = [one.bytes_per_system_s for one in cell.launches]
    known = [each[end] for each in values if end < len(each)]
    rates = [rate for rate in known if rate is not None]
    return rate_text(median(rates)) if rates else "-"


def _table(found: Sequence[Curve], record: Record, size: int, width: int) -> str:
    shown = [(curve, cell) for curve in found if (cell := curve.at(size)) is not None]
    infos = counted(record, [cell for _, cell in shown])
    names = [row_text(info) for info in infos]
    columns = []
    for curve, cell in shown:
        values = [
            _ends([_with_reach(figure_text, info, cell, end) for end in (0, 1)]) for info in infos
        ]
        values.append(demand_text(cell))
        values.append(_ends([per_system_text(cell, end) for end in (0, 1)]))
        values.append(methods_text(cell))
        columns.append([f"{curve.name} ", *(f"{value} " for value in values)])
    names += [
        "service demand, both ends",
        "throughput to a second of system time",
        "CPU time accounted, and seen by a soaker",
    ]
    title = _title(size)
    longest = max(map(len, names))
    return grid(title, columns, [f"{name:<{longest}}" for name in names], width, corner="")


def _drivers_down(found: Sequence[Curve], record: Record, size: int, width: int) -> str:
    """A row for each driver under the title of its group, and a column a figure, whose unit is in
    its heading; those that tell most, where not all fit."""
    lines: list[tuple[str, Cell | None]] = []
    for title, members in under_groups(found):
        of_group = [(f"  {one.name}", cell) for one in members if (cell := one.at(size))]
        lines += [(title, None), *of_group] if of_group else []
    infos = in_order(counted(record, [cell for _, cell in lines if cell]))
    columns = [["demand ", "µs/KB ", *(_demand_number(cell) if cell else "" for _, cell in lines)]]
    for info in infos:
        texts = [
            _ends([_with_reach(_in_heading, info, cell, end) for end in (0, 1)]) if cell else ""
            for _, cell in lines
        ]
        columns.append([*(f"{word} " for word in _heading(info)), *(f"{text} " for text in texts)])
    labels = ["", "driver", *(label for label, _ in lines)]
    table = rows(_title(size), columns, labels, width, lambda numbers, count: numbers[:count])
    missing = [info.name for info in infos[max(0, how_many_fit(columns, labels, width) - 1) :]]
    if not missing:
        return table
    note = f"not shown for want of columns: {', '.join(missing)}; all are in report.html"
    return f"{table}\n{fill(note, width, subsequent_indent='  ')}"


def _title(size: int) -> str:
    return f"What probes counted at {size_text(size)}: initiator, responder"


def _heading(info: ProbeInfo) -> tuple[str, str]:
    """Two lines."""
    words, unit = heading_words(info)
    first, _, last = words.rpartition(" ")
    unit = "k/s" if info.per == "second" else unit
    return (words, unit) if unit else (first, last)


def _in_heading(info: ProbeInfo, value: float | None) -> str:
    """A value in the unit that its heading has."""
    if value is None:
        return "-"
    return _number(value / 1e3 if info.per == "second" or info.unit == "ns" else value)


def _demand_number(cell: Cell) -> str:
    demand = cell.service_demand_us_per_kb
    return "- " if demand is None else f"{significant(demand)} "


def _with_reach(
    text: Callable[[ProbeInfo, float | None], str], info: ProbeInfo, cell: Cell, end: int
) -> str:
    """A figure at an end, and how far its interval reaches, if it can have one."""
    shown_text = text(info, cell.figure(info.name, end))
    reach = cell.figure_reach(info.name, end)
    return shown_text if reach is None else f"{shown_text} {reach_text(reach)}"


def _ends(values: Sequence[str]) -> str:
    """Both, or the only one."""
    return values[0] if values[1] == "-" else ", ".join(values)


def _number(value: float) -> str:
    return significant(value) if value < 1e5 else f"{value:.3g}"
