# SPDX-License-Identifier: BSD-3-Clause
"""What the charts share: axes, strokes and marks. Plain plotly, without the page's colours."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from beowire.record import Summary
from beowire.report import palette
from beowire.report.curves import Curve
from beowire.units import size_text

Trace = dict[str, object]

NS_PER_US = 1e3
NS_PER_S = 1e9
BYTES_PER_MB = 1e6


@dataclass(frozen=True)
class Figure:
    """A chart. `data` and `layout` are plotly's; `choices` are other data that a box can select."""

    data: list[Trace]
    layout: dict[str, object]
    choices: dict[str, list[Trace]] | None = None


def uid(*parts: object) -> str:
    """Plotly's name for a trace, by which what a person did to it is found again. It becomes a part
    of CSS selectors, so nothing of a driver's name can be in it."""
    return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()[:12]


def positive(summary: Summary | None) -> bool:
    """There is something to draw on a logarithmic axis."""
    return summary is not None and summary.median > 0


def rounded(value: float) -> float:
    """Six digits: beyond what was measured, and short in the file."""
    return float(f"{value:.6g}")


def time_title(curves: Sequence[Curve]) -> str:
    """The title of an axis of times of these curves, which are of one pattern."""
    return f"{curves[0].kind.title if curves else 'Time'} (µs)"


def stroke(curve: Curve) -> dict[str, object]:
    """The line of a driver's curve: bounds are dotted, further records and what was measured
    beside a load are dashed."""
    look = palette.look(curve.driver)
    number = curve.record + (curve.load is not None)
    dash = palette.RECORD_DASHES[number % len(palette.RECORD_DASHES)]
    if number == 0:
        dash = "dot" if look.bound else look.dash
    return {
        "color": look.colour,
        "width": 1.5 if look.bound else 2,
        "dash": dash,
    }


def marker(curve: Curve, size: int) -> dict[str, object]:
    """The marks of a driver's points: open ones for further records, and beside a load."""
    look = palette.look(curve.driver)
    symbol = look.symbol if curve.record == 0 and curve.load is None else f"{look.symbol}-open"
    return {"color": look.colour, "symbol": symbol, "size": size}


def size_layout(sizes: Sequence[int], y_title: str) -> dict[str, object]:
    """The layout of a chart over message size."""
    return {
        "xaxis": size_axis(sizes),
        "yaxis": log_axis(y_title),
        "hovermode": "closest",
    }


def size_axis(sizes: Sequence[int], ticks: int = 12) -> dict[str, object]:
    """A logarithmic axis with a tick at each size where they are few and far apart.

    Otherwise with about `ticks` ticks at powers of 2, among them 1 KiB.
    """
    measured = [size for size in sizes if size > 0] or [1]
    marks = measured
    if len(measured) > ticks or any(b < 1.9 * a for a, b in pairwise(measured)):
        low, high = min(measured).bit_length() - 1, (max(measured) - 1).bit_length()
        step = max(1, -(-(high - low) // ticks))
        first = low + (10 - low) % step
        marks = [1 << power for power in range(first, high + 1, step)]
    return {
        "type": "log",
        "title": {"text": "Message size"},
        "tickvals": marks,
        "ticktext": [size_text(mark) for mark in marks],
        "tickangle": 0,
    }


def log_axis(title: str) -> dict[str, object]:
    """A logarithmic axis with plain numbers on it."""
    return {
        "type": "log",
        "title": {"text": title},
        "exponentformat": "none",
        "separatethousands": True,
        "minor": {"showgrid": True},
    }
