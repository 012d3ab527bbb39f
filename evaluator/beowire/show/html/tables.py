# SPDX-License-Identifier: BSD-3-Clause
"""The tables of the report: every result, what was skipped, and the two ends side by side."""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from html import escape, unescape
from itertools import zip_longest

from beowire.analysis import layers
from beowire.analysis.curves import record_labels, telling_sizes
from beowire.analysis.sheets import Sheet
from beowire.record.lines import EnvironmentValue, NodeEnd, Result, Summary
from beowire.record.reader import Record
from beowire.units import significant, size_text

_Value = str | float | None

#: Rows of a table, about: with more the page is slow, and commands print all.
MOST_ROWS = 240

#: The rules of stopping in words.
STOPPED = {
    "precise": "precise enough",
    "time": "out of time",
    "rounds": "all rounds done",
    "error": "an error",
}

#: Heading of times; some patterns report other times than this.
_TIME = "Half round trip"

#: Heading of loads.
_BESIDE = "Load"

#: Heading, unit, and the value of a row; numbers sort as numbers.
_COLUMNS: tuple[tuple[str, str, Callable[[Result], _Value]], ...] = (
    ("Driver", "", lambda r: r.driver),
    ("Pattern", "", lambda r: r.pattern),
    (_BESIDE, "", lambda r: r.load or "nothing"),
    ("Size", "B", lambda r: r.size),
    (_TIME, "µs", lambda r: _scaled(r.time(), "median", 1e3)),
    ("95 % low", "µs", lambda r: _bound(r.time(), 0, 1e3)),
    ("95 % high", "µs", lambda r: _bound(r.time(), 1, 1e3)),
    ("p90", "µs", lambda r: _scaled(r.time(), "p90", 1e3)),
    ("p99", "µs", lambda r: _scaled(r.time(), "p99", 1e3)),
    ("min", "µs", lambda r: _scaled(r.time(), "min", 1e3)),
    ("max", "µs", lambda r: _scaled(r.time(), "max", 1e3)),
    ("Throughput", "MB/s", lambda r: _scaled(r.rate_bytes_per_s, "median", 1e6)),
    ("95 % low", "MB/s", lambda r: _bound(r.rate_bytes_per_s, 0, 1e6)),
    ("95 % high", "MB/s", lambda r: _bound(r.rate_bytes_per_s, 1, 1e6)),
    ("Overlap sender", "%", lambda r: _percent(r.overlap_send)),
    ("Overlap receiver", "%", lambda r: _percent(r.overlap_receive)),
    ("Service demand", "µs/KB", lambda r: r.service_demand_us_per_kb),
    ("CPU initiator", "µs", lambda r: _cpu(r, 0)),
    ("CPU responder", "µs", lambda r: _cpu(r, 1)),
    ("Messages", "", lambda r: r.n),
    ("Rounds", "", lambda r: r.rounds),
    ("Batch", "", lambda r: r.batch),
    ("Lost", "", lambda r: r.lost),
    ("Launch", "", lambda r: r.launch if r.launches == 1 else f"all {r.launches}"),
    ("Settled", "", lambda r: {True: "yes", False: "no", None: None}[r.settled]),
    ("Stopped by", "", lambda r: STOPPED[r.stopped_by]),
    ("Status", "", lambda r: r.status),
)

#: Characters of the longest text in one line of a sheet.
_LONGEST_FIGURE = 40

#: Columns that appear only if a result has a value.
_SOMETIMES: dict[str, Callable[[Result], bool]] = {
    _BESIDE: lambda r: r.load is not None,
    "Overlap sender": lambda r: r.overlap_send is not None,
    "Overlap receiver": lambda r: r.overlap_receive is not None,
}


#: Columns that are not printed, for lack of room.
_SCREEN_ONLY = {
    *("min", "max", "Rounds", "Batch", "Launch", "Settled", "Service demand"),
    *("CPU initiator", "CPU responder"),
}


def table(
    name: str,
    label: str,
    heads: Sequence[str],
    body: str,
    classes: str,
    *,
    not_printed: Collection[int] = (),
) -> str:
    """A table that fits any screen: on a phone each row is a card, with the heading before each
    figure. `name`: its id. `heads` and `body` (its rows) are HTML, `label` is text. `not_printed`:
    columns, from 1, that are not printed."""
    head = "".join(f'<th scope="col">{one}</th>' for one in heads)
    words = [unescape(re.sub("<[^>]*>", "", one)) for one in heads]
    rules = "".join(
        f'#{name} td:nth-child({at}):before{{content:"{_in_css(one)}"}}'
        for at, one in enumerate(words, start=1)
    )
    gone = ",".join(f"#{name} tr>:nth-child({at})" for at in not_printed)
    paper = f"@media print{{{gone}{{display:none}}}}" if gone else ""
    return (
        f"<style>@media screen and (max-width:34rem){{{rules}}}{paper}</style>"
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(label)}">'
        f'<table id="{name}" class="{classes}"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _in_css(text: str) -> str:
    """Any text as a quoted string of CSS."""
    return "".join(one if one.isalnum() or one in " ,." else f"\\{ord(one):x} " for one in text)


