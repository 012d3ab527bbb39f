# SPDX-License-Identifier: BSD-3-Clause
"""A link whose steps and LogGP parameters are known: they are found."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from beowire.analysis.curves import Curve, curves
from beowire.analysis.steps import pieces, shape, steps
from beowire.record.reader import read_record
from beowire.sizes import parse_sizes
from unit.evaluator import synthetic_record

#: What the link is made of.
LATENCY_NS = 9000.0
OVERHEAD_NS = 700.0
GAP_OF_A_BYTE_NS = 0.8
MTU = 1448
FRAME_NS = 2600.0
COPIED_UP_TO = 32768
COPY_OF_A_BYTE_NS = 0.25
EAGER_UP_TO = 65536
RENDEZVOUS_NS = 28000.0


def half_rtt_ns(size: int, *, mtu: bool = False, copy: bool = False, meet: bool = False) -> float:
    """Of a message of that size on the link, with the steps that it is to have."""
    time = LATENCY_NS + 2 * OVERHEAD_NS + GAP_OF_A_BYTE_NS * size
    if mtu:
        time += FRAME_NS * (size > MTU)
    if copy:  # a second copy, which longer messages do not have
        time += COPY_OF_A_BYTE_NS * size if size <= COPIED_UP_TO else 0.0
    if meet:
        time += RENDEZVOUS_NS * (size > EAGER_UP_TO)
    return time


def measured(sizes: list[int], seed: int, scatter: float, **what: bool) -> list[float]:
    """As medians scatter."""
    random = np.random.default_rng(seed)
    return [half_rtt_ns(size, **what) * math.exp(scatter * random.normal()) for size in sizes]


SIZES = parse_sizes(None)


@pytest.mark.parametrize("scatter", [0.0, 0.002, 0.01])
@pytest.mark.parametrize("seed", range(5))
def test_pieces__of_a_link_without_steps__loggp_within_3_percent(seed: int, scatter: float) -> None:
    found = pieces(SIZES, measured(SIZES, seed, scatter))
    assert found[0].start_ns == pytest.approx(LATENCY_NS + 2 * OVERHEAD_NS, rel=0.03)
    assert found[-1].per_byte_ns == pytest.approx(GAP_OF_A_BYTE_NS, rel=0.03)
    assert [step for step in steps(found) if abs(step.relative) > 0.03] == []


@pytest.mark.parametrize("scatter", [0.0, 0.002, 0.01])
@pytest.mark.parametrize("seed", range(5))
def test_steps__of_frames_copies_and_rendezvous__are_found(seed: int, scatter: float) -> None:
    found = pieces(SIZES, measured(SIZES, seed, scatter, mtu=True, copy=True, meet=True))
    jumps = {step.below: step for step in steps(found) if abs(step.relative) > 0.03}
    for at, jump_ns in (
        (MTU, FRAME_NS),
        (COPIED_UP_TO, -COPY_OF_A_BYTE_NS * COPIED_UP_TO),
        (EAGER_UP_TO, RENDEZVOUS_NS),
    ):
        (near,) = [one for one in jumps.values() if one.below <= at < one.above]
        assert near.jump_ns == pytest.approx(jump_ns, rel=0.25)
    assert len(jumps) == 3
    assert found[0].start_ns == pytest.approx(LATENCY_NS + 2 * OVERHEAD_NS, rel=0.03)
    assert found[-1].per_byte_ns == pytest.approx(GAP_OF_A_BYTE_NS, rel=0.03)


@pytest.mark.parametrize("sizes", [[], [8], [8, 64]])
def test_pieces__too_few_sizes_are_none(sizes: list[int]) -> None:
    assert pieces(sizes, [1000.0] * len(sizes)) == []


def test_pieces__what_does_not_grow_has_no_slope() -> None:
    (one,) = pieces([1, 2, 4, 8], [500.0] * 4)
    assert one.per_byte_ns == pytest.approx(0, abs=1e-9)


def test_shape__says_it_of_each_driver(tmp_path: Path) -> None:
    def curves_of(name: str, **what: Any) -> list[Curve]:
        lines = synthetic_record.lines(("tcp", "memcpy"), patterns=("pingpong",), **what)
        return curves([read_record(synthetic_record.write(tmp_path / name, lines))], "pingpong")

    (sheet,) = shape(curves_of("whole"))
    assert {row[0] for row in sheet.rows} == {"tcp", "memcpy"}
    (tcp,) = [row for row in sheet.rows if row[0] == "tcp"]
    assert tcp[1].endswith("µs")
    assert "B/s" in tcp[3]
    assert shape(curves_of("few", sizes=(8, 64))) == []
