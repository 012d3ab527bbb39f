# SPDX-License-Identifier: BSD-3-Clause
"""Traces of both ends, as one time line."""

import json
import re
import struct
from pathlib import Path

import pytest

from beowire.errors import BeowireError
from beowire.explain.timeline import PLACES, as_json, read_trace, render, time_line

_HEADER = Path(__file__).resolve().parents[3] / "transport" / "route" / "trace.h"

#: Ticks to a nanosecond, in these files.
_TICKS = 2


def _file(
    path: Path, points: list[tuple[float, int]], *, room: int = 64, closed: bool = True
) -> Path:
    """A trace that began at 1,000 ns; the points are ns and places."""
    ring = [(0, 0, 0)] * room
    for number, (at, place) in enumerate(points):
        ring[number % room] = (round((at - 1000) * _TICKS) + 500, place, 0)
    last = (500 + 1_000_000 * _TICKS, 1_001_000) if closed else (0, 0)
    head = struct.pack("<8s7Q", b"BWTRACE1", room, len(points), 500, 1000, *last, 4711)
    path.write_bytes(head + b"".join(struct.pack("<QII", *one) for one in ring))
    return path


def _trips(count: int, period: float = 1000.0) -> tuple[list[tuple[float, int]], ...]:
    """Both ends' points: posted, out, seen; and the same back."""
    near, far = [], []
    for trip in range(count):
        begin = 2000 + trip * period
        near += [(begin, 1), (begin + 100, 4), (begin + 900, 6)]
        far += [(begin + 400, 6), (begin + 500, 1), (begin + 600, 4)]
    return near, far


def test_places__are_those_of_the_transport() -> None:
    text = _HEADER.read_text(encoding="utf-8")
    body = text[text.index("enum trace_place {") : text.index("struct trace_point")]
    assert len(re.findall(r"^    TRACE_\w+", body, re.MULTILINE)) == len(PLACES)


def test_read_trace__ticks_become_nanoseconds(tmp_path: Path) -> None:
    found = read_trace(_file(tmp_path / "one", [(2000.0, 1), (2100.5, 4)]))
    assert found.times == [2000.0, 2100.5]
    assert found.places == [1, 4]


def test_read_trace__a_ring_that_has_come_round__has_the_latest(tmp_path: Path) -> None:
    points = [(2000.0 + at, 1) for at in range(10)]
    found = read_trace(_file(tmp_path / "one", points, room=4))
    assert found.times == [2006.0, 2007.0, 2008.0, 2009.0]


@pytest.mark.parametrize("content", [b"", b"BWTRACE1", b"something else" * 20])
def test_read_trace__of_what_is_none(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "one"
    path.write_bytes(content)
    with pytest.raises(BeowireError, match="is no trace"):
        read_trace(path)


def test_read_trace__that_was_not_closed(tmp_path: Path) -> None:
    with pytest.raises(BeowireError, match="is not whole"):
        read_trace(_file(tmp_path / "one", [(2000.0, 1)], closed=False))
    whole = _file(tmp_path / "two", [(2000.0, 1)])
    whole.write_bytes(whole.read_bytes()[:-1])
    with pytest.raises(BeowireError, match="is not whole"):
        read_trace(whole)


def test_time_line__has_both_ends_in_one(tmp_path: Path) -> None:
    near, far = _trips(30)
    traces = [
        read_trace(_file(tmp_path / name, points, room=256))
        for name, points in (("far", far), ("near", near))
    ]
    found = time_line(traces)
    assert found.round_trip_ns == pytest.approx(1000)
    assert (found.round_trips, found.of) == (28, 28)
    assert [(step.end, step.place, round(step.at_ns)) for step in found.steps] == [
        (0, 1, 0),
        (0, 4, 100),
        (1, 6, 400),
        (1, 1, 500),
        (1, 4, 600),
        (0, 6, 900),
    ]
    lines = render(found).splitlines()
    assert lines[2].split() == ["0", "ns", "100", "ns", "the", "application", "posts"]
    assert lines[4].endswith("  a frame is seen") and "·" in lines[4]
    assert "Medians of 28 round trips that went this way, of 28" in lines[-1]
    said = json.loads(json.dumps(as_json(found), allow_nan=False))
    assert said["steps"][2] == {
        "end": "responder",
        "place": "a frame is seen",
        "at_ns": pytest.approx(400),
    }


def test_time_line__shows_what_is_usual(tmp_path: Path) -> None:
    """In some round trips more happened."""
    near, far = _trips(60)
    far = sorted([*far, *((2300.0 + 3000 * at, 7) for at in range(20))])
    found = time_line(
        [read_trace(_file(tmp_path / str(at), one, room=512)) for at, one in enumerate((near, far))]
    )
    assert (found.round_trips, found.of) == (39, 58)
    assert 7 not in {step.place for step in found.steps}


def test_time_line__too_few(tmp_path: Path) -> None:
    near, far = _trips(10)
    traces = [read_trace(_file(tmp_path / str(at), one)) for at, one in enumerate((near, far))]
    with pytest.raises(BeowireError, match="only 8 round trips"):
        time_line(traces)
    with pytest.raises(BeowireError, match="no trace of both ends"):
        time_line(traces[:1])
