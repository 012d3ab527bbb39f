# SPDX-License-Identifier: BSD-3-Clause
"""A page before it is put together, and what it leaves out where it would be too long.

The longest tables go first, since commands print their rows; then charts are drawn at fewer sizes.
That is enough for a record of all drivers at all sizes. Of records with many patterns, or of many
records, long parts go as well, then charts, and findings last. Each says what is not there.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import TypeVar

from beowire.report.axes import Figure
from beowire.report.thinning import thinned

#: Sizes to choose from in charts of one size, and points of curves over sizes: fewer and fewer.
_LEVELS: tuple[tuple[int | None, int | None], ...] = (
    (None, None),
    *((count, None) for count in (96, 64, 32, 16, 8)),
    (8, 64),
    (8, 32),
    (4, 16),
    (4, 8),
    (2, 4),
    (2, 2),
)

#: Which part of the charts is there, from the first on: in the end none.
_SHARES = (1.0, 0.75, 0.5, 0.25, 0.125, 0.0)

#: Of tables that tell what the charts do not, those are left out that are longer than this, in
#: bytes; and of other parts.
_LONG = 50_000
_SHORT = 2_000

#: The parts for which the others give way.
_FINDINGS = ("findings", "summary", "advice")

_ROWS = (
    "<p>{rows} rows are not here, since with them this page would be larger than 2 MB:"
    " <code>beowire report RECORD {option}</code> {does}.</p>"
)
_PART = (
    "<p>What belongs here is in the record, and not on this page, which would be larger than 2 MB"
    " with it.</p>"
)
_CHARTS = (
    '<p class="note">{count} more chart{s} would make this page larger than 2 MB: {names}.</p>'
)


#: What makes a draft shorter, by how much.
_Step = TypeVar("_Step")


@dataclass(frozen=True)
class Chart:
    """A chart of the page: its anchor, its heading, and how to read it (HTML)."""

    name: str
    heading: str
    caption: str
    figure: Figure
    has_wire: bool = False
    """The wire's limit is drawn in it."""
    note: str = ""
    """What of it is not drawn."""


@dataclass(frozen=True)
class Draft:
    """What goes into a page."""

    parts: dict[str, str]
    """HTML, by the places that it has in page.html."""
    sheets: list[str]
    """Tables of what was found besides one figure a size (HTML)."""
    charts: list[Chart]
    left_out: str = ""
    """What is said in place of charts that are not there (HTML)."""


@dataclass(frozen=True)
class Press:
    """What makes a page of a draft."""

    scripts: Callable[[Sequence[Chart]], str]
    """What draws the charts, with all their data. This takes its time."""
    page: Callable[[Draft, str], str]
    """The draft and these scripts, put together."""
    most_bytes: int

    def fits(self, html: str) -> bool:
        """It is no longer than it may be."""
        return len(html.encode()) <= self.most_bytes


def fitted(draft: Draft, press: Press) -> str:
    """The page, of which so much was left out that it is as short as it may be."""
    scripts = press.scripts(draft.charts)
    last = draft
    for last in _without_tables(draft):
        if press.fits(html := press.page(last, scripts)):
            return html
    thin, scripts = _first_that_fits(last, _at_level, _LEVELS, press)
    for last in _without_parts(thin, [name for name in draft.parts if name not in _FINDINGS]):
        if press.fits(html := press.page(last, scripts)):
            return html
    bare = last
    for bare in _without_sheets(last):
        if press.fits(html := press.page(bare, scripts)):
            return html
    few, scripts = _first_that_fits(bare, _with_charts, _SHARES, press)
    html = ""
    for last in _without_parts(few, [name for name in draft.parts if name in _FINDINGS]):
        html = press.page(last, scripts)
        if press.fits(html):
            break
    return html


def _first_that_fits(
    draft: Draft, shorter: Callable[[Draft, _Step], Draft], steps: Sequence[_Step], press: Press
) -> tuple[Draft, str]:
    """The draft as the first step makes it that is enough, else the last, and its scripts. Each
    makes it shorter than the one before, and the first, which changes nothing, is not enough."""
    low, high = 1, len(steps) - 1
    found: dict[int, tuple[Draft, str]] = {}
    while low < high or high not in found:
        middle = (low + high) // 2
        tried = shorter(draft, steps[middle])
        scripts = press.scripts(tried.charts)
        if middle == high or press.fits(press.page(tried, scripts)):
            high, found[middle] = middle, (tried, scripts)
        else:
            low = middle + 1
    return found[high]


def _without_tables(draft: Draft) -> Iterator[Draft]:
    """The draft; without the longest table; without the next as well, and so on."""
    yield draft
    tables = [
        (len(draft.parts[name]), name, -1)
        for name in ("results", "probes")
        if "<tr" in draft.parts[name]
    ]
    tables += [(len(one), "", at) for at, one in enumerate(draft.sheets) if len(one) > _LONG]
    for _, name, at in sorted(tables, reverse=True):
        if name:
            parts = draft.parts | {name: _rows(draft.parts[name], "--csv FILE", "writes them")}
            if name == "results":
                parts["only"] = ""  # it chooses among the rows
            draft = replace(draft, parts=parts)
        else:
            said = _rows(draft.sheets[at], "--text", "prints most of them, and the record has all")
            draft = _without_sheet(draft, at, said)
        yield draft


def _without_sheet(draft: Draft, at: int, said: str) -> Draft:
    """The draft with something said in place of this table, under its heading."""
    sheets = list(draft.sheets)
    sheets[at] = f"{sheets[at].partition('</h2>')[0]}</h2>{said}</section>"
    return replace(draft, sheets=sheets)


def _rows(table: str, option: str, does: str) -> str:
    """What is said in place of a table."""
    return _ROWS.format(rows=max(0, table.count("<tr") - 1), option=option, does=does)


def _at_level(draft: Draft, level: tuple[int | None, int | None]) -> Draft:
    charts = []
    for chart in draft.charts:
        figure, note = thinned(chart.figure, *level)
        charts.append(replace(chart, figure=figure, note=note))
    return replace(draft, charts=charts)


def _without_parts(draft: Draft, names: Sequence[str]) -> Iterator[Draft]:
    """The draft; without the longest of these parts; without the next as well, and so on."""
    yield draft
    for name in sorted(names, key=lambda one: -len(draft.parts[one])):
        if len(draft.parts[name]) < _SHORT:
            return
        draft = replace(draft, parts=draft.parts | {name: _PART})
        yield draft


def _without_sheets(draft: Draft) -> Iterator[Draft]:
    """The draft; without the longest of the tables that are left of what was found besides; without
    the next as well, and so on."""
    yield draft
    for length, at in sorted(((len(one), at) for at, one in enumerate(draft.sheets)), reverse=True):
        if length < _SHORT:
            return
        draft = _without_sheet(draft, at, _PART)
        yield draft


def _with_charts(draft: Draft, share: float) -> Draft:
    count = int(share * len(draft.charts))
    gone = draft.charts[count:]
    names = ", ".join(escape(chart.heading, quote=False) for chart in gone)
    plural = "s" if len(gone) > 1 else ""
    said = _CHARTS.format(count=len(gone), s=plural, names=names) if gone else ""
    return replace(draft, charts=draft.charts[:count], left_out=said)
