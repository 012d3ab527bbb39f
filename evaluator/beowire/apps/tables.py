# SPDX-License-Identifier: BSD-3-Clause
"""A record of programs as tables: figures as in papers on NAS's benchmarks, with `rel. tcp (%)`,
speedups with their intervals, and what each program asks of the network. Pure.

Rows and columns come from here for the terminal and for the report alike.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

from beowire.analysis.link import link_facts
from beowire.analysis.marks import busy_during
from beowire.analysis.statistics import Estimate
from beowire.apps.record import IDLE, AppsRecord, Profile
from beowire.apps.results import (
    BASE,
    Cell,
    Key,
    base_of,
    cells,
    counts,
    failures,
    geometric_mean,
    profile_of,
    relative_percent,
    run_cells,
    speedup,
)
from beowire.places.mpi.ways import SHM
from beowire.units import significant, size_text, time_text

_GAP = "  "
_NONE = "–"


@dataclass(frozen=True)
class Table:
    """Words in rows and columns; the first column is a name, the others are figures."""

    title: str
    heads: list[str]
    rows: list[list[str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def tables(record: AppsRecord) -> list[Table]:
    """All tables that have something in them."""
    found = [*figures(record), speedups(record), parts_of_jobs(record), traffic(record)]
    return [table for table in found if table.rows]


def render(record: AppsRecord, width: int) -> str:
    """All of it as text, ending without a newline; tables are folded to `width` columns."""
    parts = [heading(record), *warnings(record)]
    parts += [text(table, width) for table in tables(record)]
    if problems := failures(record):
        parts.append("\n".join(["Not measured, or incomplete", *(f"  {p}" for p in problems)]))
    return "\n\n".join(parts)


def heading(record: AppsRecord) -> str:
    """Who, where and what, in a line."""
    nodes = nodes_text(record)
    mpis = ", ".join(f"{mpi.name} {mpi.version}" for mpi in record.meta.mpis)
    return f"{nodes}: {link_facts(record.meta.link, record.meta.ends)}; {mpis}"


def nodes_text(record: AppsRecord) -> str:
    """All nodes that ranks were on; in a record that does not say, the two ends."""
    nodes = record.meta.options.get("nodes")
    names = [str(one) for one in nodes] if isinstance(nodes, list) else []
    return " ⇄ ".join(names or [end.node for end in record.meta.ends])


def warnings(record: AppsRecord) -> list[str]:
    """What else the times are of than the ways: others that used the processors, and ranks that
    had to take turns; a line each."""
    lines = []
    if record.meta.ends and (busy := busy_during(record.meta.link, record.meta.ends, record.end)):
        lines.append(f"note: {busy}")
    ranks, cores = record.meta.options.get("ranks"), _cores(record)
    if isinstance(ranks, int) and cores is not None and ranks > cores:
        lines.append(
            f"note: {ranks} ranks share {cores} {'core' if cores == 1 else 'cores'}, so they wait"
            " for each other's turns. A cluster with a core for each rank will have other figures"
        )
    return lines


def _cores(record: AppsRecord) -> int | None:
    """How many ranks could compute at a time; None: it is not known."""
    cores, ranks = record.meta.options.get("cores"), record.meta.options.get("ranks")
    if isinstance(cores, int):
        return cores
    counts = [end.environment.get("cpus_online") for end in record.meta.ends]
    known = [count for count in counts if isinstance(count, int) and count > 0]
    if record.meta.link.kind != "hosts" or not isinstance(ranks, int) or not known:
        return None
    if len(known) != len(counts) or len(nodes_text(record).split(" ⇄ ")) > len(known):
        return None
    share = math.ceil(ranks / len(known))
    return sum(min(share, count) for count in known)


def figures(record: AppsRecord) -> list[Table]:
    """For each MPI: rows of best figures, a way each, idle and loaded, and how much better each is
    than TCP."""
    found = cells(record.launches, record.meta.apps)
    options = record.meta.options
    made = []
    for mpi in dict.fromkeys(cell.mpi for cell in found.values()):
        own = [cell for cell in found.values() if cell.mpi == mpi]
        if all(cell.best is None for cell in own):
            continue
        apps = [app for app in record.meta.apps if any(cell.app == app.name for cell in own)]
        rounds = max(len(cell.figures) for cell in own)
        user = all(app.less_is_better for app in apps)
        size = "" if user else f"class {options.get('class')}, "
        title = f"{mpi}: best of {rounds} launches, {size}{options.get('ranks')} ranks"
        table = Table(title, ["", *(app.name for app in apps)])
        table.rows.append(["", *(app.unit for app in apps)])
        for load in _loads(record, own):
            for over in _overs(record, own):
                row = [found.get((app.name, mpi, over, load)) for app in apps]
                if any(row):
                    name = f"{mpi}/{over}{_beside(load)}"
                    table.rows.append([name, *(_figure(cell) for cell in row)])
            for over in _overs(record, own):
                row = [found.get((app.name, mpi, over, load)) for app in apps]
                if over != BASE and any(_relative(found, cell) != _NONE for cell in row):
                    name = f"{over} rel. {BASE}{_beside(load)} (%)"
                    table.rows.append([name, *(_relative(found, cell) for cell in row)])
        if any(cell.over == SHM for cell in own):
            table.notes.append(
                "shm: the upper bound: the same ranks on one node, through the MPI's shared memory"
            )
        made.append(table)
    return made


def speedups(record: AppsRecord) -> Table:
    """How many times as fast as over TCP: a row for each program, a column for each way."""
    found = cells(record.launches, record.meta.apps)
    ways = _compared(record, found)
    title = f"Speedup over {BASE}: median of the rounds' ratios (95 % interval)"
    table = Table(title, ["", *(_way(record, *way) for way in ways)])
    ratios: dict[tuple[str, str, str], list[float]] = {way: [] for way in ways}
    short = False
    for app in record.meta.apps:
        row = [app.name]
        for way in ways:
            ratio = ratio_of(found, app.name, way)
            if ratio is not None:
                ratios[way].append(ratio.value)
                short = short or ratio.low is None or ratio.high is None
            row.append(ratio_text(ratio))
        if any(cell != _NONE for cell in row[1:]):
            table.rows.append(row)
    if len(table.rows) > 1:
        means = [geometric_mean(ratios[way]) for way in ways]
        row = [_NONE if mean is None else significant(mean) for mean in means]
        table.rows.append(["geometric mean", *row])
    if short:
        table.notes.append("(±?): fewer than six rounds have no 95 % interval: --launches 6")
    return table


def parts_of_jobs(record: AppsRecord) -> Table:
    """What the program runs, and what starting and ending it take: medians of the launches."""
    found = cells(record.launches, record.meta.apps)
    runs = run_cells(record)
    table = Table(
        "Run (MPI_Init's return to MPI_Finalize's call), start-up and end: medians of the"
        " slowest rank",
        ["", f"run, speedup over {BASE}", "run", "MPI_Init", "MPI_Finalize", "whole job"],
    )
    for cell in in_order(record, found):
        if cell.key not in runs:
            continue
        own = [one for one in record.launches if one.key == cell.key and counts(one)]
        run = runs[cell.key]
        ratio = None if cell.over == BASE else speedup(run, base_of(runs, run))
        table.rows.append(
            [
                f"{cell.app} {_way(record, cell.mpi, cell.over, cell.load)}",
                ratio_text(ratio),
                *(
                    time_text(median(values) * 1e9)
                    for values in (
                        [one.run_s or 0.0 for one in own],
                        [one.init_s or 0.0 for one in own],
                        [one.finalize_s or 0.0 for one in own],
                        [one.wall_s for one in own],
                    )
                ),
            ]
        )
    return table


def traffic(record: AppsRecord) -> Table:
    """What each program asks of the network over each way, and how far it is from the bound."""
    found = cells(record.launches, record.meta.apps)
    table = Table(
        "Time in MPI, and messages of all ranks together (counted in a launch of its own, idle)",
        ["", "median", "of shm", "own clock", "in MPI", "messages", "collectives"],
    )
    units = {app.name: app.unit for app in record.meta.apps}
    for cell in in_order(record, found):
        counted = None if cell.load != IDLE and _is_idle(found, cell) else profile_of(record, cell)
        if cell.median is None and counted is None:
            continue
        share = relative_share(cell, base_of(found, cell, SHM))
        table.rows.append(
            [
                f"{cell.app} {_way(record, cell.mpi, cell.over, cell.load)}",
                _NONE
                if cell.median is None
                else f"{significant(cell.median, 4)} {units[cell.app]}",
                _NONE if share is None else f"{share:.2f}",
                _NONE if cell.share is None else f"{cell.share:.0%}",
                *_counted(counted),
            ]
        )
    return table


def _counted(profile: Profile | None) -> list[str]:
    if profile is None or profile.messages is None or profile.bytes is None:
        return [_NONE] * 3
    return [
        _NONE if profile.mpi_share is None else f"{profile.mpi_share:.0%}",
        _mean(profile.messages, profile.bytes),
        _mean(profile.collectives or 0, profile.collective_bytes or 0),
    ]


def _mean(count: int, length_bytes: int) -> str:
    """`3360 × 2777 B`: how many, and their mean length."""
    return f"{count} × {size_text(round(length_bytes / count))}" if count else "0"


def _is_idle(found: dict[Key, Cell], cell: Cell) -> bool:
    """Whether it was also measured without load, in whose row the counts are."""
    return (*cell.key[:3], IDLE) in found


def in_order(record: AppsRecord, found: dict[Key, Cell]) -> list[Cell]:
    """In the order of what was asked for: launches come in random order."""
    apps = [app.name for app in record.meta.apps]
    all_cells = list(found.values())
    loads, overs = _loads(record, all_cells), _overs(record, all_cells)

    def place(cell: Cell) -> tuple[int, str, int, int]:
        app = apps.index(cell.app) if cell.app in apps else len(apps)
        return app, cell.mpi, loads.index(cell.load), overs.index(cell.over)

    return sorted(all_cells, key=place)


def relative_share(cell: Cell, bound: Cell | None) -> float | None:
    """Which part of the bound's speed it reaches."""
    if bound is None or bound is cell or not cell.median or not bound.median:
        return None
    ratio = bound.median / cell.median
    return ratio if cell.less_is_better else 1 / ratio


