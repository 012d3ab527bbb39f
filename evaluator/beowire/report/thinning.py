# SPDX-License-Identifier: BSD-3-Clause
"""Charts of fewer sizes, for a page that would be too long with all of them. Pure.

What is left out is drawn nowhere else, so each chart says how many of its sizes it has.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace

from beowire.report.axes import Figure, Trace
from beowire.report.curves import telling_sizes


def thinned(figure: Figure, choices: int | None, points: int | None) -> tuple[Figure, str]:
    """The chart with about so many sizes to choose from, or, where it is over sizes, with about so
    many on each curve; and a sentence that says so, which is empty if all are there. None: all."""
    if figure.choices:
        every = sorted(map(int, figure.choices))
        kept = fewer(every, choices)
        chosen = {str(size): figure.choices[str(size)] for size in kept}
        figure = replace(figure, data=next(iter(chosen.values())), choices=chosen)
    elif sizes := _over_sizes(figure):
        every, kept = sizes, fewer(sizes, points)
        figure = replace(figure, data=[_at(trace, set(kept)) for trace in figure.data])
    else:
        return figure, ""
    if len(kept) == len(every):
        return figure, ""
    return figure, (
        f"Drawn at {len(kept)} of {len(every)} sizes: with all of them this page would be larger"
        " than 2 MB."
    )


def fewer(sizes: Sequence[int], count: int | None) -> list[int]:
    """About so many of the rising sizes: both ends, and between them powers of two, if there are
    enough, evenly by rank. None: all."""
    if count is None or len(sizes) <= count:
        return list(sizes)
    powers = [size for size in sizes if size > 0 and size & (size - 1) == 0]
    between = telling_sizes(powers if len(powers) >= count else sizes, count)
    return sorted({sizes[0], *between, sizes[-1]})


def _over_sizes(figure: Figure) -> list[int]:
    """The sizes that a chart is over, rising; empty: it is over something else. Only sizes are
    whole numbers."""
    found = [x for trace in figure.data for x in _list(trace["x"])]
    sizes = {x for x in found if isinstance(x, int)}
    return sorted(sizes) if sizes and all(isinstance(x, int) for x in found) else []


def _at(trace: Trace, sizes: Collection[int]) -> Trace:
    """The curve at these sizes, and where it begins and ends itself."""
    x = _list(trace["x"])
    places = [at for at, size in enumerate(x) if size in sizes or at in (0, len(x) - 1)]
    return _picked(trace, places, len(x))


def _picked(part: dict[str, object], places: Sequence[int], count: int) -> dict[str, object]:
    """What has a value for each point, its inner parts too, with those of some."""
    picked: dict[str, object] = {}
    for name, value in part.items():
        if isinstance(value, list) and len(value) == count:
            picked[name] = [value[at] for at in places]
        elif isinstance(value, dict):
            picked[name] = _picked(value, places, count)
        else:
            picked[name] = value
    return picked


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
