# SPDX-License-Identifier: BSD-3-Clause
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from beowire.conduct import How
from beowire.conduct.measure import Measurement, Progress
from beowire.conduct.survey import survey
from beowire.interrupts import Interrupts
from beowire.plan import plan as planning
from beowire.plan import selection
from beowire.record.lines import Result, Skipped
from unit.evaluator.fake_launcher import FakeLauncher


@dataclass
class Taken:
    """What a measurement gave."""

    launcher: FakeLauncher
    lines: list[Result | Skipped] = field(default_factory=list)
    progress: list[Progress] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    seconds: float = 0.0
    first_count: int = 0
    """Samples of the first round of all."""

    def show(self, progress: Progress) -> None:
        """Takes a state of progress."""
        if not self.progress and progress.cell.rounds:
            self.first_count = progress.cell.rounds[0].count
        self.progress.append(progress)

    def results(self, driver: str) -> list[Result]:
        """The final ones."""
        return [
            one
            for one in self.lines
            if isinstance(one, Result) and (one.driver, one.type) == (driver, "result")
        ]

    def skipped(self, driver: str) -> list[Skipped]:
        return [one for one in self.lines if isinstance(one, Skipped) and one.driver == driver]


Measure = Callable[..., Taken]


@pytest.fixture
def measure() -> Iterator[Measure]:
    launchers: list[FakeLauncher] = []

    def run(
        names: str,
        *,
        sizes: tuple[int, ...] = (8, 1024),
        patterns: tuple[str, ...] = ("pingpong",),
        seconds: float = 20.0,
        changes: dict[str, dict[str, Any]] | None = None,
        kind: str = "local",
        how: How | None = None,
    ) -> Taken:
        launcher = FakeLauncher(drivers=changes or {}, kind=kind)
        launchers.append(launcher)
        taken = Taken(launcher)
        interrupts = Interrupts()
        found = survey(launcher, interrupts)
        drivers, _ = selection.choose_drivers(found.drivers, names)
        plan = planning.make_plan(drivers, patterns, sizes, seconds, seed=1)
        measurement = Measurement(launcher, found, interrupts, taken.lines.append, taken.show)
        begun = time.monotonic()
        try:
            measurement.run(plan, drivers, 1, how or How(seed=1, deadline_s=1.0))
            measurement.flush()
        finally:
            measurement.end()
        taken.seconds = time.monotonic() - begun
        taken.failures = measurement.failures
        return taken

    yield run
    for launcher in launchers:
        assert all(process.poll() is not None for process in launcher.processes)


def test_measurement__finds_the_true_medians(measure: Measure) -> None:
    taken = measure("steady,slow", sizes=(8,))
    for driver, half_ns in (("steady", 2000.8), ("slow", 10000.8)):
        (result,) = taken.results(driver)
        assert result.half_rtt_ns is not None
        assert result.half_rtt_ns.median == pytest.approx(half_ns, rel=0.01)
        assert result.status == "ok"


def test_measurement__precise_cells_end_the_run_early(measure: Measure) -> None:
    taken = measure("steady", seconds=600.0)
    assert [one.stopped_by for one in taken.results("steady")] == ["precise", "precise"]
    assert all(one.rounds >= 20 for one in taken.results("steady"))


def test_measurement__drivers_take_turns(measure: Measure) -> None:
    taken = measure("steady,slow,bimodal", sizes=(8,))
    order = [one.cell.driver for one in taken.progress][:30]
    for first in range(0, 30, 3):
        assert sorted(order[first : first + 3]) == ["bimodal", "slow", "steady"]
    assert len({tuple(order[first : first + 3]) for first in range(0, 30, 3)}) > 1


def test_measurement__the_end_of_the_time_is_said(measure: Measure) -> None:
    slow = {"median_ns": 50e6, "real_time": 1.0}
    taken = measure("steady", seconds=0.5, changes={"steady": slow})
    assert {one.stopped_by for one in taken.results("steady")} == {"time"}
    assert all(one.rounds < 20 for one in taken.results("steady"))


def test_measurement__a_size_without_time_is_skipped_with_the_reason(measure: Measure) -> None:
    taken = measure("steady", seconds=1e-6)
    assert not taken.results("steady")
    assert [one.size for one in taken.skipped("steady")] != []
    assert all("raise --time" in one.reason for one in taken.skipped("steady"))


@pytest.mark.parametrize(
    ("driver", "reason"),
    [
        ("dies", "node1: the engine was killed by SIGKILL"),
        ("garbage", "node1: the engine broke the protocol"),
        ("hangs", "node1: the engine hangs"),
        ("breaks", "node1: connection reset by peer"),
    ],
)
def test_measurement__a_driver_that_fails_leaves_the_others(
    measure: Measure, monkeypatch: pytest.MonkeyPatch, driver: str, reason: str
) -> None:
    monkeypatch.setattr("beowire.conduct.session._GRACE_S", 1.0)
    taken = measure(f"steady,{driver}", sizes=(8, 64, 512))
    assert [one.status for one in taken.results("steady")] == ["ok"] * 3
    (kept,) = taken.results(driver)
    assert kept.stopped_by == "error"
    assert kept.status.startswith(reason)
    assert kept.rounds > 0
    assert [one.reason.startswith(reason) for one in taken.skipped(driver)] == [True, True]
    assert len(taken.failures) == 1
    assert taken.failures[0].startswith(f"{driver} failed on {reason}")


def test_measurement__a_dead_initiator_is_named(measure: Measure) -> None:
    taken = measure("dies", changes={"dies": {"fault_role": "initiator"}})
    assert "dies failed on node0: the engine was killed by SIGKILL" in taken.failures[0]


