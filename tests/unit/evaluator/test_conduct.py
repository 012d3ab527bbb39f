# SPDX-License-Identifier: BSD-3-Clause
"""How rounds are carried out, over sessions that only pretend."""

from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from beowire.conduct import Conductor, How, Stage, Turn, conductor_of
from beowire.conduct.all_pairs import slow_links
from beowire.conduct.incast import steps_to
from beowire.conduct.open_loop import SHARES
from beowire.conduct.session import Round, RoundShape
from beowire.places.engine import EngineError
from beowire.plan.patterns import PATTERNS, Pattern
from beowire.record.histogram import Histogram
from beowire.record.lines import Clock

Words = Mapping[str, Any] | None


class Wire:
    """A session whose messages take 2000 ns, of which so many a second arrive."""

    def __init__(self, most: float = 1e5, *, lossy: bool = False) -> None:
        self.most = most
        self.lossy = lossy
        self.runs: list[tuple[int, int, dict[str, Any]]] = []
        self.initiator = SimpleNamespace(node="here")
        self.truth_ns = 5_000_000
        self.half_ns = 900
        self.time_ns = 2000

    def run(
        self, pattern: Pattern, size: int, shape: RoundShape, *_: float, words: Words = None
    ) -> Round:
        words = dict(words or {})
        self.runs.append((size, shape.count, words))
        if pattern.name == "oneway":
            said_ns = int(words["clock_offset_ns"])
            shown = max(0, self.time_ns + self.truth_ns - said_ns)
            samples = Histogram.of_values([shown] * shape.count)
            clock = (self.truth_ns - self.half_ns, self.truth_ns + self.half_ns)
            one = Round(shape.count, shape.count, 0, shape.count * 4000, 0, samples)
            return replace(one, clock=clock)
        interval_ns = int(words.get("interval_ns", 0))
        wanted = 1e9 / interval_ns if interval_ns else 10 * self.most
        rate = min(wanted, self.most)
        lost = round(shape.count * (1 - rate / wanted)) if self.lossy else 0
        arrived = shape.count - lost
        elapsed_ns = max(1, round(arrived * 1e9 / rate))
        samples = Histogram.of_values([self.time_ns] * arrived)
        return Round(shape.count, arrived, lost, elapsed_ns, 0, samples)


def _conductor(name: str, wire: Wire, *, kind: str = "local", rate: float | None = None) -> Any:
    clock = Clock(source="x", overhead_ns=20.0, overhead_p99_ns=30.0)
    stage: Any = SimpleNamespace(
        info=SimpleNamespace(min_size=1),
        session=wire,
        launcher=SimpleNamespace(kind=kind, nodes=()),
        survey=SimpleNamespace(ends=[SimpleNamespace(clock=clock)] * 2),
        how=How(message_rate=rate),
        one_clock=kind != "hosts",
    )
    return conductor_of(name)(stage)


def _turn(name: str, count: int = 500, size: int = 64) -> Turn:
    return Turn(PATTERNS[name], size, RoundShape(count, 8), 1.0, float("inf"))


def test_conductor_of__the_usual_one_runs_the_session_once() -> None:
    wire = Wire()
    assert conductor_of("pingpong") is conductor_of("later") is Conductor
    assert _conductor("pingpong", wire).round(_turn("pingpong")) is not None
    assert wire.runs == [(64, 500, {})]
    assert Conductor.details([]) == {}


@pytest.mark.parametrize("lossy", [False, True])
def test_open_loop__finds_the_rate_up_to_which_all_arrives(lossy: bool) -> None:
    wire = Wire(1e5, lossy=lossy)
    one = _conductor("open-loop", wire).round(_turn("open-loop"))
    details = conductor_of("open-loop").details([one, one])
    assert 0.8e5 <= details["loss_free_messages_per_s"] <= 1e5
    assert [level["share"] for level in details["levels"]] == list(SHARES)
    for level in details["levels"]:
        assert level["rate_messages_per_s"] == pytest.approx(
            level["share"] * details["loss_free_messages_per_s"]
        )
        assert level["lost"] == 0
        assert level["time_ns"]["median"] == 2000


