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
from beowire.report import palette, shell
from beowire.report.tables import ends_table
from beowire.statistics import Estimate
from beowire.units import significant

_WIDTH = 900
_LEFT, _RIGHT = 260, 130
_ROW, _GAP = 20, 10
_LEAST_SCALE = 1.25
_SPARE = 1.5


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
            "tables": "".join(_table(table) for table in made.tables(record)),
            "skipped": f"<ul>{skipped}</ul>" if skipped else "<p>Everything was measured.</p>",
            "environments": ends_table(record.meta.ends),
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


def _table(table: Table) -> str:
    heads = "".join(
        f'<th scope="col"{_number(at)}>{escape(head)}</th>' for at, head in enumerate(table.heads)
    )
    rows = "".join(
        "<tr>"
        + f'<th scope="row">{escape(row[0])}</th>'
        + "".join(f'<td class="number">{escape(cell)}</td>' for cell in row[1:])
        + "</tr>"
        for row in table.rows
    )
    notes = "".join(f"<p>{escape(note)}</p>" for note in table.notes)
    return (
        f"<h3>{escape(table.title)}</h3>"
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(table.title)}">'
        f'<table class="figures"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>'
        f"{notes}"
    )


def _number(at: int) -> str:
    return ' class="number"' if at else ""


def _bars(record: AppsRecord) -> str:
    """A bar for each program and way, from none to its speedup, with its interval."""
    found = cells(record.launches, record.meta.apps)
    rows: list[tuple[str, str, Estimate]] = []
    for app in record.meta.apps:
        for cell in made.in_order(record, found):
            if cell.app != app.name or cell.over == BASE:
                continue
            ratio = made.ratio_of(found, app.name, (cell.mpi, cell.over, cell.load))
            if ratio is not None:
                name = f"{app.name}, {cell.mpi}/{cell.over}"
                beside = "" if cell.load == "idle" else f" ({cell.load})"
                rows.append((name + beside, cell.over, ratio))
    if not rows:
        return "<p>No way over TCP was measured to compare with.</p>"
    # Bars have to be told apart, however far an interval may reach.
    farthest = _SPARE * max(one.value for _, _, one in rows)
    greatest = max(_LEAST_SCALE, min(farthest, max(one.high or one.value for _, _, one in rows)))
    scale = (_WIDTH - _LEFT - _RIGHT) / greatest
    height = _GAP + len(rows) * (_ROW + _GAP) + 20
    one = _LEFT + scale
    parts = [
        '<div class="scroll" tabindex="0" role="region" aria-label="Speedup over TCP">'
        f'<svg class="bars" viewBox="0 0 {_WIDTH} {height}" role="img"'
        ' aria-label="Speedup over TCP: bars. The figures are in the tables.">'
    ]
    for at, (name, over, ratio) in enumerate(rows):
        parts += _bar(_GAP + at * (_ROW + _GAP), name, palette.look(over).colour, ratio, scale)
    parts += [
        f'<line x1="{one:.1f}" x2="{one:.1f}" y1="0" y2="{height - 18}" stroke-dasharray="4 3"/>',
        f'<text class="soft" x="{one:.1f}" y="{height - 4}" text-anchor="middle">as over TCP'
        "</text>",
        "</svg></div>",
    ]
    caption = (
        "<figcaption>How many times as fast as over TCP of the same MPI: median of the rounds, and"
        " its 95 % interval where there are enough rounds. Farther to the right is better;"
        " a line that reaches the right end goes on beyond it."
        "</figcaption>"
    )
    return f"<figure>{''.join(parts)}{caption}</figure>"


def _bar(top: int, name: str, colour: str, ratio: Estimate, scale: float) -> list[str]:
    middle = top + _ROW / 2
    end = _LEFT + ratio.value * scale
    parts = [
        f'<text x="{_LEFT - 8}" y="{middle + 4:.1f}" text-anchor="end">{escape(name)}</text>',
        f'<rect x="{_LEFT}" y="{top}" width="{ratio.value * scale:.1f}" height="{_ROW}"'
        f' fill="{colour}"/>',
    ]
    if ratio.low is not None and ratio.high is not None:
        low = _LEFT + ratio.low * scale
        end = min(_LEFT + ratio.high * scale, _WIDTH - _RIGHT)
        parts.append(
            f'<line class="whisker" x1="{low:.1f}" x2="{end:.1f}" y1="{middle}" y2="{middle}"/>'
        )
    parts.append(
        f'<text x="{end + 6:.1f}" y="{middle + 4:.1f}">{escape(significant(ratio.value))}</text>'
    )
    return parts
