# SPDX-License-Identifier: BSD-3-Clause
"""A whole run, with shell commands in place of launchers."""

import contextlib
import os
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from beowire.apps import building, programs, run
from beowire.apps.agreement import Agreement
from beowire.apps.catalogue import OWN, App
from beowire.apps.programs import Program
from beowire.apps.record import AppsRecord, Left, read_apps_record
from beowire.conduct.survey import Survey
from beowire.errors import BeowireError
from beowire.interrupts import Interrupts
from beowire.places.launch.base import Launcher
from beowire.places.mpi.installation import Installation
from beowire.places.mpi.places import Prepared, Used
from beowire.places.mpi.ways import Way
from beowire.record.lines import NodeEnd

LINE = (
    'echo \'{"seconds":1,"figure":%s,"unit":"MOP/s","verified":%s,"check":"zeta"}\'; '
    'echo \'beowire-apps-profile {"ranks":2,"seconds":1,"mpi_share":0.5,"messages":4,"bytes":32,'
    '"sizes":{"8":4}}\' >&2; %s'
)
GOOD = LINE % (100, "true", "exit 0")
WRONG = LINE % (100, "false", "exit 1")
CG, EP, BT = (
    next(app for app in OWN if app.name == "cg"),
    next(app for app in OWN if app.name == "ep"),
    App("bt", ""),
)
MPI = Installation("openmpi4", "4.1.4", Path("/usr/bin/mpirun"), Path("/usr/bin/mpicc"))


class FakeLauncher:
    kind = "lab"
    marker = b""
    nodes: Sequence[Any] = ()

    def __enter__(self) -> "FakeLauncher":
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def start(self, *_words: object, **_more: object) -> Any:
        raise AssertionError

    def start_proxy(self, *_words: object) -> Any:
        raise AssertionError

    def describe_link(self) -> dict[str, object]:
        return {"kind": "lab"}


class FakePlace:
    """Runs a script for each program and way."""

    def __init__(self, scripts: dict[tuple[str, str], str]) -> None:
        self.launcher: Launcher = FakeLauncher()
        self.scripts = scripts
        self.started: list[tuple[str, str]] = []
        self.loaded: set[tuple[str, ...]] = set()

    def used(self, ranks: int) -> Used:
        del ranks
        return Used(["node0", "node1", "node2"], 1)

    @contextlib.contextmanager
    def prepared(
        self, mpi: Installation, way: Way, ranks: int, program: Sequence[str], files: Sequence[Path]
    ) -> Iterator[Prepared]:
        app = Path(program[-3]).name
        self.started.append((app, way.name))
        for word in program:
            if word.startswith("LD_PRELOAD="):
                names = word.removeprefix("LD_PRELOAD=").replace(":", " ").split()
                self.loaded.add(tuple(os.path.realpath(n) if "/" in n else n for n in names))
        yield ["sh", "-c", self.scripts.get((app, way.name), GOOD)], dict(os.environ)


@pytest.fixture(autouse=True)
def nothing_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    def make(app: App, mpi: Installation, **_more: object) -> Program:
        if app.name == "bt":
            raise BeowireError("mpicc fails: no")
        return Program(app, [app.name, "--class", "S"])

    monkeypatch.setattr(programs, "make", make)
    monkeypatch.setattr(building, "profile_library", lambda _mpi: Path("/lib.so"))
    monkeypatch.setattr(building, "phases_library", lambda _mpi: Path("/phases.so"))
    monkeypatch.setattr("beowire.places.mpi.ways.way", lambda _mpi, over: Way(over, {}))
    ends = [NodeEnd(node="node0"), NodeEnd(node="node1")]
    monkeypatch.setattr(run, "survey", lambda *_: Survey(ends, []))


def measure(tmp_path: Path, place: FakePlace, **more: Any) -> tuple[run.Outcome, AppsRecord]:
    members: dict[str, Any] = {"apps": [CG], "over": ["tcp", "beowire"], "launches": 2, **more}
    request = run.Request(mpis=[MPI], directory=tmp_path / "out", command=["beowire"], **members)
    with Interrupts() as interrupts:
        outcome = run.run(place, request, interrupts)
    return outcome, read_apps_record(request.record)


def test_run__every_way_in_every_round_and_then_counted(tmp_path: Path) -> None:
    place = FakePlace({})
    outcome, record = measure(tmp_path, place)
    assert (outcome.failures, outcome.interrupted) == ([], False)
    assert sorted((one.over, one.round) for one in record.launches) == [
        (over, number) for over in ("beowire", "tcp") for number in range(3)
    ]
    assert {one.over: one.messages for one in record.profiles} == {"tcp": 4, "beowire": 4}
    assert {one.over: one.best for one in record.results} == {"tcp": 100.0, "beowire": 100.0}
    assert record.end is not None
    assert record.end.status == "ok"
    assert len(place.started) == 8


def test_run__without_profile(tmp_path: Path) -> None:
    _, record = measure(tmp_path, FakePlace({}), profile=False)
    assert record.profiles == []


