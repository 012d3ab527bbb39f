# SPDX-License-Identifier: BSD-3-Clause
import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import signal, stats

from beowire.analysis import statistics
from beowire.record.histogram import Histogram

Floats = npt.NDArray[np.float64]
Law = Callable[[np.random.Generator, int], Floats]


def _histogram(values: Floats) -> Histogram:
    return Histogram.of_values(np.rint(values).astype(np.int64))


def _rounds(values: Floats, count: int) -> tuple[Histogram, list[Histogram]]:
    pooled = Histogram()
    rounds = [_histogram(part) for part in np.array_split(values, count)]
    for one in rounds:
        pooled.merge(one)
    return pooled, rounds


# Intervals of independent samples


@pytest.mark.parametrize(
    ("probability", "n"), [(0.9, 36), (0.99, 368), (0.999, 3688), (0.9999, 36887)]
)
def test_minimum_samples__is_where_the_upper_limit_appears(probability: float, n: int) -> None:
    assert statistics.minimum_samples(probability) == n
    assert statistics.quantile_ranks(n, probability)[1] == n
    assert statistics.quantile_ranks(n - 1, probability)[1] is None


@given(st.integers(1, 69), st.floats(0.05, 0.95))
def test_quantile_ranks__is_the_exact_binomial_below_70(n: int, probability: float) -> None:
    low, high = statistics.quantile_ranks(n, probability)
    binomial = stats.binom(n, probability)
    if low is not None:
        assert binomial.cdf(low - 1) <= 0.025 + 1e-9  # P(the quantile is below that sample)
        assert binomial.cdf(low) >= 0.025 - 1e-9  # and the next would be too close
    if high is not None:
        assert binomial.sf(high - 1) <= 0.025 + 1e-9
        assert binomial.sf(high - 2) >= 0.025 - 1e-9


@given(st.integers(1, 100_000), st.floats(0.01, 0.99))
def test_quantile_ranks__encloses_the_quantile_with_95_percent(n: int, probability: float) -> None:
    low, high = statistics.quantile_ranks(n, probability)
    binomial = stats.binom(n, probability)
    missed = (0 if low is None else binomial.cdf(low - 1)) + (
        0 if high is None else binomial.sf(high - 1)
    )
    assert missed <= 0.054  # the normal approximation is allowed a little


def test_quantile_ranks__of_the_median_are_the_textbooks() -> None:
    assert statistics.quantile_ranks(20, 0.5) == (6, 15)
    assert statistics.quantile_ranks(5, 0.5) == (None, None)
    assert statistics.quantile_ranks(6, 0.5) == (1, 6)
    assert statistics.quantile_ranks(0, 0.5) == (None, None)


@given(st.lists(st.floats(1, 1e9), min_size=6, max_size=200))
def test_order_interval__encloses_the_median(values: list[float]) -> None:
    estimate = statistics.order_interval(values)
    assert estimate.low is not None and estimate.high is not None
    assert estimate.low <= estimate.value <= estimate.high


# Correlation


def test_lag1_correlation__finds_an_ar1() -> None:
    series = _ar1(np.random.default_rng(1), 20_000, 0.7)
    assert statistics.lag1_correlation(series) == pytest.approx(0.7, abs=0.03)


def test_lag1_correlation__of_a_constant_is_zero() -> None:
    assert statistics.lag1_correlation([5.0] * 30) == 0.0
    assert statistics.lag1_correlation([1.0, 2.0]) == 0.0


def test_uncorrelated_batches__leaves_independent_rounds_alone() -> None:
    series = np.random.default_rng(2).normal(size=400)
    assert len(statistics.uncorrelated_batches(series)) == 400


def test_uncorrelated_batches__merges_until_neighbours_are_independent() -> None:
    series = _ar1(np.random.default_rng(3), 16384, 0.9)
    batches = statistics.uncorrelated_batches(series)
    assert 40 <= len(batches) < 4096
    assert statistics.lag1_correlation(batches) < 0.1
    assert batches.mean() == pytest.approx(series.mean())


def test_uncorrelated_batches__never_leaves_fewer_than_20() -> None:
    assert len(statistics.uncorrelated_batches(np.arange(1000.0))) >= 20


# Coverage (test_truth.py has more of it)

_ROUNDS = 24
_ROUND_SAMPLES = 60
_CENTRE = 1e6
_SPREAD = 1e5


def _ar1(random: np.random.Generator, n: int, correlation: float) -> Floats:
    """A stationary series of standard normal values."""
    noise = random.normal(size=n) * math.sqrt(1 - correlation**2)
    noise[0] = random.normal()
    return np.asarray(signal.lfilter([1.0], [1.0, -correlation], noise), dtype=np.float64)


@pytest.mark.parametrize("rounds", [6, 10, 19])
def test_median_estimate__of_few_rounds__covers_what_it_claims(rounds: int) -> None:
    """By the order of the rounds' medians: at least 95 %, for so few have no interval of just
    that."""
    random = np.random.default_rng(rounds)
    covered = 0
    for _ in range(500):
        values = _CENTRE + _SPREAD * _ar1(random, rounds * _ROUND_SAMPLES, 0.5)
        pooled, parts = _rounds(values, rounds)
        estimate = statistics.median_estimate(pooled, parts)
        assert estimate.low is not None and estimate.high is not None
        covered += estimate.low <= _CENTRE <= estimate.high
    assert covered / 500 >= 0.93


