# SPDX-License-Identifier: BSD-3-Clause
"""Puts the page together, and writes it. The same records give the same bytes."""

import json
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from string import Template

from beowire import advice, files, statistics
from beowire.patterns import DEFAULT, PATTERNS, Pattern
from beowire.record import Record
from beowire.report import (
    answer,
    chooser,
    compared,
    figures,
    layers,
    loggp,
    parts,
    plotly_code,
    probe_table,
    shell,
    spread,
    steps,
    summary,
    surface,
    tables,
    verdict,
)
from beowire.report.curves import Curve, curves, record_labels
from beowire.report.draft import Chart, Draft, Press, fitted
from beowire.report.link import link_text
from beowire.report.palette import rank
from beowire.sheets import nodes_text, sheets
from beowire.units import size_text

#: What the page may have, in bytes: it is sent by mail, and opened on phones.
MOST_BYTES = 2_000_000

#: The sections of the page, by their ids.
_SECTIONS = {
    "findings": "What to use",
    "charts": "Charts",
    "results": "All results",
    "probes": "Probes",
    "skipped": "Not measured",
    "environment": "Environment",
    "method": "Method",
}

_CREDIT = (
    "Charts by plotly.js (MIT licence, copyright Plotly, Inc.), of which this file includes what it"
    " draws with. "
)


def write_report(records: Sequence[Record], path: Path, *, named: bool = False) -> None:
    """Writes the report of one or more records to `path`, as shell.write() does.

    Replaces a report that is there. BeowireError (exit code 1) if it cannot be written.
    """
    paths = [record.path for record in records]
    files.refuse_records(path, paths)
    shell.write(render(records), path, paths, named=named)


def render(records: Sequence[Record]) -> str:
    """The page. It depends on the records' lines, and for several on the records' names."""
    if not records:
        raise ValueError("a report needs a record")
    by_pattern = {name: curves(records, name) for name in PATTERNS}
    pingpong = by_pattern[DEFAULT.name]
    charts = [
        chart
        for pattern in PATTERNS.values()
        for chart in _charts(pattern, by_pattern[pattern.name], records)
        if chart.figure.data
    ]
    every = sorted({curve.driver for found in by_pattern.values() for curve in found}, key=rank)
    names = list(dict.fromkeys(curve.driver for found in by_pattern.values() for curve in found))
    title, heading = _names(names)
    said, hero = answer.chosen(records, by_pattern)
    pieces = {
        "answer": hero,
        "findings": "".join(
            f"<li>{text}</li>"
            for text in (
                *verdict.sentences(records, by_pattern),
                *summary.sentences(records, pingpong),
            )
        ),
        "summary": summary.table(records, pingpong),
        "advice": _advice(by_pattern, records),
        "drivers": tables.drivers(records),
        "chooser": chooser.chooser(every),
        "only": chooser.only_chosen(every),
        "results": tables.results(records),
        "probes": probe_table.counted(records),
        "skipped": tables.skipped(records),
        "environments": _each(records, tables.environments),
        "commands": _each(records, _command),
        "precise_median": f"{statistics.PRECISE_MEDIAN:.0%}",
        "precise_p99": f"{statistics.PRECISE_P99:.0%}",
    }

    def scripts(charts: Sequence[Chart]) -> str:
        return _scripts({chart.name: vars(chart.figure) for chart in charts})

    def whole(draft: Draft, scripts: str) -> str:
        shown = "".join(_section(chart, records) for chart in draft.charts)
        return shell.page(
            "page.html",
            draft.parts | {"charts": shown + draft.left_out, "details": "".join(draft.sheets)},
            nav=_SECTIONS,
            title=title,
            heading=said or heading,
            lede=_lede(records),
            warnings=_warnings(records),
            scripts=scripts,
            credit=_CREDIT,
        )

    draft = Draft(pieces, _sheets(records, by_pattern), charts)
    return fitted(draft, Press(scripts, whole, MOST_BYTES))


def _sheets(records: Sequence[Record], by_pattern: Mapping[str, Sequence[Curve]]) -> list[str]:
    """What was found besides one figure a size: of all records together, and of each."""
    found = [
        *compared.sheets(records),
        *steps.shape(by_pattern[DEFAULT.name]),
        *loggp.sheets(by_pattern),
    ]
    return [tables.sheet(one) for one in found] + [
        tables.sheet(one, label)
        for record, label in zip(records, record_labels(records), strict=True)
        for name in PATTERNS
        for one in sheets(record, name)
    ]


