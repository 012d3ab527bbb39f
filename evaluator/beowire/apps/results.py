# SPDX-License-Identifier: BSD-3-Clause
"""What the launches of a record say: best, median, and how many times as fast as over TCP. Pure.

Launches of one round are neighbours in time, so each round gives a ratio of its own, and the median
of these has the interval of their order (statistics.order_interval): from six rounds on there is
one at 95 %. The first launch of each way warmed up, and is left out.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median

from beowire.analysis.statistics import Estimate, order_interval
from beowire.apps.record import AppInfo, AppResult, AppsRecord, Launch, Profile, Ratio

#: What others are compared with.
BASE = "tcp"

Key = tuple[str, str, str, str]
"""Program, MPI, way and load."""


@dataclass
class Cell:
    """One program over one way."""

    key: Key
    less_is_better: bool = False
    figures: dict[int, float] = field(default_factory=dict)
    """By round."""
    shares: list[float] = field(default_factory=list)
    """Of communication, by the program's own clock."""
    failure: str = ""
    """Why a launch gave no figure; empty: all did."""
    verified: bool | None = None
    """Whether each launch was; None: the program verifies nothing."""

    @property
    def app(self) -> str:
        """The program's name."""
        return self.key[0]

    @property
    def mpi(self) -> str:
        """The MPI's name."""
        return self.key[1]

    @property
    def over(self) -> str:
        """The way's name."""
        return self.key[2]

    @property
    def load(self) -> str:
        """What ran beside it."""
        return self.key[3]

    @property
    def best(self) -> float | None:
        """The best figure; None if there is none that counts."""
        if self.failure or not self.figures:
            return None
        return (min if self.less_is_better else max)(self.figures.values())

    @property
    def median(self) -> float | None:
        """The median figure, likewise."""
        return None if self.failure or not self.figures else median(self.figures.values())

    @property
    def share(self) -> float | None:
        """Median share of communication, by the program's own clock."""
        return median(self.shares) if self.shares else None


def cells(launches: Iterable[Launch], apps: Sequence[AppInfo]) -> dict[Key, Cell]:
    """All that was launched, in the order of the first launches."""
    less = {app.name: app.less_is_better for app in apps}
    found: dict[Key, Cell] = {}
    for one in launches:
        cell = found.setdefault(one.key, Cell(one.key, less.get(one.app, False)))
        if one.status != "ok":
            cell.failure = cell.failure or one.status
        if one.verified is not None:
            cell.verified = one.verified and cell.verified is not False
        if one.round > 0 and one.status == "ok" and one.figure is not None:
            cell.figures[one.round] = one.figure
            if one.communication_share is not None:
                cell.shares.append(one.communication_share)
    return found


def run_cells(record: AppsRecord) -> dict[Key, Cell]:
    """The same with the run of each launch, from MPI_Init's return to MPI_Finalize's call, as its
    figure. A way of which that is not known of every launch that counts is left out."""
    known = {
        key: all(one.run_s is not None for one in record.launches if counts(one) and one.key == key)
        for key in {one.key for one in record.launches if counts(one)}
    }
    launches = [
        one.model_copy(update={"figure": one.run_s})
        for one in record.launches
        if counts(one) and known[one.key]
    ]
    apps = [app.model_copy(update={"less_is_better": True}) for app in record.meta.apps]
    return cells(launches, apps)


def counts(one: Launch) -> bool:
    """Whether a launch gave a figure, and did not only warm up."""
    return one.round > 0 and one.status == "ok" and one.figure is not None


def speedup(cell: Cell, base: Cell | None) -> Estimate | None:
    """How many times as fast, round by round. None: they have no round in common."""
    if base is None or cell.failure or base.failure:
        return None
    ratios = []
    for number, figure in cell.figures.items():
        other = base.figures.get(number, 0.0)
        if other > 0 and figure > 0:
            ratios.append(other / figure if cell.less_is_better else figure / other)
    return order_interval(ratios) if ratios else None


def base_of(found: dict[Key, Cell], cell: Cell, over: str = BASE) -> Cell | None:
    """The same program, MPI and load over another way; over TCP, that is."""
    return found.get((cell.app, cell.mpi, over, cell.load))


def relative_percent(cell: Cell, base: Cell | None) -> float | None:
    """By how many per cent the best launch is better than the best over TCP."""
    if base is None or not cell.best or not base.best:
        return None
    ratio = base.best / cell.best if cell.less_is_better else cell.best / base.best
    return (ratio - 1) * 100


def geometric_mean(values: Sequence[float]) -> float | None:
    """Of what is positive; None of nothing."""
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def results(record: AppsRecord) -> list[AppResult]:
    """A line for each cell."""
    found = cells(record.launches, record.meta.apps)
    lines = []
    for cell in found.values():
        ratio = None if cell.over == BASE else speedup(cell, base_of(found, cell))
        known = ratio is not None and ratio.low is not None and ratio.high is not None
        lines.append(
            AppResult(
                app=cell.app,
                mpi=cell.mpi,
                over=cell.over,
                load=cell.load,
                n=len(cell.figures),
                status=cell.failure or "ok",
                best=cell.best,
                median=cell.median,
                speedup=None
                if ratio is None
                else Ratio(
                    median=ratio.value,
                    ci95=(ratio.low, ratio.high) if known else None,  # type: ignore[arg-type]
                ),
            )
        )
    return lines


def profile_of(record: AppsRecord, cell: Cell) -> Profile | None:
    """What was counted of a program over a way; a profile is taken without load."""
    for one in record.profiles:
        if one.key[:3] == cell.key[:3] and one.status == "ok":
            return one
    return None


def failures(record: AppsRecord) -> list[str]:
    """What failed, a line for each cause: which programs and ways it is true of, and where others
    of the same program were right."""
    found = cells(record.launches, record.meta.apps)
    grouped: dict[tuple[str, str], list[Cell]] = {}
    for cell in found.values():
        if cell.failure:
            grouped.setdefault((cell.app, cell.failure), []).append(cell)
    lines = [
        f"{app} ({', '.join(map(way_text, group))}): {cause}{_where_right(found, group)}"
        for (app, cause), group in grouped.items()
    ]
    for one in record.profiles:
        if one.status != "ok":
            lines.append(f"{one.app} ({one.mpi} over {one.over}), profile: {one.status}")
    for left in record.skipped:
        parts = [part for part in (left.app, left.mpi) if part]
        parts += [f"over {left.over}"] if left.over else []
        named = [f"'{part}'" for part in (left.app, left.mpi, left.over) if part]
        # A reason that quotes its name needs none before it.
        known = not parts or named[-1] in left.reason
        lines.append(left.reason if known else f"{' '.join(parts)}: {left.reason}")
    return list(dict.fromkeys(lines))


def way_text(cell: Cell) -> str:
    """`openmpi4 over tcp, nice19`."""
    beside = "" if cell.load == "idle" else f" beside {cell.load}"
    return f"{cell.mpi} over {cell.over}{beside}"


def _where_right(found: dict[Key, Cell], group: Sequence[Cell]) -> str:
    """Ways over which the same program of the same MPI was verified."""
    app, mpis = group[0].app, {cell.mpi for cell in group}
    right = [
        cell.over
        for cell in found.values()
        if cell.app == app and cell.mpi in mpis and cell.verified and not cell.failure
    ]
    if not right or all(cell.verified is not False for cell in group):
        return ""
    return f"; over {', '.join(dict.fromkeys(right))} it is right"
