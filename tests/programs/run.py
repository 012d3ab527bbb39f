# SPDX-License-Identifier: BSD-3-Clause
"""Runs a program over TCP and over Beowire in turns, in a lab of two nodes that is its own, so that
nothing of it is left when the lab goes."""

import os
import random
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from beowire.apps import bounded, output
from beowire.apps.bounded import Ended
from beowire.conduct.others import Others
from beowire.errors import BeowireError
from beowire.interrupts import Interrupts
from beowire.places.lab.options import LabOptions
from beowire.places.launch.lab import LabLauncher
from beowire.places.mpi import ways
from beowire.places.mpi.installation import Installation
from beowire.places.mpi.places import LabPlace
from beowire.places.mpi.ways import Way

from . import compare
from .compare import Seen, Wrong
from .entry import Entry

Over = Literal["tcp", "beowire"]

#: What each is compared with comes first.
OVER: tuple[Over, ...] = ("tcp", "beowire")

_PREPARE_S = 600.0

_ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Runs:
    """What came of a program over one way."""

    seconds: list[float] = field(default_factory=list)
    """Of the runs that count, in their order; the first run of all warms up."""
    problem: str = ""
    """Of the first run that was wrong; empty: all were right."""


@dataclass(frozen=True)
class Outcome:
    """What came of a program."""

    entry: Entry
    version: str
    runs: dict[str, Runs]
    left_out: str = ""
    """Why it was not run."""
    other_cpus: float | None = None
    """Processors' time of this machine that other programs used, in the mean; None: not known."""


def program_outcome(
    entry: Entry,
    mpi: Installation,
    directory: Path,
    interrupts: Interrupts,
    *,
    repeat: int,
    seed: int,
) -> Outcome:
    """Prepares and runs it; everything it writes is below `directory`, which is made anew."""
    shutil.rmtree(directory, ignore_errors=True)
    template = directory / "input"
    template.mkdir(parents=True)
    for name, text in entry.files.items():
        (template / name).parent.mkdir(parents=True, exist_ok=True)
        (template / name).write_text(text, encoding="utf-8")
    if problem := _prepare(entry, template, interrupts):
        return Outcome(entry, "", {}, problem)
    turns = _Turns(entry, mpi, directory, interrupts)
    others = Others()
    runs = turns.all(repeat, seed)
    return Outcome(entry, version_of(entry), runs, other_cpus=others.cpus())


def version_of(entry: Entry) -> str:
    """As its package or the program says; empty if it says nothing."""
    asks, _, command = entry.version.partition("sh: ")
    return _line_of(["sh", "-c", command] if command else ["dpkg-query", "-Wf${Version}", asks])


def source_of(entry: Entry) -> str:
    """Debian's source package that it takes something from; empty: none."""
    name, _, command = entry.source.partition("sh: ")
    return _line_of(["sh", "-c", command]) if command else name


def _line_of(words: Sequence[str]) -> str:
    """The first line that a command prints; empty: none."""
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    lines = done.stdout.strip().splitlines()
    return lines[0].strip() if lines else ""


class _Turns:
    """The runs of one program."""

    def __init__(
        self, entry: Entry, mpi: Installation, directory: Path, interrupts: Interrupts
    ) -> None:
        self._entry = entry
        self._mpi = mpi
        self._directory = directory
        self._interrupts = interrupts
        self._first: Seen | None = None
        self._runs: dict[str, Runs] = {over: Runs() for over in OVER}

    def all(self, repeat: int, seed: int) -> dict[str, Runs]:
        """One run over each way that warms up, then `repeat`, in an order of chance. A way that
        fails is not tried again."""
        order = random.Random(seed)
        with LabLauncher(LabOptions(), f"programs-{os.getpid()}") as launcher:
            place = LabPlace(launcher)
            for number in range(repeat + 1):
                for over in OVER if number == 0 else order.sample(OVER, len(OVER)):
                    if not self._runs[over].problem:
                        self._once(place, over, number)
        return self._runs

    def _once(self, place: LabPlace, over: Over, number: int) -> None:
        where = self._directory / f"{over}-{number}"
        shutil.copytree(self._directory / "input", where, symlinks=True)
        runs = self._runs[over]
        try:
            ended = self._launched(place, over, where)
        except BeowireError as error:
            runs.problem = str(error)
            return
        (where / "stdout").write_text(ended.output, encoding="utf-8")
        (where / "stderr").write_text(ended.errors, encoding="utf-8")
        runs.problem = self._judged(where, ended)
        if runs.problem:
            return
        if number > 0:
            runs.seconds.append(_seconds(self._entry, ended))
        shutil.rmtree(where)  # what was right takes no room

    def _launched(self, place: LabPlace, over: Over, where: Path) -> Ended:
        """Its jobs, as if they were one; the first that fails is the last."""
        entry = self._entry
        way = ways.way(self._mpi, over)
        way = Way(way.name, {**way.variables, **entry.over.get(over, {})})
        whole = Ended(0, "", "", 0.0)
        for line in entry.run:
            # Whoever enters a node comes from elsewhere.
            words = ["env", *_pairs(entry), "sh", "-c", f"cd {shlex.quote(str(where))} && {line}"]
            left_s = entry.timeout_s - whole.seconds
            with place.prepared(self._mpi, way, entry.ranks, words, []) as (command, environment):
                ended = bounded.run(command, environment, left_s, self._interrupts, where)
            whole = Ended(
                ended.status,
                whole.output + ended.output,
                whole.errors + ended.errors,
                whole.seconds + ended.seconds,
                f"it does not end within {entry.timeout_s:g} s" if ended.stopped else "",
            )
            if ended.stopped or ended.status != 0:
                break
        return whole

    def _judged(self, where: Path, ended: Ended) -> str:
        """Why the run is wrong; empty: it is right."""
        if ended.stopped:
            return ended.stopped
        how = self._entry.compare
        try:
            seen = compare.look(how, where, f"{ended.output}\n{ended.errors}", ended.status)
        except Wrong as error:
            texts = [ended.errors, ended.output]
            said = output.reason(self._entry.name, texts) if ended.status else ""
            return f"{error}: {said}" if said else str(error)
        if self._first is None:
            self._first = seen
            return ""
        return compare.difference(how, self._first, seen)


def _pairs(entry: Entry) -> list[str]:
    return [f"{name}={value}" for name, value in entry.variables.items()]


def _prepare(entry: Entry, template: Path, interrupts: Interrupts) -> str:
    """Why it cannot be prepared; empty: it is."""
    environment = {**os.environ, **entry.variables, "PYTHON": sys.executable}
    log = template.parent / "prepare.log"
    scripts = [["sh", "-euc", entry.prepare]]
    if source := source_of(entry):
        scripts.insert(0, [str(_ROOT / "scripts" / "fetch-source"), source])
        environment["SOURCE"] = str(_ROOT / "build" / "programs" / "sources" / source)
    for words in scripts:
        done = bounded.run(words, environment, _PREPARE_S, interrupts, template)
        log.write_text(done.output + done.errors, encoding="utf-8")
        if done.stopped or done.status != 0:
            lines = (done.errors or done.output).strip().splitlines() or [f"status {done.status}"]
            return f"cannot be prepared: {done.stopped or lines[-1][:200]}"
    return ""


def _seconds(entry: Entry, ended: Ended) -> float:
    """By its own clock if it has one."""
    if entry.seconds is not None:
        found: Sequence[str] = re.findall(entry.seconds, ended.output, re.MULTILINE)
        if found:
            return float(found[-1])
    return ended.seconds
