# SPDX-License-Identifier: BSD-3-Clause
"""The parameters of a network model from a record of `compare`: for each driver, what a message
costs its ends and the network, by size, in three versions. Pure.

With times by size of half a round trip T, of an exchange X (pattern `pingping`), and of a message
beside computing O (`overlap`: the part that computing does not hide, the mean of both ends), a
message that is sent before its receiver asks for it takes

    O at its sender, N = T - 2 O in the network, O at its receiver,

a longer one, N = T in the network, from when both ends are there. A message is longer if its bytes
alone take longer on the wire than the whole shortest message takes. SimGrid would let such messages
of one sender share the wire, where a network passes them on one after the other. A send that does
not wait (MPI_Isend, MPI_Sendrecv) takes X without the other parts, so it contains what both
directions cost each other and the ends. SimGrid shares a link among the messages that are on it,
each at most at the rate that N has at its size.

Intervals: `low` has the lower ends of the 95 % intervals of these times, and the upper ends of
those of rates; `high` has the opposite ends. So the interval between the times of a program with
`low` and with `high` is wide: it holds even if all cells err to the same side.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from beowire.analysis.curves import Cell, Curve, curves, quantity_of
from beowire.errors import BeowireError
from beowire.record.lines import Summary
from beowire.record.reader import Record
from beowire.sizes import format_size
from beowire.units import rate_text

#: What is needed, and what for.
PATTERNS = ("pingpong", "pingping", "overlap", "stream")

#: Sizes of each pattern: fewer say too little of what lies between them.
FEWEST_SIZES = 6

#: A record needs sizes from at most the first to at least the second: most messages of programs.
_SHORT_BYTES, _LONG_BYTES = 64, 1 << 20

Version = Literal["low", "median", "high"]
VERSIONS: tuple[Version, ...] = ("median", "low", "high")

#: IP and TCP; around an Ethernet frame: header, check sequence, preamble and gap.
_HEADERS_BYTES, _FRAME_BYTES = 40, 38
_NEARLY = 1.02


@dataclass(frozen=True)
class Segment:
    """Messages from so many bytes on, up to the next segment: times in ns."""

    first: int
    send_ns: float
    """At the sender of one that waits, before it is on its way."""
    isend_ns: float
    """At the sender of one that does not wait."""
    isend_per_byte_ns: float
    receive_ns: float
    own_per_byte_ns: float
    """Of each byte, at the sender of one that waits and at the receiver."""
    start_ns: float
    """In the network, at no byte."""
    per_byte_ns: float


@dataclass(frozen=True)
class Parameters:
    """A network, and the ends at it."""

    segments: Sequence[Segment]
    link_bytes_per_s: float
    """Of each node's link, each way."""
    eager_bytes: int
    """Messages of less are sent before their receiver asks."""


@dataclass(frozen=True)
class Way:
    """A driver of the record."""

    name: str
    versions: Mapping[Version, Parameters]
    baseline: str | None
    """What it is compared with; None: it is a baseline, or has none."""

    @property
    def mpi(self) -> str:
        """The MPI's name, whose collective operations it has; empty: no MPI was measured."""
        return self.name.removeprefix("mpi:").partition("/")[0] if ":" in self.name else ""


def ways(record: Record, names: Sequence[str] | None = None) -> list[Way]:
    """The ways of a record over which MPI programs can go, or those named: of MPI drivers if there
    are any. BeowireError says what to measure if something is missing."""
    found = {pattern: _by_driver(curves([record], pattern)) for pattern in PATTERNS}
    drivers = list(names or _usual(found["pingpong"]))
    missing = [_missing(found, driver) for driver in drivers]
    if not drivers or any(missing):
        reason = next((one for one in missing if one), "no driver that a program could use")
        asked = ",".join(drivers) or "mpi"
        raise BeowireError(
            f"{record.path} has {reason}: type `beowire compare --pattern {','.join(PATTERNS)}"
            f" --sizes 8-4MiB --drivers {asked}`, and where (--hosts, --lab)"
        )
    return [
        Way(
            driver,
            {
                version: _parameters(
                    [found[pattern][driver] for pattern in PATTERNS], record, version
                )
                for version in VERSIONS
            },
            baseline(driver, drivers),
        )
        for driver in drivers
    ]