def test_open_loop__the_rate_is_looked_for_once_a_size() -> None:
    wire = Wire()
    conductor = _conductor("open-loop", wire)
    conductor.round(_turn("open-loop"))
    looked = len(wire.runs)
    conductor.round(_turn("open-loop"))
    assert len(wire.runs) - looked == len(SHARES)
    conductor.round(_turn("open-loop", size=1024))
    assert len(wire.runs) - looked > 2 * len(SHARES)


def test_open_loop__levels_take_the_same_time_and_the_middle_one_is_the_rounds() -> None:
    wire = Wire(lossy=True)
    one = _conductor("open-loop", wire).round(_turn("open-loop", count=1000))
    counts = [(count, words["interval_ns"]) for _, count, words in wire.runs[-3:]]
    assert [count for count, _ in counts] == [200, 1000, 1800]
    times = [count * interval for count, interval in counts]
    assert max(times) <= 1.01 * min(times)
    assert one.count == 1000
    assert one.elapsed_ns == pytest.approx(sum(times), rel=0.01)


def test_open_loop__a_rate_of_the_users_is_the_only_one() -> None:
    wire = Wire()
    one = _conductor("open-loop", wire, rate=2000.0).round(_turn("open-loop"))
    assert [words["interval_ns"] for _, _, words in wire.runs] == [500_000]
    details = conductor_of("open-loop").details([one])
    assert details["loss_free_messages_per_s"] is None
    assert [level["rate_messages_per_s"] for level in details["levels"]] == [2000.0]


def test_open_loop__where_something_is_always_lost_there_is_no_such_rate() -> None:
    class Leaky(Wire):
        def run(self, *args: Any, **more: Any) -> Round:
            return replace(super().run(*args, **more), lost=1)

    one = _conductor("open-loop", Leaky()).round(_turn("open-loop"))
    assert conductor_of("open-loop").details([one])["loss_free_messages_per_s"] is None


@pytest.mark.parametrize(("kind", "one_clock"), [("lab", True), ("hosts", False)])
def test_open_loop__says_whether_there_is_one_clock(kind: str, one_clock: bool) -> None:
    wire = Wire()
    _conductor("open-loop", wire, kind=kind).round(_turn("open-loop"))
    assert all(("clock_offset_ns" in words) == one_clock for _, _, words in wire.runs)


def test_oneway__on_one_kernel_the_bound_is_what_reading_the_clock_takes() -> None:
    wire = Wire()
    wire.truth_ns = 0
    one = _conductor("oneway", wire).round(_turn("oneway"))
    assert conductor_of("oneway").details([one]) == {"clock_bound_ns": 60.0}


def test_oneway__between_hosts_the_bound_is_half_the_least_round_trip() -> None:
    wire = Wire()
    one = _conductor("oneway", wire, kind="hosts").round(_turn("oneway", size=4096))
    assert [size for size, _, _ in wire.runs] == [16, 4096, 16]
    assert wire.runs[1][2]["clock_offset_ns"] == wire.truth_ns
    assert one.histogram.quantile(0.5) == pytest.approx(wire.time_ns, rel=0.01)
    assert conductor_of("oneway").details([one]) == {"clock_bound_ns": wire.half_ns}


def test_oneway__clocks_that_drift_apart_make_the_bound_wider() -> None:
    class Drifting(Wire):
        def run(self, *args: Any, **more: Any) -> Round:
            self.truth_ns += 300
            return super().run(*args, **more)

    one = _conductor("oneway", Drifting(), kind="hosts").round(_turn("oneway"))
    assert conductor_of("oneway").details([one])["clock_bound_ns"] == 900 + 600


def test_oneway__a_bound_above_the_figure_is_refused_in_one_line() -> None:
    wire = Wire()
    wire.half_ns = 2500
    with pytest.raises(EngineError, match=r"known to ±2\.50 µs, .* \(2\.00 µs\)") as refused:
        _conductor("oneway", wire, kind="hosts").round(_turn("oneway"))
    assert not refused.value.fatal


