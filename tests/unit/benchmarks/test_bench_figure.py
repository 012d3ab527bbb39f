# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest

from benchmarks import figure
from benchmarks.figure import Figure
from beowire.analysis.statistics import Estimate


def _figure(
    value: float,
    low: float | None,
    high: float | None,
    *,
    at_most: float | None = None,
    at_least: float | None = None,
) -> Figure:
    estimate = Estimate(value, low, high)
    return Figure("beowire / packet", estimate, "again", at_most=at_most, at_least=at_least)


@pytest.mark.parametrize(
    ("value", "low", "high", "verdict"),
    [
        (1.1, 1.0, 1.2, "met"),
        (1.25, 1.2, 1.25, "met"),
        (1.2, 1.1, 1.3, "met?"),
        (1.3, 1.2, 1.4, "missed?"),
        (1.4, 1.3, 1.5, "missed"),
        (1.1, None, None, "met?"),
        (1.4, None, 1.5, "missed?"),
    ],
)
def test_verdict__at_most(
    value: float, low: float | None, high: float | None, verdict: str
) -> None:
    assert _figure(value, low, high, at_most=1.25).verdict == verdict


@pytest.mark.parametrize(
    ("value", "low", "high", "verdict"),
    [(2.1, 2.0, 2.2, "met"), (2.1, 1.9, 2.3, "met?"), (1.9, 1.8, 1.95, "missed")],
)
def test_verdict__at_least(value: float, low: float, high: float, verdict: str) -> None:
    assert _figure(value, low, high, at_least=2.0).verdict == verdict


def test_imprecise__without_an_interval_or_with_a_wide_one() -> None:
    assert not _figure(1.0, 0.97, 1.03).imprecise
    assert _figure(1.0, 0.9, 1.1).imprecise
    assert _figure(1.0, None, 1.0).imprecise


def test_ratio__of_two_estimates() -> None:
    found = figure.ratio(Estimate(4.0, 3.8, 4.2), Estimate(2.0, 2.0, 2.0))
    assert found.value == 2.0
    assert found.low == pytest.approx(1.9)
    assert found.high == pytest.approx(2.1)


def test_ratio__its_interval_covers_as_it_says() -> None:
    """Of many pairs of medians of log-normal samples about 95 % enclose the true ratio."""
    random = np.random.default_rng(7)
    covered = 0
    for _ in range(400):
        one = figure.of_launches(list(3.0 * np.exp(0.1 * random.normal(size=25))))
        other = figure.of_launches(list(2.0 * np.exp(0.2 * random.normal(size=25))))
        found = figure.ratio(one, other)
        assert found.low is not None and found.high is not None
        covered += found.low <= 1.5 <= found.high
    assert 0.92 <= covered / 400 <= 1.0


def test_hull__is_as_wide_as_all() -> None:
    found = figure.hull([Estimate(1.0, 0.9, 1.1), Estimate(2.0, 1.8, 2.2), Estimate(3.0, 2.9, 3.1)])
    assert (found.value, found.low, found.high) == (2.0, 0.9, 3.1)
    assert figure.hull([Estimate(1.0, 0.9, 1.1), Estimate(2.0, None, None)]).low is None


def test_of_launches__has_an_interval_from_six_on() -> None:
    assert figure.of_launches([1, 2, 3, 4, 5]).low is None
    found = figure.of_launches([1, 2, 3, 4, 5, 6])
    assert (found.value, found.low, found.high) == (3.5, 1, 6)
