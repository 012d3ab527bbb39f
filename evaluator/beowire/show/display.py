# SPDX-License-Identifier: BSD-3-Clause
"""The live display of a run on standard error; nothing at all when that is not a terminal.

It is drawn between rounds, by the thread that measures, at most a few times a second: a thread
of its own would take turns with what is measured.
"""

import sys
import time
from contextlib import suppress

from rich.console import Console
from rich.live import Live
from rich.text import Text

from beowire.conduct.cell import Cell
from beowire.conduct.measure import Progress
from beowire.units import rate_text, size_text, time_text
from beowire.visible import LINES, unguarded, visible

_REFRESH_S = 0.25
_BAR_CELLS = 24
_LEAST_CELLS = 4

#: What a run takes beside measuring: for the lab, the record and the report; and for each driver
#: and launch to start its engines and connect them, on two cores.
_AROUND_S, _START_S = 4.0, 0.4


class Display:
    """A context manager; `show()` may be called as often as one likes."""

    def __init__(self, console: Console | None = None) -> None:
        """`console` is for tests; by default standard error."""
        self._console = console or Console(file=unguarded(sys.stderr))
        self._live: Live | None = None
        self._shown_at = 0.0
        self._cells: dict[str, Cell | None] = {}
        self._at: tuple[str, int] = ("", 0)

    def __enter__(self) -> "Display":
        """Takes over the bottom of the terminal, if there is one."""
        if self._console.is_terminal:
            self._live = Live(console=self._console, auto_refresh=False, transient=True)
            self._live.start()
        return self

    def __exit__(self, *exc: object) -> None:
        """Gives the terminal back, as it was."""
        if self._live is not None:
            with suppress(OSError):  # it has hung up
                self._live.stop()
            self._live = None

    def note(self, text: str) -> None:
        """Says what is going on before the first round."""
        self._draw(text)

    def starting(self, drivers: int, seconds: float, launches: int) -> None:
        """Says how long all will take, before anything is measured."""
        whole_s = seconds + _AROUND_S + _START_S * drivers * launches
        self.note(
            f"Starting {drivers} driver{'' if drivers == 1 else 's'} ... Measuring takes"
            f" {_clock(seconds)}, all of it about {_clock(whole_s)}"
        )

    def show(self, progress: Progress, launch: int, launches: int) -> None:
        """Shows where the run is, unless it has just been shown."""
        if self._live is None:
            return
        self._remember(progress.cell)
        if time.monotonic() - self._shown_at < _REFRESH_S:
            return
        self._shown_at = time.monotonic()
        self._draw("\n".join(self._lines(progress, launch, launches)))

    def _remember(self, cell: Cell) -> None:
        """What is shown is all of one pattern and size: figures of another would not compare."""
        if self._at != (cell.pattern, cell.size):
            self._at = cell.pattern, cell.size
            self._cells = dict.fromkeys(self._cells)
        self._cells[f"{cell.driver} +{cell.load}" if cell.load else cell.driver] = cell

    def _draw(self, text: str) -> None:
        if self._live is not None:
            with suppress(OSError):  # a terminal that has hung up must not cost the run
                self._live.update(Text(visible(text, LINES)), refresh=True)

    def _lines(self, progress: Progress, launch: int, launches: int) -> list[str]:
        cell = progress.cell
        of_launch = f" of launch {launch} of {launches}" if launches > 1 else ""
        said = (
            f"{_clock(progress.elapsed_s)} gone, at most {_clock(progress.remaining_s)} left"
            f"{of_launch}, {progress.done} of {progress.cells} cells precise"
        )
        spent = progress.elapsed_s / max(1e-9, progress.elapsed_s + progress.remaining_s)
        first = f"{_bar(spent, self._console.width - len(said) - len('[] '))}{said}"
        what = cell.kind.quantity if cell.kind.is_times else "throughput"
        lines = [first, f"now {cell.pattern} with {size_text(cell.size)}: {what}, last round"]
        wide = max(map(len, self._cells))
        lines += [f"  {name:<{wide}}  {_figure(one)}" for name, one in self._cells.items()]
        return lines


def _bar(share: float, room: int) -> str:
    """Shorter where there is less room, so that all stands in one line; none where it is little."""
    cells = min(_BAR_CELLS, room)
    if cells < _LEAST_CELLS:
        return ""
    full = round(cells * min(1.0, share))
    return f"[{'#' * full}{'.' * (cells - full)}] "


def _figure(cell: Cell | None) -> str:
    """The last figures of a cell, roughly: the median of the last round."""
    if cell is None or not cell.rounds:
        return "done" if cell is not None and cell.written else "nothing yet"
    last = cell.rounds[-1]
    seen = f"(round {len(cell.rounds)})"
    if not cell.kind.is_times:
        return f"{rate_text(last.moved_bytes * 1e9 / last.elapsed_ns)} {seen}"
    return f"{time_text(last.histogram.quantile(0.5) * cell.share)} {seen}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d}"
