# SPDX-License-Identifier: BSD-3-Clause
"""Pictures: what is in them, and that they are the same each time."""

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from beowire.show import drawing
from beowire.show.drawing import (
    Axis,
    Bar,
    Curve,
    Interval,
    Nothing,
    Point,
    Row,
    bars,
    curves,
    ticks,
)

ACROSS = Axis("size", lambda value: f"{value:g} B", base=2)
UP = Axis("time", lambda value: f"{value:g} ns", base=10)
LEVEL = Axis("load", lambda value: f"{value:g} %")

STEEP = Curve("a < b", "#112233", (Point(1, 10), Point(1024, 1000)))
FLAT = Curve("flat", "#445566", (Point(1, 100), Point(1024, 100)), dashed=True)


def pairs(text: str) -> list[tuple[float, float]]:
    """The places of a list of points: x to the right, y down."""
    return [(float(x), float(y)) for x, y in (one.split(" ") for one in text.split(","))]


def of_curves(svg: str) -> list[list[tuple[float, float]]]:
    return [pairs(one) for one in re.findall(r'<polyline points="([^"]*)"', svg)]


def test_curves__rise_to_the_right_and_up() -> None:
    svg = curves("T", ACROSS, UP, [STEEP, FLAT])
    flat, steep = of_curves(svg)  # the first is drawn last, above the others
    assert steep[0][0] < steep[1][0] and steep[0][1] > steep[1][1]
    assert flat[0][1] == flat[1][1] == (steep[0][1] + steep[1][1]) / 2


def test_curves__is_xml_with_names_escaped_and_the_same_each_time() -> None:
    svg = curves("T", ACROSS, UP, [STEEP, FLAT])
    found = ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    texts = {"".join(one.itertext()) for one in found}
    assert {"— a < b", "-- flat", "T", "size", "time", "1 B", "1024 B", "100 ns"} <= texts
    assert svg == curves("T", ACROSS, UP, [STEEP, FLAT])
    assert svg.count("stroke-dasharray") == 1


def test_curves__leaves_out_what_a_logarithmic_axis_cannot_show() -> None:
    line = Curve("a", "#0", (Point(0, 1), Point(2, 0), *STEEP.points))
    (drawn,) = of_curves(curves("T", ACROSS, UP, [line]))
    assert len(drawn) == 2


def test_curves__nothing_to_draw() -> None:
    with pytest.raises(Nothing, match="T"):
        curves("T", ACROSS, UP, [Curve("a", "#0", ())])


def test_curves__one_point_alone__is_a_dot_within_the_chart() -> None:
    svg = curves("T", ACROSS, UP, [Curve("a", "#0", (Point(8, 5),), dotted=False)])
    ((x, y),) = re.findall(r'<path d="M(\d+) (\d+)h0"', svg)
    assert (int(x), int(y)) == (2000, 1000)


def test_plot__intervals_are_bands_and_what_does_not_differ_is_hollow() -> None:
    points = (Point(1, 10, 5, 20), Point(1024, 1000, 900, 1100, hollow=True))
    html = drawing.plot("T", ACROSS, UP, [Curve("a", "#0", points)])
    (line,) = of_curves(html)
    ((band),) = re.findall(r'<polygon points="([^"]*)"', html)
    first_high, last_high, last_low, first_low = pairs(band)
    assert first_high[1] < line[0][1] < first_low[1] and last_high[1] < line[1][1] < last_low[1]
    (hollow,) = re.findall(r'class="hollow" d="M(\d+) (\d+)h0"', html)
    assert (float(hollow[0]), float(hollow[1])) == line[1]
    assert "polygon" not in drawing.plot("T", ACROSS, UP, [STEEP])


def test_plot__names_at_the_ends_do_not_cover_one_another() -> None:
    alike = [Curve(f"line {n}", "#0", (Point(1, 1), Point(2, 1))) for n in range(30)]
    html = drawing.plot("T", ACROSS, UP, alike)
    places = sorted(float(y) for y in re.findall(r'class="name" x="100%" y="([\d.]+)%"', html))
    height = int(re.findall(r'<svg height="(\d+)"', html)[0])
    assert len(places) == 30 and places[0] >= 0 and places[-1] <= 100
    assert all(b - a >= 100 * 14.9 / height for a, b in pairwise(places))


