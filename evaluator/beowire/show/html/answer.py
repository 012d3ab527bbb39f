# SPDX-License-Identifier: BSD-3-Clause
"""The first screen of a report: the verdict in a sentence, and how fast each driver is beside TCP,
with a switch to times and rates."""

import re
from collections.abc import Mapping, Sequence
from html import escape

from beowire.analysis import advice, headline, layers, verdict
from beowire.analysis.curves import BASELINE, SUBJECT, Curve
from beowire.plan.patterns import PATTERNS, Pattern
from beowire.record.reader import Record
from beowire.show.drawing import Nothing
from beowire.show.html import charts

#: What drivers that others are compared with are.
_MEANINGS = {
    BASELINE: "TCP with busy polling, as MPI uses it",
    "tcp": "blocking TCP",
    "fi-tcp": "libfabric’s TCP provider",
}


def first_pattern(by_pattern: Mapping[str, Sequence[Curve]]) -> Pattern | None:
    """The pattern that it is of; None: nothing was measured."""
    return next((one for one in PATTERNS.values() if by_pattern.get(one.name)), None)


def drawn(found: Sequence[Curve]) -> list[Curve]:
    """The curves that charts show: of many drivers those that are shown first."""
    first = set(layers.shown_first([curve.driver for curve in found]))
    return [curve for curve in found if curve.driver in first]


def sentence(records: Sequence[Record], by_pattern: Mapping[str, Sequence[Curve]]) -> str:
    """The verdict, as HTML; empty where there are several records, or nothing to compare."""
    pattern = first_pattern(by_pattern)
    if len(records) != 1 or pattern is None:
        return ""
    found = [curve for curve in by_pattern[pattern.name] if curve.load is None]
    said, disturbance = headline.parts(records[0], found, pattern)
    said = unbroken(f"{said}.") if said else ""
    return f"{said} <small>But {unbroken(disturbance)}.</small>" if disturbance else said


def unbroken(text: str) -> str:
    """Text as HTML in which numbers are not broken from their units."""
    return re.sub(r"(\d) ([KMG]?i?B|[nµm]?s)\b", r"\1&nbsp;\2", escape(text))


def section(records: Sequence[Record], by_pattern: Mapping[str, Sequence[Curve]]) -> str:
    """The chart; empty where nothing was measured."""
    pattern = first_pattern(by_pattern)
    if pattern is None:
        return ""
    found = by_pattern[pattern.name]
    views, where = [], ""
    if len(records) == 1:
        # Only drivers that somebody can choose between two nodes, and sizes of which something can
        # be said.
        able = advice.able(records[0].meta.drivers)
        alone = [curve for curve in found if curve.load is None and curve.driver in able]
        compared = drawn(verdict.within(records[0], alone))
        if len(compared) > 1 and BASELINE in [curve.driver for curve in compared]:
            views.append(("Speed relative to TCP", charts.relative(compared)))
            by_name = {curve.driver: curve for curve in compared}
            if subject := by_name.get(SUBJECT):
                where = headline.open_text(headline.compared(subject, by_name[BASELINE], pattern))
    shown = drawn(found)
    for label, wanted, make in (
        (pattern.title, pattern.is_times, charts.times),
        ("Throughput", pattern.sized, charts.rates),
    ):
        try:
            views += [(label, make(shown, records))] if wanted else []
        except Nothing:
            continue
    if not views:
        return ""
    drivers = {curve.driver for curve in found}
    few = {curve.driver for curve in shown}
    meanings = [f"<b>{name}</b>: {text}" for name, text in _MEANINGS.items() if name in few]
    explained = f'<p class="note">{"; ".join(meanings)}.</p>' if meanings else ""
    notes = ["Bands: 95 % intervals"]
    if where:
        notes.append(f"grey: {where}")
    elif BASELINE in few:
        notes.append(f"hollow dots: no significant difference from {BASELINE}")
    if len(few) < len(drivers):
        notes.append(f"drawn are {len(few)} of {len(drivers)} drivers (report --drivers LIST)")
    note = f'<p class="note">{escape("; ".join(notes))}.</p>'
    return f'<section id="answer">{explained}{charts.switch("answer", views)}{note}</section>'