def ratio_of(found: dict[Key, Cell], app: str, way: tuple[str, str, str]) -> Estimate | None:
    """The speedup of a program over a way (MPI, way, load)."""
    cell = found.get((app, *way))
    return None if cell is None else speedup(cell, base_of(found, cell))


def ratio_text(ratio: Estimate | None) -> str:
    """`1.04 (0.98–1.10)`."""
    if ratio is None:
        return _NONE
    value = significant(ratio.value)
    if ratio.low is None or ratio.high is None:
        return f"{value} (±?)"
    return f"{value} ({significant(ratio.low)}–{significant(ratio.high)})"


def text(table: Table, width: int) -> str:
    """A table as text: one below the other where its columns do not fit."""
    columns = [list(column) for column in zip(table.heads, *table.rows, strict=True)]
    first, *others = columns
    left = [word.ljust(max(map(len, first))) for word in first]
    blocks, block = [], [left]
    for column in others:
        wide = max(map(len, column))
        right = [word.rjust(wide) for word in column]
        if len(block) > 1 and sum(len(c[0]) + len(_GAP) for c in [*block, right]) > width:
            blocks.append(block)
            block = [left]
        block.append(right)
    blocks.append(block)
    shown = ["\n".join(_GAP.join(row).rstrip() for row in zip(*one, strict=True)) for one in blocks]
    return "\n".join([table.title, "\n\n".join(shown), *table.notes])


