# SPDX-License-Identifier: BSD-3-Clause
"""The charts over message size: their data, against the record; their form, against plotly."""

import importlib
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from beowire.record import Record, Result, read_record
from beowire.report import figures, spread
from beowire.report.axes import Figure
from beowire.report.curves import curves
from unit.evaluator import synthetic_record

DRIVERS = ("beowire", "packet", "memcpy")


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Record:
    path = tmp_path_factory.mktemp("figures") / "record.jsonl"
    return read_record(synthetic_record.write(path, synthetic_record.lines(DRIVERS)))


def named(figure: Figure, name: str) -> dict[str, Any]:
    return next(cast(dict[str, Any], t) for t in figure.data if str(t["name"]).startswith(name))


def test_latency__a_driver__has_each_median_and_interval_in_us(record: Record) -> None:
    trace = named(figures.latency(curves([record], "pingpong"), [record]), "beowire")
    lines = [r for r in record.results if r.driver == "beowire" and r.pattern == "pingpong"]
    assert trace["x"] == [line.size for line in lines]
    for position, line in enumerate(lines):
        half = line.half_rtt_ns
        assert half is not None and half.ci95 is not None
        y = trace["y"][position]
        assert y == pytest.approx(half.median / 1000, rel=1e-5)
        bar = trace["error_y"]
        assert y + bar["array"][position] == pytest.approx(half.ci95[1] / 1000, rel=1e-4)
        assert y - bar["arrayminus"][position] == pytest.approx(half.ci95[0] / 1000, rel=1e-4)


def test_throughput__a_driver__has_the_recorded_rates_in_mb(record: Record) -> None:
    for pattern in ("pingpong", "stream"):
        trace = named(figures.throughput(curves([record], pattern), [record]), "packet")
        rates = [
            line.rate_bytes_per_s.median / 1e6
            for line in record.results
            if (line.driver, line.pattern) == ("packet", pattern) and line.rate_bytes_per_s
        ]
        assert trace["y"] == pytest.approx(rates, rel=1e-5)


def test_bounds__packet_and_memcpy__are_dotted_and_said_to_be_bounds(record: Record) -> None:
    figure = figures.latency(curves([record], "pingpong"), [record])
    assert named(figure, "packet")["name"] == "packet <i>(floor)</i>"
    assert named(figure, "packet")["line"]["dash"] == "dot"
    assert named(figure, "memcpy")["name"] == "memcpy <i>(memory)</i>"
    assert named(figure, "beowire")["line"]["dash"] == "solid"


def test_wire__known__is_a_labelled_curve_of_what_it_lets_through(record: Record) -> None:
    stream = curves([record], "stream")
    rate = named(figures.throughput(stream, [record]), "the wire")
    assert rate["y"] == [1200, 1200]
    assert rate["text"][0] == "the wire’s limit"
    pingpong = curves([record], "pingpong")
    time = named(figures.latency(pingpong, [record]), "the wire")
    size = synthetic_record.SIZES[-1]
    assert time["x"][-1] == size
    assert time["y"][-1] == pytest.approx(size / 1.2e9 * 1e6, rel=1e-4)
    one_at_a_time = named(figures.throughput(pingpong, [record]), "the wire")
    assert one_at_a_time["y"][-1] == pytest.approx(1200, rel=1e-4)
    # A byte takes a frame of 84 at 10 Gbit/s.
    assert one_at_a_time["y"][0] == pytest.approx(1 / (84 * 8 / 1e10) / 1e6, rel=1e-4)


def test_wire__unknown__is_not_drawn(record: Record) -> None:
    meta = record.meta.model_copy(update={"wire": None})
    bare = Record(record.path, meta, record.results, [], record.end)
    for figure in (figures.throughput, figures.latency):
        drawn = figure(curves([bare], "pingpong"), [bare])
        assert not any(str(trace["name"]).startswith("the wire") for trace in drawn.data)
    assert figures.wire_text(bare) == ""