def payload_rate(record: Record, bits_per_s: int) -> float:
    """What a link of this rate carries of messages, in frames as long as the record's.

    BeowireError: the record's own link is slower, so nobody knows what its ends can do.
    """
    if bits_per_s <= 0:
        raise BeowireError("--rate is more than 0")
    mtu = record.meta.link.mtu or 1500
    found = bits_per_s / 8 * (mtu - _HEADERS_BYTES) / (mtu + _FRAME_BYTES)
    wire = record.meta.wire
    if wire is not None and found > wire.payload_bytes_per_s * _NEARLY:
        raise BeowireError(
            f"the link of {record.path} carries {rate_text(wire.payload_bytes_per_s)}, so it does"
            " not show what the nodes could do at a higher --rate: take a record of a quicker link,"
            " such as of `compare --lab` without --rate on such a node"
        )
    return found


def elsewhere(
    parameters: Parameters, rate_bytes_per_s: float | None, latency_ns: float
) -> Parameters:
    """The same ends at another network: a message passes all of its parts at the same time, so the
    slowest of ends and wire says how fast it is."""
    link = parameters.link_bytes_per_s if rate_bytes_per_s is None else rate_bytes_per_s
    least = 0.0 if rate_bytes_per_s is None else 1e9 / rate_bytes_per_s
    segments = [
        replace(
            one,
            start_ns=one.start_ns + latency_ns,
            per_byte_ns=max(one.per_byte_ns, least),
        )
        for one in parameters.segments
    ]
    return replace(parameters, segments=segments, link_bytes_per_s=link)


def _by_driver(found: Sequence[Curve]) -> dict[str, Curve]:
    return {one.driver: one for one in found if one.load is None}


def _usual(pingpong: Mapping[str, Curve]) -> list[str]:
    mpi = [name for name in pingpong if name.startswith("mpi:")]
    return mpi or [name for name in ("tcp-spin", "tcp", "beowire") if name in pingpong]


def baseline(driver: str, drivers: Sequence[str]) -> str | None:
    """TCP, of the same MPI."""
    head, slash, _ = driver.partition("/")
    wanted = (f"{head}/tcp",) if slash else ("tcp-spin", "tcp")
    found = next((name for name in wanted if name in drivers), None)
    return None if found == driver else found


def _missing(found: Mapping[str, Mapping[str, Curve]], driver: str) -> str:
    """What a driver lacks, after `has`; empty: nothing."""
    for pattern in PATTERNS:
        curve = found[pattern].get(driver)
        if curve is None:
            return f"no {pattern} of {driver}"
        sizes = [cell.size for cell in curve.cells]
        if len(sizes) < FEWEST_SIZES or sizes[0] > _SHORT_BYTES or sizes[-1] < _LONG_BYTES:
            return (
                f"{pattern} of {driver} at {len(sizes)} sizes from {format_size(sizes[0])} to"
                f" {format_size(sizes[-1])}, which are too few"
            )
    return ""


def _parameters(patterns: Sequence[Curve], record: Record, version: Version) -> Parameters:
    pingpong, pingping, overlap, stream = patterns
    times = _points(pingpong, version)
    exchanges, costs = _points(pingping, version), _points(overlap, version)
    link = _link(stream, record, version)
    # The same in all versions, or they would differ by more than their times.
    eager = round(_points(pingpong, "median")[0][1] * _link(stream, record, "median") / 1e9)
    return Parameters(_segments(times, exchanges, costs, eager), link, eager)


def _link(stream: Curve, record: Record, version: str) -> float:
    """The rate of a link: the highest one measured, or the known one if that is higher."""
    fast = {"low": "high", "median": "median", "high": "low"}[version]
    seen = max(_value(cell.rate_bytes_per_s, cell, fast) for cell in stream.cells)
    wire = record.meta.wire
    return seen if wire is None else max(seen, wire.payload_bytes_per_s)