def test_oneway__nobody_looked_at_the_clocks_afterwards__nothing_was_measured() -> None:
    """The time was over, or what looks at them was lost: nobody knows how wrong it is."""

    class Short(Wire):
        def run(self, *args: Any, **more: Any) -> Round:
            one = super().run(*args, **more)
            return one if len(self.runs) < 3 else replace(one, clock=None)

    wire = Short()
    assert _conductor("oneway", wire, kind="hosts").round(_turn("oneway")) is None
    assert len(wire.runs) == 3


def test_oneway__looks_at_the_clocks_with_messages_that_the_driver_can_carry() -> None:
    wire = Wire()
    conductor = _conductor("oneway", wire, kind="hosts")
    conductor.stage.info.min_size = 40
    assert conductor.round(_turn("oneway")) is not None
    assert [size for size, _, _ in wire.runs] == [40, 64, 40]


@pytest.mark.parametrize(
    ("most", "steps"), [(1, [1]), (2, [1, 2]), (3, [1, 2, 3]), (4, [1, 2, 4]), (7, [1, 2, 4, 7])]
)
def test_steps_to__are_powers_of_two_and_all(most: int, steps: list[int]) -> None:
    assert steps_to(most) == steps


def _costs(nodes: int, rounds: int = 10, **slow: float) -> dict[tuple[str, str], list[float]]:
    """Pairs that cost 100 and up to 20 more; those named by both of their nodes so many times."""
    names = [chr(ord("a") + node) for node in range(nodes)]
    return {
        (a, b): [slow.get(a + b, 1.0) * (100 + (7 * i + 3 * ord(b)) % 20) for i in range(rounds)]
        for at, a in enumerate(names)
        for b in names[at + 1 :]
    }


def test_slow_links__of_equal_ones_none_is_named() -> None:
    for nodes in range(2, 9):
        assert slow_links(_costs(nodes), _costs(nodes, 3)) == []


@pytest.mark.parametrize("nodes", [3, 4, 8])
def test_slow_links__the_slow_one_is_named_by_either_cost(nodes: int) -> None:
    assert slow_links(_costs(nodes, bc=1.6), _costs(nodes)) == ["b – c"]
    assert slow_links(_costs(nodes), _costs(nodes, bc=1.6)) == ["b – c"]


def test_slow_links__of_a_slow_node_the_node_is_named() -> None:
    assert slow_links(_costs(4, ab=2, bc=2, bd=2)) == ["every link of b"]
    both = _costs(5, ab=2, bc=2, bd=2, be=2, ac=2)
    assert slow_links(both) == ["every link of b", "a – c"]
    assert slow_links(_costs(3, ab=2, bc=2)) == ["a – b", "b – c"]


def test_slow_links__few_rounds_name_only_what_is_far_off() -> None:
    assert slow_links(_costs(4, 2, bc=1.6)) == []
    assert slow_links(_costs(4, 2, bc=4)) == ["b – c"]


def test_slow_links__one_pair_is_slower_than_none() -> None:
    assert slow_links(_costs(2, ab=9)) == []


def test_stage__hosts_have_clocks_of_their_own() -> None:
    rest: list[Any] = [None] * 4
    for kind, one_clock in (("hosts", False), ("lab", True), ("local", True)):
        info: Any = None
        launcher: Any = SimpleNamespace(kind=kind)
        stage = Stage(info, rest[0], launcher, rest[1], rest[2], rest[3], 1)
        assert stage.one_clock == one_clock


@pytest.mark.parametrize("name", ["open-loop", "oneway", "pingpong"])
def test_round__when_the_time_is_over_no_run_begins(name: str) -> None:
    """The one before may have been cut short inside a message."""
    wire = Wire()
    over = replace(_turn(name), stop_at=0.0)
    assert _conductor(name, wire, kind="hosts").round(over) is None
    assert wire.runs == []