def test_wire__the_same_in_two_records__is_drawn_once(record: Record) -> None:
    figure = figures.throughput(curves([record], "pingpong"), [record, record])
    assert sum(str(trace["name"]).startswith("the wire") for trace in figure.data) == 1


def test_burst_text__only_beside_a_limit(record: Record) -> None:
    assert figures.burst_text(record) == ""
    link = record.meta.link.model_copy(update={"burst_bytes": 50_000})
    shaped = replace(record, meta=record.meta.model_copy(update={"link": link}))
    assert "50 kB pass at once" in figures.burst_text(shaped)
    free = replace(shaped, meta=shaped.meta.model_copy(update={"wire": None}))
    assert figures.burst_text(free) == ""


def test_wire_text__lab_with_a_rate__says_what_limits(record: Record) -> None:
    assert figures.wire_text(record) == "1.20 GB/s of payload: 10 Gbit/s, MTU 1500"


def test_cpu__both_ends__are_user_plus_system(record: Record) -> None:
    figure = figures.cpu(curves([record], "pingpong"))
    lines = [r for r in record.results if (r.driver, r.pattern) == ("beowire", "pingpong")]
    for end, trace in enumerate(t for t in figure.data if t["name"] == "beowire"):
        assert trace["xaxis"] == ("x", "x2")[end]
        expected = [(line.cpu[end].user_ns + line.cpu[end].system_ns) / 1000 for line in lines]
        assert trace["y"] == pytest.approx(expected, rel=1e-5)
    assert sum(trace["name"] == "memcpy" for trace in figure.data) == 1


def test_points__not_above_zero__are_not_drawn(record: Record) -> None:
    line = record.results[0]
    idle = [cost.model_copy(update={"user_ns": 0.0, "system_ns": 0.0}) for cost in line.cpu]
    still = line.model_copy(update={"cpu": idle})
    bare = Record(record.path, record.meta, [still], [], record.end)
    assert figures.cpu(curves([bare], "pingpong")).data == []


def test_names__html_in_a_driver__is_text(record: Record) -> None:
    line = record.results[0].model_copy(update={"driver": "<b>&"})
    bare = Record(record.path, record.meta, [line], [], record.end)
    figure = figures.latency(curves([bare], "pingpong"), [bare])
    assert figure.data[0]["name"] == "&lt;b&gt;&amp;"
    assert "<b>&lt;b&gt;&amp;</b>" in cast(list[str], figure.data[0]["text"])[0]


def test_every_chart__plotly_checks_it__is_valid(record: Record) -> None:
    """Plotly's own model of what a figure may hold refuses misspelt and misplaced properties."""
    make = importlib.import_module("plotly.graph_objects").Figure
    pingpong, stream = curves([record], "pingpong"), curves([record], "stream")
    charts = [
        figures.latency(pingpong, [record]),
        figures.throughput(pingpong, [record]),
        figures.throughput(stream, [record]),
        figures.cpu(pingpong),
        spread.tails(pingpong),
        spread.distributions(pingpong),
    ]
    for chart in charts:
        assert len(make(data=chart.data, layout=chart.layout).data) == len(chart.data) > 0
    with pytest.raises(ValueError, match="colour"):
        make(data=[{"type": "scatter", "colour": "red"}])


def test_two_records__one_chart__second_is_dashed_with_open_marks(record: Record) -> None:
    other = Record(Path("/elsewhere/record.jsonl"), record.meta, record.results, [], record.end)
    figure = figures.latency(curves([record, other], "pingpong"), [record, other])
    first, second = (cast(dict[str, Any], trace) for trace in figure.data[:2])
    assert first["line"]["color"] == second["line"]["color"]
    assert (first["line"]["dash"], second["line"]["dash"]) == ("solid", "dash")
    assert second["marker"]["symbol"].endswith("-open")


def test_results__used_here__are_not_empty(record: Record) -> None:
    assert all(isinstance(line, Result) for line in record.results)
    assert len(record.results) == len(synthetic_record.SIZES) * (2 * len(DRIVERS) - 1)
