# SPDX-License-Identifier: BSD-3-Clause
"""What the samples support: quantiles with 95 % intervals that hold, settling, the stop rule.

No distribution is assumed. Sources:

- order-statistic intervals: Le Boudec, Performance Evaluation of Computer and Communication
  Systems (2010), table A.1 and section 2.2; Hoefler and Belli, SC'15, rule 5;
- intervals of a quantile from clusters of correlated samples: Woodruff, JASA 47 (1952), 635-646;
- doubling of batches until they are uncorrelated: Fishman, Management Science 24 (1978), 510-521;
- MSER-5: White, Cobb and Spratt, Winter Simulation Conference 2000.

Samples of one round are correlated (an interrupt, a frequency change or a neighbour touches many at
once). The plain interval then claims too much: at a correlation of 0.9 its "95 %" covers 34 %.
So the unit that carries the uncertainty here is the round, and the plain interval is only a floor
while there are few. What the intervals cover is tested on known truth
(tests/unit/evaluator/test_truth.py): 93 to 97 %, of samples that are independent and of such that
are correlated by 0.9; more where the machine drifts during the run, which no interval can know, or
where samples are closer together than the buckets of their histogram.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy import special

from beowire.plan.plan import MINIMUM_ROUNDS
from beowire.record.histogram import Histogram, bucket_index, bucket_width

CONFIDENCE = 0.95

#: Half width of the interval, relative to the value, at which a cell is precise.
PRECISE_MEDIAN = 0.01
PRECISE_P99 = 0.05

#: Two neighbouring batches are taken as independent below this correlation.
_UNCORRELATED = 0.1

#: The interquartile range of a normal distribution is so many times what lies between its 40th and
#: 60th percentile, about; likewise around a high percentile, half of what is beyond to either side.
_SPREADS_IN_QUARTILES = 2.5

#: The normal approximation is used from this n on, if enough samples lie on both sides.
_NORMAL_FROM = 70
_NORMAL_SIDE = 20.0

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """A value and its 95 % interval; an end without a limit at this number of samples is None."""

    value: float
    low: float | None
    high: float | None

    def half_width(self) -> float:
        """Half the interval's width relative to the value; infinite where a limit is missing."""
        if self.low is None or self.high is None or self.value <= 0:
            return math.inf
        return (self.high - self.low) / 2 / self.value


def minimum_samples(probability: float, confidence: float = CONFIDENCE) -> int:
    """The least n at which quantile `probability` has an upper limit: 36 (p90), 368 (p99)..."""
    return math.ceil(math.log((1 - confidence) / 2) / math.log(probability))


@lru_cache(maxsize=4096)
def quantile_ranks(
    n: int, probability: float, confidence: float = CONFIDENCE
) -> tuple[int | None, int | None]:
    """Ranks (1 to n) of the order statistics that enclose the quantile with `confidence`.

    Exact binomial for n < 70 or where few samples lie beyond the quantile, else the normal
    approximation. None where n samples give no limit on that side.
    """
    if n < 1:
        return None, None
    tail = (1 - confidence) / 2
    if n < _NORMAL_FROM or n * min(probability, 1 - probability) < _NORMAL_SIDE:
        at_most = special.bdtr(np.arange(n + 1, dtype=np.float64), n, probability)
        low = int(np.searchsorted(at_most, tail))
        high = int(np.searchsorted(at_most, 1 - tail)) + 1
    else:
        spread = float(special.ndtri(1 - tail)) * math.sqrt(n * probability * (1 - probability))
        low = math.floor(n * probability - spread)
        high = math.ceil(n * probability + spread) + 1
    return (low if low >= 1 else None), (high if high <= n else None)


def order_interval(
    values: Sequence[float] | Floats, probability: float = 0.5, confidence: float = CONFIDENCE
) -> Estimate:
    """The sample quantile of independent `values` (at least one), with its interval."""
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    low, high = quantile_ranks(len(ordered), probability, confidence)
    return Estimate(
        float(np.quantile(ordered, probability)),
        None if low is None else float(ordered[low - 1]),
        None if high is None else float(ordered[high - 1]),
    )


def lag1_correlation(values: Sequence[float] | Floats) -> float:
    """Correlation of neighbours in a series; 0 for a constant or a very short one."""
    series = np.asarray(values, dtype=np.float64)
    if len(series) < 3:
        return 0.0
    centred = series - series.mean()
    power = float(np.dot(centred, centred))
    return 0.0 if power == 0 else float(np.dot(centred[:-1], centred[1:])) / power


