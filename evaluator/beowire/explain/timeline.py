# SPDX-License-Identifier: BSD-3-Clause
"""The way of a message through Beowire's code, at both ends: read from their traces
(transport/endpoint/trace_file.h), as one time line. Pure, but for reading the files.

Both ends have to be on one machine: their points are then of one clock.
"""

import struct
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median

from beowire import files
from beowire.errors import BeowireError
from beowire.units import time_text

#: The places of transport/route/trace.h, by their numbers.
PLACES = {
    1: "the application posts",
    2: "frames are made",
    3: "frames are sealed",
    4: "handed to the lane",
    5: "the lane has taken it",
    6: "a frame is seen",
    7: "its acknowledgement is read",
    8: "matched, and copied",
    9: "accepted",
    10: "the application has it",
}
_POSTED = 1

_MAGIC = b"BWTRACE1"
#: Those of transport/endpoint/trace_file.h have 1 MiB.
_BYTES_MAX = 16 << 20

_HEADER = struct.Struct("<8s7Q")
_POINT = struct.Struct("<QII")

#: Round trips of the same kind, at least.
_FEWEST = 20


@dataclass(frozen=True)
class Step:
    """A place that a message passes."""

    end: int
    """0: the initiator."""
    place: int
    at_ns: float
    """After the initiator has posted; the median of all round trips."""


@dataclass(frozen=True)
class TimeLine:
    """A round trip."""

    steps: list[Step]
    round_trip_ns: float
    """From one message that the initiator posts to the next."""
    round_trips: int
    """That went so."""
    of: int
    """All that were looked at."""


@dataclass(frozen=True)
class Trace:
    """One end's points, rising: ns of its machine's clock, and the place."""

    times: list[float]
    places: list[int]


def read_trace(path: Path) -> Trace:
    """BeowireError for what is none, or was cut short."""
    content = files.read_regular(path, "a trace", _BYTES_MAX)
    if len(content) < _HEADER.size or not content.startswith(_MAGIC):
        raise BeowireError(f"{path} is no trace")
    _, room, noted, ticks, ns, last_ticks, last_ns, _ = _HEADER.unpack_from(content)
    if len(content) < _HEADER.size + room * _POINT.size or last_ticks <= ticks or room < 1:
        raise BeowireError(f"{path} is not whole: the process has not closed its endpoint")
    rate = (last_ns - ns) / (last_ticks - ticks)
    points = list(_POINT.iter_unpack(content[_HEADER.size : _HEADER.size + room * _POINT.size]))
    kept = points[:noted] if noted <= room else points[noted % room :] + points[: noted % room]
    return Trace([ns + (one[0] - ticks) * rate for one in kept], [one[1] for one in kept])


def time_line(ends: Sequence[Trace]) -> TimeLine:
    """Of the two ends, in any order: who posts first has begun. BeowireError if they have too few
    round trips of one kind."""
    posted = [_posted(end) for end in ends]
    if len(ends) != 2 or not all(posted):
        raise BeowireError("there is no trace of both ends")
    near, far = sorted((0, 1), key=lambda end: posted[end][0])
    begins = [at for at in posted[near] if at >= ends[far].times[0]]
    trips: dict[tuple[tuple[int, int], ...], list[list[float]]] = {}
    for begin, end in pairwise(begins):
        passed = sorted(
            (at - begin, number, place)
            for number, one in enumerate((ends[near], ends[far]))
            for at, place in _between(one, begin, end)
        )
        way = tuple((number, place) for _, number, place in passed)
        trips.setdefault(way, []).append([*(at for at, _, _ in passed), end - begin])
    if not trips:
        raise BeowireError("the traces have no round trip")
    way = Counter({one: len(found) for one, found in trips.items()}).most_common(1)[0][0]
    usual = trips[way]
    if len(usual) < _FEWEST:
        raise BeowireError(f"only {len(usual)} round trips went the same way: too few to show one")
    columns = [median(column) for column in zip(*usual, strict=True)]
    steps = [Step(*one, at) for one, at in zip(way, columns[:-1], strict=True)]
    return TimeLine(steps, columns[-1], len(usual), sum(map(len, trips.values())))


def _posted(trace: Trace) -> list[float]:
    return [at for at, place in zip(trace.times, trace.places, strict=True) if place == _POSTED]


def _between(trace: Trace, begin: float, end: float) -> list[tuple[float, int]]:
    first, last = bisect_left(trace.times, begin), bisect_left(trace.times, end)
    return list(zip(trace.times[first:last], trace.places[first:last], strict=True))


def render(found: TimeLine) -> str:
    """The time line, the initiator on the left."""
    names = [PLACES.get(step.place, f"place {step.place}") for step in found.steps]
    width = max(len(name) for name in ["initiator", *names])
    lines = [
        "One message there and back through Beowire's code, each end's side of it",
        f"  {'at':>8}  {'takes':>8}  {'initiator':<{width}}  responder",
    ]
    ends = [step.at_ns for step in found.steps[1:]] + [found.round_trip_ns]
    for step, name, end in zip(found.steps, names, ends, strict=True):
        left, right = (name, "") if step.end == 0 else ("·", name)
        lines.append(
            f"  {time_text(step.at_ns):>8}  {time_text(end - step.at_ns):>8}"
            f"  {left:<{width}}  {right}".rstrip()
        )
    lines.append(
        f"  {time_text(found.round_trip_ns):>8}  {'':>8}  the initiator posts the next one"
    )
    lines.append(
        f"Medians of {found.round_trips} round trips that went this way, of {found.of}. Each point"
        " costs some 10 ns, so this is a little slower than without."
    )
    return "\n".join(lines)


def as_json(found: TimeLine) -> dict[str, object]:
    """For programs."""
    return {
        "round_trip_ns": found.round_trip_ns,
        "round_trips": found.round_trips,
        "of": found.of,
        "steps": [
            {
                "end": ("initiator", "responder")[step.end],
                "place": PLACES.get(step.place, str(step.place)),
                "at_ns": step.at_ns,
            }
            for step in found.steps
        ],
    }
