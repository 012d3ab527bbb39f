# SPDX-License-Identifier: BSD-3-Clause
"""A whole run of programs: from a place to a finished record, whatever happens on the way.

A way over which a program fails is not tried again, and the others go on.
"""

import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from beowire import __version__
from beowire.apps import bounded, building, output, plan, programs, results
from beowire.apps.agreement import Agreement
from beowire.apps.bounded import Ended
from beowire.apps.catalogue import App
from beowire.apps.npb import Tree
from beowire.apps.plan import Turn
from beowire.apps.programs import Found, Program
from beowire.apps.record import (
    IDLE,
    AppInfo,
    AppsMeta,
    Launch,
    Left,
    MpiInfo,
    Profile,
    read_apps_record,
)
from beowire.conduct.load import Background
from beowire.conduct.others import Others
from beowire.conduct.survey import survey
from beowire.errors import BeowireError
from beowire.files import make_directory
from beowire.interrupts import Interrupts
from beowire.places.mpi import ways
from beowire.places.mpi.installation import Installation
from beowire.places.mpi.places import Place
from beowire.places.mpi.ways import Way
from beowire.plan.load import Load
from beowire.record.lines import End, NodeEnd
from beowire.record.parts import Link, RecordLine
from beowire.record.writer import RecordWriter
from beowire.show.display import Display

#: Hogs end by themselves so long after everything should be over.
_LOAD_SPARE_S = 60.0

_NOT_STARTED = Ended(1, "", "", 0.0)


@dataclass(frozen=True)
class Request:
    """What the user asked for, checked."""

    apps: Sequence[App]
    mpis: Sequence[Installation]
    over: Sequence[str]
    directory: Path
    command: Sequence[str]
    """The command line, for the record."""
    words: Sequence[str] = ()
    """The command line of a program of the user."""
    loads: dict[str, Load | None] = field(default_factory=lambda: {IDLE: None})
    ranks: int = 2
    letter: str = "S"
    launches: int = 6
    timeout_s: float = 600.0
    seed: int = 1
    tree: Tree | None = None
    profile: bool = True
    agreement: Agreement | None = None
    """Outputs are compared by this; None: they are not."""
    own_directory: bool = False
    """The directory's name is ours: one that is there already is somebody else's."""
    left: Sequence[Left] = ()
    """What cannot be measured, as is known before."""
    say: "Say | None" = None

    @property
    def record(self) -> Path:
        """Where the record will be."""
        return self.directory / "record.jsonl"


class Say:
    """Hears of each line of the record when it is there."""

    def line(self, line: RecordLine) -> None:
        """Does nothing with it."""


@dataclass(frozen=True)
class Outcome:
    """How a run ended; the record is there in any case."""

    failures: list[str]
    interrupted: bool


def run(place: Place, request: Request, interrupts: Interrupts) -> Outcome:
    """Measures and writes the record. BeowireError before anything is measured, or when the record
    cannot be written any more; what was written is kept, and all that was started has ended."""
    if request.record.exists():
        raise BeowireError(
            f"{request.record} exists already and is not overwritten: name another directory"
        )
    with Display() as display, _entered(place, interrupts):
        display.note("Looking at both ends ...")
        ends = survey(place.launcher, interrupts).ends
        writer = _create(request)
        try:
            return _Run(place, request, interrupts, display, writer).run(ends)
        finally:
            writer.close()


def _before(library: Path, scratch: Path) -> str:
    """The library before those that the user has loaded. The list has no way to say a name with a
    blank or a colon: there the library gets another."""
    name = str(library)
    if any(one in name for one in " :"):
        link = scratch / library.name
        link.symlink_to(library)
        name = str(link)
    own = os.environ.get("LD_PRELOAD", "")
    return f"{name}:{own}" if own else name


@contextmanager
def _entered(place: Place, interrupts: Interrupts) -> Iterator[None]:
    """The launcher's context; what it undoes is undone whole."""
    with place.launcher:
        try:
            yield
        finally:
            interrupts.hold()


def _create(request: Request) -> RecordWriter:
    make_directory(request.directory, new=request.own_directory)
    return RecordWriter(request.record)


Key = tuple[str, str]