def test_run__what_fails_is_not_tried_again_and_the_others_go_on(tmp_path: Path) -> None:
    place = FakePlace({("cg", "beowire"): WRONG})
    outcome, record = measure(tmp_path, place, apps=[CG, EP])
    assert outcome.failures == [
        "cg (openmpi4 over beowire): not verified: zeta; over tcp it is right"
    ]
    assert place.started.count(("cg", "beowire")) == 1
    assert place.started.count(("ep", "beowire")) == 4
    assert record.end is not None
    assert record.end.status == outcome.failures[0]


def test_run__outputs_are_compared(tmp_path: Path) -> None:
    place = FakePlace({("cg", "beowire"): GOOD.replace("exit 0", "echo more; exit 0")})
    outcome, record = measure(
        tmp_path, place, agreement=Agreement("seconds"), launches=1, profile=False
    )
    assert outcome.failures == []
    differing = {one.over for one in record.launches if not one.verified}
    # The first launch is what others are compared with.
    assert differing == {"tcp", "beowire"} - {record.launches[0].over}
    assert all("more" in one.check for one in record.launches if not one.verified)


def test_run__what_hangs_is_ended(tmp_path: Path) -> None:
    place = FakePlace({("cg", "beowire"): "exec sleep 1000"})
    outcome, _ = measure(tmp_path, place, timeout_s=1.0)
    assert outcome.failures == [
        "cg (openmpi4 over beowire): it did not end within 1 s: raise --timeout"
    ]


def test_run__what_cannot_be_made_is_said(tmp_path: Path) -> None:
    left = [Left(mpi="intel", reason="there is no Intel MPI here")]
    outcome, record = measure(tmp_path, FakePlace({}), apps=[BT, CG, EP], ranks=3, left=left)
    assert outcome.failures == [
        "intel: there is no Intel MPI here",
        "bt openmpi4: mpicc fails: no",
        "cg: runs on 1, 2, 4, 8 or another power of two of ranks, not on 3: choose another --ranks",
    ]
    assert {one.app for one in record.results} == {"ep"}


def test_run__an_interrupt_keeps_what_was_measured(tmp_path: Path) -> None:
    place = FakePlace({("cg", "beowire"): f"kill -INT {os.getpid()}; exec sleep 1000"})
    outcome, record = measure(tmp_path, place)
    assert outcome.interrupted
    assert record.end is not None
    assert record.end.status == "interrupted"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_run__a_full_disk_keeps_what_was_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = os.write, iter(range(1000))

    def write(descriptor: int, data: bytes) -> int:
        if data.startswith(b'{"type":"launch"') and next(calls) == 3:
            raise OSError(28, "No space left on device")
        return real(descriptor, data)

    monkeypatch.setattr(os, "write", write)
    with pytest.raises(BeowireError, match=r"what was measured before is kept \(3 results\)"):
        measure(tmp_path, FakePlace({}))
    monkeypatch.undo()
    assert len(read_apps_record(tmp_path / "out" / "record.jsonl").launches) == 3


def test_run__does_not_overwrite(tmp_path: Path) -> None:
    measure(tmp_path, FakePlace({}))
    with pytest.raises(BeowireError, match="exists already"):
        measure(tmp_path, FakePlace({}))


PHASES = (
    'echo \'beowire-apps-phases {"init_s":0.2,"run_s":1.5,"finalize_s":0.1}\' >&2;'
    'echo \'beowire-apps-phases {"init_s":0.1,"run_s":2.0,"finalize_s":0.3}\' >&2;'
)


def test_run__each_launch_has_its_parts_and_the_run_who_else_was_there(tmp_path: Path) -> None:
    _, record = measure(tmp_path, FakePlace({("cg", "beowire"): PHASES + GOOD}))
    parts = {one.over: (one.init_s, one.run_s, one.finalize_s) for one in record.launches}
    # Of the rank that took longest for each; a program that says nothing has none.
    assert parts == {"tcp": (None, None, None), "beowire": (0.2, 2.0, 0.3)}
    assert record.meta.options["nodes"] == ["node0", "node1", "node2"]
    assert record.meta.options["cores"] == 1


def test_run__a_library_whose_path_has_a_blank_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = tmp_path / "a place" / "libapps-phases.so"
    library.parent.mkdir()
    library.touch()
    monkeypatch.setattr(building, "phases_library", lambda _mpi: library)
    monkeypatch.setenv("LD_PRELOAD", "libmine.so")
    place = FakePlace({})
    measure(tmp_path, place, profile=False)
    assert place.loaded == {(str(library), "libmine.so")}


def test_run__what_the_library_says_is_no_reason_of_a_failure(tmp_path: Path) -> None:
    failing = PHASES + "echo 'cg: no memory' >&2; exit 3"
    outcome, _ = measure(tmp_path, FakePlace({("cg", "beowire"): failing}))
    assert "beowire-apps-phases" not in " ".join(outcome.failures)
    assert "no memory" in " ".join(outcome.failures)