def _advice(by_pattern: Mapping[str, Sequence[Curve]], records: Sequence[Record]) -> str:
    """What to use, as `compare` says it, of each pattern, and beside each load."""
    tables_: list[str] = []
    for name, found in by_pattern.items():
        for record, load in dict.fromkeys((curve.record, curve.load) for curve in found):
            beside = [curve for curve in found if (curve.record, curve.load) == (record, load)]
            rows = verdict.rows(records[record], beside, PATTERNS[name])
            label = record_labels(records)[record]
            title = advice.title(beside, PATTERNS[name]) + (f" · {label}" if label else "")
            body = "".join(
                f'<tr><th scope="row">{escape(span)}</th><td>{escape(use) or "–"}</td>'
                f"<td>{escape(why)}</td><td>{escape(cpu)}</td></tr>"
                for span, use, why, cpu in rows
            )
            if rows:
                heads = ("Sizes", "Use", "Why", "CPU time (both ends)")
                head = "".join(f'<th scope="col">{one}</th>' for one in heads)
                level = "h3" if tables_ else "h2"
                tables_.append(
                    f"<{level}>{escape(title)}</{level}>"
                    '<div class="scroll" tabindex="0" role="region"'
                    f' aria-label="{escape(title)}"><table class="figures advice">'
                    f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
                )
    if len(tables_) <= 1:
        return "".join(tables_)
    rest = "".join(tables_[1:])
    return (
        f"{tables_[0]}<details><summary>What to use in the other patterns</summary>{rest}</details>"
    )


def _names(drivers: Sequence[str]) -> tuple[str, str]:
    """The page's title and heading: all drivers, or their groups where they are many."""
    if not drivers:
        return "Beowire: nothing measured", "Nothing measured"
    if len(drivers) <= layers.FEW:
        heading = ", ".join(f"<span>{escape(name)}</span>" for name in drivers)
        return f"Beowire: {', '.join(drivers)}", heading
    groups = ", ".join(group.title for group in layers.grouped(drivers))
    return f"Beowire: {len(drivers)} drivers", f"{len(drivers)} drivers: {escape(groups)}"


def _scripts(figures: object) -> str:
    parts = {"figures": plotly_code.packed(_json(figures))}
    if figures:
        parts["plotly"] = plotly_code.packed_plotly()
    held = "".join(
        f'<script type="text/plain" id="{name}">{text}</script>\n' for name, text in parts.items()
    )
    script = Template(shell.file("script.js")).safe_substitute(alphabet=plotly_code.ALPHABET)
    return f"{held}<script>\n{script}\n</script>"


def _charts(pattern: Pattern, found: Sequence[Curve], records: Sequence[Record]) -> Iterator[Chart]:
    """The charts of one pattern; of the default, all there are."""
    if not found:
        return
    whole = pattern is DEFAULT
    prefix = "" if whole else f"{pattern.name}-"
    suffix = "" if whole else f" of {pattern.noun}"
    if not pattern.is_times:
        figure = figures.throughput(found, records)
        yield Chart(pattern.name, pattern.title, pattern.caption, figure, True)
    else:
        name, heading = ("latency", "Latency") if whole else (pattern.name, pattern.title)
        figure = figures.latency(found, records)
        caption = " ".join(
            text for text in (pattern.caption, escape(summary.walk_text(found))) if text
        )
        yield Chart(name, heading, caption, figure, True)
        if whole:
            figure = figures.throughput(found, records)
            yield Chart("throughput", "Throughput", _THROUGHPUT, figure, True)
            caption = _TAILS.format(quantity=pattern.quantity)
            yield Chart("tails", "Tails", caption, spread.tails(found, records))
        if any(one.levels for curve in found for cell in curve.cells for one in cell.launches):
            figure = surface.over_both(found)
            yield Chart(f"{prefix}surface", f"Over network and CPU load{suffix}", _BOTH, figure)
        figure = spread.distributions(found, records)
        yield Chart(f"{prefix}distribution", f"Distribution{suffix}", _DISTRIBUTION, figure)
        if whole:
            figure = spread.exceedances(found)
            yield Chart("tail", "The slow ones", _EXCEEDANCES, figure)
            yield Chart("layers", "Layer tax", _LAYERS, parts.layer_tax(found))
            yield Chart("explained", "Where it goes", _EXPLAINED, parts.explained(found))
    figure = surface.over_load(found)
    yield Chart(f"{prefix}load", f"Over CPU load{suffix}", _LOADED, figure)
    caption = _CPU.format(each=pattern.each) + (_SPINNING if whole else "")
    yield Chart(f"{prefix}cpu", f"CPU time per message{suffix}", caption, figures.cpu(found))
    if whole or not pattern.is_times:
        figure = figures.demand(found)
        yield Chart(f"{prefix}demand", f"Service demand{suffix}", _DEMAND, figure)
        figure = figures.interrupts(found)
        yield Chart(f"{prefix}interrupts", f"Interrupts{suffix}", _INTERRUPTS, figure)


