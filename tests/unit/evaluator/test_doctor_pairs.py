# SPDX-License-Identifier: BSD-3-Clause
"""What `beowire doctor --hosts` makes of two engines that do not reach each other."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations
from typing import Any

import pytest

from beowire.doctor import pairs
from beowire.doctor.facts import Facts
from beowire.doctor.pairs import Bounced, Visits, Way, rounds
from beowire.errors import BeowireError
from beowire.interrupts import Interrupts
from beowire.places.engine import EngineError, EngineProcess
from unit.evaluator.fake_launcher import FakeLauncher, FakeNode

FOUND = [Facts(name, "lo", {}, {}, {"steady": ""}) for name in ("node0", "node1")]
SILENT = "the engine gave no answer within 20 s"


@contextmanager
def visits(**changes: Any) -> Iterator[Visits]:
    launcher = FakeLauncher(drivers={"steady": changes})
    visiting = Visits(launcher, FOUND, Interrupts())
    try:
        yield visiting
    finally:
        visiting.close()
        assert all(process.poll() is not None for process in launcher.processes)


@pytest.fixture(autouse=True)
def one_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "WAYS", (Way("steady", "frames", 8),))
    monkeypatch.setattr(pairs, "_CONNECT_S", 0.2)


def bounced(visiting: Visits) -> Bounced:
    (pair,) = visiting.pairs()
    return pair.ways["frames"]


def test_pairs__what_is_open() -> None:
    with visits() as visiting:
        one = bounced(visiting)
    assert one.works and one.half_rtt_ns == pytest.approx(2000, rel=0.1)


def test_pairs__ends_that_do_not_hear_of_each_other() -> None:
    with visits(fault="connect") as visiting:
        one = bounced(visiting)
        # Both engines are started anew for what comes next.
        assert bounced(visiting) == one
    assert one == Bounced(why="nothing came through")


def test_pairs__an_end_that_may_not_open_says_so() -> None:
    with visits(fault="open") as visiting:
        assert bounced(visiting).why in (
            "node0: may not open: needs CAP_PRETEND",
            "node1: may not open: needs CAP_PRETEND",
        )


def test_pairs__ends_that_are_open_and_get_no_answer() -> None:
    with visits(answered=0.0) as visiting:
        assert bounced(visiting).why == "node0: no answer from node1 within 3 s"


def silent(engine: EngineProcess, *_: object) -> dict[str, Any]:
    raise EngineError(engine.node, SILENT, code="TIMEOUT")


def test_pairs__an_engine_that_does_not_answer__is_no_way_that_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pairs, "greet", silent)
    with visits() as visiting:
        assert bounced(visiting).why == f"node0: {SILENT}"


def test_pairs__an_engine_that_does_not_say_its_drivers(monkeypatch: pytest.MonkeyPatch) -> None:
    with visits() as visiting:
        monkeypatch.setattr(EngineProcess, "request", silent)
        monkeypatch.setattr(pairs, "greet", lambda _: {})
        assert bounced(visiting).why == f"node0: {SILENT}"


def test_pairs__an_engine_that_cannot_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(*_: object) -> EngineProcess:
        raise BeowireError("node0: ssh: connection refused")

    monkeypatch.setattr(pairs, "start_engine", start)
    with visits() as visiting:
        assert bounced(visiting).why == "node0: ssh: connection refused"


@pytest.mark.parametrize("hosts", [2, 3, 4, 5, 16])
def test_rounds__each_pair_once_and_no_host_twice_in_a_round(hosts: int) -> None:
    found = rounds(hosts)
    assert len(found) == hosts - 1 + hosts % 2
    assert sorted(pair for one in found for pair in one) == list(combinations(range(hosts), 2))
    for one in found:
        assert len({place for pair in one for place in pair}) == 2 * len(one)


def test_pairs__those_without_a_common_host_are_visited_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = [f"node{index}" for index in range(4)]
    found = [Facts(name, "lo", {}, {}, {"steady": ""}) for name in names]
    both = threading.Barrier(2, timeout=10)

    def visit(*_: object) -> Bounced:
        both.wait()  # breaks unless two are here at the same time
        return Bounced(1.0)

    monkeypatch.setattr(Visits, "_visit", visit)
    launcher = FakeLauncher(nodes=[FakeNode(name) for name in names])
    visited = Visits(launcher, found, Interrupts()).pairs()
    assert [pair.hosts for pair in visited] == list(combinations(names, 2))
    assert all(pair.ways["frames"].works for pair in visited)


def test_pairs__ctrl_c_ends_the_engines_that_are_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    errors = []

    def visit(visiting: Visits, _driver: str, _size: int, places: tuple[int, int]) -> Bounced:
        engine = visiting._engine(places[0])
        os.kill(os.getpid(), signal.SIGINT)
        try:
            engine.receive("never", 60.0)
        except EngineError as error:
            errors.append(error.code)
        return Bounced()

    monkeypatch.setattr(Visits, "_visit", visit)
    with visits() as visiting, Interrupts(), pytest.raises(KeyboardInterrupt):
        visiting.pairs()
    assert errors == ["DIED"]
