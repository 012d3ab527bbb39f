# SPDX-License-Identifier: BSD-3-Clause
"""One program of the user's over several ways, in turns: what is said of it. Pure, but for the
search for its MPI.

`beowire speedup` and `beowire lab mpirun --over tcp,beowire` run it as `beowire apps` does; here
is the short answer: how long it takes over each way, and how many times as fast it is.
"""

import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from beowire import text_table
from beowire.analysis.link import link_facts
from beowire.analysis.statistics import Estimate
from beowire.apps.record import AppsRecord, Launch
from beowire.apps.results import (
    BASE,
    Cell,
    Key,
    cells,
    counts,
    failures,
    run_cells,
    speedup,
)
from beowire.apps.tables import nodes_text, warnings
from beowire.errors import BeowireError
from beowire.places.mpi import installation, linkage
from beowire.places.mpi.installation import KINDS, Installation
from beowire.units import significant, time_text

#: From so many rounds on there is an interval at 95 %.
INTERVAL_ROUNDS = 6

_NAMES = {"tcp": "TCP", "beowire": "Beowire", "shm": "memory"}
_NARROWEST, _WIDEST = 60, 100


@dataclass(frozen=True)
class Compared:
    """A way, beside the one that others are compared with."""

    over: str
    base: str
    ratio: Estimate
    rounds: Sequence[float]
    """The ratios of the rounds, rising."""


def mpi_of(words: Sequence[str], name: str | None, prefix: Path | None) -> Installation:
    """The MPI of this name; without one, the first here that the program was linked with.
    BeowireError: there is none, or the program is another MPI's."""
    if name is not None:
        found = installation.find(name, prefix)
        linkage.check(words, name)
        return found
    path = shutil.which(words[0])
    linked = None if path is None else linkage.linked_with(Path(path))
    reasons = []
    for one in linked.mpis if linked else KINDS:
        try:
            return installation.find(one, prefix)
        except BeowireError as error:
            reasons.append(str(error))
    raise BeowireError("; ".join(reasons))


def compared(record: AppsRecord) -> list[Compared]:
    """Each way but the first, or TCP if that is among them, beside that."""
    return _pairs(_cells(record))


def compared_runs(record: AppsRecord) -> list[Compared]:
    """The same of the run alone, from MPI_Init's return to MPI_Finalize's call; none where that is
    not known."""
    return _pairs(_in_order(record, run_cells(record)))


def _pairs(all_cells: Sequence[Cell]) -> list[Compared]:
    found = {cell.over: cell for cell in all_cells}
    base = BASE if BASE in found else next(iter(found), "")
    pairs = []
    for over, cell in found.items():
        ratio = None if over == base else speedup(cell, found[base])
        if ratio is not None:
            pairs.append(Compared(over, base, ratio, _of_rounds(cell, found[base])))
    return pairs


def render(record: AppsRecord, words: Sequence[str], width: int) -> str:
    """All of it as text, ending without a newline."""
    width = min(max(width, _NARROWEST), _WIDEST)
    runs = compared_runs(record)
    parts = ["\n".join(_sentence(one, "the run") for one in runs)]
    parts += [
        "\n".join(_sentence(one, "the whole job" if runs else "it") for one in compared(record))
    ]
    if compared(record) and not runs:
        parts.append(
            "That includes the launcher, MPI_Init and MPI_Finalize. To time the run alone, the"
            " program must be linked with its MPI's shared library and call MPI_Finalize, and that"
            " MPI's compiler must be installed here."
        )
    parts.append(_agreement(record))
    if problems := failures(record):
        parts.append("\n".join(["Not measured, or incomplete", *(f"  {p}" for p in problems)]))
    first = [_heading(record, words), *warnings(record)]
    heading, others = ([text_table.filled(one, width) for one in part] for part in (first, parts))
    shown = [*heading, _parts_table(record, width), _table(record, width), *others]
    return "\n\n".join(part for part in shown if part)


def as_data(record: AppsRecord, words: Sequence[str]) -> dict[str, object]:
    """The same for programs."""
    return {
        "program": list(words),
        "mpi": record.meta.mpis[0].name,
        "ranks": record.meta.options.get("ranks"),
        "seconds": {cell.over: list(cell.figures.values()) for cell in _cells(record)},
        "run_seconds": _parts(record, "run_s"),
        "init_seconds": _parts(record, "init_s"),
        "finalize_seconds": _parts(record, "finalize_s"),
        "run_speedup": [_ratio(one) for one in compared_runs(record)],
        "speedup": [_ratio(one) for one in compared(record)],
        "warnings": warnings(record),
        "different_outputs": [
            {"over": one.over, "round": one.round, "difference": one.check}
            for one in _different(record)
        ],
        "failures": failures(record),
    }


def _ratio(one: Compared) -> dict[str, object]:
    low, high = one.ratio.low, one.ratio.high
    return {
        "over": one.over,
        "to": one.base,
        "median": one.ratio.value,
        "ci95": None if low is None or high is None else [low, high],
    }


