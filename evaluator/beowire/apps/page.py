# SPDX-License-Identifier: BSD-3-Clause
"""The report of a run of programs: its tables, and a picture of the speedups. It needs no script;
the same record gives the same bytes."""

import shlex
from html import escape
from pathlib import Path

from beowire import files
from beowire.apps import tables as made
from beowire.apps.record import AppsRecord
from beowire.apps.results import BASE, cells, failures
from beowire.apps.tables import Table
from beowire.show import drawing, palette
from beowire.show.drawing import Axis, Bar, Interval, Row
from beowire.show.html import shell, tables
from beowire.units import significant

#: The sections of the page, by their ids.
_SECTIONS = {
    "speedup": "Speedup",
    "tables": "Tables",
    "skipped": "Not measured",
    "environment": "Environment",
    "method": "Method",
}


def write_apps_report(record: AppsRecord, path: Path, *, named: bool = False) -> None:
    """Writes the report to `path`, as shell.write() does. BeowireError."""
    files.refuse_records(path, [record.path])
    shell.write(render(record), path, [record.path], named=named)


def render(record: AppsRecord) -> str:
    """The page."""
    names = ", ".join(app.name for app in record.meta.apps) or "Nothing measured"
    skipped = "".join(f"<li>{escape(line)}</li>" for line in failures(record))
    return shell.page(
        "apps.html",
        {
            "bars": _bars(record),
            "tables": "".join(_table(*one) for one in enumerate(made.tables(record))),
            "skipped": f"<ul>{skipped}</ul>" if skipped else "<p>Everything was measured.</p>",
            "environments": tables.ends_table(record.meta.ends),
            "command": escape(shlex.join(record.meta.command)),
        },
        nav=_SECTIONS,
        title=f"Beowire: {names}",
        heading=escape(names),
        lede=[escape(line) for line in _lede(record)],
        warnings=record.warnings,
    )


def _lede(record: AppsRecord) -> list[str]:
    options = record.meta.options
    facts = [
        f"class {options.get('class')}, {options.get('ranks')} ranks",
        record.meta.started.strftime("%Y-%m-%d %H:%M UTC"),
        *([f"{record.end.elapsed_s:.0f} s"] if record.end is not None else []),
        f"Beowire {record.meta.beowire}",
    ]
    return [made.heading(record), " · ".join(facts)]


def _table(at: int, found: Table) -> str:
    rows = "".join(
        "<tr>"
        + f'<th scope="row">{escape(row[0])}</th>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in found.rows
    )
    notes = "".join(f"<p>{escape(note)}</p>" for note in found.notes)
    heads = [*map(escape, found.heads)]
    table = tables.table(f"table-{at}", found.title, heads, rows, "figures cards")
    return f"<h3>{escape(found.title)}</h3>{table}{notes}"


def _bars(record: AppsRecord) -> str:
    """A bar for each program and way, from none to its speedup, with its interval."""
    found = cells(record.launches, record.meta.apps)
    rows = []
    for app in record.meta.apps:
        for cell in made.in_order(record, found):
            if cell.app != app.name or cell.over == BASE:
                continue
            ratio = made.ratio_of(found, app.name, (cell.mpi, cell.over, cell.load))
            if ratio is not None:
                beside = "" if cell.load == "idle" else f" ({cell.load})"
                name = f"{app.name}, {cell.mpi}/{cell.over}{beside}"
                bar = Bar(name, palette.look(cell.over).colour, ratio.value)
                known = ratio.low is not None and ratio.high is not None
                interval = Interval(ratio.low or 0.0, ratio.high or 0.0) if known else None
                rows.append(Row(f"{name}: {significant(ratio.value)} ×", (bar,), interval))
    if not rows:
        return "<p>Nothing was measured over TCP to compare with.</p>"
    axis = Axis("speed relative to TCP", lambda value: f"{value:g} ×", least=(0, 1.2), strong=1.0)
    caption = (
        "<figcaption>Speed relative to TCP of the same MPI: median of the rounds, and its 95 %"
        " interval if there are enough rounds. Higher is better. A line that reaches the right end"
        " continues beyond it."
        "</figcaption>"
    )
    return f"<figure>{drawing.rows('Speedup over TCP', axis, rows)}{caption}</figure>"
