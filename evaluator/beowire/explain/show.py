# SPDX-License-Identifier: BSD-3-Clause
"""An explanation as text, and as JSON. Pure."""

from typing import Any

from beowire.analysis.layer_tax import Layer
from beowire.analysis.statistics import Estimate
from beowire.explain import timeline
from beowire.explain.run import Explanation
from beowire.explain.split import TOLERANCE, Split
from beowire.units import size_text, time_text

_BAR = 30


def render(found: Explanation) -> str:
    """Tables, without a newline at the end."""
    parts = [f"{found.driver}, messages of {size_text(found.size)}"]
    if found.split is not None and found.split.others > TOLERANCE:
        parts.append(
            f"note: other programs used {found.split.others:.0%} of the processors meanwhile:"
            " repeat this on an idle machine"
        )
    parts.append(_layers(found.layers))
    if found.split is not None:
        parts.append(_split(found.split))
    else:
        parts.append(f"How the time is spent inside is not known: {found.why_not}")
    if found.time_line is not None:
        parts.append(timeline.render(found.time_line))
    return "\n\n".join(parts)


def as_json(found: Explanation) -> dict[str, Any]:
    """For programs: times in ns."""
    split = found.split
    return {
        "driver": found.driver,
        "size": found.size,
        "layers": [
            {
                "driver": one.driver,
                "half_rtt_ns": one.time.median,
                "ci95": None if one.time.ci95 is None else list(one.time.ci95),
                "below": one.below or None,
                "tax_ns": None if one.tax is None else one.tax.value,
                "tax_ci95": _interval(one.tax),
            }
            for one in found.layers
        ],
        "split": None
        if split is None
        else {
            "half_rtt_ns": split.half_ns,
            "parts_ns": dict(split.parts),
            "rest_ns": split.rest_ns,
            "spins": split.spins,
            "seen": split.seen,
            "others": split.others,
            "samples": split.samples,
            "adds_up": split.adds_up,
        },
        "why_not": found.why_not or None,
        "time_line": None if found.time_line is None else timeline.as_json(found.time_line),
    }


def rest_name(split_spins: bool) -> str:
    """What is left when all that is seen at work is taken away."""
    return "own code, polling" if split_spins else "waiting"


def _interval(tax: Estimate | None) -> list[float] | None:
    if tax is None or tax.low is None or tax.high is None:
        return None
    return [tax.low, tax.high]


def _layers(layers: list[Layer]) -> str:
    rows = [("layer", "half round trip", "adds", "95 % interval", "to")]
    for one in layers:
        interval = _interval(one.tax)
        rows.append(
            (
                one.driver,
                time_text(one.time.median),
                "" if one.tax is None else signed(one.tax.value),
                "" if interval is None else f"{signed(interval[0])} to {signed(interval[1])}",
                one.below,
            )
        )
    widths = [max(len(row[at]) for row in rows) for at in range(5)]
    lines = [
        "  ".join(
            cell.ljust(width) if at in (0, 4) else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    return "\n".join(["What each layer adds to the one below it", *lines])


def signed(value_ns: float) -> str:
    """`+1.20 µs`, `−30 ns`."""
    return f"{'−' if value_ns < 0 else '+'}{time_text(abs(value_ns))}"


def _split(found: Split) -> str:
    rows = [(name, value) for name, value in found.parts.items()]
    rows.append((rest_name(found.spins), found.rest_ns))
    most = max(abs(value) for _, value in rows)
    width = max(len(name) for name, _ in rows)
    lines = [
        f"Where half a round trip ({time_text(found.half_ns)} under perf) goes, both ends together"
    ]
    for name, value in rows:
        share = f"{value / found.half_ns:.0%}".replace("-", "−")
        bar = "█" * max(0, round(_BAR * value / most))
        shown = time_text(value) if value >= 0 else signed(value)
        lines.append(f"  {name:<{width}}  {shown:>8}  {share:>5}  {bar}".rstrip())
    return "\n".join([*lines, *_notes(found)])


def _notes(found: Split) -> list[str]:
    lines = [
        "Own code, looking: the programs' own code, and polling while nobody else works. Samples"
        " cannot tell the two apart."
        if found.spins
        else "Waiting: neither end works: the wire, processors that wake up."
    ]
    if not found.complete:
        lines.append(
            f"It does not add up: {found.seen:.0%} of the processors' time is known, by samples and"
            " as idle."
        )
    elif found.others > TOLERANCE:
        lines.append(
            f"It does not add up: other programs had {found.others:.0%} of the processors, and the"
            " rest includes waiting for them."
        )
    elif not found.adds_up:
        over = -found.rest_ns / found.half_ns
        lines.append(
            f"It does not add up: what is seen at work is {over:.0%} more than the half round trip:"
            " both ends work at the same time."
        )
    else:
        lines.append(
            f"It adds up: by {found.samples} samples, and as idle, {found.seen:.0%} of the"
            f" processors' time is known (within {TOLERANCE:.0%})."
        )
    return lines