def uncorrelated_batches(values: Sequence[float] | Floats) -> Floats:
    """Means of neighbours, two by two, until they are uncorrelated or would be fewer than 20."""
    series = np.asarray(values, dtype=np.float64)
    while len(series) >= 2 * MINIMUM_ROUNDS and lag1_correlation(series) >= _UNCORRELATED:
        even = len(series) // 2 * 2
        series = series[:even].reshape(-1, 2).mean(axis=1)
    return series


def median_estimate(pooled: Histogram, rounds: Sequence[Histogram]) -> Estimate:
    """The median of all samples with an interval that survives correlation inside rounds.

    From 20 rounds on it is Woodruff's, as of any quantile. With fewer it is the wider one of two:
    the order-statistic interval of the pooled samples, and that of the medians of the rounds. With
    too few rounds for a limit (under 6) there is none: the range of two encloses the median in one
    case of two, not in 95 of 100.
    """
    value = pooled.quantile(0.5)
    if len(rounds) >= MINIMUM_ROUNDS:
        return _between(pooled, 0.5, value, *_ranks_by_rounds(pooled, rounds, 0.5, value))
    low_rank, high_rank = quantile_ranks(pooled.total, 0.5)
    within = Estimate(
        value,
        None if low_rank is None else pooled.value_at(low_rank),
        None if high_rank is None else pooled.value_at(high_rank),
    )
    ends = order_interval([one.quantile(0.5) for one in rounds])
    if ends.low is None or ends.high is None:
        return Estimate(value, None, None)
    between = Estimate(value, min(value, ends.low), max(value, ends.high))
    known = within.low is not None and within.high is not None
    wider = within if known and within.half_width() > between.half_width() else between
    return _widened(pooled, 0.5, wider)


def quantile_estimate(
    pooled: Histogram, rounds: Sequence[Histogram], probability: float
) -> Estimate | None:
    """A high (or low) percentile of all samples; None while it has no limit beyond it.

    Woodruff's interval: in each round the share of samples up to the pooled quantile is counted;
    how these shares differ between rounds says how uncertain the share is, correlation included;
    the interval of the share is carried back through the pooled distribution. Of fewer than 20
    rounds never narrower than the order-statistic interval of independent samples: rounds may be
    alike by accident. A limit beyond the largest sample is None.
    """
    n = pooled.total
    if n < minimum_samples(max(probability, 1 - probability)):
        return None
    value = pooled.quantile(probability)
    low, high = float(n), 1.0
    if len(rounds) < MINIMUM_ROUNDS:
        low_rank, high_rank = quantile_ranks(n, probability)
        low = 0.0 if low_rank is None else float(low_rank)
        high = n + 1.0 if high_rank is None else float(high_rank)
    if len(rounds) >= 2:
        least, most = _ranks_by_rounds(pooled, rounds, probability, value)
        low, high = min(low, least), max(high, most)
    return _between(pooled, probability, value, low, high)


def _ranks_by_rounds(
    pooled: Histogram, rounds: Sequence[Histogram], probability: float, value: float
) -> tuple[float, float]:
    """Between which ranks the quantile is, as the rounds say; `value` is where it is pooled."""
    spread = _spread([one.share_up_to(value) for one in rounds])
    return pooled.total * (probability - spread), pooled.total * (probability + spread) + 1


def _spread(shares: Sequence[float] | Floats) -> float:
    """Half the interval of the mean of shares, one a round, that may be correlated."""
    merged = uncorrelated_batches(shares)
    error = float(merged.std(ddof=1)) / math.sqrt(len(merged))
    # What correlation is left where there were too few rounds to merge, as far as it is more than
    # that of so few by accident: half of its standard error.
    left = lag1_correlation(merged) - 0.5 / math.sqrt(len(merged))
    error *= math.sqrt(1 + 2 * max(0.0, left))
    return float(special.stdtrit(len(merged) - 1, 1 - (1 - CONFIDENCE) / 2)) * error


def _between(
    pooled: Histogram, probability: float, value: float, low: float, high: float
) -> Estimate:
    """The estimate whose limits are at these ranks; a rank that no sample has gives none."""
    low_value = pooled.value_at(low) if low >= 1 else None
    high_value = pooled.value_at(high) if high <= pooled.total else None
    return _widened(pooled, probability, Estimate(value, low_value, high_value))


