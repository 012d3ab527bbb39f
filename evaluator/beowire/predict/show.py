# SPDX-License-Identifier: BSD-3-Clause
"""A prediction as a table, and as data."""

from beowire import text_table
from beowire.predict.run import Figure, Predicted, Prediction
from beowire.units import interval_text, significant, time_text

_NOTE = (
    "Intervals follow from those of the record, all taken at the same end. They do not include"
    " errors of the model: docs/PREDICT.md compares predictions with measurements."
)


def render(found: Prediction, width: int) -> str:
    """A table for each number of nodes, and what to know of it."""
    tables = []
    for nodes in dict.fromkeys(one.nodes for one in found.found):
        rows = [one for one in found.found if one.nodes == nodes]
        columns = [
            ["time", *(_time(one.seconds) for one in rows)],
            ["speedup over TCP", *(_speedup(one) for one in rows)],
            ["communication", *(_share(one.communication) for one in rows)],
        ]
        title = f"{found.program}, predicted on {nodes} nodes"
        tables.append(
            text_table.grid(title, columns, [one.way for one in rows], width, corner="over")
        )
    notes = [text_table.filled(note, width) for note in [*found.notes, _NOTE]]
    return "\n\n".join([*tables, "\n".join(notes)])


def as_data(found: Prediction) -> dict[str, object]:
    """For programs."""
    return {
        "program": found.program,
        "predicted": [
            {
                "nodes": one.nodes,
                "way": one.way,
                "seconds": _as_data(one.seconds),
                "speedup": None if one.speedup is None else _as_data(one.speedup),
                "communication_share": _as_data(one.communication),
            }
            for one in found.found
        ],
        "notes": found.notes,
    }


def _as_data(figure: Figure) -> dict[str, object]:
    return {"median": figure.value, "interval": [figure.low, figure.high]}


def _time(figure: Figure) -> str:
    low, high = (time_text(one * 1e9) for one in (figure.low, figure.high))
    return f"{time_text(figure.value * 1e9)} ({interval_text(low, high)})"


def _speedup(one: Predicted) -> str:
    if one.speedup is None:
        return "–"
    value, low, high = (
        significant(x) for x in (one.speedup.value, one.speedup.low, one.speedup.high)
    )
    return f"{value} ({low}–{high})"


def _share(figure: Figure) -> str:
    value, low, high = (f"{100 * x:.0f}" for x in (figure.value, figure.low, figure.high))
    return f"{value} % ({low}–{high})"
