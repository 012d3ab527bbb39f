# SPDX-License-Identifier: BSD-3-Clause
"""What probes counted, as text: tables at a few sizes, and what could not be counted."""

from collections.abc import Sequence
from statistics import median

from beowire.record import ProbeInfo, Record
from beowire.report.curves import Cell, Curve, all_sizes
from beowire.report.probe_table import reasons
from beowire.text_table import grid
from beowire.units import count_rate_text, rate_text, significant, size_text, time_text


def tables(found: Sequence[Curve], record: Record, width: int) -> list[str]:
    """For the smallest and the largest size, a row a figure and a column a driver."""
    sizes = all_sizes(found)
    return [_table(found, record, size, width) for size in dict.fromkeys((sizes[0], sizes[-1]))]


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
            _ends([figure_text(info, cell.figure(info.name, end)) for end in (0, 1)])
            for info in infos
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
    title = f"What probes counted at {size_text(size)}: initiator, responder"
    longest = max(map(len, names))
    return grid(title, columns, [f"{name:<{longest}}" for name in names], width, corner="")


def _ends(values: Sequence[str]) -> str:
    """Both, or the only one."""
    return values[0] if values[1] == "-" else ", ".join(values)


def _number(value: float) -> str:
    return significant(value) if value < 1e5 else f"{value:.3g}"
