# SPDX-License-Identifier: BSD-3-Clause
"""A paper: what its file says (docs/EXTENDING.md), what is run for it, and what becomes of that."""

import contextlib
import re
import shutil
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from beowire.apps.record import AppsMeta
from beowire.errors import BeowireError
from beowire.places.lab.machines import parts
from beowire.places.mpi import installation
from beowire.record.lines import Meta, NodeEnd
from beowire.record.parts import Link
from beowire.reproduce import charts
from beowire.reproduce.page import Missing, Part, Picture, Reproduction, Table
from beowire.reproduce.steps import Found, Step
from beowire.reproduce.values import Scope
from beowire.show.drawing import Nothing

_DIRECTORY = Path(__file__).parent / "papers"

#: Which MPI stands for the paper's, the first that is here.
_MPIS = ("openmpi4", "openmpi5", "mpich", "intel")

_EMULATED = (
    "**Figures under emulation compare only with one another**: those below say nothing of any"
    " network card."
)

Loops = Mapping[str, Any]


class _Told(BaseModel):
    """A table of a paper's file."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Launches(_Told):
    """How many launches of programs there is time for: `ways` of them by turns, the first of each
    `first_s`, others `each_s` seconds."""

    ways: int = 1
    first_s: float = 0.0
    each_s: float
    least: int
    most: int = 1_000_000


class StepOf(_Told):
    """A command of Beowire that is run. `{time}` in it is its share of the time, `{mpi}` an MPI: if
    there is none, drivers that need one are left out."""

    name: str
    what: str
    command: str
    each: Loops = {}
    share: float
    more_s: float = 0.0
    factor: float = 1.0
    """Of the launches' time."""
    launches: Launches | None = None
    needs: Sequence[Literal["machines", "mpi", "perf"]] = ()


class Cells(_Told):
    """Several cells of a row; as `joined` one, without those in which nothing was measured."""

    each: Loops
    cells: str = ""
    joined: str = ""


class Rows(_Told):
    """A row, or one for each of what names go through."""

    each: Loops = {}
    cells: list[str | Cells]
    measured: bool = False
    """Leave out those in which nothing was measured."""


class PartOf(charts.Chart):
    """A table or a picture of the page, or one for each of what names go through."""

    title: str
    steps: Sequence[str] = ()
    """It is missing if none of these has left a record."""
    said: str = ""
    columns: Sequence[str | Cells] = ()
    rows: Sequence[list[str | Cells] | Rows] = ()


class Note(_Told):
    """A note that is there only if an expression holds."""

    text: str
    when: str


class Paper(_Told):
    """A paper whose measurements can be repeated: its file."""

    number: str
    subject: str
    """What is measured again, in a few words."""
    title: str
    lead: list[str]
    names: Mapping[str, Any] = {}
    """Of the paper's figures and other values, for expressions."""
    colours: Mapping[str, str] = {}
    """Of drivers, where the report's are too much alike."""
    step: list[StepOf]
    part: list[PartOf]
    notes: list[str | Note]

    def plan(self, seconds: float) -> list[Step]:
        """What is to be run where measuring may take so many seconds."""
        mpi = first_mpi() or ""
        nothing = Scope(Found(()), self.names)
        return [
            _step(one, scope, seconds, mpi) for one in self.step for scope in nothing.each(one.each)
        ]

    def tell(self, found: Found) -> Reproduction:
        """The page of what came of it. A note that lacks a value is left out."""
        names = {"emulated": _EMULATED, "mpi": first_mpi() or "", **self.names}
        scope = Scope(found, names)
        notes = [Note(text=one, when="1") if isinstance(one, str) else one for one in self.notes]
        said = [
            scope.text(note.text)
            for note in notes
            if scope.value(note.when) and all(scope.known(note.text))
        ]
        return Reproduction(
            f"Paper {self.number}: {self.title}",
            tuple(self._part(one, each) for one in self.part for each in scope.each(one.each)),
            (*said, *_left_out(found)),
            found.commands,
            (*(scope.text(text) for text in self.lead), *_where(found)),
        )

    def _part(self, part: PartOf, scope: Scope) -> Part:
        """A part, or why it is not there."""
        title, file = scope.text(part.title), scope.text(part.file)
        comparisons, programs = scope.found.comparisons, scope.found.programs
        known = [step for step in part.steps if step in comparisons or step in programs]
        if part.steps and not known:
            return Missing(title, scope.found.why(part.steps[0]))
        try:
            if not part.file:
                return _table(part, scope)
            svg = charts.drawn(part, scope, part.steps[0], self.colours)
        except Nothing:
            skipped = [one for step in known for one in comparisons[step].record.skipped]
            left = dict.fromkeys(f"{one.driver}: {one.reason}" for one in skipped)
            return Missing(title, "; ".join(left) or "time was too short for it")
        return Picture(title, f"{self.number}-{file}.svg", svg, scope.text(part.said))


