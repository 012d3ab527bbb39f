# SPDX-License-Identifier: BSD-3-Clause
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beowire.plan import plan
from beowire.record.lines import DriverInfo
from beowire.sizes import schedule


def _driver(name: str, **changes: object) -> DriverInfo:
    members: dict[str, object] = {
        "name": name,
        "summary": "",
        "placement": "pair",
        "reliable": True,
        "spins": False,
        "min_size": 1,
        "max_size": 1 << 20,
        "ready": True,
        "reason": "",
    }
    return DriverInfo.model_validate({**members, **changes})


TCP = _driver("tcp")
UDP = _driver("udp", reliable=False, max_size=65507)
MEMCPY = _driver("memcpy", placement="process")
ABSENT = _driver("packet", ready=False, reason="node0: needs CAP_NET_RAW")


def test_make_plan__has_every_cell_once() -> None:
    made = plan.make_plan([TCP, UDP], ["pingpong", "stream"], [8, 1024], 10, seed=1)
    cells = [(g.pattern, g.size, d) for g in made.groups for d in g.drivers]
    assert len(cells) == len(set(cells)) == made.cells == 8


def test_make_plan__order_is_the_seeds() -> None:
    sizes = list(range(1, 50))
    plans = [plan.make_plan([TCP], ["pingpong"], sizes, 10, seed) for seed in (1, 1, 2)]
    assert plans[0] == plans[1]
    assert plans[0] != plans[2]
    assert [group.size for group in plans[0].groups] != sizes


def test_make_plan__says_which_sizes_a_driver_cannot_carry() -> None:
    made = plan.make_plan([TCP, UDP], ["pingpong"], [8, 100_000], 10, seed=1)
    assert [(one.driver, one.size) for one in made.skipped] == [("udp", 100_000)]
    assert "65507" in made.skipped[0].reason
    assert made.cells == 3


def test_make_plan__has_no_stream_without_another_end() -> None:
    made = plan.make_plan([MEMCPY], ["stream"], [8], 10, seed=1)
    assert made.groups == ()
    assert "no other end" in made.skipped[0].reason


def test_make_plan__measures_once_what_has_no_size() -> None:
    together = _driver("mpi", collective=True)
    made = plan.make_plan([together], ["barrier", "allreduce"], [64, 8], 10, seed=1)
    cells = sorted((group.pattern, group.size) for group in made.groups)
    assert cells == [("allreduce", 8), ("allreduce", 64), ("barrier", 8)]
    assert plan.affordable_sizes([64, 8], [together], ["barrier", "allreduce"], 10)[1] == 0.75


def test_affordable_sizes__time_enough__are_all() -> None:
    sizes = schedule(1, 4096)
    needed_s = 2 * len(sizes) * plan.LEAST_CELL_S
    chosen = plan.affordable_sizes(sizes, [TCP, UDP], ["pingpong"], needed_s)
    assert chosen == (sizes, needed_s)


@pytest.mark.parametrize(
    ("share", "kept"),
    [
        (0.9, schedule(1, 4096, 0)),
        (0.22, [1 << power for power in range(13)]),
        (0.12, [1, 4, 16, 64, 256, 1024, 4096]),
        (0.09, [1, 8, 64, 512, 4096]),
        (0.01, [1, 64, 4096]),
    ],
)
def test_affordable_sizes__time_short__are_coarser(share: float, kept: list[int]) -> None:
    sizes = schedule(1, 4096)
    needed_s = len(sizes) * plan.LEAST_CELL_S
    chosen, whole_s = plan.affordable_sizes(sizes, [TCP], ["pingpong"], share * needed_s)
    assert chosen == kept
    assert whole_s == needed_s


@pytest.mark.parametrize("largest", [1, 2, 4, 8, 64, 256, 1024, 4096, 1 << 22, 1 << 30])
def test_affordable_sizes__time_shorter_still__are_never_more(largest: int) -> None:
    sizes = schedule(1, largest)
    whole_s = len(sizes) * plan.LEAST_CELL_S
    counts = [
        len(plan.affordable_sizes(sizes, [TCP], ["pingpong"], whole_s / part)[0])
        for part in (1, 2, 4, 8, 16, 32, 64, 1000)
    ]
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] <= 3


def test_affordable_sizes__count_what_drivers_can_carry() -> None:
    short = _driver("short", max_size=4)
    chosen, needed_s = plan.affordable_sizes([1, 2, 3, 4, 5, 6], [short], ["pingpong"], 1.0)
    assert chosen == [1, 2, 3, 4, 5, 6]
    assert needed_s == 4 * plan.LEAST_CELL_S


@given(st.floats(0.1, 1e9), st.floats(1, 1e8), st.integers(1, 1000))
def test_count_for__is_whole_batches(message_ns: float, target_ns: float, batch: int) -> None:
    count = plan.count_for(message_ns, target_ns, batch)
    assert count >= batch
    assert count % batch == 0
    assert count <= plan.MAXIMUM_COUNT


def test_count_for__fills_the_target() -> None:
    assert plan.count_for(2000, 10e6, 1) == 5000
    assert plan.count_for(50e6, 10e6, 1) == 1


@given(st.floats(0, 1e6), st.floats(0.1, 100))
def test_batch_for__makes_a_sample_long_enough(message_ns: float, overhead_ns: float) -> None:
    batch = plan.batch_for(message_ns, overhead_ns)
    assert batch == 1000 or max(1.0, message_ns) * batch >= 20 * overhead_ns or batch == 1
    assert message_ns < 20 * overhead_ns or batch == 1


def test_next_count__follows_in_steps() -> None:
    assert plan.next_count(2, 1000, 10e6, 1) == 8  # a warm-up that met a stall
    assert plan.next_count(8000, 1e6, 10e6, 1) == 2000  # it has become slower
    assert plan.next_count(9000, 1000, 10e6, 1) == 9000  # near enough
    assert plan.next_count(1, 1e9, 10e6, 1) == 1


@given(st.integers(1, 10**6), st.floats(1, 1e9), st.integers(1, 100))
def test_next_count__is_whole_batches(count: int, message_ns: float, batch: int) -> None:
    count *= batch
    following = plan.next_count(count, message_ns, 10e6, batch)
    assert following >= batch
    assert following % batch == 0


def test_round_target_ns__is_bounded() -> None:
    assert plan.round_target_ns(1e-3) == plan.SHORTEST_ROUND_NS
    assert plan.round_target_ns(1e3) == plan.LONGEST_ROUND_NS
    # A cell of 0.2 s has time for at least the rounds that it needs.
    assert plan.round_target_ns(0.2) * 20 < 0.2e9


def test_sizes_of__a_pattern_of_long_rounds__has_few_unless_some_are_asked_for() -> None:
    sizes = [1, 64, 100, 1024, 4096]
    assert plan.sizes_of("pingpong", sizes, scheduled=True) == sizes
    assert plan.sizes_of("incast", sizes, scheduled=True) == [64, 1024]
    assert plan.sizes_of("incast", sizes, scheduled=False) == sizes
    assert plan.sizes_of("incast", [1, 8], scheduled=True) == [8]


def test_make_plan__says_what_a_pattern_needs_of_a_size_or_a_driver() -> None:
    made = plan.make_plan([_driver("tcp")], ["oneway"], [8, 16], 1.0, 1)
    assert [(one.size, one.reason) for one in made.skipped] == [
        (8, "oneway needs messages of 16 bytes or more")
    ]
    made = plan.make_plan([_driver("mpi:openmpi4/tcp")], ["incast"], [8], 1.0, 1)
    assert "an MPI's launcher" in made.skipped[0].reason
