# SPDX-License-Identifier: BSD-3-Clause
"""Puts the page together, and writes it. The same records give the same bytes."""

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from html import escape
from importlib import resources
from pathlib import Path
from string import Template

from beowire import files, statistics
from beowire.errors import BeowireError
from beowire.record import Record
from beowire.report import figures, spread, summary, tables
from beowire.report.axes import Figure
from beowire.report.curves import PINGPONG, STREAM, curves, record_labels
from beowire.report.link import link_text
from beowire.units import size_text


def write_report(records: Sequence[Record], path: Path) -> None:
    """Writes the report of one or more records to `path`, whole or not at all.

    Replaces a report that is there. BeowireError (exit code 1) if it cannot be written.
    """
    for record in records:
        with suppress(OSError):
            if path.resolve() == record.path.resolve():
                raise BeowireError(f"{path} is the record itself: name another file for the report")
    text = render(records)
    try:
        files.write_whole(path, text)
    except OSError as error:
        raise BeowireError(f"cannot write {path}: {error.strerror}", exit_code=1) from None


def render(records: Sequence[Record]) -> str:
    """The page. It depends on the records' lines, and for several on the records' names."""
    if not records:
        raise ValueError("a report needs a record")
    pingpong, stream = curves(records, PINGPONG), curves(records, STREAM)
    charts: dict[str, Figure] = {}
    if pingpong:
        charts["latency"] = figures.latency(pingpong, records)
        charts["throughput"] = figures.throughput(pingpong, records)
        charts["tails"] = spread.tails(pingpong)
        charts["distribution"] = spread.distributions(pingpong)
        charts["cpu"] = figures.cpu(pingpong)
    if stream:
        charts["stream"] = figures.throughput(stream, records)
        charts["stream-cpu"] = figures.cpu(stream)
    charts = {name: chart for name, chart in charts.items() if chart.data}
    names = list(dict.fromkeys(curve.driver for curve in pingpong + stream))
    return Template(_file("page.html")).substitute(
        title=escape(f"Beowire: {', '.join(names) or 'nothing measured'}"),
        heading=", ".join(f"<span>{escape(name)}</span>" for name in names) or "Nothing measured",
        lede=_lede(records),
        warnings=_warnings(records),
        findings="".join(f"<li>{text}</li>" for text in summary.sentences(records, pingpong)),
        summary=summary.table(records, pingpong),
        drivers=tables.drivers(records),
        charts="".join(_section(name, chart, records) for name, chart in charts.items()),
        results=tables.results(records),
        skipped=tables.skipped(records),
        environments=_each(records, tables.environments),
        commands=_each(records, _command),
        precise_median=f"{statistics.PRECISE_MEDIAN:.0%}",
        precise_p99=f"{statistics.PRECISE_P99:.0%}",
        style=_file("style.css"),
        script=_file("script.js"),
        plotly=(resources.files("plotly") / "package_data" / "plotly.min.js").read_text("utf-8"),
        figures=_json({name: vars(chart) for name, chart in charts.items()}),
    )


#: Heading of each chart, and how to read it.
_CHARTS: Mapping[str, tuple[str, str]] = {
    "latency": (
        "Latency",
        "Half of the round trip of a message against its size: the median, with the 95 % interval"
        " of the median as a bar. Lower is better. Dotted lines are bounds: <i>packet</i> is the"
        " floor, bare frames without any protocol; <i>memcpy</i> is one copy in memory.",
    ),
    "throughput": (
        "Throughput",
        "Message size divided by half of the round trip: what one message at a time gets through."
        " Higher is better.",
    ),
    "stream": (
        "Throughput of a stream",
        "Messages one way, one after the other without waiting, until the last is acknowledged."
        " Higher is better.",
    ),
    "tails": (
        "Tails",
        "The half round trip at a few sizes: of the median message (mark), and the times that 90 %"
        " (bar) and 99 % (end of the line) of the messages stay below. A percentile that too few"
        " messages support is left out.",
    ),
    "distribution": (
        "Distribution",
        "For one size, the share of messages that took at most so long. The steeper a curve, the"
        " steadier the driver; steps are different paths through the machine.",
    ),
    "cpu": (
        "CPU time per message",
        "User and system time of the measuring process per round trip. A driver that spins takes"
        " its whole core, so its CPU time is its waiting time; time that the kernel spends in"
        " interrupts is not included.",
    ),
    "stream-cpu": (
        "CPU time per message of a stream",
        "User and system time of the measuring process per message.",
    ),
}

_SIZE_BOX = """<p class="choose"><label for="choice-{name}">Message size</label>
<select id="choice-{name}" data-chart="{name}">{options}</select></p>"""


def _section(name: str, chart: Figure, records: Sequence[Record]) -> str:
    heading, caption = _CHARTS[name]
    if name in ("latency", "throughput", "stream"):
        limits = dict.fromkeys(text for record in records if (text := figures.wire_text(record)))
        caption += "".join(f" The wire carries at most {escape(limit)}." for limit in limits)
        bursts = dict.fromkeys(text for record in records if (text := figures.burst_text(record)))
        caption += "".join(f" {escape(text)}" for text in bursts)
    box = ""
    if chart.choices:
        options = "".join(
            f'<option value="{size}">{size_text(int(size))}</option>' for size in chart.choices
        )
        box = _SIZE_BOX.format(name=name, options=options)
    return (
        f'<section id="{name}"><h2>{heading}</h2>{box}<figure>'
        f'<div class="chart" data-figure="{name}" role="img" aria-label="{heading}: chart. The'
        ' figures are in the table of all results."></div>'
        f"<figcaption>{caption}</figcaption></figure></section>"
    )


def _lede(records: Sequence[Record]) -> str:
    lines = []
    for record, label in zip(records, record_labels(records), strict=True):
        meta = record.meta
        facts = [
            " ⇄ ".join(end.node for end in meta.ends),
            link_text(meta),
            meta.started.strftime("%Y-%m-%d %H:%M UTC"),
            f"Beowire {meta.beowire}",
        ]
        if record.end is not None:
            facts.insert(3, f"{record.end.elapsed_s:.0f} s")
        prefix = f"<b>{escape(label)}</b>: " if label else ""
        lines.append(f"<p class=lede>{prefix}{escape(' · '.join(facts))}</p>")
    return "".join(lines)


def _warnings(records: Sequence[Record]) -> str:
    items = [
        f"<li>{escape(f'{label}: ' if label else '')}{escape(warning)}</li>"
        for record, label in zip(records, record_labels(records), strict=True)
        for warning in record.warnings
    ]
    return f'<ul class="warnings" role="alert">{"".join(items)}</ul>' if items else ""


def _command(record: Record) -> str:
    return f"<pre><code>{escape(shlex.join(record.meta.command))}</code></pre>"


def _each(records: Sequence[Record], part: Callable[[Record], str]) -> str:
    """A part of the page for every record, under the record's name where there are several."""
    return "".join(
        (f"<h3>{escape(label)}</h3>" if label else "") + part(record)
        for record, label in zip(records, record_labels(records), strict=True)
    )


def _file(name: str) -> str:
    return resources.files("beowire.report").joinpath(name).read_text(encoding="utf-8")


def _json(value: object) -> str:
    """JSON that can stand in a script element: no text in it can end the element."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