def test_pooled_interval_alone__would_claim_too_much() -> None:
    """Why rounds matter: the plain interval of correlated samples misses far too often."""
    random = np.random.default_rng(5)
    covered = 0
    for _ in range(300):
        values = _CENTRE + _SPREAD * _ar1(random, _ROUNDS * _ROUND_SAMPLES, 0.9)
        estimate = statistics.order_interval(values)
        assert estimate.low is not None and estimate.high is not None
        covered += estimate.low <= _CENTRE <= estimate.high
    assert covered / 300 < 0.6


def test_median_estimate__of_the_same_thing_twice_does_not_differ() -> None:
    """A/A: the intervals of two measurements of one distribution overlap."""
    random = np.random.default_rng(6)
    apart = 0
    for _ in range(300):
        estimates = []
        for _ in range(2):
            pooled, rounds = _rounds(1000 * np.exp(0.1 * random.normal(size=1200)), 20)
            estimates.append(statistics.median_estimate(pooled, rounds))
        first, second = estimates
        assert first.low is not None and first.high is not None
        assert second.low is not None and second.high is not None
        apart += first.high < second.low or second.high < first.low
    assert apart / 300 <= 0.05


# Accuracy


def _bimodal(random: np.random.Generator, n: int) -> Floats:
    return np.where(random.random(n) < 0.7, 2000.0, 9000.0) * np.exp(0.05 * random.normal(size=n))


LAWS: dict[str, Law] = {
    "normal": lambda random, n: 5000 + 200 * random.normal(size=n),
    "lognormal": lambda random, n: 3000 * np.exp(0.3 * random.normal(size=n)),
    "bimodal": _bimodal,
    "pareto": lambda random, n: 1500 * (1 + random.pareto(3.0, n)),
    "uniform": lambda random, n: random.uniform(100, 400, n),
    "short": lambda random, n: np.rint(20 + 3 * random.normal(size=n)),
}


@pytest.mark.parametrize("law", list(LAWS))
def test_estimates__are_accurate(law: str) -> None:
    values = LAWS[law](np.random.default_rng(7), 50_000)
    pooled, rounds = _rounds(values, 25)
    exact = np.rint(values)
    median = statistics.median_estimate(pooled, rounds)
    truth = float(np.quantile(exact, 0.5))
    assert abs(median.value - truth) <= max(0.01 * truth, 5)
    p99 = statistics.quantile_estimate(pooled, rounds, 0.99)
    assert p99 is not None
    assert p99.value == pytest.approx(float(np.quantile(exact, 0.99)), rel=0.02)


# Too few samples


def test_quantile_estimate__is_nothing_below_its_least_n() -> None:
    values = np.linspace(100, 200, 367)
    pooled, rounds = _rounds(values, 10)
    assert statistics.quantile_estimate(pooled, rounds, 0.99) is None
    assert statistics.quantile_estimate(pooled, rounds, 0.90) is not None


@pytest.mark.parametrize("count", [1, 2, 5])
def test_median_estimate__of_few_rounds_has_no_interval(count: int) -> None:
    pooled, rounds = _rounds(np.repeat([1000.0, 3000.0, 9000.0, 4000.0, 2000.0][:count], 50), count)
    estimate = statistics.median_estimate(pooled, rounds)
    assert (estimate.low, estimate.high) == (None, None)
    assert estimate.half_width() == math.inf


def test_median_estimate__of_six_rounds_takes_their_whole_range() -> None:
    medians = [1000.0, 3000.0, 9000.0, 4000.0, 2000.0, 5000.0]
    pooled, rounds = _rounds(np.repeat(medians, 50), 6)
    estimate = statistics.median_estimate(pooled, rounds)
    assert estimate.low == pytest.approx(1000, rel=0.01)
    assert estimate.high == pytest.approx(9000, rel=0.01)


# Settling


def test_mser__settles_on_noise() -> None:
    random = np.random.default_rng(8)
    settled = [statistics.mser(random.normal(100, 1, 200)).settled for _ in range(200)]
    assert np.mean([one is True for one in settled]) >= 0.9


def test_mser__drops_a_start_up() -> None:
    random = np.random.default_rng(9)
    series = np.concatenate([np.linspace(200, 110, 30), random.normal(100, 1, 170)])
    steady = statistics.mser(series)
    assert steady.settled
    assert 25 <= steady.dropped <= 60


def test_mser__does_not_settle_on_a_step_late_in_the_run() -> None:
    random = np.random.default_rng(10)
    series = np.concatenate([random.normal(100, 1, 140), random.normal(200, 1, 60)])
    assert statistics.mser(series).settled is False


def test_mser__cannot_tell_from_a_few() -> None:
    assert statistics.mser([1.0] * 9).settled is None


# Rates


def test_mean_rate__is_total_over_total() -> None:
    # 1000 bytes in 1 us, and 1000 bytes in 3 us: 500 MB/s, not the mean of 1000 and 333 MB/s.
    assert statistics.mean_rate([1000, 1000], [1000, 3000]) == pytest.approx(5e8)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_rate_estimate__of_few_rounds_has_no_interval(count: int) -> None:
    assert statistics.rate_estimate([5.0] * count) == statistics.Estimate(5.0, None, None)


@given(st.lists(st.floats(1, 1e10), min_size=6, max_size=100))
def test_rate_estimate__encloses_its_value(rates: list[float]) -> None:
    estimate = statistics.rate_estimate(rates)
    assert estimate.low is not None and estimate.high is not None
    assert estimate.low <= estimate.value <= estimate.high


def test_slow_tail__is_what_most_rounds_reached() -> None:
    rates = [float(rate) for rate in range(1, 101)]
    assert statistics.slow_tail(rates, 0.9) == pytest.approx(10.9)
    assert statistics.slow_tail(rates, 0.99) is None
