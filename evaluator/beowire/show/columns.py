# SPDX-License-Identifier: BSD-3-Clause
"""Results as columns for other programs: NetPIPE's, and comma-separated values. Pure.

NetPIPE's of version 3 are the bytes of a message, Mbit/s (of 2**20 bits, as it counts them) and
seconds; with traffic both ways they are the bytes of both, as there. Those of version 5 are bytes;
Gbit/s (of 10**9 bits): the median, the lowest and the highest round; and microseconds.
"""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from beowire.analysis.curves import Cell, Curve, curves, record_labels
from beowire.plan.patterns import DEFAULT, PATTERNS
from beowire.record.lines import Result, Summary
from beowire.record.reader import Record
from beowire.visible import LINES, visible

_INTEGRITY = "integrity"
_MEBI = float(1 << 20)

_ABOUT_A_CELL = ("driver", "pattern", "load", "size", "launch", "n", "rounds", "batch", "lost")
_SUMMARIES = ("half_rtt_ns", "time_ns", "rate_bytes_per_s", "rate_messages_per_s")
_OF_SUMMARY = ("median", "ci95_low", "ci95_high", "p90", "p99", "min", "max")
_OF_CPU = ("user_ns", "system_ns", "softirq_ns", "voluntary_switches", "involuntary_switches")
_ENDS = ("initiator", "responder")
_REST = (
    *("overlap_send", "overlap_receive", "walk_bytes", "cache_bytes"),
    *("cpu_ns_per_message", "service_demand_us_per_kb", "elapsed_ns", "settled"),
    *("stopped_by", "status"),
)
_OF_LAUNCH = (
    *("app", "mpi", "over", "load", "round", "figure", "seconds", "wall_s", "verified"),
    *("communication_share", "status", "check"),
)


@dataclass(frozen=True)
class Columns:
    """One driver's results of one pattern, as NetPIPE writes them."""

    driver: str
    """With what ran beside it: `tcp`, `tcp +hog:19`."""
    pattern: str
    text: str

    @property
    def file_name(self) -> str:
        """`np.tcp.out`, `np.tcp.stream.out`, `np.mpi-mpich-tcp.out`, `np.tcp-hog-19.out`."""
        words = ["np", re.sub(r"[^A-Za-z0-9._-]+", "-", self.driver)]
        words += [self.pattern] if self.pattern != DEFAULT.name else []
        return ".".join([*words, "out"])


def netpipe(record: Record, version: int = 3) -> list[Columns]:
    """What NetPIPE's `np.out` would have, for each driver and pattern, sizes rising."""
    line = _line_of_5 if version == 5 else _line_of_3
    return [
        Columns(curve.name, pattern, "".join(line(curve, cell) for cell in curve.cells))
        for pattern in PATTERNS
        for curve in curves([record], pattern)
    ]


def blocks(found: Sequence[Columns]) -> str:
    """All in one text. One alone stands by itself; of several each is under a comment with its
    name, two empty lines apart, as gnuplot's `index` wants them."""
    if len(found) == 1:
        return found[0].text
    return "\n\n".join(f"# {one.driver} {one.pattern}\n{one.text}" for one in found)


def screen_lines(record: Record) -> Iterator[str]:
    """What NetPIPE says of each size while it measures."""
    for pattern in PATTERNS:
        for curve in curves([record], pattern):
            for number, cell in enumerate(curve.cells):
                size, seconds = _of_both_ways(curve, cell)
                said = (
                    "Integrity check passed"
                    if pattern == _INTEGRITY
                    else f"{8 * size / seconds / _MEBI:8.2f} Mbps in {seconds * 1e6:10.2f} usec"
                )
                yield f"{number:3d}: {size:7d} bytes {cell.messages:6d} times --> {said}"


def comma_separated(records: Sequence[Record]) -> str:
    """Every result of every record, a row each, under names that have their units."""
    several = len(records) > 1
    heads = [
        *(["record"] if several else []),
        *_ABOUT_A_CELL,
        *(f"{name}_{part}" for name in _SUMMARIES for part in _OF_SUMMARY),
        *(f"cpu_{end}_{part}" for end in _ENDS for part in _OF_CPU),
        *_REST,
    ]
    rows = [
        [*([label] if several else []), *_cells(result)]
        for record, label in zip(records, record_labels(records), strict=True)
        for result in record.results
    ]
    return _csv(heads, rows)


def comma_separated_launches(launches: Sequence[object]) -> str:
    """Every launch of a record of programs (apps/record.py)."""
    rows = [[getattr(launch, name) for name in _OF_LAUNCH] for launch in launches]
    return _csv(_OF_LAUNCH, rows)


def _line_of_3(curve: Curve, cell: Cell) -> str:
    size, seconds = _of_both_ways(curve, cell)
    if curve.pattern == _INTEGRITY:
        return f"{size:8d} {cell.messages:d}\n"
    return f"{size:8d} {8 * size / seconds / _MEBI:f} {seconds:12.8f}\n"


def _line_of_5(curve: Curve, cell: Cell) -> str:
    size, seconds = _of_both_ways(curve, cell)
    if curve.pattern == _INTEGRITY:
        return f"{size:9d} bytes {cell.messages:6d} times {0:8d} failures\n"
    median = 8 * size / seconds / 1e9
    low, high = (median * share for share in _rounds_reach(curve, cell))
    return f"{size:9d} {median:9.3f} {low:9.3f} {high:9.3f} {seconds * 1e6:7.2f}\n"


def _of_both_ways(curve: Curve, cell: Cell) -> tuple[int, float]:
    """Bytes that move, all ways together, and the seconds that they take."""
    size = cell.size * (1 if curve.pattern == _INTEGRITY else curve.kind.ways)
    if cell.time is not None and cell.time.median > 0:
        return size, cell.time.median / 1e9
    return size, size / cell.rate_bytes_per_s.median


def _rounds_reach(curve: Curve, cell: Cell) -> tuple[float, float]:
    """The rates of the slowest and of the quickest round, as shares of the median."""
    rounds = [value for result in cell.launches for value in result.round_medians if value > 0]
    if not rounds:
        return 1.0, 1.0
    summary = cell.time or cell.rate_bytes_per_s
    shares = [min(rounds) / summary.median, max(rounds) / summary.median]
    if curve.kind.is_times:
        shares = [1 / share for share in reversed(shares)]
    return min(1.0, shares[0]), max(1.0, shares[1])


def _cells(result: Result) -> list[object]:
    cells: list[object] = [getattr(result, name) for name in _ABOUT_A_CELL]
    for name in _SUMMARIES:
        cells += _of_summary(getattr(result, name))
    for end in range(len(_ENDS)):
        cost = result.cpu[end] if end < len(result.cpu) else None
        cells += [getattr(cost, part) if cost else None for part in _OF_CPU]
    return cells + [getattr(result, name) for name in _REST]


def _of_summary(summary: Summary | None) -> list[object]:
    if summary is None:
        return [None] * len(_OF_SUMMARY)
    low, high = summary.ci95 or (None, None)
    values: Mapping[str, object] = {**dict(summary), "ci95_low": low, "ci95_high": high}
    return [values[part] for part in _OF_SUMMARY]


def _csv(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(heads)
    writer.writerows([_plain(cell) for cell in row] for row in rows)
    return text.getvalue()


def _plain(cell: object) -> object:
    """Booleans as words of JSON. A text without what a terminal obeys; one that a spreadsheet would
    take for a formula is quoted."""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if not isinstance(cell, str):
        return cell
    text = visible(cell, LINES)
    return f"'{text}" if text[:1] in ("=", "+", "-", "@") else text
