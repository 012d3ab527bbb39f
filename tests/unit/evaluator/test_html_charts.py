# SPDX-License-Identifier: BSD-3-Clause
"""The charts of a report: what they show is what the records say."""

import re
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from beowire.analysis.curves import curves
from beowire.record.lines import Explained, Histogram, Level, Result, Summary
from beowire.record.reader import Record
from beowire.show.drawing import Nothing
from beowire.show.html import charts
from beowire.units import time_text
from unit.evaluator import synthetic_record
from unit.evaluator.test_curves import only, record, result, summary

DRIVERS = ("beowire", "tcp-spin", "packet", "memcpy")


@pytest.fixture(scope="module")
def measured() -> Record:
    return synthetic_record.held(synthetic_record.lines(DRIVERS))


def said(html: str) -> list[list[str]]:
    """What a chart says over each of its columns, line by line."""
    return [unescape(one).split("\n") for one in re.findall(r"<title>([^<]*)</title>", html)]


def names(html: str) -> list[str]:
    found = re.findall(r'class="name".*?</tspan>([^<]*)</text>', html)
    return [unescape(one) for one in found]


def test_times__each_value_and_interval_is_the_records(measured: Record) -> None:
    columns = said(charts.times(curves([measured], "pingpong"), [measured]))
    assert [one[0] for one in columns][:4] == ["1 B", "4 B", "8 B", "13 B"]
    for line in measured.results:
        if (line.driver, line.pattern, line.size) == ("beowire", "pingpong", 1024):
            assert line.half_rtt_ns is not None and line.half_rtt_ns.ci95 is not None
            low, high = map(time_text, line.half_rtt_ns.ci95)
            text = f"beowire: {time_text(line.half_rtt_ns.median)} ({low[:-3]}–{high})"
            column = next(one for one in columns if one[0] == "1 KiB")
            assert charts.short(text) in [charts.short(one) for one in column]


def test_times__bounds_are_named_and_dashed_and_the_wire_is_one(measured: Record) -> None:
    html = charts.times(curves([measured], "pingpong"), [measured])
    assert {"packet (lower bound)", "memcpy (memory)", "lower bound of the link", "beowire"} <= set(
        names(html)
    )
    assert html.count("stroke-dasharray") == 3
    bare = replace(measured, meta=measured.meta.model_copy(update={"wire": None}))
    assert "of the link" not in charts.times(curves([bare], "pingpong"), [bare])


def test_rates__the_wires_limit_is_drawn_once_for_equal_wires(measured: Record) -> None:
    html = charts.rates(curves([measured], "stream"), [measured, measured])
    assert names(html).count("limit of the link") == 1


def test_two_records__the_second_is_dashed_in_the_same_colour(measured: Record) -> None:
    other = replace(measured, path=Path("/elsewhere/record.jsonl"))
    html = charts.rates(curves([measured, other], "stream"), [])
    lines = re.findall(r'<g stroke="(#\w+)".*?<polyline points="[^"]*"([^/]*)/>', html)
    first, second = [dash for colour, dash in reversed(lines) if colour == "#d9540b"]
    assert first == "" and "stroke-dasharray" in second


def test_relative__is_the_quotient_and_hollow_where_nothing_differs() -> None:
    lines = [
        result(8, summary(4000, 3960, 4040), driver="tcp-spin"),
        result(8, summary(2000, 1990, 2010), driver="beowire"),
        result(64, summary(4000, 3900, 4100), driver="tcp-spin"),
        result(64, summary(4000, 3900, 4100), driver="beowire"),
    ]
    html = charts.relative(curves([record(*lines)], "pingpong"))
    small, large = said(html)
    assert small[1].startswith("beowire: 2 × (")
    assert large[1] == "beowire: 1 × (0.95–1.1 ×), not significantly different from tcp-spin"
    (hollow,) = re.findall(r'class="hollow" d="([^"]*)"', html)
    assert hollow.count("M") == 1


def test_cpu__is_user_plus_system_of_both_ends(measured: Record) -> None:
    line = next(one for one in measured.results if one.driver == "beowire" and one.size == 8)
    whole = sum(end.user_ns + end.system_ns for end in line.cpu)
    column = next(
        one for one in said(charts.cpu(curves([measured], "pingpong"))) if one[0] == "8 B"
    )
    assert charts.short(f"beowire: {time_text(whole)}") in column


def test_cpu__is_not_compared_as_the_speed_is(measured: Record) -> None:
    lines = [one for one in measured.results if one.driver == "tcp-spin"]
    same = [one.model_copy(update={"driver": "beowire"}) for one in lines]
    found = curves([replace(measured, results=lines + same)], "pingpong")
    assert "hollow" in charts.times(found, []) and "hollow" not in charts.cpu(found)


def test_cpu__no_time_at_all__is_not_drawn(measured: Record) -> None:
    line = measured.results[0]
    idle = [cost.model_copy(update={"user_ns": 0.0, "system_ns": 0.0}) for cost in line.cpu]
    still = replace(measured, results=[line.model_copy(update={"cpu": idle})])
    with pytest.raises(Nothing):
        charts.cpu(curves([still], "pingpong"))


def test_percentiles__rise_to_the_slowest_but_one() -> None:
    half = summary(100).model_copy(update={"p90": 200.0})
    buckets = Histogram(buckets=[(200, 90), (400, 9), (2000, 1)])
    line = result(8, half, histogram=buckets)
    html = charts.percentiles([only(line)], 8)
    (path,) = re.findall(r'<polyline points="([^"]*)"', html)
    x, y = zip(*[map(int, one.split(" ")) for one in path.split(",")], strict=True)
    # From none over 90 % to 99 %, each as far from the one before; up is slow.
    assert x == (0, 2000, 4000) and y[0] > y[1] > y[2]
    assert ["90 % took at most", "tcp: 200 ns"] in said(html)


