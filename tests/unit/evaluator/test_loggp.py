# SPDX-License-Identifier: BSD-3-Clause
"""A simulated protocol whose LogGP parameters are known: each is found within 3 %.

The protocol is played out, message by message: what calls take of a processor (o), how far apart
messages enter the wire (g, G a byte), how long the wire is (L). The patterns are those of the
engine, with the arithmetic of their C files.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest

from beowire.analysis.curves import Curve, curves
from beowire.analysis.loggp import Known, parameters, sheets
from beowire.record.lines import Result, Summary
from unit.evaluator.test_curves import record, result, summary

SIZES = (8, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576)
SMALL = SIZES[0]
BATCH = 32
WORK_NS = 20_000.0


@dataclass(frozen=True)
class Protocol:
    """All in ns."""

    latency: float
    overhead: float
    gap: float
    byte: float


PROTOCOLS = {
    "a quick lane": Protocol(900, 120, 150, 0.1),
    "the wire is the limit": Protocol(5000, 300, 2500, 0.8),
    "the processor is the limit": Protocol(4000, 1800, 600, 0.4),
    "hardly any wire": Protocol(200, 900, 100, 0.05),
}


class Way:
    """One direction: messages leave it in order, `gap` apart at least."""

    def __init__(self, protocol: Protocol) -> None:
        self._protocol = protocol
        self._free_at = -math.inf

    def carry(self, at: float, size: int) -> float:
        """When the message is there that was handed to it at that time."""
        begun = max(at, self._free_at)
        self._free_at = begun + max(self._protocol.gap, size * self._protocol.byte)
        return begun + size * self._protocol.byte + self._protocol.latency


def half_rtt(one: Protocol, size: int) -> float:
    there, back = Way(one), Way(one)
    now = 0.0
    for way in (there, back):
        now = way.carry(now + one.overhead, size) + one.overhead
    return now / 2


def of_stream(one: Protocol, size: int, count: int = 2000) -> float:
    """Time of a message: from the first arrival on, as the responder sees it."""
    way, sent, received, first = Way(one), 0.0, 0.0, 0.0
    for number in range(count + 1):
        sent += one.overhead
        received = max(received, way.carry(sent, size)) + one.overhead
        first = received if number == 0 else first
    return (received - first) / count


def of_pipeline(one: Protocol, size: int) -> float:
    """What pattern_pipeline.c of the engine says: all but the work, to a message."""
    there, back = Way(one), Way(one)
    sent = received = 0.0
    for _ in range(BATCH):
        sent += WORK_NS + one.overhead
        received = max(received, there.carry(sent, size)) + one.overhead + WORK_NS
    took = back.carry(received + one.overhead, size) + one.overhead
    return (took - (BATCH + 1) * WORK_NS) / BATCH


def measured(one: Protocol, scatter: float = 0.0, seed: int = 1) -> dict[str, list[Curve]]:
    """All three patterns, whose medians scatter by so much."""
    random = np.random.default_rng(seed)

    def near(value: float) -> Summary:
        value *= math.exp(scatter * random.normal())
        return summary(value, value * (1 - 2 * scatter), value * (1 + 2 * scatter))

    lines: list[Result] = []
    for size in SIZES:
        lines.append(result(size, near(half_rtt(one, size))))
        rate = near(1e9 * size / of_stream(one, size))
        lines.append(result(size, pattern="stream", half_rtt_ns=None, rate_bytes_per_s=rate))
        cost = near(of_pipeline(one, size))
        lines.append(result(size, pattern="pipeline", half_rtt_ns=None, time_ns=cost, batch=BATCH))
    found = record(*lines)
    return {name: curves([found], name) for name in ("pingpong", "stream", "pipeline")}


@pytest.mark.parametrize("name", PROTOCOLS)
@pytest.mark.parametrize("seed", range(5))
def test_parameters__of_a_protocol_that_is_known__within_3_percent(name: str, seed: int) -> None:
    one = PROTOCOLS[name]
    found = measured(one, 0.002, seed)
    (pingpong,), (stream,), (pipeline,) = (found[of] for of in ("pingpong", "stream", "pipeline"))
    known = parameters(pingpong, stream, pipeline, SMALL)
    assert known.latency and known.overhead and known.gap
    assert known.gap_of_a_byte_ns == pytest.approx(one.byte, rel=0.03)
    assert known.gap.value == pytest.approx(max(one.gap, one.overhead), rel=0.03)
    assert known.overhead.value == pytest.approx(one.overhead, rel=0.03)
    # What is left of a sum has its error: no more of it than 3 % of the sum.
    whole = one.latency + 2 * one.overhead
    assert known.latency.value == pytest.approx(one.latency, abs=0.03 * whole)
    for value, truth in ((known.overhead, one.overhead), (known.latency, one.latency)):
        assert value.low is not None and value.high is not None
        assert value.low <= truth <= value.high


def test_parameters__what_no_pattern_tells__is_not_said() -> None:
    found = measured(PROTOCOLS["a quick lane"])
    (pingpong,), (stream,) = found["pingpong"], found["stream"]
    known = parameters(pingpong, stream, None, SMALL)
    assert known.gap and known.overhead is None and known.latency is None
    assert sheets({"pingpong": [pingpong]}) == []
    (sheet,) = sheets({"pingpong": [pingpong], "stream": [stream]})
    assert sheet.rows[0][1:3] == ["–", "–"]
    assert sheet.rows[0][3].startswith("150 ns (")
    few = replace(pingpong, cells=pingpong.cells[:3])
    assert parameters(few, stream, None, SMALL).gap_of_a_byte_ns is None


def test_sheets__of_all_patterns__names_the_size() -> None:
    (sheet,) = sheets(measured(PROTOCOLS["the wire is the limit"]))
    assert sheet.rows[0][0] == "tcp"
    assert sheet.rows[0][4] == "0.8 ns"
    assert sheet.notes[0].startswith("For messages of 8 B. o: ")


def test_known__ends_at_their_worst__and_never_less_than_nothing() -> None:
    assert Known(10, 9, 11).less(Known(3, 2, 4)) == Known(7, 5, 9)
    assert Known(3, 2, 4).less(Known(10, 9, 11)) == Known(0, 0, 0)
    assert Known(10).less(Known(3, 2, 4)) == Known(7)
    assert Known(10).text == "10.0 ns (±?)"