def test_plot__a_label_is_above_the_line_that_stands_out_or_below_it() -> None:
    points = (Point(1, 20, label="20 ns"), Point(1024, 5, label="5 ns"))
    up = Axis("time", lambda value: f"{value:g} ns", base=10, strong=10)
    html = drawing.plot(
        "T", ACROSS, up, [Curve("a", "#0", points)], [(1, ""), (1024, "")], shaded=[1]
    )
    labels = re.findall(r'class="value"[^>]* dy="(-?\d+)"[^>]*>([^<]*)<', html)
    assert [(int(dy) < 0, text) for dy, text in labels] == [(True, "20 ns"), (False, "5 ns")]
    assert re.findall(r'class="(over[^"]*)"', html) == ["over open", "over"]


def test_plot__columns__say_their_values_as_text() -> None:
    said = [(1.0, "1 B\na < b: 10"), (1024.0, "1024 B")]
    html = drawing.plot("T", ACROSS, UP, [STEEP], said)
    assert re.findall(r"<title>([^<]*)</title>", html) == ["1 B\na &lt; b: 10", "1024 B"]


def widths(svg: str, colour: str) -> list[float]:
    return [float(one) for one in re.findall(rf'width="([\d.]+)%"[^>]*fill="{colour}"', svg)]


def test_bars__as_long_as_they_are_and_a_whisker_of_the_interval() -> None:
    rows = [
        Row("8 B: x", (Bar("x", "#111111", 50.0),), Interval(40.0, 60.0)),
        Row("1 KiB: x", (Bar("x", "#111111", 25.0),)),
    ]
    svg = bars("T", LEVEL, rows)
    ElementTree.fromstring(svg)
    long, short = widths(svg, "#111111")
    assert long == pytest.approx(2 * short, abs=0.02)
    assert svg.count('class="whisker"') == 3
    assert "8 B: x" in svg and 'class="name"' not in svg


def test_bars__of_parts__are_one_behind_the_other_with_a_legend() -> None:
    svg = bars("T", LEVEL, [Row("8 B", (Bar("x", "#111111", 30.0), Bar("y", "#222222", 60.0)))])
    (x,), (y,) = widths(svg, "#111111"), widths(svg, "#222222")
    assert y == pytest.approx(2 * x, abs=0.02)
    assert f'<rect x="{x:g}%"' in svg  # behind the first
    assert svg.count('class="name"') == 2


def test_bars__below_nothing__go_to_the_left() -> None:
    rows = [Row("a", (Bar("a", "#111111", -10.0),)), Row("b", (Bar("b", "#222222", 10.0),))]
    html = drawing.rows("T", LEVEL, rows)
    (left,), (right,) = (
        re.findall(r'x="([\d.]+)%" width="[\d.]+%"[^>]*#111111', html),
        re.findall(r'x="([\d.]+)%" width="[\d.]+%"[^>]*#222222', html),
    )
    assert float(left) == 0 and float(right) == pytest.approx(widths(html, "#111111")[0], abs=0.02)


def test_bars__nothing_to_draw() -> None:
    with pytest.raises(Nothing):
        bars("T", LEVEL, [])


@pytest.mark.parametrize(
    ("low", "high", "base", "found"),
    [
        (1, 16, 2, [1, 2, 4, 8, 16]),
        (1, 4 << 20, 2, [1, 16, 256, 4096, 65536, 1 << 20]),
        (8, 4 << 20, 2, [16, 256, 4096, 65536, 1 << 20]),
        (12, 90_000, 10, [100, 1000, 10_000]),
        (3, 25, 10, [5, 10, 20]),
        (0, 7.2, None, [0, 2, 4, 6]),
        (-3, 4, None, [-3, -2, -1, 0, 1, 2, 3, 4]),
    ],
)
def test_ticks__are_round(low: float, high: float, base: int | None, found: list[float]) -> None:
    assert ticks(low, high, base) == found