def papers() -> dict[str, Paper]:
    """All papers by number."""
    files = sorted(_DIRECTORY.glob("*.toml"))
    known = [
        Paper.model_validate(tomllib.loads(file.read_text(encoding="utf-8"))) for file in files
    ]
    return {paper.number: paper for paper in known}


def paper_of(number: str) -> Paper:
    """The paper of this number; BeowireError with all of them when there is none."""
    known = papers()
    if number not in known:
        listed = ", ".join(f"{one.number} ({one.subject})" for one in known.values())
        raise BeowireError(f"no paper {number!r}; those that can be reproduced: {listed}")
    return known[number]


def first_mpi() -> str | None:
    """The name of an MPI that programs can be compiled for; None: there is none."""
    for name in _MPIS:
        with contextlib.suppress(BeowireError):
            if installation.find(name).compiler is not None:
                return name
    return None


def _absent(need: str, mpi: str) -> str:
    """Why something cannot be had here, in a line; empty: it can."""
    if need == "mpi":
        return "" if mpi else "there is no MPI here (Debian: libopenmpi-dev)"
    if need == "perf":
        return "" if shutil.which("perf") else "there is no perf here (Debian: linux-perf)"
    try:
        parts.qemu_parts()
    except BeowireError as error:
        return str(error)
    return ""


def _step(step: StepOf, scope: Scope, seconds: float, mpi: str) -> Step:
    time_s = takes_s = step.share * seconds
    count = 0
    if step.launches is not None:
        few = step.launches
        count = round((time_s / few.ways - few.first_s) / few.each_s)
        count = min(few.most, max(few.least, count))
        takes_s = step.factor * few.ways * (few.first_s + count * few.each_s)
    here = scope.bind({"time": f"{time_s:g}", "mpi": mpi, "launches": count})
    command = step.command if mpi else re.sub(r",?mpi:\{mpi\}[^, ]*", "", step.command)
    words = tuple(here.text(word) for word in command.split())
    reasons = [reason for need in step.needs if (reason := _absent(need, mpi))]
    takes_s += step.more_s
    return Step(here.text(step.name), here.text(step.what), words, takes_s, "".join(reasons[:1]))


def _cells(cells: Sequence[str | Cells], scope: Scope) -> Iterator[str]:
    for one in cells:
        if isinstance(one, str):
            yield scope.text(one)
        elif one.cells:
            yield from (each.text(one.cells) for each in scope.each(one.each))
        else:
            known = [each for each in scope.each(one.each) if any(each.known(one.joined))]
            yield ", ".join(each.text(one.joined) for each in known) or "not measured"


def _table(part: PartOf, scope: Scope) -> Table:
    rows = []
    for row in part.rows:
        told = row if isinstance(row, Rows) else Rows(cells=row)
        texts = [one for one in told.cells if isinstance(one, str)]
        for each in scope.each(told.each):
            if not told.measured or any(each.known(*texts)):
                rows.append(tuple(_cells(told.cells, each)))
    if not rows:
        raise Nothing(part.title)
    return Table(part.title, tuple(_cells(part.columns, scope)), tuple(rows), scope.text(part.said))


def _left_out(found: Found) -> Iterator[str]:
    """A note each: steps and drivers that were not measured, and why."""
    yield from (f"`{name}` was not measured: {why}." for name, why in found.reasons.items() if why)
    for name, comparison in found.comparisons.items():
        skipped = [one for one in comparison.record.skipped if one.pattern is None]
        for driver, reason in dict.fromkeys((one.driver, one.reason) for one in skipped):
            yield f"`{driver}` is not in `{name}`: {reason}."
        yield from (f"`{name}`: {warning}." for warning in comparison.record.warnings)
    for name, programs in found.programs.items():
        yield from (f"`{name}`: {warning}." for warning in programs.warnings)
        for left in programs.skipped:
            what = "/".join(word for word in (left.app, left.mpi, left.over) if word)
            yield f"`{what}` is not in `{name}`: {left.reason}."


def _where(found: Found) -> list[str]:
    """Where and when it was measured, in a sentence."""
    metas: list[Meta | AppsMeta] = [record.meta for record in found.records]
    for meta in (*metas, *(record.meta for record in found.programs.values())):
        return [f"Measured on {meta.started:%-d %B %Y}. {_nodes(meta.link, meta.ends)}."]
    return []


def _nodes(link: Link, ends: Sequence[NodeEnd]) -> str:
    facts = ends[0].environment
    nodes = {
        "vm": f"Two machines of QEMU ({link.accelerator or 'tcg'}), joined by emulated cards"
        f" {link.nic}, Linux {link.kernel}",
        "uml": f"Two nodes in user-mode Linux {link.kernel}",
        None: "Two nodes of a lab on one host" if link.kind == "lab" else "Two ends on one host",
    }[link.backend]
    kernel = "" if link.backend else f", Linux {facts.get('kernel')}"
    return f"{nodes}; {facts.get('cpu_model') or 'an unknown processor'}{kernel}"