def test_measurement__a_driver_that_cannot_open_leaves_the_others(measure: Measure) -> None:
    taken = measure("steady,unopened")
    assert [one.status for one in taken.results("steady")] == ["ok"] * 2
    assert len(taken.skipped("unopened")) == 2
    (failure,) = taken.failures  # both ends open at the same time: of the one that is first
    assert re.fullmatch("unopened failed on node[01]: may not open: needs CAP_PRETEND", failure)


def test_measurement__a_refused_size_is_no_failure_of_the_driver(measure: Measure) -> None:
    taken = measure("refuses", sizes=(8, 1024, 64))
    assert sorted(one.size for one in taken.results("refuses")) == [8, 64]
    assert [(one.size, one.reason) for one in taken.skipped("refuses")] == [
        (1024, "node1: this size cannot be carried")
    ]
    assert taken.failures == []


def test_measurement__losses_are_counted(measure: Measure) -> None:
    taken = measure("lossy", sizes=(8,), patterns=("pingpong", "stream"))
    for result in taken.results("lossy"):
        assert result.lost / (result.n + result.lost) == pytest.approx(0.05, abs=0.01)


def test_measurement__when_everything_is_lost_it_says_so(measure: Measure) -> None:
    taken = measure("void", sizes=(8,), patterns=("pingpong", "stream"))
    assert [one.reason for one in taken.skipped("void")] == ["every message was lost"] * 2
    assert taken.failures == []


def test_measurement__a_link_that_goes_down_is_said(measure: Measure) -> None:
    taken = measure("lossy", sizes=(8,), changes={"lossy": {"fades_after": 15, "law": "bimodal"}})
    (result,) = taken.results("lossy")
    assert result.stopped_by == "error"
    assert re.fullmatch(r"nothing arrived in its last \d+ rounds", result.status)
    # What was lost then counts as well.
    assert result.lost > result.n


def test_measurement__short_times_are_batched(measure: Measure) -> None:
    (result,) = measure("tiny", sizes=(8,)).results("tiny")
    assert result.batch > 1
    assert result.half_rtt_ns is not None
    assert result.half_rtt_ns.median == pytest.approx(8, abs=0.5)
    assert len(result.cpu) == 1


def test_measurement__a_sample_that_is_always_of_one_is_not_batched(measure: Measure) -> None:
    """Each of these messages carries its time: the engine has no other samples of them."""
    changes = {"steady": {"median_ns": 200.0}}
    taken = measure("steady", sizes=(16,), patterns=("oneway",), seconds=0.3, changes=changes)
    assert taken.failures == []
    (result,) = taken.results("steady")
    assert (result.status, result.batch) == ("ok", 1)


def test_measurement__placement_decides_where_engines_run(measure: Measure) -> None:
    started = measure("steady,shared,tiny", sizes=(8,)).launcher.started[2:]
    assert started == [
        ("node0", "0"),  # steady
        ("node1", "1"),
        ("node0", "0"),  # shared: both ends on the first node, each on its core
        ("node0", "1"),
        ("node0", "0"),  # tiny: no other end
    ]


def test_measurement__pins_win_over_the_nodes_cpus(measure: Measure) -> None:
    started = measure("steady", how=How(pins=("3", "2"))).launcher.started[2:]
    assert started == [("node0", "3"), ("node1", "2")]


def test_measurement__on_real_hosts_the_second_end_of_a_host_driver_is_a_neighbour(
    measure: Measure,
) -> None:
    started = measure("shared", kind="hosts", how=How(pins=("3", "3"))).launcher.started[2:]
    assert started == [("node0", "3"), ("node0", "2")]


def test_measurement__keeps_what_there_is_of_unfinished_cells(
    measure: Measure, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whenever the run is killed, little of what was measured is lost."""
    monkeypatch.setattr("beowire.conduct.measure._KEEP_S", 0.5)
    slow = {"median_ns": 20e6, "real_time": 1.0, "law": "bimodal"}
    taken = measure("steady", sizes=(8, 64), seconds=2.0, changes={"steady": slow})
    kept = [one for one in taken.lines if isinstance(one, Result) and one.type == "partial"]
    assert {one.size for one in kept} == {8, 64}
    for final in taken.results("steady"):
        mine = [one for one in kept if one.size == final.size]
        assert [one.rounds for one in mine] == sorted({one.rounds for one in mine})
        assert mine[-1].rounds >= final.rounds / 2
        assert mine[0].status == "the run was cut short"
        assert taken.lines.index(mine[-1]) < taken.lines.index(final)


def test_measurement__a_stall_in_the_first_message_does_not_make_rounds_small(
    measure: Measure,
) -> None:
    """It takes longer than a whole warm-up usually may."""
    stalls = {"steady": {"stall_runs": 1, "stall_ns": 40e6}}
    taken = measure("steady", sizes=(8,), changes=stalls)
    assert taken.first_count > 1


def test_measurement__what_is_left_is_a_limit_that_never_rises(measure: Measure) -> None:
    """Cells that are done early must not promise that the others will be."""
    wild = {"bimodal": {"median_ns": 20e6, "real_time": 1.0}}
    taken = measure("steady,bimodal", sizes=(8,), seconds=2.0, changes=wild)
    left = [one.remaining_s for one in taken.progress]
    assert left == sorted(left, reverse=True)


def test_measurement__progress_counts_down_to_nothing(measure: Measure) -> None:
    taken = measure("steady,slow")
    last = taken.progress[-1]
    assert (last.done, last.cells) == (4, 4)
    assert last.remaining_s == 0
    assert all(one.remaining_s <= 20.0 for one in taken.progress)