def test_percentiles__no_histogram__is_nothing() -> None:
    with pytest.raises(Nothing):
        charts.percentiles([only(result(8))], 8)


def test_layer_tax__is_the_difference_to_what_is_below() -> None:
    lines = [
        result(8, summary(3000, 2900, 3100), driver="beowire"),
        result(8, summary(2000, 1950, 2050), driver="packet"),
        result(64, summary(3500), driver="beowire"),
        result(64, summary(2100), driver="packet"),
    ]
    found = curves([record(*lines)], "pingpong")
    small, large = charts.layer_tax(found, 8), charts.layer_tax(found, 64)
    assert "beowire over packet: 1.00 µs" in small and "whisker" in small
    assert "beowire over packet: 1.40 µs" in large and "whisker" not in large


def test_layer_tax__next_layer_that_was_measured_counts__and_may_be_slower() -> None:
    lines = [result(8, summary(1000), driver="tcp"), result(8, summary(3000), driver="packet")]
    html = charts.layer_tax(curves([record(*lines)], "pingpong"), 8)
    assert "tcp over packet: 2.00 µs less" in html


def test_layer_tax__nothing_below__is_nothing() -> None:
    with pytest.raises(Nothing):
        charts.layer_tax([only(result(8))], 8)


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
    html = charts.explained([only(result(8, explained=_explained()))])
    assert "tcp, 8 B: 4.00 µs" in html
    assert said(html) == [["copy: 1 µs"], ["protocol: 2 µs"], ["own code, polling: 1 µs"]]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"rest_ns": -500.0, "spins": False}, "waiting: 0 ns"),
        ({"parts_ns": {"copy": 1.0, "firmware": 2.0}}, "firmware: 2 ns"),
    ],
)
def test_explained__no_rest_below_nothing__and_parts_of_later_versions(
    changes: dict[str, object], expected: str
) -> None:
    html = charts.explained([only(result(8, explained=_explained(**changes)))])
    assert [expected] in said(html)


LOADS = (None, "hog:0", "duty:25", "idle", "duty:75")


def loaded(pattern: str, *, levels: bool = False) -> Record:
    """Each load makes everything as many times as slow as its place says."""
    whole = synthetic_record.held(
        synthetic_record.lines(("tcp", "udp"), sizes=(8, 1024), patterns=(pattern,))
    )
    slower = [
        _slower(line, number, load, levels=levels)
        for number, load in enumerate(LOADS, start=1)
        for line in whole.results
    ]
    return replace(whole, results=slower)


def _slower(line: Result, number: int, load: str | None, *, levels: bool) -> Result:
    time = line.time()
    changes: dict[str, Any] = {"load": load}
    if time is not None:
        field = "half_rtt_ns" if line.half_rtt_ns else "time_ns"
        changes[field] = _times(time, number)
        if levels:
            changes["levels"] = [
                Level(
                    share=share,
                    rate_messages_per_s=1e5 * share,
                    n=100,
                    lost=0,
                    late=0,
                    time_ns=_times(time, number * (1 + share)),
                )
                for share in (0.1, 0.5, 0.9)
            ]
    return line.model_copy(update=changes)


def _times(time: Summary, factor: float) -> Summary:
    return Summary(
        median=1000.0 * factor, ci95=None, p90=None, p99=2000.0 * factor, min=1.0, max=time.max
    )


def test_over_load__from_nothing_to_most_with_the_tail_as_a_band() -> None:
    html = charts.over_load(curves([loaded("pingpong")], "pingpong"), 8)
    assert [one[:2] for one in said(html)] == [
        ["nothing", "tcp: 1.00 µs, p99 2.00 µs"],
        ["idle", "tcp: 4.00 µs, p99 8.00 µs"],
        ["duty:25", "tcp: 3.00 µs, p99 6.00 µs"],
        ["duty:75", "tcp: 5.00 µs, p99 10.0 µs"],
        ["hog:0", "tcp: 2.00 µs, p99 4.00 µs"],
    ]
    assert names(html) == ["tcp", "udp"] and html.count("<polygon") == 2


def test_over_load__rates_have_no_tail__and_one_load_is_nothing() -> None:
    record = loaded("stream")
    assert "<polygon" not in charts.over_load(curves([record], "stream"), 8)
    idle = replace(record, results=[one for one in record.results if one.load is None])
    with pytest.raises(Nothing):
        charts.over_load(curves([idle], "stream"), 8)


def test_over_rate__a_line_for_each_driver_and_load() -> None:
    found = curves([loaded("open-loop", levels=True)], "open-loop")
    html = charts.over_rate(found, 8)
    assert len(names(html)) == 2 * len(LOADS)
    assert "tcp +duty:75" in names(html)
    assert "10 k/s" in html and "50 k/s" in html
    with pytest.raises(Nothing):
        charts.over_rate(curves([loaded("open-loop")], "open-loop"), 8)


def test_names__markup_in_a_driver__is_text(measured: Record) -> None:
    line = measured.results[0].model_copy(update={"driver": '<b>&"'})
    bare = replace(measured, results=[line])
    html = charts.times(curves([bare], "pingpong"), [bare])
    assert "<b>" not in html and '<b>&"' in names(html)


def test_switch__several_views__are_chosen_without_a_script() -> None:
    html = charts.switch("x", [("a < b", "A"), ("c", "C")])
    assert html.count("<input") == 2 and html.count(" checked") == 1
    assert "<figure>A</figure><figure>C</figure>" in html and "a &lt; b" in html
    assert "<input" not in charts.switch("x", [("a", "A")])
