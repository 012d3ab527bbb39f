# SPDX-License-Identifier: BSD-3-Clause
"""Tails and distributions."""

from typing import Any, cast

import pytest

from beowire.record import Histogram
from beowire.report import spread
from beowire.report.curves import curves
from unit.evaluator.test_report_curves import only, record, result, summary


def test_tails__percentiles_known__line_ends_at_p99_and_bar_is_at_p90() -> None:
    half = summary(1000, 990, 1010).model_copy(update={"p90": 1500.0, "p99": 9000.0})
    figure = spread.tails([only(result(64, half))])
    median, p90 = (cast(dict[str, Any], trace) for trace in figure.data)
    assert median["y"] == [1]
    assert median["y"][0] + median["error_y"]["array"][0] == pytest.approx(9)
    assert p90["y"] == [1.5]
    assert p90["offsetgroup"] == median["offsetgroup"]


def test_tails__percentiles_unknown__are_left_out() -> None:
    figure = spread.tails([only(result(64, summary(1000)))])
    median, p90 = (cast(dict[str, Any], trace) for trace in figure.data)
    assert median["error_y"]["array"] == [0]
    assert p90["y"] == []


def test_tails__many_sizes__shows_four_with_the_ends() -> None:
    figure = spread.tails([only(*(result(1 << power) for power in range(11)))])
    axis = cast(dict[str, Any], figure.layout["xaxis"])
    assert axis["categoryarray"] == ["1 B", "8 B", "128 B", "1 KiB"]


def test_distributions__sizes_with_histograms__can_be_chosen() -> None:
    lines = [
        result(8, histogram=Histogram(buckets=[(2496, 4)])),
        result(64, histogram=Histogram(buckets=[(4992, 4)])),
        result(99),
        result(64, driver="packet", histogram=Histogram(buckets=[(200, 1)])),
    ]
    figure = spread.distributions(curves([record(*lines)], "pingpong"))
    assert figure.choices is not None
    assert list(figure.choices) == ["8", "64"]
    assert [trace["name"] for trace in figure.choices["64"]] == ["tcp", "packet"]
    assert figure.data == figure.choices["8"]
    assert figure.data[0]["x"] == [1.248, 1.256]
    assert figure.data[0]["y"] == [0, 100]


def test_distributions__bucket_at_zero__is_left_out_of_the_log_axis() -> None:
    line = result(8, histogram=Histogram(buckets=[(0, 1), (4, 1)]))
    figure = spread.distributions([only(line)])
    assert min(cast(list[float], figure.data[0]["x"])) > 0


def test_distributions__no_histogram_at_all__is_empty() -> None:
    figure = spread.distributions([only(result())])
    assert figure.data == []
    assert figure.choices == {}
