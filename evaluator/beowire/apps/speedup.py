# SPDX-License-Identifier: BSD-3-Clause
"""One program of the user's over several ways, in turns: what is said of it. Pure, but for the
search for its MPI.

`beowire speedup` and `beowire lab mpirun --over tcp,beowire` run it as `beowire apps` does; here
is the short answer: how long it takes over each way, and how many times as fast it is.
"""

import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from beowire import text_table
from beowire.apps.record import AppsRecord, Launch
from beowire.apps.results import BASE, Cell, cells, failures, speedup
from beowire.errors import BeowireError
from beowire.mpi import installation, linkage
from beowire.mpi.installation import KINDS, Installation
from beowire.report.link import link_facts
from beowire.statistics import Estimate
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
    found = {cell.over: cell for cell in _cells(record)}
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
    parts = [_heading(record, words)]
    parts += ["\n".join(_sentence(one) for one in compared(record))]
    parts.append(_agreement(record))
    if problems := failures(record):
        parts.append("\n".join(["Not measured, or not to the end", *(f"  {p}" for p in problems)]))
    heading, *others = (text_table.filled(part, width) for part in parts)
    return "\n\n".join(part for part in [heading, _table(record, width), *others] if part)


def as_data(record: AppsRecord, words: Sequence[str]) -> dict[str, object]:
    """The same for programs."""
    return {
        "program": list(words),
        "mpi": record.meta.mpis[0].name,
        "ranks": record.meta.options.get("ranks"),
        "seconds": {cell.over: list(cell.figures.values()) for cell in _cells(record)},
        "speedup": [
            {
                "over": one.over,
                "to": one.base,
                "median": one.ratio.value,
                "ci95": None
                if one.ratio.low is None or one.ratio.high is None
                else [one.ratio.low, one.ratio.high],
            }
            for one in compared(record)
        ],
        "different_outputs": [
            {"over": one.over, "round": one.round, "difference": one.check}
            for one in _different(record)
        ],
        "failures": failures(record),
    }


def agrees(record: AppsRecord) -> bool:
    """Nothing was printed that was not printed the first time, as far as that was looked at."""
    return not _different(record)


def _cells(record: AppsRecord) -> list[Cell]:
    """In the order in which the ways were asked for."""
    asked = record.meta.options.get("over")
    order = [str(one) for one in asked] if isinstance(asked, list) else []
    found = cells(record.launches, record.meta.apps).values()
    return sorted(found, key=lambda cell: order.index(cell.over) if cell.over in order else 99)


def _of_rounds(cell: Cell, base: Cell) -> list[float]:
    both = cell.figures.keys() & base.figures.keys()
    return sorted(base.figures[one] / cell.figures[one] for one in both if cell.figures[one] > 0)


def _heading(record: AppsRecord, words: Sequence[str]) -> str:
    meta = record.meta
    mpi = meta.mpis[0]
    nodes = " ⇄ ".join(end.node for end in meta.ends)
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
    title = "Time of the whole job, from its launcher's start to its end"
    return text_table.grid(title, columns, [cell.over for cell in rows], width, "over")


def _seconds(value: float) -> str:
    return time_text(value * 1e9)


def _sentence(one: Compared) -> str:
    ratio = one.ratio
    name, base = (_NAMES.get(way, way) for way in (one.over, one.base))
    text = f"Over {name} it is {significant(ratio.value)} times as fast as over {base}"
    if ratio.low is None or ratio.high is None:
        return (
            f"{text} (rounds: {significant(one.rounds[0])} to {significant(one.rounds[-1])};"
            f" from --repeat {INTERVAL_ROUNDS} on there is a 95 % interval)."
        )
    text += f" (95 % interval {significant(ratio.low)} to {significant(ratio.high)})"
    if ratio.low <= 1 <= ratio.high:
        text += ": this cannot be told from no difference"
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
            " It is not the same from run to run over one way either: leave out lines that change"
            " by themselves with --ignore REGEX."
        )
    return text
