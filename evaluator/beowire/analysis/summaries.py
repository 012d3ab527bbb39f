# SPDX-License-Identifier: BSD-3-Clause
"""Times of many rounds as the record has them: the median, its interval, the tail."""

from collections.abc import Sequence
from typing import Any

from beowire.analysis import statistics
from beowire.analysis.statistics import Estimate
from beowire.record.histogram import Histogram

#: Samples are whole nanoseconds: no figure of them is surer than this to either side.
_ROUNDING_NS = 0.5


def time_summary(
    rounds: Sequence[Histogram], share: float = 1.0, pooled: Histogram | None = None
) -> dict[str, Any]:
    """A `Summary` of the samples of all rounds, `share` of each. `pooled`: all of them together,
    where that is known."""
    if pooled is None:
        pooled = Histogram()
        for one in rounds:
            pooled.merge(one)
    median = statistics.median_estimate(pooled, rounds)
    p90, p99 = (statistics.quantile_estimate(pooled, rounds, at) for at in (0.90, 0.99))
    return {
        "median": median.value * share,
        "ci95": interval(median, share, _ROUNDING_NS),
        "p90": None if p90 is None else p90.value * share,
        "p99": None if p99 is None else p99.value * share,
        "min": pooled.minimum_ns * share,
        "max": pooled.maximum_ns * share,
        "p90_ci95": None if p90 is None else interval(p90, share, _ROUNDING_NS),
        "p99_ci95": None if p99 is None else interval(p99, share, _ROUNDING_NS),
    }


def interval(estimate: Estimate, factor: float, rounding: float = 0.0) -> list[float] | None:
    """Its bounds, no closer to the value than `rounding`; None without."""
    if estimate.low is None or estimate.high is None:
        return None
    value = estimate.value
    low = min(estimate.low, max(value - rounding, value / 2))
    return [low * factor, max(estimate.high, value + rounding) * factor]
