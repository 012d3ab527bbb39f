# SPDX-License-Identifier: BSD-3-Clause
"""Curves out of results."""

import math
from pathlib import Path

import pytest

from beowire.analysis.curves import (
    Curve,
    all_sizes,
    curves,
    distribution,
    probe_reach,
    reach,
    record_labels,
    telling_sizes,
)
from beowire.record.lines import Histogram, Meta, Result, Summary
from beowire.record.reader import Record
from unit.evaluator import synthetic_record


def record(*results: Result, path: str = "x/record.jsonl", memcpy: bool = False) -> Record:
    meta = synthetic_record.lines(("memcpy",) if memcpy else ("tcp",))[0]
    assert isinstance(meta, Meta)
    return Record(Path(path), meta, list(results), [], None)


def summary(median: float, low: float | None = None, high: float | None = None) -> Summary:
    interval = None if low is None or high is None else (low, high)
    return Summary(median=median, ci95=interval, p90=None, p99=None, min=median / 2, max=median * 9)


def result(size: int = 100, half: Summary | None = None, **more: object) -> Result:
    values: dict[str, object] = {
        "driver": "tcp",
        "pattern": "pingpong",
        "size": size,
        "launch": 1,
        "n": 10,
        "rounds": 20,
        "batch": 1,
        "lost": 0,
        "status": "ok",
        "stopped_by": "precise",
        "half_rtt_ns": half or summary(1000, 900, 1200),
        "cpu": [],
        "elapsed_ns": 1.0,
    }
    return Result.model_validate(values | more)


@pytest.mark.parametrize(
    ("interval", "expected"),
    [((90, 130), 0.3), ((60, 110), 0.4), ((100, 100), 0.0), ((None, None), math.inf)],
)
def test_reach__is_that_of_the_farther_end(
    interval: tuple[float | None, float | None], expected: float
) -> None:
    assert reach(summary(100, *interval)) == pytest.approx(expected)


def only(*results: Result, pattern: str = "pingpong") -> Curve:
    found = curves([record(*results)], pattern)
    assert len(found) == 1
    return found[0]


def test_curves__results_in_any_order__are_by_rising_size() -> None:
    curve = only(result(300), result(100), result(200))
    assert [cell.size for cell in curve.cells] == [100, 200, 300]
    assert curve.at(200) is curve.cells[1]
    assert curve.at(150) is None


def test_curves__pingpong_without_a_rate__has_size_over_half_round_trip() -> None:
    cell = only(result(500, summary(1000, 900, 1250))).cells[0]
    assert cell.rate_bytes_per_s.median == pytest.approx(5e8)
    assert cell.rate_bytes_per_s.ci95 == pytest.approx((4e8, 500 / 900 * 1e9))
    assert cell.rate_bytes_per_s.max == pytest.approx(1e9)


@pytest.mark.parametrize("half", [summary(0), None])
def test_curves__nothing_that_a_log_axis_can_show__has_no_cell(half: Summary | None) -> None:
    line = result().model_copy(update={"half_rtt_ns": half})
    assert curves([record(line)], "pingpong") == []


def test_curves__size_zero__has_no_cell() -> None:
    assert curves([record(result(0))], "pingpong") == []


def test_curves__other_pattern__is_left_out() -> None:
    assert curves([record(result())], "stream") == []


def test_curves__several_launches__median_of_medians_and_hull_of_intervals() -> None:
    halves = [summary(1000, 990, 1010), summary(1200, 1190, 1210), summary(1100, 1050, 1400)]
    lines = [result(100, half, launch=number) for number, half in enumerate(halves, start=1)]
    cell = only(*lines).cells[0]
    assert cell.time is not None
    assert cell.time.median == 1100
    assert cell.time.ci95 == (990, 1400)
    assert cell.messages == 30


def test_curves__a_launch_without_an_interval__gives_none() -> None:
    lines = [result(100, summary(1000, 990, 1010)), result(100, summary(1000), launch=2)]
    cell = only(*lines).cells[0]
    assert cell.time is not None
    assert cell.time.ci95 is None


def test_cell__launches_stopped_differently__names_all_rules() -> None:
    cell = only(result(lost=2), result(launch=2, stopped_by="time", lost=3)).cells[0]
    assert cell.stopped_by == "precise, time"
    assert cell.lost == 5


def test_cell_cpu__launches__the_median_one_and_none_where_unknown() -> None:
    def cpu(total: float) -> list[dict[str, float]]:
        cost = {"user_ns": total, "system_ns": 0, "voluntary_switches": 0}
        return [cost | {"involuntary_switches": 0}]

    lines = [result(launch=number, cpu=cpu(ns)) for number, ns in ((1, 5.0), (2, 50.0), (3, 7.0))]
    cell = only(*lines).cells[0]
    cost = cell.cpu(0)
    assert cost is not None
    assert cost.user_ns == 7
    assert cell.cpu(1) is None


