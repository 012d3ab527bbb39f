# SPDX-License-Identifier: BSD-3-Clause
"""Puts the page together, and writes it. The same records give the same bytes."""

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from string import Template

from beowire import files
from beowire.analysis import (
    advice,
    compared,
    layers,
    loggp,
    marks,
    statistics,
    steps,
    verdict,
    wire,
)
from beowire.analysis.curves import Curve, curves, record_labels
from beowire.analysis.link import link_text
from beowire.analysis.sheets import nodes_text, sheets
from beowire.plan.patterns import DEFAULT, PATTERNS, Pattern
from beowire.record.reader import Record
from beowire.show.drawing import Nothing
from beowire.show.html import answer, charts, probe_table, shell, summary, tables
from beowire.units import size_text

#: Patterns that the first lines name, at most.
_MOST_NAMED = 2


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
    names = list(dict.fromkeys(curve.driver for found in by_pattern.values() for curve in found))
    title, heading = _names(names)
    return shell.page(
        "page.html",
        {
            "answer": answer.section(records, by_pattern),
            "advice": _advice(by_pattern, records),
            "details": "".join(_details(records, by_pattern)),
        },
        title=title,
        heading=answer.sentence(records, by_pattern) or heading,
        lede=_lede(records),
        warnings=_warnings(records),
        scripts=f"<script>\n{shell.file('script.js')}\n</script>",
    )


def _details(records: Sequence[Record], by_pattern: Mapping[str, Sequence[Curve]]) -> Iterator[str]:
    """What is folded below the first screen: the charts, then the tables."""
    pingpong, first = by_pattern[DEFAULT.name], answer.first_pattern(by_pattern)
    said = [
        *summary.costs(records, pingpong),
        *summary.sentences(records, pingpong),
        *(_caption(first, by_pattern[first.name], records) if first is not None else []),
    ]
    items = "".join(f"<li>{text}</li>" for text in said)
    found = (
        f'{summary.table(records, pingpong)}<ul class="findings">{items}</ul>'
        f"{tables.drivers(records)}"
    )
    yield _folded("summary", "Drivers side by side, and findings", found)
    for pattern in PATTERNS.values():
        if every := answer.drawn(by_pattern[pattern.name]):
            yield from _charts(pattern, every, records, first=pattern is first)
    yield from _sheets(records, by_pattern)
    yield _folded("results", "All results", tables.results(records))
    yield _folded("probes", "What probes counted", probe_table.counted(records))
    yield _folded("skipped", "What was not measured, and why", tables.skipped(records))
    yield _folded("environment", "The two ends", _each(records, tables.environments))
    method = Template(shell.file("method.html")).substitute(
        commands=_each(records, _command),
        precise_median=f"{statistics.PRECISE_MEDIAN:.0%}",
        precise_p99=f"{statistics.PRECISE_P99:.0%}",
    )
    yield _folded("method", "How it was measured", method)


def _folded(name: str, heading: str, content: str) -> str:
    """A section that is seen when its heading is clicked. `content` is HTML, `heading` text."""
    return (
        f'<details class="folded"><summary>{escape(heading)}</summary>'
        f'<div id="{name}">{content}</div></details>'
    )


def _charts(
    pattern: Pattern, found: Sequence[Curve], records: Sequence[Record], *, first: bool
) -> Iterator[str]:
    """The charts of one pattern, folded; `first`: the first screen has the one of its figures."""
    name, of = pattern.name, "" if pattern is DEFAULT else f" of {pattern.noun}"
    wanted: list[tuple[str, str, str, Callable[[], str]]] = []
    if not first:
        draw = charts.times if pattern.is_times else charts.rates
        caption = " ".join(_caption(pattern, found, records))
        wanted.append((name, pattern.title, caption, lambda: draw(found, records)))
    if pattern.is_times:
        wanted += [
            (
                f"{name}-{short}",
                f"{heading}{of}",
                caption,
                _of_sizes(f"{name}-{short}", found, draw_),
            )
            for short, heading, caption, draw_ in (
                ("surface", "Over network and CPU load", _BOTH, charts.over_rate),
                ("distribution", "Distribution", _DISTRIBUTION, charts.percentiles),
            )
        ]
    if pattern is DEFAULT:
        wanted += [
            ("layers", "Layer tax", _LAYERS, _of_sizes("layers", found, charts.layer_tax)),
            ("explained", "Where the time goes", _EXPLAINED, lambda: charts.explained(found)),
        ]
    loaded = _of_sizes(f"{name}-load", found, charts.over_load)
    wanted.append((f"{name}-load", f"Over CPU load{of}", _LOADED, loaded))
    caption = _CPU.format(each=pattern.each)
    wanted.append((f"{name}-cpu", f"CPU time per message{of}", caption, lambda: charts.cpu(found)))
    for anchor, heading, caption, make in wanted:
        try:
            yield _folded(anchor, heading, f'{make()}<p class="note">{caption}</p>')
        except Nothing:
            continue


def _of_sizes(
    name: str, found: Sequence[Curve], make: Callable[[Sequence[Curve], int], str]
) -> Callable[[], str]:
    return lambda: charts.at_sizes(name, found, make)


