# SPDX-License-Identifier: BSD-3-Clause
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from beowire.conduct.session import Round, RoundShape, Session
from beowire.conduct.survey import survey
from beowire.interrupts import Interrupts
from beowire.places.engine import EngineError
from beowire.plan.patterns import PATTERNS
from beowire.record.histogram import Histogram
from unit.evaluator.fake_launcher import FakeLauncher, FakeNode

Open = Callable[..., Session]

PINGPONG, STREAM = PATTERNS["pingpong"], PATTERNS["stream"]
SHAPE = RoundShape(count=100, skip=5)


def test_message_ns__leaves_the_slowest_sample_out() -> None:
    values = [2000, 2000, 2000, 50_000_000]
    histogram = Histogram.of_values(values)
    one = Round(4, 4, 0, sum(values), 0, histogram)
    assert one.message_ns() == pytest.approx(2000)


def test_message_ns__counts_what_was_lost() -> None:
    one = Round(4, 3, 1, 3 * 2000 + 20_000_000, 0, Histogram.of_values([2000] * 3))
    assert one.message_ns() == pytest.approx(20_004_000 / 3)


def test_message_ns__of_a_batch_leaves_all_of_it_out() -> None:
    one = Round(20, 20, 0, 10 * 100 + 10 * 900, 0, Histogram.of_values([100, 900]))
    assert one.message_ns() == pytest.approx(100)


def test_message_ns__without_samples_is_the_mean() -> None:
    assert Round(10, 10, 0, 5000, 80, Histogram()).message_ns() == 500


@pytest.fixture
def opened() -> Iterator[Open]:
    sessions: list[Session] = []
    launchers: list[FakeLauncher] = []

    def run(driver: str, **changes: Any) -> Session:
        nodes = changes.pop("nodes", None)
        launcher = FakeLauncher(drivers={driver: changes})
        launcher.nodes = nodes or launcher.nodes
        launchers.append(launcher)
        found = survey(launcher, Interrupts())
        info = next(one for one in found.drivers if one.name == driver)
        session = Session(info, launcher, Interrupts())
        sessions.append(session)
        session.start(found, (None, None), max_size=4096, loss_timeout_ms=20)
        return session

    yield run
    for session in sessions:
        session.end()
    for launcher in launchers:
        assert all(process.poll() is not None for process in launcher.processes)


def _soon() -> float:
    return time.monotonic() + 60


def test_run__two_ends_on_one_cpu_have_one_soaker(opened: Open) -> None:
    shape = RoundShape(100, 8, probes=("soaker", "syscalls"))
    one = opened("steady").run(PINGPONG, 8, shape, 5, _soon())
    assert one is not None
    assert ["taken_ns" in counts for counts in one.counts] == [True, True]
    nodes = (FakeNode("node0", cpu="1"), FakeNode("node1", cpu="1"))
    one = opened("steady", nodes=nodes).run(PINGPONG, 8, shape, 5, _soon())
    assert one is not None
    assert ["taken_ns" in counts for counts in one.counts] == [True, False]
    assert ["syscalls" in counts for counts in one.counts] == [True, True]


def test_run__a_reliable_stream_is_timed_by_the_initiator(opened: Open) -> None:
    one = opened("steady").run(STREAM, 1000, SHAPE, 5, _soon())
    assert one is not None
    assert (one.messages, one.moved_bytes, one.histogram.total) == (100, 100_000, 0)


def test_run__an_unreliable_stream_counts_what_arrived(opened: Open) -> None:
    one = opened("lossy", loss=0.25).run(STREAM, 1000, SHAPE, 5, _soon())
    assert one is not None
    assert (one.messages, one.lost, one.moved_bytes) == (75, 25, 75_000)


def test_run__an_unreliable_pingpong_releases_the_responder(opened: Open) -> None:
    session = opened("lossy", loss=0.25)
    for _ in range(3):
        one = session.run(PINGPONG, 8, SHAPE, 5, _soon())
        assert one is not None
        assert one.messages + one.lost == 100
        assert one.lost > 0


def test_run__of_two_ways_both_count(opened: Open) -> None:
    one = opened("steady").run(PATTERNS["bidirectional"], 1000, SHAPE, 5, _soon())
    assert one is not None
    assert (one.count, one.messages, one.moved_bytes, one.lost) == (100, 200, 200_000, 0)


def test_run__a_refused_size_leaves_the_session_usable(opened: Open) -> None:
    for role in ("responder", "initiator"):
        session = opened("refuses", refuses_role=role)
        with pytest.raises(EngineError, match="cannot be carried") as caught:
            session.run(PINGPONG, 1024, SHAPE, 5, _soon())
        assert not caught.value.fatal
        assert session.run(PINGPONG, 8, SHAPE, 5, _soon()) is not None


def test_run__an_end_that_others_keep_from_its_core_does_not_hang(opened: Open) -> None:
    session = opened("steady", stall_runs=1, stall_ns=0.5e9)
    one = session.run(PINGPONG, 8, SHAPE, 0.1, _soon())
    assert one is not None
    assert one.messages == 100


def test_run__a_crawling_round_is_kept_as_far_as_it_came(opened: Open) -> None:
    one = opened("steady", answered=0.25).run(PINGPONG, 8, SHAPE, 5, _soon())
    assert one is not None
    assert (one.count, one.messages, one.histogram.total) == (25, 25, 25)


def test_run__a_round_without_any_answer_fails_and_names_the_silent_end(opened: Open) -> None:
    with pytest.raises(EngineError, match="no answer from node1 within 5 s") as caught:
        opened("steady", answered=0.0).run(PINGPONG, 8, SHAPE, 5, _soon())
    assert caught.value.fatal


def test_run__a_round_that_stuck_inside_a_message_is_told_by_the_next(opened: Open) -> None:
    session = opened("steady", fault="stale", fault_run=1)
    with pytest.raises(EngineError, match="no answer from node1 within 5 s"):
        session.run(PINGPONG, 8, SHAPE, 5, _soon())


def test_run__a_reliable_stream_that_was_cut_short_has_no_figure(opened: Open) -> None:
    session = opened("steady", answered=0.5)
    assert session.run(STREAM, 8, SHAPE, 5, time.monotonic()) is None
    with pytest.raises(EngineError, match="no answer from node1"):
        session.run(STREAM, 8, SHAPE, 5, _soon())


def test_run__the_dead_end_is_named_and_not_its_victim(opened: Open) -> None:
    """The initiator says `connection reset`, because the responder was killed."""
    session = opened("breaks", fault_run=1, fault_role="initiator")
    session._engines[1].process.kill()
    with pytest.raises(EngineError, match="was killed by SIGKILL") as caught:
        session.run(PINGPONG, 8, SHAPE, 5, _soon())
    assert caught.value.node == "node1"
