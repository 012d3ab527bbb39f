# SPDX-License-Identifier: BSD-3-Clause
"""What a pattern has found besides one figure a size, as tables of text: the terminal and the
report both show these, and neither knows whose they are.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from beowire.record.lines import Level, PairFigures, Result, Summary
from beowire.record.reader import Record
from beowire.units import count_rate_text, rate_text, size_text, time_text

#: A matrix of more nodes fits no page; its slow links are named all the same.
_LARGEST_MATRIX = 12


@dataclass(frozen=True)
class Sheet:
    """A table; `notes` are whole sentences, or lines."""

    title: str
    heads: list[str]
    rows: list[list[str]]
    notes: list[str]


def sheets(record: Record, pattern: str) -> list[Sheet]:
    """Those of one pattern; none where it has found nothing besides."""
    results = [one for one in record.results if one.pattern == pattern]
    results.sort(key=lambda one: (one.driver, one.size, one.launch, one.load or ""))
    return [sheet for make in _MAKERS for sheet in make(results)]


def _levels(results: Sequence[Result]) -> Iterator[Sheet]:
    found = [one for one in results if one.levels]
    if not found:
        return
    given = found[0].levels[0].share is None
    yield _at_a_rate(found) if given else _at_shares(found)


def _at_a_rate(found: Sequence[Result]) -> Sheet:
    """The user has named it."""
    heads = ["driver", "size", "rate", "median", "p99", "lost", "late"]
    rows = [
        [
            *_of(one, found),
            count_rate_text(level.rate_messages_per_s),
            _span(level.time_ns),
            _p99(level.time_ns),
            str(level.lost),
            _late(level),
        ]
        for one in found
        for level in one.levels
    ]
    return Sheet("Time of a message from when it was due", heads, rows, [])


def _at_shares(found: Sequence[Result]) -> Sheet:
    """Of the loss-free rate."""
    shares = [level.share or 0.0 for level in found[0].levels]
    most = f"{shares[-1]:.0%}"
    heads = ["driver", "size", "loss-free"]
    heads += [head for share in shares for head in (f"at {share:.0%}", "p99")]
    rows = []
    for one in found:
        last = one.levels[-1]
        rate = last.rate_messages_per_s / (last.share or 1.0)
        sure = "" if one.loss_free_messages_per_s else " ?"
        rows.append(
            [
                *_of(one, found),
                f"{count_rate_text(rate)}{sure}",
                *(
                    text
                    for level in one.levels
                    for text in (_span(level.time_ns), _p99(level.time_ns))
                ),
                _late(last),
            ]
        )
    notes = []
    if any(not one.loss_free_messages_per_s for one in found):
        notes.append(
            "? messages were lost, or late, at every rate: shares of the most that arrived"
        )
    title = "Time of a message from when it was due, at shares of the loss-free rate"
    return Sheet(title, [*heads, f"late at {most}"], rows, notes)


def _bounds(results: Sequence[Result]) -> Iterator[Sheet]:
    found = [one for one in results if one.clock_bound_ns is not None]
    if found:
        rows = [
            [
                *_of(one, found),
                _span(one.time_ns),
                f"±{time_text(one.clock_bound_ns or 0.0)}",
            ]
            for one in found
        ]
        heads = ["driver", "size", "median", "bound"]
        title = "Time of one way, and how far the clocks let each time be wrong"
        yield Sheet(title, heads, rows, [])


def _incast(results: Sequence[Result]) -> Iterator[Sheet]:
    found = [one for one in results if one.senders]
    if not found:
        return
    steps = [step.senders for step in found[0].senders]
    heads = ["driver", "size", *(_count(step, "sender") for step in steps), "start skew"]
    rows = [
        [
            *_of(one, found),
            *(
                f"{_span(step.time_ns)} {rate_text(step.goodput_bytes_per_s)}"
                for step in one.senders
            ),
            _skew(one),
        ]
        for one in found
    ]
    title = "Time until all senders are answered, and goodput, by the number of senders"
    yield Sheet(title, heads, rows, [])


def _pairs(results: Sequence[Result]) -> Iterator[Sheet]:
    found = [one for one in results if one.pairs and one.pairs[0].half_rtt_ns is None]
    if not found:
        return
    rows = []
    for one in found:
        slowest = min(one.pairs, key=lambda pair: pair.rate_bytes_per_s)
        rows.append(
            [
                *_of(one, found),
                rate_text(sum(pair.rate_bytes_per_s for pair in one.pairs)),
                rate_text(slowest.rate_bytes_per_s),
                _link(slowest),
                _skew(one),
            ]
        )
    heads = ["driver", "size", "sum", "slowest", "pair", "start skew"]
    title = f"{_count(len(found[0].pairs), 'pair')} at the same time"
    yield Sheet(title, heads, rows, [])


def _all_pairs(results: Sequence[Result]) -> Iterator[Sheet]:
    by_driver: dict[str, list[Result]] = {}
    for one in results:
        if one.pairs and one.pairs[0].half_rtt_ns is not None:
            by_driver.setdefault(_of(one, results)[0], []).append(one)
    for driver, found in by_driver.items():
        yield _matrix(driver, found)


def _matrix(driver: str, found: Sequence[Result]) -> Sheet:
    """The shortest messages' times above the diagonal, the longest ones' rates below it."""
    short, long = found[0], found[-1]
    nodes = list(dict.fromkeys(name for pair in short.pairs for name in (pair.a, pair.b)))
    times = {(pair.a, pair.b): time_text(pair.half_rtt_ns or 0.0) for pair in short.pairs}
    rates = {(pair.b, pair.a): rate_text(pair.rate_bytes_per_s) for pair in long.pairs}
    shown = {**times, **rates}
    title = (
        f"{driver}: above the diagonal half a round trip of {size_text(short.size)}, below it the"
        f" rate of a stream of {size_text(long.size)}"
    )
    slow: dict[str, list[str]] = {}
    for one in found:
        for name in one.slow:
            slow.setdefault(name, []).append(size_text(one.size))
    notes = [f"Slow with {driver}: {name} (at {', '.join(at)})" for name, at in slow.items()]
    if not slow and len(nodes) > 2:
        notes.append(f"No link is slower than the others with {driver}.")
    if len(nodes) > _LARGEST_MATRIX:
        return Sheet(title, ["pairs"], [[str(len(short.pairs))]], notes)
    rows = [[a, *(shown.get((a, b), "") for b in nodes)] for a in nodes]
    return Sheet(title, ["", *nodes], rows, notes)


_MAKERS: tuple[Callable[[Sequence[Result]], Iterator[Sheet]], ...] = (
    _levels,
    _bounds,
    _incast,
    _pairs,
    _all_pairs,
)


def _of(one: Result, among: Sequence[Result]) -> list[str]:
    """Whose row it is: the driver, what ran beside it, and the launch if there are several; the
    size."""
    several = any(other.launch != one.launch for other in among)
    name = f"{one.driver} +{one.load}" if one.load else one.driver
    return [f"{name} ({one.launch})" if several else name, size_text(one.size)]


def _span(summary: Summary | None) -> str:
    return "–" if summary is None else time_text(summary.median)


def _p99(summary: Summary) -> str:
    return "–" if summary.p99 is None else time_text(summary.p99)


def _late(level: Level) -> str:
    """Which share of the messages left more than an interval after they were due."""
    return f"{level.late / max(1, level.n):.0%}"


def _skew(one: Result) -> str:
    return "–" if one.start_skew_ns is None else time_text(one.start_skew_ns)


def _link(pair: PairFigures) -> str:
    return f"{pair.a} – {pair.b}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def nodes_text(record: Record) -> str:
    """Which nodes took part."""
    return " ⇄ ".join(end.node for end in (*record.meta.ends, *record.meta.others))