class _Run:
    """One run with an open record."""

    def __init__(
        self,
        place: Place,
        request: Request,
        interrupts: Interrupts,
        display: Display,
        writer: RecordWriter,
    ) -> None:
        self._place = place
        self._request = request
        self._interrupts = interrupts
        self._display = display
        self._writer = writer
        self._mpis = {mpi.name: mpi for mpi in request.mpis}
        self._programs: dict[Key, Program] = {}
        self._ways: dict[tuple[str, str], Way] = {}
        self._dead: set[tuple[str, str, str, str]] = set()
        self._failures: list[str] = []
        self._others = Others()
        self._libraries: dict[str, Path | None] = {}

    def run(self, ends: list[NodeEnd]) -> Outcome:
        begun = time.monotonic()
        status = "ok"
        try:
            self._write(self._meta(ends))
            for line in self._request.left:
                self._write(line)
            self._make()
            self._measure()
            if self._request.profile:
                self._profile()
        except KeyboardInterrupt:
            status = "interrupted"
        with self._interrupts.held():
            found = read_apps_record(self._request.record)
            for result in results.results(found):
                self._write(result)
            failures = [*self._failures, *results.failures(found)]
            if failures and status == "ok":
                status = "; ".join(failures)
            self._write(self._end(status, time.monotonic() - begun))
            self._writer.finish()
        return Outcome(failures, status == "interrupted")

    def _end(self, status: str, elapsed_s: float) -> End:
        """The last line, with what others used meanwhile, where all of ours runs here."""
        ours = self._place.launcher.kind != "hosts"
        busy = self._others.busy() if ours else None
        return End(
            finished=datetime.now(UTC),
            status=status,
            elapsed_s=elapsed_s,
            other_cpus=self._others.cpus() if ours else None,
            busy_s=busy.seconds if busy else None,
            busy_cpus=busy.cpus if busy else None,
        )

    def _meta(self, ends: list[NodeEnd]) -> AppsMeta:
        request = self._request
        used = self._place.used(request.ranks)
        return AppsMeta(
            beowire=__version__,
            started=datetime.now(UTC),
            command=list(request.command),
            options={
                "class": request.letter,
                "ranks": request.ranks,
                "launches": request.launches,
                "seed": request.seed,
                "timeout_s": request.timeout_s,
                "over": list(request.over),
                "load": list(request.loads),
                "npb": None if request.tree is None else request.tree.version,
                "nodes": list(used.nodes),
                "cores": used.cores,
            },
            link=Link.model_validate(self._place.launcher.describe_link()),
            ends=ends,
            mpis=[
                MpiInfo(name=mpi.name, version=mpi.version, launcher=str(mpi.launcher))
                for mpi in request.mpis
            ],
            apps=[
                AppInfo(
                    name=app.name,
                    summary=app.summary,
                    unit=app.unit,
                    less_is_better=app.less_is_better,
                )
                for app in request.apps
            ],
        )

    def _make(self) -> None:
        """Compiles what can be, and says why the rest cannot."""
        request = self._request
        for mpi in request.mpis:
            for over in request.over:
                try:
                    self._ways[mpi.name, over] = ways.way(mpi, over)
                except BeowireError as error:
                    self._write(Left(mpi=mpi.name, over=over, reason=str(error)))
        for app in request.apps:
            if refusal := app.refusal(request.ranks):
                self._write(Left(app=app.name, reason=refusal.removeprefix(f"{app.name} ")))
                continue
            for mpi in request.mpis:
                self._display.note(f"Compiling {app.name} for {mpi.name} ...")
                try:
                    self._programs[app.name, mpi.name] = programs.make(
                        app,
                        mpi,
                        letter=request.letter,
                        ranks=request.ranks,
                        tree=request.tree,
                        words=request.words,
                    )
                except BeowireError as error:
                    self._write(Left(app=app.name, mpi=mpi.name, reason=str(error)))

    def _measure(self) -> None:
        """All rounds; the first warms up."""
        request = self._request
        chosen = [
            (app, mpi, over)
            for app, mpi in self._programs
            for name, over in self._ways
            if name == mpi
        ]
        for number in range(request.launches + 1):
            turns = plan.round_of(chosen, list(request.loads), request.seed, number)
            for load in dict.fromkeys(turn.load for turn in turns):
                self._turns(number, load, [turn for turn in turns if turn.load == load])

    def _turns(self, number: int, load: str, turns: Sequence[Turn]) -> None:
        """The turns of a round that have the same load."""
        request = self._request
        left = [one for one in turns if (one.app, one.mpi, one.over, load) not in self._dead]
        if not left:
            return
        seconds = request.timeout_s * len(left) + _LOAD_SPARE_S
        launcher = self._place.launcher
        with Background(launcher, request.loads[load], seconds, self._interrupts) as background:
            for turn in left:
                self._show(number, turn)
                self._write(self._launch(number, turn))
                self._others.look()
            self._failures += background.failures()

    def _launch(self, number: int, turn: Turn) -> Launch:
        library = self._phases_library(turn.mpi)
        found, ended = self._start(turn.app, turn.mpi, turn.over, library)
        phases = output.phases(ended.errors)
        if found.status != "ok":
            self._dead.add((turn.app, turn.mpi, turn.over, turn.load))
        said = found.said
        verifies = said is not None and self._programs[turn.app, turn.mpi].app.kind != "user"
        verified = said.verified if said is not None and verifies else None
        check = "" if said is None else said.check
        agreement = self._request.agreement
        if agreement is not None and found.status == "ok":
            whose = f"over {turn.over} {f'in round {number}' if number else 'at first'}"
            check = agreement.difference(whose, ended.output)
            verified = not check
        return Launch(
            app=turn.app,
            mpi=turn.mpi,
            over=turn.over,
            load=turn.load,
            round=number,
            status=found.status,
            wall_s=ended.seconds,
            init_s=None if phases is None else phases.init_s,
            run_s=None if phases is None else phases.run_s,
            finalize_s=None if phases is None else phases.finalize_s,
            figure=None if said is None else said.figure,
            seconds=None if said is None else said.seconds,
            verified=verified,
            check=check,
            communication_share=None if said is None else said.communication_share,
        )

    def _phases_library(self, mpi: str) -> Path | None:
        """None: it cannot be made, and the time of the whole is all that is known."""
        if mpi not in self._libraries:
            try:
                self._libraries[mpi] = building.phases_library(self._mpis[mpi])
            except BeowireError:
                self._libraries[mpi] = None
        return self._libraries[mpi]

    def _start(
        self, app: str, mpi: str, over: str, library: Path | None = None
    ) -> tuple[Found, Ended]:
        """What came of a launch, and how it ended."""
        program, way = self._programs[app, mpi], self._ways[mpi, over]
        files = [*program.files, *([library] if library else [])]
        try:
            with tempfile.TemporaryDirectory(prefix="beowire-apps-") as scratch:
                words = program.command(Path(scratch))
                if library is not None:
                    words = ["env", f"LD_PRELOAD={_before(library, Path(scratch))}", *words]
                with self._place.prepared(
                    self._mpis[mpi], way, self._request.ranks, words, files
                ) as (command, environment):
                    ended = bounded.run(
                        command, environment, self._request.timeout_s, self._interrupts
                    )
                said = replace(ended, errors=output.without_phases(ended.errors))
                return program.read(said, Path(scratch)), ended
        except BeowireError as error:
            return Found(str(error)), _NOT_STARTED
        except OSError as error:
            return Found(f"{error.filename or 'a file'}: {error.strerror}"), _NOT_STARTED

    def _profile(self) -> None:
        """Counts, without load, in a launch of its own for each way."""
        failed = {key[:3] for key in self._dead}
        for app, mpi in self._programs:
            try:
                library = building.profile_library(self._mpis[mpi])
            except BeowireError as error:
                self._write(Left(app=app, mpi=mpi, reason=f"not profiled: {error}"))
                continue
            for name, over in self._ways:
                if name == mpi and (app, mpi, over) not in failed:
                    self._display.note(f"Counting the messages of {app} over {over} ({mpi}) ...")
                    self._write(self._counted(app, mpi, over, library))

    def _counted(self, app: str, mpi: str, over: str, library: Path) -> Profile:
        found, ended = self._start(app, mpi, over, library)
        if found.status != "ok":
            return Profile(app=app, mpi=mpi, over=over, status=found.status)
        try:
            calls = output.profile(ended.errors)
        except output.Unreadable as error:
            return Profile(app=app, mpi=mpi, over=over, status=str(error))
        return Profile(
            app=app,
            mpi=mpi,
            over=over,
            status="ok",
            mpi_share=calls.mpi_share,
            messages=calls.messages,
            bytes=calls.bytes,
            sizes=sorted(calls.sizes.items()),
            collectives=calls.collectives,
            collective_bytes=calls.collective_bytes,
        )

    def _show(self, number: int, turn: Turn) -> None:
        which = f"round {number} of {self._request.launches}" if number else "warming up"
        beside = "" if turn.load == IDLE else f" beside {turn.load}"
        self._display.note(f"{which}: {turn.app} over {turn.over} ({turn.mpi}){beside}")

    def _write(self, line: RecordLine) -> None:
        """A line reaches the record whole, whatever signal comes."""
        with self._interrupts.held():
            self._writer.write(line)
        if self._request.say is not None:
            self._request.say.line(line)
