# SPDX-License-Identifier: BSD-3-Clause
"""The charts of what time is made of: what each layer adds to the one below it, and where half a
round trip goes."""

from collections.abc import Mapping, Sequence

from beowire.explain.symbols import PARTS
from beowire.record import Summary
from beowire.report import palette
from beowire.report.axes import NS_PER_US, Figure, Trace, rounded, uid
from beowire.report.curves import Curve, all_sizes
from beowire.report.hover import chart_text
from beowire.report.layer_tax import Layer, taxes, under
from beowire.units import significant, size_text, time_text

#: A colour for each part, that can be told apart in print as well.
_COLOURS = {
    "own code": "#4c78a8",
    "system call": "#f58518",
    "copy": "#54a24b",
    "protocol": "#e45756",
    "driver": "#72b7b2",
    "interrupt": "#b279a2",
    "softirq": "#eeca3b",
    "wake-up": "#9d755d",
    "other kernel": "#bab0ac",
}
_REST_COLOUR = "#d8d8d8"


def layer_tax(curves: Sequence[Curve]) -> Figure:
    """What each driver adds to the one that it stands on, one size at a time."""
    choices: dict[str, list[Trace]] = {}
    for size in all_sizes(curves):
        times: dict[int, dict[str, Summary]] = {}
        alone = [curve for curve in curves if curve.load is None]
        for curve in alone:
            if (cell := curve.at(size)) is not None and cell.time is not None:
                times.setdefault(curve.record, {})[curve.driver] = cell.time
        found = [
            (curve, layer)
            for curve in alone
            if (layer := _layer(curve, times.get(curve.record, {}))) is not None
        ]
        if found:
            choices[str(size)] = [_tax(curve, layer) for curve, layer in found]
    layout: dict[str, object] = {
        "xaxis": {"title": {"text": "Added (µs)"}, "zeroline": True},
        "yaxis": {"type": "category", "autorange": "reversed"},
        "showlegend": False,
        "hovermode": "closest",
    }
    return Figure(next(iter(choices.values()), []), layout, choices)


def _layer(curve: Curve, times: Mapping[str, Summary]) -> Layer | None:
    """The driver beside what it stands on: the next below it that was measured at that size.
    `times`: of all drivers there, in the same record."""
    if curve.driver not in times:
        return None
    layers = taxes([curve.driver, *under(curve.driver)], times)
    return layers[0] if layers[0].tax is not None else None


def _tax(curve: Curve, layer: Layer) -> Trace:
    assert layer.tax is not None
    tax = layer.tax
    name = f"{chart_text(curve.label)} over {chart_text(layer.below)}"
    trace: Trace = {
        "type": "bar",
        "orientation": "h",
        "name": name,
        "meta": {"driver": curve.driver},
        "uid": uid("tax", curve.label),
        # The figure stands beside the name: on its bar the interval would strike it out.
        "y": [f"{name}: {time_text(abs(tax.value))}{' less' if tax.value < 0 else ''}"],
        "x": [rounded(tax.value / NS_PER_US)],
        "marker": {"color": palette.look(curve.driver).colour},
        "hovertemplate": f"<b>{name}</b><br>%{{x:.4~g}} µs<extra></extra>",
    }
    if tax.low is not None and tax.high is not None:
        trace["error_x"] = {
            "type": "data",
            "symmetric": False,
            "array": [rounded(max(0.0, tax.high - tax.value) / NS_PER_US)],
            "arrayminus": [rounded(max(0.0, tax.value - tax.low) / NS_PER_US)],
        }
    return trace


def explained(curves: Sequence[Curve]) -> Figure:
    """Where half a round trip goes, of each cell that `beowire explain` has looked into."""
    found = [
        (f"{chart_text(curve.label)}, {size_text(cell.size)}", one)
        for curve in curves
        for cell in curve.cells
        for result in cell.launches
        if (one := result.explained) is not None
    ]
    names = [name for name in PARTS if any(name in one.parts_ns for _, one in found)]
    # A later version's parts are shown as well, and all of them is what adds up.
    names += sorted({name for _, one in found for name in one.parts_ns} - set(names))
    traces: list[Trace] = [
        _part(
            name,
            _COLOURS.get(name, _COLOURS["other kernel"]),
            [(label, one.parts_ns.get(name, 0.0), one.half_rtt_ns) for label, one in found],
        )
        for name in names
    ]
    for spins, name in ((True, "own code, looking"), (False, "waiting")):
        rest = [
            (label, max(0.0, one.rest_ns), one.half_rtt_ns)
            for label, one in found
            if one.spins is spins
        ]
        if rest:
            traces.append(_part(name, _REST_COLOUR, rest))
    layout: dict[str, object] = {
        "barmode": "stack",
        "xaxis": {"title": {"text": "Half a round trip, both ends together (µs)"}},
        "yaxis": {"type": "category", "autorange": "reversed"},
        "hovermode": "closest",
    }
    return Figure(traces, layout)


def _part(name: str, colour: str, values: Sequence[tuple[str, float, float]]) -> Trace:
    return {
        "type": "bar",
        "orientation": "h",
        "name": name,
        "uid": uid("part", name),
        "y": [label for label, _, _ in values],
        "x": [rounded(value / NS_PER_US) for _, value, _ in values],
        "marker": {"color": colour},
        "text": [
            f"<b>{name}</b>: {time_text(value)}, {significant(100 * value / half, 2)} %"
            for _, value, half in values
        ],
        "textposition": "none",
        "hovertemplate": "%{text}<extra></extra>",
    }