Points = Sequence[tuple[int, float]]


def _points(curve: Curve, version: str) -> Points:
    return [
        (cell.size, _value(quantity_of(cell, curve.kind), cell, version)) for cell in curve.cells
    ]


def _value(summary: Summary, cell: Cell, version: str) -> float:
    """The median, or an end of its interval. Of a few rounds, that have none, the least or most."""
    if version == "median":
        return summary.median
    if summary.ci95 is not None:
        return summary.ci95[0 if version == "low" else 1]
    rounds = [one for launch in cell.launches for one in launch.round_medians]
    choose = min if version == "low" else max
    return choose([*rounds, summary.median])


def _segments(times: Points, exchanges: Points, costs: Points, eager: int) -> list[Segment]:
    """One from each size of the round trips to the next; the first from no byte on."""
    sizes = [size for size, _ in times]
    edges = sorted({*sizes[1:-1], eager} - {size for size in sizes if size < 1})
    found = []
    for first, last in zip([0, *edges], [*edges, sizes[-1]], strict=True):
        if last <= first:
            continue
        own = first < eager
        cost = _Line.through(costs, first, last)
        whole = _Line.through(times, first, last)
        exchange = _Line.through(exchanges, first, last)
        # Both ends' own work is a part of the time that a message takes.
        at_most = _LARGEST_SHARE * min(whole.at(first), whole.at(last))
        share = min(1.0, at_most / max(cost.at(first), cost.at(last), 1e-9)) if own else 0.0
        end = cost.times(share)
        network = whole.minus(end.times(2))
        isend = exchange.minus(network).minus(end).at_least_nothing(first, last)
        network = network.from_nothing(first, last)
        found.append(
            Segment(
                first=first,
                send_ns=end.start,
                isend_ns=isend.start,
                isend_per_byte_ns=isend.slope,
                receive_ns=end.start,
                own_per_byte_ns=end.slope,
                start_ns=network.start,
                per_byte_ns=network.slope,
            )
        )
    return found


#: The largest share of a message's time that may be the work of one end.
_LARGEST_SHARE = 0.45

#: A byte takes this at least: no network is without a limit.
_LEAST_PER_BYTE_NS = 1e-3


@dataclass(frozen=True)
class _Line:
    """A time by size."""

    start: float
    slope: float

    @staticmethod
    def through(points: Points, first: int, last: int) -> "_Line":
        """From the one size to the other."""
        low, high = _at(points, first), _at(points, last)
        slope = (high - low) / (last - first)
        return _Line(low - slope * first, slope)

    def at(self, size: int) -> float:
        return self.start + self.slope * size

    def times(self, factor: float) -> "_Line":
        return _Line(self.start * factor, self.slope * factor)

    def minus(self, other: "_Line") -> "_Line":
        return _Line(self.start - other.start, self.slope - other.slope)

    def at_least_nothing(self, first: int, last: int) -> "_Line":
        low, high = max(0.0, self.at(first)), max(0.0, self.at(last))
        slope = (high - low) / (last - first)
        return _Line(low - slope * first, slope)

    def from_nothing(self, first: int, last: int) -> "_Line":
        """A line that begins at no less than nothing and rises, as a network's has to; if this does
        not, one with the same time halfway."""
        middle = (first + last) / 2
        time = max(self.start + self.slope * middle, _LEAST_PER_BYTE_NS * middle, 1.0)
        slope = min(max(self.slope, _LEAST_PER_BYTE_NS), time / middle)
        return _Line(time - slope * middle, slope)


def _at(points: Points, size: int) -> float:
    """Between measured sizes by a straight line; below the first its time, beyond the last in
    proportion."""
    before, after = points[0], points[-1]
    if size <= before[0]:
        return before[1]
    if size >= after[0]:
        return after[1] * size / after[0]
    for one, other in pairwise(points):
        if one[0] <= size <= other[0]:
            return one[1] + (other[1] - one[1]) * (size - one[0]) / (other[0] - one[0])
    return after[1]
