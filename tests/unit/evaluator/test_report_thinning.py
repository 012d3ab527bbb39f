# SPDX-License-Identifier: BSD-3-Clause
"""Charts at fewer sizes: both ends, powers of two between them, and a sentence that says so."""

from itertools import pairwise
from typing import Any

from beowire.report.axes import Figure, Trace
from beowire.report.thinning import fewer, thinned
from beowire.sizes import schedule

SIZES = schedule(1, 1 << 20)


def curve(sizes: list[int]) -> Trace:
    return {
        "x": sizes,
        "y": [2.0 * size for size in sizes],
        "text": [f"<b>{size}</b>" for size in sizes],
        "error_y": {"type": "data", "array": [size / 10 for size in sizes], "width": 3},
        "line": {"width": 2},
    }


def test_fewer__keeps_the_ends_and_takes_powers_of_two() -> None:
    kept = fewer(SIZES, 8)
    assert kept[0] == 1 and kept[-1] == 1 << 20
    assert 6 <= len(kept) <= 10
    assert all(size & (size - 1) == 0 for size in kept)
    assert fewer(SIZES, None) == fewer(SIZES, len(SIZES)) == SIZES


def test_fewer__more_than_there_are_powers__is_even_by_rank() -> None:
    kept = fewer(SIZES, 60)
    assert 58 <= len(kept) <= 62
    assert max(SIZES.index(b) - SIZES.index(a) for a, b in pairwise(kept)) <= 2
    assert fewer([3, 5, 7, 9, 11], 2) == [3, 11]


def test_thinned__a_chart_over_sizes__has_what_belongs_to_each_point() -> None:
    figure, note = thinned(Figure([curve(SIZES)], {"title": "x"}), None, 8)
    kept = fewer(SIZES, 8)
    assert figure.data == [curve(kept)]
    assert note.startswith(f"Drawn at {len(kept)} of {len(SIZES)} sizes")
    assert figure.layout == {"title": "x"}


def test_thinned__a_curve_that_ends_early__ends_there_still() -> None:
    short = [size for size in SIZES if 5 <= size <= 1021]
    figure, _ = thinned(Figure([curve(SIZES), curve(short)], {}), None, 4)
    x: Any = figure.data[1]["x"]
    assert x[0] == 5 and x[-1] == 1021
    assert figure.data[1] == curve(x)


def test_thinned__a_chart_of_one_size__offers_fewer_and_begins_with_the_first() -> None:
    choices: dict[str, list[Trace]] = {str(size): [{"x": [1.0], "y": [size]}] for size in SIZES}
    figure, note = thinned(Figure(choices["1"], {}, choices), 4, 2)
    assert figure.choices is not None
    assert list(map(int, figure.choices)) == fewer(SIZES, 4)
    assert figure.data == choices["1"]
    assert f"of {len(SIZES)} sizes" in note


def test_thinned__all_fit_or_it_is_not_over_sizes__is_as_it_was() -> None:
    few = Figure([curve([8, 1024])], {})
    assert thinned(few, 1, 2) == (few, "")
    words = Figure([{"x": ["8 B", "1 KiB", "1 MiB"], "y": [1.0, 2.0, 3.0]}], {})
    assert thinned(words, 1, 2) == (words, "")
    bars = Figure([{"x": [0.5, 1.5, 2.5], "y": ["a", "b", "c"]}], {})
    assert thinned(bars, 1, 2) == (bars, "")
    assert thinned(Figure([], {}), 1, 2) == (Figure([], {}), "")
