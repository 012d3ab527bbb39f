# SPDX-License-Identifier: BSD-3-Clause
"""What each layer adds to the one below it."""

import numpy as np
import pytest

from beowire.analysis.layer_tax import chain, difference, taxes, under
from beowire.record.lines import Summary


def _time(median: float, reach: float | None = None) -> Summary:
    ci95 = None if reach is None else (median - reach, median + reach)
    return Summary(median=median, ci95=ci95, p90=None, p99=None, min=median, max=median)


def test_under__goes_down_to_a_copy() -> None:
    assert under("mpi:openmpi4/beowire") == ["beowire", "packet", "memcpy"]
    assert under("fi:beowire") == ["beowire", "packet", "memcpy"]
    assert under("tcp") == ["tcp-spin", "packet", "memcpy"]
    assert under("shm") == ["memcpy"]
    assert under("memcpy") == []
    assert under("somebody's own") == ["memcpy"]


def test_chain__leaves_out_what_cannot_run() -> None:
    assert chain("fi:beowire", {"packet"}) == ["fi:beowire", "packet"]
    assert chain("tcp", {"tcp-spin", "memcpy"}) == ["tcp", "tcp-spin", "memcpy"]


def test_taxes__are_of_the_next_that_was_measured() -> None:
    times = {"tcp": _time(30.0, 1.0), "packet": _time(10.0, 0.5)}
    top, bottom = taxes(["tcp", "tcp-spin", "packet"], times)
    assert (top.driver, top.below) == ("tcp", "packet")
    assert top.tax is not None
    assert top.tax.value == 20.0
    assert top.tax.low == pytest.approx(20 - np.hypot(1.0, 0.5))
    assert (bottom.driver, bottom.below, bottom.tax) == ("packet", "", None)


def test_difference__without_an_interval_has_none() -> None:
    found = difference(_time(30.0), _time(10.0, 0.5))
    assert (found.value, found.low, found.high) == (20.0, None, None)


def test_difference__covers_the_truth() -> None:
    """Medians whose intervals cover theirs in 95 % of cases."""
    random = np.random.default_rng(5)
    covered = 0
    for _ in range(2000):
        upper, lower = random.normal(30.0, 1.0), random.normal(10.0, 0.3)
        found = difference(_time(upper, 1.96), _time(lower, 0.588))
        assert found.low is not None and found.high is not None
        covered += found.low <= 20.0 <= found.high
    assert 0.94 <= covered / 2000 <= 0.96
