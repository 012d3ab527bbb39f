# SPDX-License-Identifier: BSD-3-Clause
"""What the charts say about a point."""

from beowire.record import CpuCost
from beowire.report.hover import cell_text, chart_text, cpu_text
from unit.evaluator.test_report_curves import only, result, summary


def test_cell_text__whole_cell__says_figures_count_and_rule() -> None:
    half = summary(1520, 1500, 1530).model_copy(update={"p90": 1600.0, "p99": 2000.0})
    curve = only(result(1024, half, n=12345))
    assert cell_text(curve, curve.cells[0]).split("<br>") == [
        "<b>tcp</b>, 1 KiB",
        "half round trip 1.52 µs (95 %: 1.50–1.53 µs)",
        "p90 1.60 µs, p99 2.00 µs",
        "throughput 674 MB/s (95 %: 669–683 MB/s)",
        "12,345 messages; stopped by: precise enough",
    ]


def test_cell_text__short_run__says_what_is_not_known() -> None:
    curve = only(result(64, summary(1000), stopped_by="time"))
    text = cell_text(curve, curve.cells[0])
    assert "(too few rounds for an interval)" in text
    assert "p90 unknown (too few), p99 unknown (too few)" in text
    assert "stopped by: out of time" in text


def test_cell_text__lost_messages_and_a_bad_status__are_said() -> None:
    lines = [result(lost=7, status="peer died <again>"), result(launch=2)]
    curve = only(*lines)
    text = cell_text(curve, curve.cells[0])
    assert "20 messages in 2 launches, 7 lost" in text
    assert text.endswith("peer died &lt;again&gt;")


def test_cell_text__stream__has_no_round_trip() -> None:
    line = result(pattern="stream", rate_bytes_per_s=summary(2e9, 1.9e9, 2.1e9))
    curve = only(line.model_copy(update={"half_rtt_ns": None}), pattern="stream")
    text = cell_text(curve, curve.cells[0])
    assert "round trip" not in text
    assert "throughput 2.00 GB/s (95 %: 1.90–2.10 GB/s)" in text


def test_cpu_text__cost__is_split_by_kind() -> None:
    curve = only(result(8))
    cost = CpuCost(user_ns=500, system_ns=1500, voluntary_switches=1, involuntary_switches=0.0012)
    assert cpu_text(curve, curve.cells[0], cost).split("<br>")[1:] == [
        "user 500 ns, system 1.50 µs per message",
        "context switches per message: 1 voluntary, 0.0012 involuntary",
    ]


def test_chart_text__markup__is_text_and_quotes_stay() -> None:
    assert chart_text('<a href="x">&\'') == '&lt;a href="x"&gt;&amp;\''