def test_distribution__round_trips__are_halved_and_reach_the_whole() -> None:
    buckets = Histogram(buckets=[(200, 1), (2496, 3)])
    curve = only(result(histogram=buckets))
    assert distribution(curve, curve.cells[0]) == [(100, 0), (100.5, 0.25), (1256, 1)]


def test_distribution__one_way_samples__are_not_halved() -> None:
    line = result(driver="memcpy", histogram=Histogram(buckets=[(200, 1)]))
    curve = curves([record(line, memcpy=True)], "pingpong")[0]
    assert curve.one_way
    assert distribution(curve, curve.cells[0]) == [(200, 0), (201, 1)]


def test_distribution__launches__are_added() -> None:
    lines = [result(histogram=Histogram(buckets=[(200, 1)]))]
    lines += [result(launch=2, histogram=Histogram(buckets=[(200, 1), (202, 2)]))]
    curve = only(*lines)
    assert distribution(curve, curve.cells[0]) == [(100, 0), (100.5, 0.5), (101.5, 1)]


def test_distribution__many_buckets__is_thinned_but_keeps_the_tail() -> None:
    body = [(lower, 100_000) for lower in range(100, 250)]
    tail = [(256 + 2 * step, 1) for step in range(64)]
    curve = only(result(histogram=Histogram(buckets=body + tail)))
    points = distribution(curve, curve.cells[0])
    shares = [share for _, share in points]
    assert shares == sorted(shares)
    assert points[-1] == (384 / 2, 1)
    assert sum(value > 128 for value, _ in points) > 20
    assert len(points) < len(body + tail) / 2


def test_distribution__no_histogram__is_empty() -> None:
    curve = only(result())
    assert distribution(curve, curve.cells[0]) == []


def test_record_labels__one_record__has_none() -> None:
    assert record_labels([record()]) == [""]


def test_record_labels__several__are_directories_or_files_and_differ() -> None:
    paths = ("/a/run/record.jsonl", "/b/run/record.jsonl", "/b/run/old.jsonl")
    assert record_labels([record(path=path) for path in paths]) == ["run", "run (2)", "old"]


def test_record_labels__a_name_that_is_no_text__is_escaped() -> None:
    paths = ["/a/x\udcff/record.jsonl", "/b/y\n/record.jsonl"]
    assert record_labels([record(path=path) for path in paths]) == ["x\\udcff", "y\\n"]


def test_curves__several_records__carry_the_record_in_the_label() -> None:
    records = [record(result(), path=f"/{name}/record.jsonl") for name in ("one", "two")]
    found = curves(records, "pingpong")
    assert [curve.label for curve in found] == ["tcp · one", "tcp · two"]
    assert [curve.record for curve in found] == [0, 1]


def test_all_sizes__curves_of_different_sizes__are_united() -> None:
    lines = [result(8), result(64), result(16, driver="packet")]
    assert all_sizes(curves([record(*lines)], "pingpong")) == [8, 16, 64]


@pytest.mark.parametrize(
    ("sizes", "chosen"),
    [([], []), ([8], [8]), ([1, 2, 3, 4], [1, 2, 3, 4]), (list(range(1, 11)), [1, 4, 7, 10])],
)
def test_telling_sizes__any_number__the_ends_and_some_between(
    sizes: list[int], chosen: list[int]
) -> None:
    assert telling_sizes(sizes) == chosen


def probed(value: float | None, interval: object) -> Result:
    return result(probes=[{"interrupts": value}], probes_ci95=[{"interrupts": interval}])


def test_probe_reach__of_launches__the_hull_about_their_median() -> None:
    launches = [probed(100, (90, 110)), probed(120, (115, 140)), probed(100, (80, 105))]
    assert probe_reach(launches[:1], "interrupts", 0) == pytest.approx(0.1)
    assert probe_reach(launches, "interrupts", 0) == pytest.approx(0.4)


def test_probe_reach__too_few_rounds__is_infinite() -> None:
    launches = [probed(100, (90, 110)), probed(120, None)]
    assert probe_reach(launches, "interrupts", 0) == math.inf


def test_probe_reach__no_interval__is_none() -> None:
    older = result(probes=[{"interrupts": 100.0}])
    of_a_message = result(probes=[{"syscalls": 2.0}], probes_ci95=[{}])
    for launches, name, end in (
        ([older], "interrupts", 0),
        ([of_a_message], "syscalls", 0),
        ([probed(100, (90, 110))], "interrupts", 1),
        ([probed(None, None)], "interrupts", 0),
    ):
        assert probe_reach(launches, name, end) is None