_DISTRIBUTION = (
    "The time that a share of the messages does not exceed; 50 % is the median. The slowest"
    " messages are at the right. A flat line means a steady driver. A step has a cause that affects"
    " that share of the messages, such as a timer, an interrupt or a wake-up."
)
_LAYERS = (
    "What each driver adds to half a round trip of the driver that it is built on: the difference"
    " of their medians, with its 95 % interval. If it is negative, the driver is faster because it"
    " uses another path."
)
_EXPLAINED = (
    "What half a round trip consists of, from samples of the processors of both ends"
    " (<code>beowire explain</code>). While a message is on its way, one end works and the other"
    " waits."
)
_LOADED = (
    "Each driver on idle processors and with each load on them (<code>--load</code>), in turns in"
    " the same run. In charts of times the band ends at the 99th percentile."
)
_BOTH = (
    "Time of a message from when it was due, against the number of messages sent per second. Each"
    " load of the processors (<code>--load</code>) has its own line. The band ends at the 99th"
    " percentile."
)
_CPU = (
    "User and system time of the measuring processes per {each}. A driver that polls uses a whole"
    " core, so its CPU time includes its waiting time. Time that the kernel spends in interrupts is"
    " not included."
)


def _caption(pattern: Pattern, found: Sequence[Curve], records: Sequence[Record]) -> list[str]:
    """What has to be known of a pattern's chart, and what the wire's line in it is: sentences of
    HTML."""
    limits = (
        f"The link carries at most {text}." if (text := wire.wire_text(one)) else ""
        for one in records
    )
    words = [marks.walk_text(found), *limits, *map(wire.burst_text, records)]
    return [text for text in dict.fromkeys((pattern.caption, *map(escape, words))) if text]


def _sheets(records: Sequence[Record], by_pattern: Mapping[str, Sequence[Curve]]) -> Iterator[str]:
    """What was found besides one figure a size: of all records together, and of each."""
    of_all = [
        *compared.sheets(records),
        *steps.shape(by_pattern[DEFAULT.name]),
        *loggp.sheets(by_pattern),
    ]
    of_records = [
        (f"{one.title} · {label}" if label else one.title, one)
        for record, label in zip(records, record_labels(records), strict=True)
        for name in PATTERNS
        for one in sheets(record, name)
    ]
    for at, (title, one) in enumerate([*((one.title, one) for one in of_all), *of_records]):
        yield _folded(f"found-{at}", title, tables.sheet(f"sheet-{at}", one))


def _advice(by_pattern: Mapping[str, Sequence[Curve]], records: Sequence[Record]) -> str:
    """What to use, as `compare` says it, of each pattern, and beside each load."""
    made: list[str] = []
    for name, found in by_pattern.items():
        for index, load in dict.fromkeys((curve.record, curve.load) for curve in found):
            record = records[index]
            beside = [curve for curve in found if (curve.record, curve.load) == (index, load)]
            rows = verdict.rows(record, beside, PATTERNS[name])
            label = record_labels(records)[index]
            title = advice.title(beside, PATTERNS[name]) + (f" · {label}" if label else "")
            body = "".join(
                f'<tr><th scope="row">{escape(span)}</th><td>{escape(use) or "–"}</td>'
                f"<td>{answer.unbroken(why)}</td><td>{answer.unbroken(cpu)}</td></tr>"
                for span, use, why, cpu in rows
            )
            if rows:
                cpu_of = f"CPU time per {PATTERNS[name].each} (both ends, median of the sizes)"
                heads = ("Sizes", "Use", "Why", cpu_of)
                level = "h3" if made else "h2"
                out = verdict.left_out(record, beside)
                note = (
                    f"{out[:1].upper()}{out[1:]}, because the lab's rate limit lets a burst pass."
                )
                made.append(
                    f"<{level}>{escape(title)}</{level}>"
                    + tables.table(f"advice-{len(made)}", title, heads, body, "figures advice")
                    + (f'<p class="note">{escape(note)}</p>' if out else "")
                )
    if len(made) <= 1:
        return "".join(made)
    rest = "".join(made[1:])
    return f"{made[0]}<details><summary>What to use in the other patterns</summary>{rest}</details>"


def _names(drivers: Sequence[str]) -> tuple[str, str]:
    """The page's title and heading: all drivers, or their groups where they are many."""
    if not drivers:
        return "Beowire: nothing measured", "Nothing measured"
    if len(drivers) <= layers.FEW:
        heading = ", ".join(f"<span>{escape(name)}</span>" for name in drivers)
        return f"Beowire: {', '.join(drivers)}", heading
    groups = ", ".join(group.title for group in layers.grouped(drivers))
    return f"Beowire: {len(drivers)} drivers", f"{len(drivers)} drivers: {escape(groups)}"


def _lede(records: Sequence[Record]) -> list[str]:
    lines = []
    for record, label in zip(records, record_labels(records), strict=True):
        meta = record.meta
        facts = [
            _measured(record),
            nodes_text(record),
            link_text(meta),
            meta.started.strftime("%Y-%m-%d %H:%M UTC"),
            f"Beowire {meta.beowire}",
        ]
        if processor := _processor(record):
            facts.insert(3, processor)
        if record.end is not None:
            facts.insert(-1, f"{record.end.elapsed_s:.0f} s")
        prefix = f"<b>{escape(label)}</b>: " if label else ""
        lines.append(f"{prefix}{escape(' · '.join(fact for fact in facts if fact))}")
    return lines


def _measured(record: Record) -> str:
    """`Measured: a ping-pong and a stream of 8 B to 4 MiB`; empty: nothing."""
    names = {one.pattern for one in record.results}
    nouns = [pattern.noun for name, pattern in PATTERNS.items() if name in names]
    sizes = [one.size for one in record.results]
    if not nouns:
        return ""
    more = len(nouns) - _MOST_NAMED
    named = " and ".join(nouns[:_MOST_NAMED]) + (f" and {more} other patterns" if more > 0 else "")
    span = dict.fromkeys(size_text(end(sizes)) for end in (min, max))
    return f"Measured: {named} of {' to '.join(span)}"


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
