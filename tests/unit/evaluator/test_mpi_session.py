# SPDX-License-Identifier: BSD-3-Clause
"""Sessions whose engines are ranks, with pretended engines and a pretended launcher."""

import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from beowire.conduct.session import RoundShape, Session, session_of
from beowire.conduct.survey import survey
from beowire.errors import BeowireError
from beowire.interrupts import Interrupts
from beowire.mpi import drivers, session
from beowire.mpi.drivers import MpiDriver
from beowire.mpi.session import MpiSession
from beowire.places.engine import EngineError
from beowire.places.mpi.installation import Installation
from beowire.places.mpi.ways import Way
from beowire.plan.patterns import PATTERNS
from unit.evaluator.fake_launcher import FakeLauncher

NAME = "mpi:openmpi4/tcp"
SHAPE = RoundShape(count=100, skip=5)

#: Starts both ranks as a launcher does, each under its number; then stays until it is told to end.
RUN_BOTH = 'for rank in 0 1; do (export PMI_RANK=$rank; "$@"); done; exec sleep 1000'

Begin = Callable[..., MpiSession]


class FakePlace:
    """Its launcher is a script, which gets the program as its arguments."""

    def __init__(self, script: str) -> None:
        self.script = script
        self.open = 0

    @contextmanager
    def prepared(
        self, mpi: Installation, way: Way, ranks: int, program: Sequence[str], files: Sequence[Path]
    ) -> Iterator[Any]:
        assert (mpi.name, way.name, ranks, list(files)) == ("openmpi4", "tcp", 2, [])
        self.open += 1
        yield ["sh", "-c", self.script, "mpirun", *program], dict(os.environ)
        self.open -= 1


@pytest.fixture(name="begin")
def make_sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Begin]:
    rank = tmp_path / "rank"
    rank.write_text('#!/bin/sh\n[ "$1" = --attach ] && touch "$2"\n')
    rank.chmod(0o755)
    made: list[tuple[MpiSession, FakeLauncher, FakePlace]] = []
    mpi = Installation("openmpi4", "4.1.4", tmp_path / "mpirun", tmp_path / "mpicc")
    driver = MpiDriver("mpi", mpi, Way("tcp", {}))
    monkeypatch.setattr(session, "_END_S", 0.1)
    monkeypatch.setattr(drivers, "driver", lambda _name: driver)
    monkeypatch.setattr(drivers, "library", lambda _mpi: tmp_path / "library.so")

    def begin(script: str = RUN_BOTH, **changes: Any) -> MpiSession:
        launcher = FakeLauncher({"mpi": changes}, {"BEOWIRE_FAKE_RANKS": str(tmp_path)})
        place = FakePlace(script)
        monkeypatch.setattr(session, "place_of", lambda _launcher: place)
        one = session_of(driver.info(), launcher, Interrupts())
        assert isinstance(one, MpiSession)
        made.append((one, launcher, place))
        one.start(survey(launcher, Interrupts()), (None, None), 4096, 20)
        return one

    yield begin
    for one, launcher, place in made:
        one.end()
        assert place.open == 0
        assert all(process.poll() is not None for process in launcher.processes)


def test_session_of__others_have_the_usual_one() -> None:
    launcher = FakeLauncher()
    info = next(one for one in survey(launcher, Interrupts()).drivers if one.name == "steady")
    assert type(session_of(info, launcher, Interrupts())) is Session


def test_run__as_any_other(begin: Begin) -> None:
    one = begin()
    found = one.run(PATTERNS["pingpong"], 8, SHAPE, 10.0, time.monotonic() + 10)
    assert found is not None
    assert found.messages == SHAPE.count


def test_start__a_launcher_that_ends_at_once_is_quoted(begin: Begin) -> None:
    script = "echo; echo 'bash: orted: command not found'; exit 1"
    with pytest.raises(EngineError, match="ended before the rank was there: bash: orted: command"):
        begin(script)


def test_start__a_wrapper_that_is_broken_is_named_with_its_node(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_mpi: Installation) -> Path:
        raise BeowireError("mpicc fails: error: no")

    monkeypatch.setattr(drivers, "library", fail)
    with pytest.raises(EngineError, match="mpicc fails: error: no") as caught:
        begin()
    assert caught.value.node == "node0"


@pytest.mark.parametrize(("named", "node"), [("rank 0", "node0"), ("rank 1", "node1")])
def test_run__a_rank_that_dies_is_the_one_that_the_launcher_names(
    begin: Begin, tmp_path: Path, named: str, node: str
) -> None:
    started = tmp_path / "started"  # a launcher does not end before its ranks are there
    last = f"while [ ! -e {started} ]; do sleep 0.01; done; echo {named} exited on signal 9"
    one = begin(RUN_BOTH.replace("exec sleep 1000", last), fault="rank", fault_run=1)
    started.touch()
    with pytest.raises(EngineError, match=f"^the rank has ended: {named} exited on") as caught:
        one.run(PATTERNS["pingpong"], 8, SHAPE, 10.0, time.monotonic() + 10)
    assert caught.value.node == node


def test_run__a_proxy_that_is_killed(begin: Begin) -> None:
    one = begin()
    one._engines[1].process.send_signal(signal.SIGKILL)
    with pytest.raises(EngineError, match=r"the engine was killed by SIGKILL; if dmesg says"):
        one.run(PATTERNS["pingpong"], 8, SHAPE, 10.0, time.monotonic() + 10)
