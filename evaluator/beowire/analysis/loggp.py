# SPDX-License-Identifier: BSD-3-Clause
"""The four parameters of LogGP (Alexandrov and others, SPAA'95) of each driver, as far as there are
the patterns that tell them. Pure.

With N messages to a sweep and as much work before each, of which an end's calls cost o, the pattern
`pipeline` takes N + 1 pieces of work, N - 1 times o and one round trip (2 (L + 2o)); the engine
says what is left without the work, to a message. So

    o = (N x pipeline - round trip) / (N - 1)     of the slower of the two ends
    g = the time between two messages of a stream
    L = half a round trip of no length - 2o
    G = the slope of the last straight piece (steps.py)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from beowire.analysis.curves import Cell, Curve
from beowire.analysis.sheets import Sheet
from beowire.analysis.steps import FEWEST, pieces
from beowire.units import interval_text, size_text, time_text

_NOTE = (
    "For messages of {size}. o: CPU time of a message at the slower end, which also computes"
    " (pattern pipeline). g: time from one message of a stream to the next; it equals o if sending"
    " is the limit (stream). L: half a round trip of an empty message, without o. G: time of each"
    " byte of long messages (pingpong). The 95 % intervals are conservative."
)


@dataclass(frozen=True)
class Known:
    """A value in ns, and where it may be; no ends: there were too few rounds to tell."""

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def text(self) -> str:
        """`1.50 µs (1.4–1.6 µs)`."""
        if self.low is None or self.high is None:
            return f"{time_text(self.value)} (±?)"
        return (
            f"{time_text(self.value)} ({interval_text(time_text(self.low), time_text(self.high))})"
        )

    def times(self, factor: float) -> "Known":
        """So many times it, which is positive."""
        ends = (None if one is None else one * factor for one in (self.low, self.high))
        return Known(self.value * factor, *ends)

    def less(self, other: "Known") -> "Known":
        """Without the other, and not less than nothing; both ends at their worst."""
        if None in (self.low, self.high, other.low, other.high):
            return Known(max(0.0, self.value - other.value))
        low, high = (self.low or 0.0) - (other.high or 0.0), (self.high or 0.0) - (other.low or 0.0)
        return Known(max(0.0, self.value - other.value), max(0.0, low), max(0.0, high))


@dataclass(frozen=True)
class Parameters:
    """Of a driver; None: no pattern that was measured tells it."""

    latency: Known | None
    overhead: Known | None
    gap: Known | None
    gap_of_a_byte_ns: float | None


def parameters(
    pingpong: Curve, stream: Curve | None, pipeline: Curve | None, size: int
) -> Parameters:
    """From the curves of one driver in one record, beside one load, at this (small) size."""
    cells = [cell for cell in pingpong.cells if cell.time is not None and cell.time.median > 0]
    times = [cell.time.median for cell in cells if cell.time is not None]
    fitted = pieces([cell.size for cell in cells], times) if len(cells) >= 2 * FEWEST else []
    half = _known(pingpong.at(size))
    overhead = _overhead(half, pipeline.at(size) if pipeline is not None else None)
    latency = None
    if fitted and half is not None and overhead is not None:
        # The line's start is as sure as the time that it begins with.
        latency = half.times(max(0.0, fitted[0].start_ns) / half.value).less(overhead.times(2))
    slope = fitted[-1].per_byte_ns if fitted else None
    return Parameters(latency, overhead, _gap(stream.at(size) if stream else None), slope)


def sheets(by_pattern: Mapping[str, Sequence[Curve]]) -> list[Sheet]:
    """A table of the drivers of which more is known than a ping-pong tells; none without."""
    rows, sizes = [], set()
    for pingpong in by_pattern.get("pingpong", ()):
        stream, pipeline = (_same(by_pattern.get(name, ()), pingpong) for name in _OTHERS)
        others = [one for one in (stream, pipeline) if one is not None]
        common = {cell.size for cell in pingpong.cells}
        for one in others:
            common &= {cell.size for cell in one.cells}
        if not others or not common:
            continue
        size = min(common)
        found = parameters(pingpong, stream, pipeline, size)
        known = (found.latency, found.overhead, found.gap)
        slope = found.gap_of_a_byte_ns
        per_byte = f"{slope:.3g} ns" if slope is not None and slope > 0 else "–"
        rows.append([pingpong.label, *(one.text if one else "–" for one in known), per_byte])
        sizes.add(size)
    if not rows:
        return []
    heads = ["driver", "L (latency)", "o (overhead)", "g (gap)", "G (gap of a byte)"]
    note = _NOTE.format(size=" or ".join(size_text(size) for size in sorted(sizes)))
    return [Sheet("LogGP parameters", heads, rows, [note])]


_OTHERS = ("stream", "pipeline")


def _same(found: Sequence[Curve], pingpong: Curve) -> Curve | None:
    """The same driver, in the same record, beside the same load."""
    alike = (one for one in found if one.driver == pingpong.driver)
    return next((one for one in alike if one.is_beside(pingpong)), None)


def _known(cell: Cell | None) -> Known | None:
    """The pattern's time."""
    if cell is None or cell.time is None or cell.time.median <= 0:
        return None
    return Known(cell.time.median, *(cell.time.ci95 or ()))


def _overhead(half: Known | None, pipeline: Cell | None) -> Known | None:
    cost = _known(pipeline)
    if half is None or cost is None or pipeline is None:
        return None
    messages = max((one.batch for one in pipeline.launches), default=1)
    if messages < 2:
        return None
    return cost.times(messages / (messages - 1)).less(half.times(2 / (messages - 1)))


def _gap(stream: Cell | None) -> Known | None:
    """A message more of a stream takes so long."""
    if stream is None or stream.rate_bytes_per_s.median <= 0:
        return None
    rate = stream.rate_bytes_per_s
    ends = () if rate.ci95 is None or rate.ci95[0] <= 0 else (rate.ci95[1], rate.ci95[0])
    return Known(*(1e9 * stream.size / one for one in (rate.median, *ends)))