def _parts(record: AppsRecord, part: str) -> dict[str, list[float]]:
    """Of each way of which it is known, by launch."""
    known = _in_order(record, run_cells(record))
    return {
        cell.over: [
            getattr(one, part) for one in record.launches if one.key == cell.key and counts(one)
        ]
        for cell in known
    }


def agrees(record: AppsRecord) -> bool:
    """Nothing was printed that was not printed the first time, as far as that was looked at."""
    return not _different(record)


def _cells(record: AppsRecord) -> list[Cell]:
    return _in_order(record, cells(record.launches, record.meta.apps))


def _in_order(record: AppsRecord, found: Mapping[Key, Cell]) -> list[Cell]:
    """In the order in which the ways were asked for."""
    asked = record.meta.options.get("over")
    order = [str(one) for one in asked] if isinstance(asked, list) else []
    return sorted(
        found.values(), key=lambda cell: order.index(cell.over) if cell.over in order else 99
    )


def _of_rounds(cell: Cell, base: Cell) -> list[float]:
    both = cell.figures.keys() & base.figures.keys()
    return sorted(base.figures[one] / cell.figures[one] for one in both if cell.figures[one] > 0)


def _heading(record: AppsRecord, words: Sequence[str]) -> str:
    meta = record.meta
    mpi = meta.mpis[0]
    nodes = nodes_text(record)
    title = KINDS[mpi.name].title.rstrip("0123456789 ") if mpi.name in KINDS else mpi.name
    ranks = meta.options.get("ranks")
    return (
        f"{shlex.join(words)}: {ranks} {'rank' if ranks == 1 else 'ranks'}, {title} {mpi.version},"
        f" {nodes}, {link_facts(meta.link, meta.ends)}"
    )


def _table(record: AppsRecord, width: int) -> str:
    rows = [cell for cell in _cells(record) if cell.figures and not cell.failure]
    if not rows:
        return ""
    columns = [
        ["median", *(_seconds(median(cell.figures.values())) for cell in rows)],
        ["fastest", *(_seconds(min(cell.figures.values())) for cell in rows)],
        ["slowest", *(_seconds(max(cell.figures.values())) for cell in rows)],
        ["runs", *(str(len(cell.figures)) for cell in rows)],
    ]
    title = "Whole job, from the launcher's start to its end"
    return text_table.grid(title, columns, [cell.over for cell in rows], width, "over")


def _parts_table(record: AppsRecord, width: int) -> str:
    """Empty: the parts of no way are known."""
    keys = [cell.key for cell in _in_order(record, run_cells(record))]
    if not keys:
        return ""
    of = {key: [one for one in record.launches if one.key == key and counts(one)] for key in keys}
    columns = [
        ["run", *(_seconds(median(one.run_s or 0.0 for one in of[key])) for key in keys)],
        ["start-up", *(_seconds(median(one.init_s or 0.0 for one in of[key])) for key in keys)],
        ["end", *(_seconds(median(one.finalize_s or 0.0 for one in of[key])) for key in keys)],
    ]
    title = "Run, MPI_Init and MPI_Finalize: medians of the slowest rank"
    return text_table.grid(title, columns, [key[2] for key in keys], width, "over")


def _seconds(value: float) -> str:
    return time_text(value * 1e9)


def _sentence(one: Compared, what: str) -> str:
    ratio = one.ratio
    name, base = (_NAMES.get(way, way) for way in (one.over, one.base))
    text = f"Over {name} {what} is {significant(ratio.value)} times as fast as over {base}"
    count = len(one.rounds)
    rounds = f"median of the ratios of {count} rounds" if count > 1 else "one round"
    if ratio.low is None or ratio.high is None:
        return (
            f"{text} ({rounds}, {significant(one.rounds[0])} to {significant(one.rounds[-1])};"
            f" --repeat {INTERVAL_ROUNDS} and more give a 95 % interval)."
        )
    text += f" ({rounds}; 95 % interval {significant(ratio.low)} to {significant(ratio.high)})"
    if ratio.low <= 1 <= ratio.high:
        text += ": no significant difference"
    return f"{text}."


def _different(record: AppsRecord) -> list[Launch]:
    return [one for one in record.launches if one.verified is False and one.check]


def _agreement(record: AppsRecord) -> str:
    looked = [one for one in record.launches if one.verified is not None]
    if not looked:
        return ""
    different = _different(record)
    if not different:
        return f"Output: the same in all {len(looked)} runs."
    overs = dict.fromkeys(one.over for one in different)
    text = (
        f"Output: different in {len(different)} of {len(looked)} runs, over"
        f" {', '.join(_NAMES.get(over, over) for over in overs)}: {different[0].check}."
    )
    if looked[0].over in overs:
        text += (
            " It also differs between runs over the same way: use --ignore REGEX to leave out lines"
            " that always change."
        )
    return text
