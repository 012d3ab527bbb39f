# SPDX-License-Identifier: BSD-3-Clause
"""Charts of what time is made of."""

from typing import Any, cast

import pytest

from beowire.record import Explained, Histogram
from beowire.report import parts, spread
from beowire.report.curves import curves
from unit.evaluator.test_report_curves import only, record, result, summary


def test_layer_tax__is_the_difference_to_what_is_below() -> None:
    lines = [
        result(8, summary(3000, 2900, 3100), driver="beowire"),
        result(8, summary(2000, 1950, 2050), driver="packet"),
        result(64, summary(3500), driver="beowire"),
        result(64, summary(2100), driver="packet"),
    ]
    figure = parts.layer_tax(curves([record(*lines)], "pingpong"))
    assert figure.choices is not None
    (small,) = cast(list[dict[str, Any]], figure.choices["8"])
    assert small["y"] == ["beowire over packet: 1.00 µs"]
    assert "text" not in small  # on the bar the interval would strike it out
    assert small["x"] == [1.0]
    assert small["error_x"]["array"] == [pytest.approx(0.1118, abs=1e-3)]
    (large,) = cast(list[dict[str, Any]], figure.choices["64"])
    assert large["x"] == [1.4]
    assert "error_x" not in large
    assert figure.data == figure.choices["8"]


def test_layer_tax__next_layer_that_was_measured_counts() -> None:
    lines = [result(8, summary(3000), driver="tcp"), result(8, summary(1000), driver="packet")]
    figure = parts.layer_tax(curves([record(*lines)], "pingpong"))
    (only_one,) = cast(list[dict[str, Any]], figure.data)
    assert only_one["y"] == ["tcp over packet: 2.00 µs"]


def test_layer_tax__faster_than_what_is_below_says_less() -> None:
    lines = [result(8, summary(1000), driver="tcp"), result(8, summary(3000), driver="packet")]
    (only_one,) = cast(
        list[dict[str, Any]], parts.layer_tax(curves([record(*lines)], "pingpong")).data
    )
    assert only_one["y"] == ["tcp over packet: 2.00 µs less"]
    assert only_one["x"] == [-2.0]


def test_layer_tax__nothing_below__is_empty() -> None:
    assert parts.layer_tax([only(result(8))]).data == []


def _explained(**changes: object) -> Explained:
    members: dict[str, object] = {
        "half_rtt_ns": 4000.0,
        "parts_ns": {"copy": 1000.0, "protocol": 2000.0},
        "rest_ns": 1000.0,
        "spins": True,
        "seen": 1.0,
        "samples": 100,
    }
    return Explained.model_validate(members | changes)


def test_explained__parts_and_rest_are_the_half_round_trip() -> None:
    figure = parts.explained([only(result(8, explained=_explained()))])
    traces = cast(list[dict[str, Any]], figure.data)
    assert [trace["name"] for trace in traces] == ["copy", "protocol", "own code, looking"]
    assert sum(trace["x"][0] for trace in traces) == pytest.approx(4.0)
    assert traces[0]["y"] == ["tcp, 8 B"]
    assert traces[1]["text"] == ["<b>protocol</b>: 2.00 µs, 50 %"]


def test_explained__both_ends_at_work_at_once__has_no_rest_below_nothing() -> None:
    one = _explained(rest_ns=-500.0, spins=False)
    traces = cast(list[dict[str, Any]], parts.explained([only(result(8, explained=one))]).data)
    assert traces[-1]["name"] == "waiting"
    assert traces[-1]["x"] == [0]


def test_explained__a_part_of_a_later_version_is_shown() -> None:
    one = _explained(parts_ns={"copy": 1.0, "firmware": 2.0})
    traces = cast(list[dict[str, Any]], parts.explained([only(result(8, explained=one))]).data)
    assert "firmware" in [trace["name"] for trace in traces]


def test_explained__nothing_was_looked_into__is_empty() -> None:
    assert parts.explained([only(result(8))]).data == []


def test_exceedances__fall_from_all_to_the_slowest_but_one() -> None:
    line = result(8, histogram=Histogram(buckets=[(200, 90), (400, 9), (2000, 1)]))
    figure = spread.exceedances([only(line)])
    (trace,) = cast(list[dict[str, Any]], figure.data)
    assert trace["y"] == [100, 10, 1]
    assert trace["x"][0] == 0.1
    assert all(value > 0 for value in trace["y"])
    assert cast(dict[str, Any], figure.layout["yaxis"])["type"] == "log"


def test_exceedances__no_histogram__is_empty() -> None:
    assert spread.exceedances([only(result(8))]).data == []
