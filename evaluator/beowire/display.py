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

from beowire.cell import Cell
from beowire.measure import Progress
from beowire.units import rate_text, size_text, time_text
from beowire.visible import LINES, unguarded, visible

_REFRESH_S = 0.25
_BAR_CELLS = 24


class Display:
    """A context manager; `show()` may be called as often as one likes."""

    def __init__(self, console: Console | None = None) -> None:
        """`console` is for tests; by default standard error."""
        self._console = console or Console(file=unguarded(sys.stderr))
        self._live: Live | None = None
        self._shown_at = 0.0
        self._figures: dict[str, str] = {}

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

    def show(self, progress: Progress, launch: int, launches: int) -> None:
        """Shows where the run is, unless it has just been shown."""
        if self._live is None or time.monotonic() - self._shown_at < _REFRESH_S:
            return
        self._shown_at = time.monotonic()
        cell = progress.cell
        if cell.rounds:
            self._figures[f"{cell.driver} +{cell.load}" if cell.load else cell.driver] = _figure(
                cell
            )
        self._draw("\n".join(self._lines(progress, launch, launches)))

    def _draw(self, text: str) -> None:
        if self._live is not None:
            with suppress(OSError):  # a terminal that has hung up must not cost the run
                self._live.update(Text(visible(text, LINES)), refresh=True)

    def _lines(self, progress: Progress, launch: int, launches: int) -> list[str]:
        cell = progress.cell
        spent = progress.elapsed_s / max(1e-9, progress.elapsed_s + progress.remaining_s)
        full = round(_BAR_CELLS * min(1.0, spent))
        of_launch = f" of launch {launch} of {launches}" if launches > 1 else ""
        first = (
            f"[{'#' * full}{'.' * (_BAR_CELLS - full)}] {_clock(progress.elapsed_s)} gone, "
            f"at most {_clock(progress.remaining_s)} left{of_launch}, {progress.done} of "
            f"{progress.cells} cells precise"
        )
        now = f"{cell.pattern}, {size_text(cell.size)}, round {len(cell.rounds)}"
        lines = [first, f"now {now}; last seen of each driver:"]
        lines += [f"  {driver:<12} {figure}" for driver, figure in self._figures.items()]
        return lines


def _figure(cell: Cell) -> str:
    """The last figures of a cell, roughly: the median of the last round."""
    last = cell.rounds[-1]
    if not cell.kind.is_times:
        return f"{size_text(cell.size):>9}  {rate_text(last.moved_bytes * 1e9 / last.elapsed_ns)}"
    median_ns = last.histogram.quantile(0.5) * cell.share
    return f"{size_text(cell.size):>9}  {time_text(median_ns)} {cell.kind.quantity}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d}"
