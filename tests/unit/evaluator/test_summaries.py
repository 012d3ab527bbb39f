# SPDX-License-Identifier: BSD-3-Clause
"""Times of many rounds as the record has them."""

import pytest

from beowire.analysis.statistics import Estimate
from beowire.analysis.summaries import interval, time_summary
from beowire.record.histogram import Histogram
from beowire.record.lines import Summary


def test_time_summary__has_what_a_summary_has() -> None:
    rounds = [Histogram.of_values(range(100, 200)) for _ in range(30)]
    summary = Summary.model_validate(time_summary(rounds))
    assert summary.median == pytest.approx(149.5, abs=1)
    assert (summary.min, summary.max) == (100, 199)
    assert summary.ci95 is not None and summary.ci95[0] < summary.median < summary.ci95[1]
    assert summary.p90 == pytest.approx(190, abs=2)


def test_time_summary__is_a_share_of_the_samples() -> None:
    rounds = [Histogram.of_values([1000] * 50) for _ in range(30)]
    whole, half = time_summary(rounds), time_summary(rounds, 0.5)
    assert half["median"] == whole["median"] / 2
    assert half["max"] == 500


def test_time_summary__few_rounds_have_no_interval() -> None:
    assert time_summary([Histogram.of_values([7])])["ci95"] is None


def test_interval__is_no_closer_than_the_rounding() -> None:
    assert interval(Estimate(10.0, 10.0, 10.0), 2.0, 0.5) == [19.0, 21.0]
    assert interval(Estimate(10.0, None, None), 2.0) is None