_THROUGHPUT = (
    "Message size divided by half of the round trip: what one message at a time gets through."
    " Higher is better."
)
_TAILS = (
    "The {quantity} at a few sizes: of the median message (mark), and the times that 90 %"
    " (bar) and 99 % (end of the line) of the messages stay below. A percentile that too few"
    " messages support is left out."
)
_DISTRIBUTION = (
    "For one size, the share of messages that took at most so long. The steeper a curve, the"
    " steadier the driver; steps are different paths through the machine."
)
_EXCEEDANCES = (
    "For one size, the share of messages that took longer than a time: the same distribution, seen"
    " from its slow end. A line that falls steeply has no tail; a step is a cause that hits so many"
    " messages (a timer, an interrupt, a wake-up). It ends at the slowest message but one."
)
_LAYERS = (
    "What each driver adds to half a round trip of the one that it stands on, at one size: the"
    " difference of their medians, with its 95 % interval as a bar. What adds less than nothing is"
    " faster than what it was told to stand on, since it takes another way there."
)
_EXPLAINED = (
    "Where half a round trip goes, by samples of the processors of both ends (<code>beowire"
    " explain</code>): while a message is on its way, one end works and the other waits."
)
_LOADED = (
    "For one size, what a driver does beside nothing, and beside each load that the nodes’"
    " processors had (<code>--load</code>), in turns in the same run; of times the line up ends at"
    " the 99th percentile."
)
_BOTH = (
    "For one size, how long messages take, from when they were due, over how many are sent a"
    " second (the network’s load) and what else the processors do (a line each: the processors’"
    " load, <code>--load</code>). The line up ends at the 99th percentile."
)
_CPU = "User and system time of the measuring process per {each}."
_SPINNING = (
    " A driver that spins takes its whole core, so its CPU time is its waiting time; time that the"
    " kernel spends in interrupts is not included."
)

_DEMAND = (
    "CPU time of both ends, with what the kernel does after interrupts, to 1024 bytes of payload"
    " that crossed. Lower is better: what is left is for the application."
)
_INTERRUPTS = (
    "Interrupts of devices, timers and between CPUs that each end’s machine served a second,"
    " whoever they were for: two ends on one machine count the same. An idle machine is not at"
    " zero."
)

_SIZE_BOX = """<p class="choose"><label for="choice-{name}">Message size</label>
<select id="choice-{name}" data-chart="{name}">{options}</select></p>"""


def _section(chart: Chart, records: Sequence[Record]) -> str:
    name, heading, caption = chart.name, chart.heading, chart.caption
    if chart.has_wire:
        limits = dict.fromkeys(text for record in records if (text := figures.wire_text(record)))
        caption += "".join(f" The wire carries at most {escape(limit)}." for limit in limits)
        bursts = dict.fromkeys(text for record in records if (text := figures.burst_text(record)))
        caption += "".join(f" {escape(text)}" for text in bursts)
    caption += f" {escape(chart.note)}" if chart.note else ""
    box = ""
    if chart.figure.choices:
        options = "".join(
            f'<option value="{size}">{size_text(int(size))}</option>'
            for size in chart.figure.choices
        )
        box = _SIZE_BOX.format(name=name, options=options)
    return (
        f'<section id="{name}"><h2>{heading}</h2>{box}<figure>'
        f'<div class="chart" data-figure="{name}" role="img" aria-label="{heading}: chart. The'
        ' figures are in the table of all results, or in the record."></div>'
        f"<figcaption>{caption}</figcaption></figure></section>"
    )


def _lede(records: Sequence[Record]) -> list[str]:
    lines = []
    for record, label in zip(records, record_labels(records), strict=True):
        meta = record.meta
        facts = [
            nodes_text(record),
            link_text(meta),
            meta.started.strftime("%Y-%m-%d %H:%M UTC"),
            f"Beowire {meta.beowire}",
        ]
        if processor := _processor(record):
            facts.insert(2, processor)
        if record.end is not None:
            facts.insert(-1, f"{record.end.elapsed_s:.0f} s")
        prefix = f"<b>{escape(label)}</b>: " if label else ""
        lines.append(f"{prefix}{escape(' · '.join(facts))}")
    return lines


def _processor(record: Record) -> str:
    """`2 CPUs, AMD EPYC, Linux 6.18.44` of the first end; empty where the record does not say."""
    known = record.meta.ends[0].environment
    count, model, kernel = (known.get(name) for name in ("cpus_online", "cpu_model", "kernel"))
    parts = [
        f"{count} CPUs" if count else "",
        str(model or ""),
        f"Linux {kernel}" if kernel else "",
    ]
    return ", ".join(part for part in parts if part)


def _warnings(records: Sequence[Record]) -> list[str]:
    return [
        f"{label}: {warning}" if label else warning
        for record, label in zip(records, record_labels(records), strict=True)
        for warning in record.warnings
    ]


def _command(record: Record) -> str:
    return f"<pre><code>{escape(shlex.join(record.meta.command))}</code></pre>"


def _each(records: Sequence[Record], part: Callable[[Record], str]) -> str:
    """A part of the page for every record, under the record's name where there are several."""
    return "".join(
        (f"<h3>{escape(label)}</h3>" if label else "") + part(record)
        for record, label in zip(records, record_labels(records), strict=True)
    )


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
