# SPDX-License-Identifier: BSD-3-Clause
"""Pictures: what is in them, and that they are the same each time."""

import re
from xml.etree import ElementTree

import pytest

from beowire.drawing import (
    Axis,
    Bar,
    Curve,
    Group,
    Interval,
    Nothing,
    bars,
    curves,
    ticks,
)

ACROSS = Axis("size", lambda value: f"{value:g} B", base=2)
UP = Axis("time", lambda value: f"{value:g} ns", base=10)
LEVEL = Axis("load", lambda value: f"{value:g} %")

STEEP = Curve("a < b", "#112233", ((1.0, 10.0), (1024.0, 1000.0)))
FLAT = Curve("flat", "#445566", ((1.0, 100.0), (1024.0, 100.0)), dashed=True)


def of_curves(svg: str) -> list[list[tuple[float, float]]]:
    found = re.findall(r'<polyline points="([^"]*)"', svg)
    return [
        [(float(x), float(y)) for x, y in (point.split(",") for point in line.split())]
        for line in found
    ]


def test_curves__rise_to_the_right_and_up() -> None:
    svg = curves("T", ACROSS, UP, [STEEP, FLAT])
    flat, steep = of_curves(svg)  # the first is drawn last, above the others
    assert steep[0][0] < steep[1][0] and steep[0][1] > steep[1][1]
    assert flat[0][1] == flat[1][1] == (steep[0][1] + steep[1][1]) / 2


def test_curves__is_xml_with_names_escaped_and_the_same_each_time() -> None:
    svg = curves("T", ACROSS, UP, [STEEP, FLAT])
    texts = [
        one.text for one in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    ]
    assert {"a < b", "flat", "T", "size", "time", "1 B", "1024 B", "10 ns", "1000 ns"} <= {*texts}
    assert svg == curves("T", ACROSS, UP, [STEEP, FLAT])
    assert svg.count("stroke-dasharray") == 1


def test_curves__leaves_out_what_a_logarithmic_axis_cannot_show() -> None:
    (line,) = of_curves(curves("T", ACROSS, UP, [Curve("a", "#0", ((0.0, 1.0), *STEEP.points))]))
    assert len(line) == 2


def test_curves__nothing_to_draw() -> None:
    with pytest.raises(Nothing, match="T"):
        curves("T", ACROSS, UP, [Curve("a", "#0", ())])


def test_curves__one_point_alone() -> None:
    ((point,),) = of_curves(curves("T", ACROSS, UP, [Curve("a", "#0", ((8.0, 5.0),))]))
    assert all(0 < one < 780 for one in point)


def test_bars__as_high_as_they_are_and_a_whisker_of_the_interval() -> None:
    groups = [
        Group("8 B", (Bar("x", "#111111", 50.0, Interval(40.0, 60.0)), Bar("y", "#222222", 100.0))),
        Group("1 KiB", (Bar("x", "#111111", 25.0), Bar("y", "#222222", 0.0))),
    ]
    svg = bars("T", LEVEL, groups)
    heights = [
        float(height) for height in re.findall(r'height="([\d.]+)" fill="#(?:111111|222222)"', svg)
    ]
    x8, y8, x1, y1 = heights[:4]
    assert y8 == pytest.approx(2 * x8, abs=0.2) and x1 == pytest.approx(x8 / 2, abs=0.2)
    assert y1 == 0
    assert svg.count(">x<") == svg.count(">y<") == 1  # the legend has each once
    plain = bars("T", LEVEL, [Group("8 B", (Bar("x", "#111111", 60.0),))])
    assert svg.count("<line") > plain.count("<line")


def test_bars__nothing_to_draw() -> None:
    with pytest.raises(Nothing):
        bars("T", LEVEL, [Group("8 B", ())])


@pytest.mark.parametrize(
    ("low", "high", "base", "found"),
    [
        (1, 16, 2, [1, 2, 4, 8, 16]),
        (1, 4 << 20, 2, [1, 8, 64, 512, 4096, 32768, 262144, 2097152]),
        (12, 90_000, 10, [100, 1000, 10_000]),
        (3, 25, 10, [5, 10, 20]),
        (0, 7.2, None, [0, 2, 4, 6]),
    ],
)
def test_ticks__are_round(low: float, high: float, base: int | None, found: list[float]) -> None:
    assert ticks(low, high, base) == found
