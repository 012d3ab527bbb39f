# SPDX-License-Identifier: BSD-3-Clause
"""What the charts say about a point: its exact figures, in the subset of HTML that plotly reads."""

from collections.abc import Callable
from html import escape

from beowire.record import CpuCost, Summary
from beowire.report.curves import Cell, Curve
from beowire.units import interval_text, rate_text, size_text, time_text

#: How each rule of stopping reads in a sentence.
STOPPED = {
    "precise": "precise enough",
    "time": "out of time",
    "rounds": "all rounds done",
    "error": "an error",
}


def chart_text(text: str) -> str:
    """Any text as a chart shows it literally. Plotly knows no `&quot;`, so quotes stay."""
    return escape(text, quote=False)


def cell_text(curve: Curve, cell: Cell) -> str:
    """Median, interval, percentiles, how many messages, and why it stopped."""
    lines = [f"<b>{chart_text(curve.label)}</b>, {size_text(cell.size)}"]
    time, rate = cell.time, cell.rate_bytes_per_s
    if time is not None:
        what = curve.kind.quantity
        lines.append(f"{what} {time_text(time.median)}{_interval(time, time_text)}")
        lines.append(f"p90 {_known(time.p90, time_text)}, p99 {_known(time.p99, time_text)}")
    sent, received = cell.overlap("send"), cell.overlap("receive")
    if sent is not None and received is not None:
        lines.append(f"went on meanwhile: {sent:.0%} of what was sent, {received:.0%} received")
    lines.append(f"throughput {rate_text(rate.median)}{_interval(rate, rate_text)}")
    if time is None:
        lines.append(f"p90 {_known(rate.p90, rate_text)}, p99 {_known(rate.p99, rate_text)}")
    count = sum(result.launches for result in cell.launches)
    launches = f" in {count} launches" if count > 1 else ""
    lost = f", {cell.lost:,} lost" if cell.lost else ""
    lines.append(f"{cell.messages:,} messages{launches}{lost}; stopped by: {_stopped(cell)}")
    if any(result.status != "ok" for result in cell.launches):
        states = sorted({result.status for result in cell.launches if result.status != "ok"})
        lines.append(chart_text("; ".join(states)))
    return "<br>".join(lines)


def _interval(summary: Summary, text: Callable[[float], str]) -> str:
    if summary.ci95 is None:
        return " (too few rounds for an interval)"
    return f" (95 %: {interval_text(text(summary.ci95[0]), text(summary.ci95[1]))})"


def _known(value: float | None, text: Callable[[float], str]) -> str:
    return "unknown (too few)" if value is None else text(value)


def _stopped(cell: Cell) -> str:
    return ", ".join(STOPPED[name] for name in cell.stopped_by.split(", "))


def cpu_text(curve: Curve, cell: Cell, cost: CpuCost) -> str:
    """CPU time per message by kind, and what it cost in context switches."""
    return "<br>".join(
        (
            f"<b>{chart_text(curve.label)}</b>, {size_text(cell.size)}",
            f"user {time_text(cost.user_ns)}, system {time_text(cost.system_ns)} per message",
            f"context switches per message: {cost.voluntary_switches:.3g} voluntary, "
            f"{cost.involuntary_switches:.3g} involuntary",
        )
    )
