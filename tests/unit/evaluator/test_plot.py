# SPDX-License-Identifier: BSD-3-Clause
import re
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from beowire.analysis.curves import Curve, curves
from beowire.plan.patterns import PATTERNS
from beowire.record.reader import read_record
from beowire.show.plot import MISSING, plot
from unit.evaluator import synthetic_record

PINGPONG, STREAM = PATTERNS["pingpong"], PATTERNS["stream"]


def _curves(tmp_path: Path, *sizes: int) -> list[Curve]:
    lines = synthetic_record.lines(("tcp", "packet"), sizes=sizes)
    record = read_record(synthetic_record.write(tmp_path / "record.jsonl", lines))
    return curves([record], "pingpong")


def test_plot__names_quantity_drivers_and_sizes(tmp_path: Path) -> None:
    text = plot(_curves(tmp_path, 1, 64, 4096, 65536), PINGPONG, width=80, colour=False)
    first, *rest = text.splitlines()
    assert first.startswith("Half round trip in µs")
    assert "o tcp" in first and "x packet" in first
    assert all(tick in rest[-1] for tick in ("1", "64", "4Ki", "32Ki"))
    assert any("o" in line for line in rest) and any("x" in line for line in rest)


def test_plot__slower_is_higher(tmp_path: Path) -> None:
    lines = plot(_curves(tmp_path, 1, 8), PINGPONG, width=80, colour=False).splitlines()[1:]
    of_tcp = next(number for number, line in enumerate(lines) if "o" in line)
    of_packet = next(number for number, line in enumerate(lines) if "x" in line)
    assert of_tcp < of_packet


def test_plot__rates_are_named(tmp_path: Path) -> None:
    text = plot(_curves(tmp_path, 1, 64), STREAM, width=60, colour=False)
    assert text.startswith("Throughput in MB/s")
    assert max(len(line) for line in text.splitlines()[1:]) <= 60


def test_plot__of_one_size_is_nothing(tmp_path: Path) -> None:
    assert plot(_curves(tmp_path, 8), PINGPONG, width=80, colour=False) == ""


@pytest.mark.parametrize("found", [None, ModuleType("plotext")])
def test_plot__without_a_plotext_of_today__says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, found: ModuleType | None
) -> None:
    monkeypatch.setitem(sys.modules, "plotext", found)
    assert plot(_curves(tmp_path, 1, 64), PINGPONG, width=80, colour=False) == MISSING
    assert plot([], PINGPONG, width=80, colour=False) == ""


def test_plot__may_be_drawn_again(tmp_path: Path) -> None:
    found = _curves(tmp_path, 1, 64, 4096)
    first = plot(found, PINGPONG, width=80, colour=False)
    assert plot(found, PINGPONG, width=80, colour=False) == first


def test_plot__the_first_driver_is_seen_where_curves_meet(tmp_path: Path) -> None:
    (curve,) = _curves(tmp_path, 1, 64, 4096)[:1]
    twice = [curve, replace(curve, driver="packet")]
    _, *rest = plot(twice, PINGPONG, width=80, colour=False).splitlines()
    assert any("o" in line for line in rest) and not any("x" in line for line in rest)


def test_plot__colours_are_told_apart_on_the_terminals_own_background(tmp_path: Path) -> None:
    text = plot(_curves(tmp_path, 1, 64, 4096), PINGPONG, width=80, colour=True)
    legend = text.splitlines()[0]
    colours = re.findall(r"\x1b\[38;5;(\d+)m[ox]", legend)
    assert len(set(colours)) == 2
    assert all(f"\x1b[38;5;{colour}m" in text.split("\n", 1)[1] for colour in colours)
    assert "\x1b[48;" not in text


def test_plot__the_wire_is_drawn_where_it_is_known(tmp_path: Path) -> None:
    for wire_bytes_per_s, drawn in ((1e6, True), (None, False)):
        lines = synthetic_record.lines(
            ("tcp", "packet"), sizes=(1, 64, 4096, 65536), wire_bytes_per_s=wire_bytes_per_s
        )
        directory = tmp_path / str(drawn)
        directory.mkdir()
        record = read_record(synthetic_record.write(directory / "record.jsonl", lines))
        for pattern in (PINGPONG, STREAM):
            found = curves([record], pattern.name)
            first, *rest = plot(found, pattern, record, width=80, colour=False).splitlines()
            assert (". the wire alone" in first) == drawn
            assert any("..." in line for line in rest) == drawn


def test_plot__a_dozen_drivers_idle_and_loaded__have_a_mark_each(tmp_path: Path) -> None:
    (curve,) = _curves(tmp_path, 1, 64, 4096)[:1]
    many = [
        replace(curve, driver=f"d{number}", load=load)
        for number in range(12)
        for load in (None, "hog:19")
    ]
    first = plot(many, PINGPONG, width=80, colour=False).splitlines()[0]
    marks = re.findall(r"(?<=  )(\S) d\d+", first)
    assert len(set(marks)) == len(marks) == 24
    assert "x d0 +hog:19" in first