def _compared(record: AppsRecord, found: dict[Key, Cell]) -> list[tuple[str, str, str]]:
    """Ways (MPI, way, load) that have one over TCP beside them."""
    bases = {(cell.mpi, cell.load) for cell in found.values() if cell.over == BASE}
    ways = [
        (cell.mpi, cell.over, cell.load)
        for cell in in_order(record, found)
        if cell.over != BASE and (cell.mpi, cell.load) in bases
    ]
    return list(dict.fromkeys(ways))


def _loads(record: AppsRecord, own: Sequence[Cell]) -> list[str]:
    return _as_asked(record.meta.options.get("load"), [cell.load for cell in own])


def _overs(record: AppsRecord, own: Sequence[Cell]) -> list[str]:
    return _as_asked(record.meta.options.get("over"), [cell.over for cell in own])


def _as_asked(asked: object, there: Sequence[str]) -> list[str]:
    """Those that are there, in the order in which they were asked for."""
    listed = [str(one) for one in asked] if isinstance(asked, list) else []
    known = set(there)
    return [one for one in dict.fromkeys([*listed, *there]) if one in known]


def _figure(cell: Cell | None) -> str:
    if cell is None or cell.best is None:
        return _NONE
    return f"{cell.best:.2f}" if cell.best >= 1 else significant(cell.best)


def _relative(found: dict[Key, Cell], cell: Cell | None) -> str:
    percent = None if cell is None else relative_percent(cell, base_of(found, cell))
    return _NONE if percent is None else f"{percent:+.2f}"


def _way(record: AppsRecord, mpi: str, over: str, load: str) -> str:
    """`openmpi4/beowire (nice19)`; without the MPI where there is one."""
    several = len(record.meta.mpis) > 1
    return f"{mpi}/{over}{_beside(load)}" if several else f"{over}{_beside(load)}"


def _beside(load: str) -> str:
    return "" if load == IDLE else f" ({load})"