def some(records: Sequence[Record]) -> tuple[list[tuple[str, Result]], str]:
    """The results that tables show, in order, each with its record's label; and as HTML which these
    are, if not all: the same sizes of each driver."""
    every = [
        (label, result)
        for record, label in zip(records, record_labels(records), strict=True)
        for result in sorted(record.results, key=_order)
    ]
    if len(every) <= MOST_ROWS:
        return every, ""
    sizes = sorted({result.size for _, result in every})
    kept = telling_sizes(sizes, max(1, len(sizes) * MOST_ROWS // len(every)))
    shown = [(label, result) for label, result in every if result.size in kept]
    return shown, (
        f"<p>{len(shown)} of {len(every)} rows, at {len(kept)} of {len(sizes)} sizes:"
        " <code>beowire report RECORD --csv FILE</code> writes all of them.</p>"
    )


def _order(result: Result) -> tuple[object, ...]:
    rank = layers.rank(result.driver)
    return result.pattern, rank, result.load or "", result.size, result.launch


def results(records: Sequence[Record]) -> str:
    """The result lines of every record. The page's script makes the headings sort."""
    several = len(records) > 1
    measured, which = some(records)
    columns = [
        column
        for column in _COLUMNS
        if column[0] not in _SOMETIMES or any(_SOMETIMES[column[0]](one) for _, one in measured)
    ]
    heads = [("Record", "")] * several + [(name, unit) for name, unit, _ in columns]
    if any(result.time_ns is not None for _, result in measured):
        heads = [(f"{name}, or time" if name == _TIME else name, unit) for name, unit in heads]
    rows = []
    for label, result in measured:
        values = [label] * several + [get(result) for _, _, get in columns]
        lossy = " class=lossy" if result.lost else ""
        rows.append(f"<tr{lossy}>{''.join(map(_cell, values))}</tr>")
    buttons = [f'<button type="button">{name}{_unit(unit)}</button>' for name, unit in heads]
    gone = [at for at, (name, _) in enumerate(heads, start=1) if name in _SCREEN_ONLY]
    body, classes = "".join(rows), "figures sortable cards"
    made = table("all-results", "All results", buttons, body, classes, not_printed=gone)
    return f"{_RESULTS}{which}{made}"


_RESULTS = (
    "<p>Click a heading to sort. Rows in which messages were lost are shaded; their rates count"
    " only messages that arrived. Percentiles of too few messages are left out (–). CPU times are"
    " user and system time per round trip, or per message of a stream.</p>"
)


def skipped(records: Sequence[Record]) -> str:
    """What was not measured, or not completely, and why."""
    found: dict[tuple[str, str, str], list[int]] = {}
    for record, label in zip(records, record_labels(records), strict=True):
        lines = [(line.driver, line.pattern, line.size, line.reason) for line in record.skipped]
        lines += [
            (result.driver, result.pattern, result.size, result.status)
            for result in record.results
            if result.status != "ok"
        ]
        for driver, pattern, size, reason in lines:
            name = f"{driver} · {label}" if label else driver
            sizes = found.setdefault((name, pattern or "", reason), [])
            sizes += [size] if size is not None else []
    if not found:
        return "<p>Everything was measured.</p>"
    rows = [
        f'<tr><th scope="row">{escape(name)}</th>'
        f"<td>{escape(_what(pattern, sizes))}</td><td>{escape(reason)}</td></tr>"
        for (name, pattern, reason), sizes in found.items()
    ]
    return (
        '<div class="scroll" tabindex="0" role="region" aria-label="What was not measured">'
        '<table><thead><tr><th scope="col">Driver</th><th scope="col">What</th>'
        f'<th scope="col">Why</th></tr></thead><tbody>{"".join(rows)}</tbody></table></div>'
    )


def _what(pattern: str, sizes: Sequence[int]) -> str:
    """`pingpong, 8 B`; for several sizes their range and number."""
    words = [pattern] if pattern else []
    if len(sizes) == 1:
        words.append(size_text(sizes[0]))
    elif sizes:
        span = f"{size_text(min(sizes))} to {size_text(max(sizes))}"
        words.append(f"{span} ({len(set(sizes))} sizes)")
    return ", ".join(words) or "everything"


def environments(record: Record) -> str:
    """Both ends of a record side by side; rows that differ are marked."""
    return ends_table(record.meta.ends)


def ends_table(ends: Sequence[NodeEnd]) -> str:
    """The same for the ends alone."""
    facts = [_facts(end) for end in ends]
    names = list(dict.fromkeys(name for end in facts for name in end))
    known = [name for name in names if any(end.get(name) is not None for end in facts)]
    unknown = [_words(name) for name in names if name not in known]
    different = [name for name in known if len({_text(end.get(name)) for end in facts}) > 1]
    rows = []
    for name in known:
        differs = name in different
        mark = ' <span class="mark" title="the ends differ">≠</span>' if differs else ""
        rows.append(
            f"<tr{' class=differs' if differs else ''}>"
            f'<th scope="row">{escape(_words(name))}{mark}</th>'
            + "".join(f"<td>{escape(_text(end.get(name)))}</td>" for end in facts)
            + "</tr>"
        )
    heads = "".join(
        f'<th scope="col">{role}: {escape(end.node)}</th>'
        for role, end in zip(("initiator", "responder"), ends, strict=True)
    )
    rest = f"<p>Unknown at both ends: {escape(', '.join(unknown))}.</p>" if unknown else ""
    return (
        f"<p>{len(different)} of {len(known)} rows differ (marked ≠).</p>"
        '<div class="scroll tall" tabindex="0" role="region" aria-label="Environment">'
        '<table class="environment"><thead><tr><th scope="col">Fact</th>'
        f"{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>{rest}"
    )


def sheet(name: str, one: Sheet) -> str:
    """A table of further results of a pattern. `name`: its id."""
    kinds = [_kind(column) for column in zip_longest(*one.rows, fillvalue="")][1:]
    rows = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>'
        + "".join(
            f"<td{kind}>{escape(text)}</td>" for kind, text in zip(kinds, row[1:], strict=False)
        )
        + "</tr>"
        for row in one.rows[:MOST_ROWS]
    )
    notes = list(one.notes)
    if len(one.rows) > MOST_ROWS:
        notes.append(f"{MOST_ROWS} of {len(one.rows)} rows are shown. The record has all.")
    made = table(name, one.title, [*map(escape, one.heads)], rows, "figures cards")
    return made + "".join(f'<p class="note">{escape(note)}</p>' for note in notes)


def _kind(column: Sequence[str]) -> str:
    """The class of a column: figures stay in one line; longer texts are broken between words."""
    return " class=words" if any(len(text) > _LONGEST_FIGURE for text in column) else ""


def drivers(records: Iterable[Record]) -> str:
    """What each measured driver is, by its summary."""
    summaries: dict[str, str] = {}
    for record in records:
        measured = {result.driver for result in record.results}
        for info in record.meta.drivers:
            if info.name in measured:
                summaries.setdefault(info.name, info.summary)
    items = [
        f"<dt>{escape(name)}</dt><dd>{escape(summaries[name])}</dd>"
        for name in sorted(summaries, key=layers.rank)
    ]
    text = f'<dl class="drivers">{"".join(items)}</dl>' if items else ""
    if len(items) <= layers.FEW:
        return text
    return f"<details><summary>What each of the {len(items)} drivers is</summary>{text}</details>"


def _facts(end: NodeEnd) -> dict[str, EnvironmentValue]:
    facts: dict[str, EnvironmentValue] = {
        "node": end.node,
        "address": end.address,
        "interface": end.interface,
        "pinned to CPU": end.cpu,
    }
    if end.clock is not None:
        facts["clock"] = end.clock.source
        facts["clock overhead (ns)"] = end.clock.overhead_ns
        facts["clock resolution (ns)"] = end.clock.resolution_ns
    return facts | end.environment


def _text(value: EnvironmentValue) -> str:
    match value:
        case None:
            return "–"
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:g}"
        case _:
            return str(value)


def _words(name: str) -> str:
    return name.replace("_", " ")


def _unit(unit: str) -> str:
    return f" <small>{unit}</small>" if unit else ""


def _cell(value: _Value) -> str:
    """A cell with as little markup as possible, because there are thousands. Most are numbers
    (style.css), which sort by their text without commas."""
    match value:
        case None:
            return "<td>–</td>"
        case str():
            return f"<td class=word>{escape(value)}</td>"
        case int():
            return f"<td>{value:,}</td>"
        case _:
            return f"<td>{significant(value, 4)}</td>"


def _scaled(summary: Summary | None, name: str, unit: float) -> float | None:
    value = getattr(summary, name) if summary else None
    return None if value is None else value / unit


def _bound(summary: Summary | None, which: int, unit: float) -> float | None:
    if summary is None or summary.ci95 is None:
        return None
    return summary.ci95[which] / unit


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _cpu(result: Result, end: int) -> float | None:
    if end >= len(result.cpu):
        return None
    return (result.cpu[end].user_ns + result.cpu[end].system_ns) / 1e3
