# SPDX-License-Identifier: BSD-3-Clause
import errno
import io
import os

import pytest
from rich.console import Console

from beowire.conduct.cell import Cell
from beowire.conduct.measure import Progress
from beowire.conduct.session import Round
from beowire.record.histogram import Histogram
from beowire.show.display import Display


def _progress(pattern: str = "pingpong", driver: str = "tcp-spin", size: int = 1024) -> Progress:
    cell = Cell(driver, pattern, size, 1)
    histogram = Histogram.of_values([8000, 8000, 8000])
    cell.add(Round(3, 3, 0, 24_000, 3072, histogram))
    return Progress(cell, done=3, cells=12, elapsed_s=61.0, remaining_s=20.0)


def test_display__says_nothing_to_a_pipe() -> None:
    output = io.StringIO()
    with Display(Console(file=output, force_terminal=False)) as display:
        display.note("Starting")
        display.show(_progress(), 1, 1)
    assert output.getvalue() == ""


def test_display__shows_where_the_run_is() -> None:
    output = io.StringIO()
    with Display(Console(file=output, force_terminal=True, width=100)) as display:
        display.note("Starting the engines ...")
        display.show(_progress(), 2, 3)
    text = output.getvalue()
    for words in (
        "Starting the engines",
        "1:01 gone",
        "0:20 left",
        "3 of 12 cells precise",
        "of launch 2 of 3, ",
        "now pingpong with 1 KiB: half round trip, last round",
        "tcp-spin  4.00 µs (round 1)",
    ):
        assert words in text


def test_display__says_beforehand_how_long_all_takes() -> None:
    output = io.StringIO()
    with Display(Console(file=output, force_terminal=True, width=100)) as display:
        display.starting(8, 30.0, 5)
    assert "Starting 8 drivers ... Measuring takes 0:30, all of it about 0:50" in output.getvalue()


@pytest.mark.parametrize(("width", "bar"), [(100, 24), (80, 9), (60, 0)])
def test_display__its_bar_leaves_room_for_words(width: int, bar: int) -> None:
    display = Display(Console(file=io.StringIO(), force_terminal=True, width=width))
    display._remember(_progress().cell)
    line = display._lines(_progress(), 2, 3)[0]
    said = "1:01 gone, at most 0:20 left of launch 2 of 3, 3 of 12 cells precise"
    assert line.endswith(said)
    assert line.count("#") + line.count(".") == bar
    assert len(line) <= max(width, len(said))


def test_display__shows_all_drivers_at_one_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("beowire.show.display._REFRESH_S", 0.0)
    output = io.StringIO()
    with Display(Console(file=output, force_terminal=True, width=100)) as display:
        for driver in ("tcp", "beowire"):
            display.show(_progress(driver=driver), 1, 1)
        text = output.getvalue().rpartition("now ")[2]
        assert "tcp      4.00 µs (round 1)" in text
        assert "beowire  4.00 µs (round 1)" in text
        # At another size nothing is shown of the one before.
        display.show(_progress(driver="tcp", size=8), 1, 1)
        text = output.getvalue().rpartition("now ")[2]
        assert "with 8 B" in text
        assert "tcp      4.00 µs (round 1)" in text
        assert "beowire  nothing yet" in text


def test_display__says_which_driver_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("beowire.show.display._REFRESH_S", 0.0)
    output = io.StringIO()
    with Display(Console(file=output, force_terminal=True, width=100)) as display:
        first = _progress(driver="tcp")
        display.show(first, 1, 1)
        first.cell.close()
        display.show(_progress(driver="beowire"), 1, 1)
    text = output.getvalue().rpartition("now ")[2]
    assert "tcp      done" in text
    assert "beowire  4.00 µs (round 1)" in text


def test_display__shows_the_rate_of_a_stream() -> None:
    output = io.StringIO()
    with Display(Console(file=output, force_terminal=True, width=100)) as display:
        display.show(_progress("stream"), 1, 1)
    assert "128 MB/s" in output.getvalue()


def test_display__draws_no_more_than_a_few_times_a_second() -> None:
    output = io.StringIO()
    with Display(Console(file=output, force_terminal=True, width=100)) as display:
        display.show(_progress(), 1, 1)
        before = len(output.getvalue())
        display.show(_progress(), 1, 1)
        assert len(output.getvalue()) == before


def test_display__a_terminal_that_has_hung_up_costs_nothing() -> None:
    class HungUp(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    with Display(console) as display:
        console.file = HungUp()
        display.note("Starting the engines ...")
        display.show(_progress(), 1, 1)
