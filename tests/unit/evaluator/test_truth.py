# SPDX-License-Identifier: BSD-3-Clause
"""What the evaluator says of simulated protocols, whose delays are known: how far its median and
99th percentile are from the truth, and how often its 95 % intervals have the truth inside.

The quick tests have each distribution, and each correlation, at least once; `make test-long` has
each with each.
"""

import os
from collections.abc import Iterable
from itertools import product

import numpy as np
import pytest

from beowire.analysis.statistics import rate_estimate
from beowire.analysis.summaries import time_summary
from beowire.conduct.cell import Cell
from beowire.conduct.session import Round, RoundShape
from beowire.record.histogram import Histogram
from beowire.record.lines import Summary
from unit.evaluator.laws import CORRELATIONS, LAWS, NARROW, Law, delays, in_rounds

Case = tuple[str, float]

_RUNS = 1000 if os.environ.get("BEOWIRE_TEST_LONG") else 400
_AT_ONCE = 50
_ROUNDS = 20

EVERY: list[Case] = list(product(LAWS, CORRELATIONS))

#: Intervals are carried back through the distribution, so they cover the same of all that have no
#: steps; what is left is the correlation.
QUICK: list[Case] = [("normal", 0.0), ("two humps", 0.5), ("exponential tail", 0.9)]


def cases(quick: Iterable[Case]) -> list[object]:
    """All, of which those that are not quick are for `make test-long`."""
    chosen = set(quick)
    return [pytest.param(*case, marks=[] if case in chosen else pytest.mark.long) for case in EVERY]


# How far from the truth


@pytest.mark.parametrize(("name", "correlation"), EVERY)
def test_median_and_p99__are_the_laws(name: str, correlation: float) -> None:
    law = LAWS[name]
    messages = 1_000_000 if correlation > 0.5 else 200_000
    random = np.random.default_rng(list(name.encode()))
    (run,) = delays(law, random, 1, messages, correlation)
    found = time_summary(in_rounds(run, _ROUNDS))
    truth = law.truth(0.5)
    assert abs(found["median"] - truth) <= max(0.01 * truth, 5)
    assert found["p99"] == pytest.approx(law.truth(0.99), rel=0.02)


# How often the interval has the truth inside


def _covers(interval: list[float] | None, truth: float) -> bool:
    return interval is not None and interval[0] <= truth <= interval[1]


def _coverage(law: Law, correlation: float, per_round: int, seed: int) -> tuple[float, float]:
    """Of the median's interval, and of the 99th percentile's where it has one."""
    random = np.random.default_rng(seed)
    median, p99 = law.truth(0.5), law.truth(0.99)
    at_median = at_p99 = without = 0
    for _ in range(_RUNS // _AT_ONCE):
        for run in delays(law, random, _AT_ONCE, _ROUNDS * per_round, correlation):
            found = time_summary(in_rounds(run, _ROUNDS), pooled=Histogram.of_values(run))
            at_median += _covers(found["ci95"], median)
            at_p99 += _covers(found["p99_ci95"], p99)
            without += found["p99_ci95"] is None
    # The samples of a run that drifts say little of its tail: it may have no upper limit.
    assert law.share or without <= _RUNS // 10
    return at_median / _RUNS, (at_p99 + without) / _RUNS


@pytest.mark.parametrize(("name", "correlation"), cases(QUICK))
def test_intervals__cover_what_they_claim(name: str, correlation: float) -> None:
    at_median, at_p99 = _coverage(LAWS[name], correlation, 500, 17)
    # What does not vary is always covered; a drift makes intervals wide.
    most = 1.0 if name in ("constant", "slow drift") else 0.97
    assert 0.93 <= at_median <= most
    assert 0.93 <= at_p99 <= most


def test_intervals__of_what_is_narrower_than_a_bucket__cover_it() -> None:
    """Without the histogram's resolution in the interval none of these would: it is some tenths of
    a nanosecond wide, and the median known to some nanoseconds."""
    random = np.random.default_rng(18)
    for run in delays(NARROW, random, 100, _ROUNDS * 50, 0.0):
        found = time_summary(in_rounds(run, _ROUNDS))
        assert _covers(found["ci95"], NARROW.truth(0.5))
        assert abs(found["median"] - NARROW.truth(0.5)) <= 0.005 * NARROW.truth(0.5)


# A whole cell, which decides by its intervals when it has enough


def _measured(law: Law, random: np.random.Generator, correlation: float) -> Summary:
    cell = Cell("simulated", "pingpong", 8, 1, shape=RoundShape(100, 8))
    (run,) = delays(law, random, 1, 400 * 100, correlation)
    for part in run.reshape(400, 100):
        histogram = Histogram.of_values(part)
        cell.add(Round(100, 100, 0, int(part.sum()), 0, histogram))
        if cell.finished() is not None:
            break
    found = cell.result("precise").half_rtt_ns
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("correlation", "runs", "least"),
    [
        (0.0, 100, 0.88),
        (0.9, 30, 0.85),
        pytest.param(0.0, 400, 0.92, marks=pytest.mark.long),
        pytest.param(0.9, 400, 0.92, marks=pytest.mark.long),
    ],
)
def test_cell__that_stops_when_it_is_precise__covers_the_truth(
    correlation: float, runs: int, least: float
) -> None:
    law, random = LAWS["exponential tail"], np.random.default_rng(19)
    truth = law.truth(0.5) / 2
    covered = 0
    for _ in range(runs):
        found = _measured(law, random, correlation)
        assert abs(found.median - truth) <= max(0.02 * truth, 5)
        covered += found.ci95 is not None and found.ci95[0] <= truth <= found.ci95[1]
    assert covered / runs >= least


# Rates, of which a round has one


def _rate_coverage(law: Law, correlation: float, rounds: int) -> float:
    """How often the interval of the median rate has the truth inside. Rounds move as much each, and
    take times of that law, correlated from one to the next."""
    moved, random = 1e9, np.random.default_rng(20)
    truth = moved / law.truth(0.5)
    covered = 0
    for run in delays(law, random, 1000, rounds, correlation):
        found = rate_estimate([moved / float(one) for one in run])
        assert found.low is not None and found.high is not None
        covered += found.low <= truth <= found.high
    return covered / 1000


@pytest.mark.parametrize("name", ["normal", "heavy tail"])
@pytest.mark.parametrize(
    ("correlation", "rounds", "least"),
    [(0.0, 8, 0.93), (0.0, 20, 0.93), (0.5, 100, 0.93), (0.9, 400, 0.9)],
)
def test_rate_intervals__cover_what_they_claim(
    name: str, correlation: float, rounds: int, least: float
) -> None:
    """An interval of so few rounds steps over the 95 %."""
    assert least <= _rate_coverage(LAWS[name], correlation, rounds) <= 0.995


def test_rate__is_the_laws() -> None:
    for name, law in LAWS.items():
        (run,) = delays(law, np.random.default_rng(list(name.encode())), 1, 20_000, 0.5)
        found = rate_estimate([1e9 / float(one) for one in run])
        assert found.value == pytest.approx(1e9 / law.truth(0.5), rel=0.01)
