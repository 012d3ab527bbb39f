# SPDX-License-Identifier: BSD-3-Clause
"""What came of programs, as rows of JSON, and these as tables: for a terminal, and the one of
docs/PROGRAMS.md, which is made from docs/programs.json. Pure but for reading and writing these.

A row stands for a program, an MPI and a distribution; a new one takes the place of the old one.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from beowire import files
from beowire.analysis.statistics import order_interval
from beowire.errors import BeowireError
from beowire.record.lines import BUSY_SHARE
from beowire.units import significant

from . import compare
from .run import Outcome

Row = dict[str, Any]

#: Between these the document's table is.
BEGIN, END = "<!-- the table of docs/programs.json -->", "<!-- end of the table -->"

_NAMES = {"tcp": "over TCP", "beowire": "over Beowire"}

#: Then a column for each MPI and distribution.
_HEAD = ("program", "what it exercises", "how compared")


def row(outcome: Outcome, where: Row) -> Row:
    """Of an outcome; `where` is the same for all of a run: distribution, MPI, processor, date."""
    entry, runs = outcome.entry, outcome.runs
    made: Row = {
        "name": entry.name,
        "title": entry.title,
        "version": outcome.version,
        "ranks": entry.ranks,
        "exercises": entry.exercises,
        "compared": compare.how_text(entry.compare),
        "left_out": outcome.left_out,
        "problems": {over: one.problem for over, one in runs.items()},
        "seconds": {over: [round(s, 3) for s in one.seconds] for over, one in runs.items()},
        "clock": "job" if entry.seconds is None else "program",
        "other_cpus": outcome.other_cpus and round(outcome.other_cpus, 2),
        "over": entry.over,
        "note": entry.note,
        **where,
    }
    return made


def result(one: Row) -> str:
    """In words."""
    if one["left_out"]:
        return f"not run: {one['left_out']}"
    tcp, ours = one["problems"]["tcp"], one["problems"]["beowire"]
    if tcp and ours:
        return f"fails over both: {tcp}" + ("" if ours == tcp else f"; over Beowire: {ours}")
    if tcp:
        return f"yes; over TCP: {tcp}"
    return f"NO: {ours}" if ours else "yes"


def is_failure(one: Row) -> bool:
    """Whether it fails over Beowire alone."""
    return not one["left_out"] and bool(one["problems"]["beowire"]) and not one["problems"]["tcp"]


def ratio(one: Row) -> str:
    """Of the run times, round by round: their median, and how far it is sure."""
    pairs = zip(one["seconds"].get("beowire", []), one["seconds"].get("tcp", []), strict=False)
    ratios = sorted(ours / tcp for ours, tcp in pairs if tcp > 0)
    if not ratios:
        return ""
    if len(ratios) == 1:
        return f"{significant(ratios[0])} (one round)"
    found = order_interval(ratios)
    if found.low is not None and found.high is not None:
        reach = f"95 %: {significant(found.low)} to {significant(found.high)}"
    else:
        reach = f"rounds: {significant(ratios[0])} to {significant(ratios[-1])}"
    return f"{significant(found.value)} ({reach})"


def line(one: Row) -> str:
    """For a terminal."""
    parts = [one["name"], one["version"], result(one)]
    if text := ratio(one):
        parts.append(f"run time, Beowire / TCP: {text}")
    return "  ".join(part for part in parts if part)


def merged(path: Path, rows: Sequence[Row]) -> list[Row]:
    """What the file has, and these in the place of older ones."""
    found = {_key(one): one for one in [*read(path), *rows]}
    return [found[key] for key in sorted(found)]


def read(path: Path) -> list[Row]:
    """The rows of a file; none of one that is not there. BeowireError: it is none of ours."""
    if not path.exists():
        return []
    try:
        rows: list[Row] = json.loads(path.read_text(encoding="utf-8"))["programs"]
    except (ValueError, KeyError, TypeError):
        raise BeowireError(f"{path} is no result of scripts/test-programs: name another") from None
    return rows


def write(path: Path, rows: Sequence[Row]) -> None:
    """As JSON, a line for each row."""
    lines = [json.dumps(one, sort_keys=True, ensure_ascii=False) for one in rows]
    files.write_named(path, '{"programs": [\n' + ",\n".join(lines) + "\n]}\n")


def document(text: str, rows: Sequence[Row]) -> str:
    """The document with this table in the place of its own. BeowireError: it has none."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise BeowireError(f"the document has no lines {BEGIN} and {END}")
    return f"{before}{BEGIN}\n{_table(rows)}\n{END}{after}"


def _table(rows: Sequence[Row]) -> str:
    """A line for each program, which may have run with several MPIs."""
    wheres = sorted({(one["distribution"], one["mpi"]) for one in rows})
    programs: dict[str, dict[tuple[str, str], Row]] = {}
    for one in rows:
        programs.setdefault(one["name"], {})[one["distribution"], one["mpi"]] = one
    head = [*_HEAD, *(f"{mpi}, {distribution}" for distribution, mpi in wheres)]
    lines = [_cells(head), "|" + "---|" * len(head)]
    for by_where in programs.values():
        last = list(by_where.values())[-1]
        cells = [f"{last['title']} (`{last['name']}`), {last['ranks']} ranks"]
        cells += [last["exercises"], last["compared"]]
        cells += [_outcome(by_where[where]) if where in by_where else "" for where in wheres]
        lines.append(_cells(cells))
    return "\n".join(lines)


def _outcome(one: Row) -> str:
    """Which version, whether it is right, its run time, and what has to be known of that."""
    parts = [f"{one['version']}: {result(one)}" if one["version"] else result(one)]
    if text := ratio(one):
        parts.append(text + ("" if one["clock"] == "job" else " by its own clock"))
    parts += [_others(one)]
    parts += [f"{_NAMES[over]} with {_words(words)}" for over, words in one["over"].items()]
    parts += [one["note"]]
    return "; ".join(part for part in parts if part)


def _others(one: Row) -> str:
    """How much of the machine others used meanwhile; empty: too little to be felt."""
    used = one.get("other_cpus")
    if not ratio(one) or used is None or used < BUSY_SHARE * one["cores"]:
        return ""
    return f"others used {significant(used, 2)} of {one['cores']} cores"


def _words(variables: dict[str, str]) -> str:
    return " ".join(f"`{name}={value}`" for name, value in variables.items())


def _cells(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def _key(one: Row) -> tuple[str, str, str]:
    return one["name"], one["distribution"], one["mpi"]