def _widened(pooled: Histogram, probability: float, estimate: Estimate) -> Estimate:
    """The limits as far out as the histogram's resolution asks for, but not beyond all samples. Two
    errors that have nothing to do with each other: their squares add up."""
    value, low, high = estimate.value, estimate.low, estimate.high
    room = _resolution_ns(pooled, probability, value)
    if low is not None:
        low = min(low, max(value - math.hypot(value - low, room), float(pooled.minimum_ns)))
    if high is not None:
        high = max(high, min(value + math.hypot(high - value, room), float(pooled.maximum_ns)))
    return Estimate(value, low, high)


def _resolution_ns(pooled: Histogram, probability: float, value: float) -> float:
    """How far a quantile may be from `value` because samples are known by their bucket only.

    They are taken to be spread evenly over it. That is wrong by at most half its width, which is so
    where all samples are closer together than buckets are wide, and by next to nothing where they
    are spread over several: the error falls with the square of the width to the spread. (A normal
    distribution's is at most 0.074 of the width times the width to its interquartile range.)
    """
    width = bucket_width(bucket_index(int(value)))
    if width == 1:
        return 0.0
    near = min(0.1, (1 - probability) / 2, probability / 2)
    spread = pooled.quantile(probability + near) - pooled.quantile(probability - near)
    if spread <= 0:
        return width / 2
    narrow = width / (_SPREADS_IN_QUARTILES * spread)
    return width * min(0.5, 0.1 * narrow * max(1.0, narrow))


@dataclass(frozen=True)
class Steady:
    """Where MSER ends the start-up: after the first `dropped` values."""

    dropped: int
    settled: bool | None
    """At most half of the values were dropped; None when there are too few to tell."""


def mser(values: Sequence[float] | Floats, batch: int = 5) -> Steady:
    """MSER-`batch`: where the start-up of a series ends.

    Drops the d batches that minimise sum over i > d of (Y_i - mean)^2 / (n - d)^2. The last five
    batches are always kept, for a mean of fewer is steady by accident. A series of under ten
    values is too short to tell.
    """
    series = np.asarray(values, dtype=np.float64)
    if len(series) < 10:
        return Steady(0, None)
    batch = max(1, min(batch, len(series) // 10))
    count = len(series) // batch
    means = series[len(series) - count * batch :].reshape(count, batch).mean(axis=1)
    errors = [
        float(np.sum((means[d:] - means[d:].mean()) ** 2)) / (count - d) ** 2
        for d in range(count - 4)
    ]
    dropped = int(np.argmin(errors))
    return Steady(dropped * batch, dropped <= count // 2)


def mean_rate(amounts_bytes: Sequence[int], elapsed_ns: Sequence[int]) -> float:
    """Total bytes over total time, in bytes per second: rates are never averaged."""
    return sum(amounts_bytes) * 1e9 / sum(elapsed_ns)


def rate_estimate(round_rates: Sequence[float]) -> Estimate:
    """The median rate of the rounds of a stream, with its interval.

    That of independent rounds or, from 20 on, that which their correlation asks for, whichever is
    wider: as of any quantile, which rounds are above the median says how sure that is. (Means of
    neighbours would not do: their median is not that of the rounds, where these are skewed.) Under
    6 rounds give none.
    """
    ordered = np.sort(np.asarray(round_rates, dtype=np.float64))
    count = len(ordered)
    found = order_interval(ordered)
    if found.low is None or found.high is None or count < MINIMUM_ROUNDS:
        return found
    spread = _spread([float(one <= found.value) for one in round_rates])
    low = max(1, math.floor(count * (0.5 - spread)))
    high = min(count, math.ceil(count * (0.5 + spread)) + 1)
    return Estimate(
        found.value,
        min(found.low, float(ordered[low - 1])),
        max(found.high, float(ordered[high - 1])),
    )


def slow_tail(round_rates: Sequence[float], probability: float) -> float | None:
    """The rate that a share of `probability` of the rounds reached; None for too few rounds."""
    if len(round_rates) < minimum_samples(probability):
        return None
    return float(np.quantile(np.asarray(round_rates, dtype=np.float64), 1 - probability))
