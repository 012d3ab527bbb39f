# SPDX-License-Identifier: BSD-3-Clause
from dataclasses import replace

import numpy as np
import pytest

from beowire.conduct.cell import MAXIMUM_ROUNDS, Cell
from beowire.conduct.session import Counts, Round, RoundShape
from beowire.record.histogram import Histogram
from beowire.record.lines import ProbeInfo


def _use(
    user: int, system: int, voluntary: int, involuntary: int, softirq: int | None = None
) -> Counts:
    return {
        "window_ns": 1_000_000,
        "user_ns": user,
        "system_ns": system,
        "voluntary_switches": voluntary,
        "involuntary_switches": involuntary,
        "irq_ns": None,
        "softirq_ns": softirq,
    }


def _round(median_ns: float, *, spread: float = 0.001, seed: int = 1, lost: int = 0) -> Round:
    random = np.random.default_rng(seed)
    values = np.rint(median_ns * np.exp(spread * random.normal(size=200))).astype(int)
    histogram = Histogram.of_values(int(value) for value in values)
    uses = [_use(2000, 4000, 200, 0), _use(1000, 1000, 100, 20)]
    return Round(200 + lost, 200, lost, int(values.sum()), 0, histogram, uses)


def _stream_round(rate_bytes_per_s: float, elapsed_ns: int = 1_000_000) -> Round:
    moved = round(rate_bytes_per_s * elapsed_ns / 1e9)
    return Round(100, 100, 0, elapsed_ns, moved, Histogram(), [_use(1, 2, 3, 4)] * 2)


def _cell(pattern: str = "pingpong", *, one_way: bool = False) -> Cell:
    return Cell("tcp", pattern, 1000, 1, one_way, shape=RoundShape(200, 8))


def _with_softirq(*softirq: int | None, one_kernel: bool = True) -> Cell:
    cell = Cell("tcp", "stream", 1000, 1, False, one_kernel, shape=RoundShape(100, 8))
    for _ in range(2):
        uses = [_use(100, 300, 0, 0, value) for value in softirq]
        cell.add(Round(100, 100, 0, 1_000_000, 100_000, Histogram(), uses))
    return cell


def test_result__cpu_of_a_message__has_the_softirq_time_of_one_machine_once() -> None:
    assert _with_softirq(50, 60).result("time").cpu_ns_per_message == pytest.approx(8.5)


def test_result__cpu_of_a_message__has_the_softirq_time_of_two_machines() -> None:
    cell = _with_softirq(50, 60, one_kernel=False)
    assert cell.result("time").cpu_ns_per_message == pytest.approx(9.1)


def test_result__cpu_of_a_message__is_unknown_without_softirq_time() -> None:
    result = _with_softirq(50, None, one_kernel=False).result("time")
    assert result.cpu_ns_per_message is None
    assert (result.cpu[0].softirq_ns, result.cpu[1].softirq_ns) == (0.5, None)


PROBES = [
    ProbeInfo.model_validate(
        {
            "name": name,
            "summary": "",
            "unit": "",
            "per": per,
            "probe": "",
            "how": "",
            "of": "machine",
            "disturbs": False,
            "reasons": ["", ""],
        }
    )
    for name, per in (("interrupts", "second"), ("syscalls", "message"))
]


def _probed(taken: int | None, *, rounds: int = 2) -> Cell:
    """Two ends on one machine, with rounds in which a soaker counted, at the first end only."""
    cell = Cell("tcp", "pingpong", 1000, 1, probes=PROBES, shape=RoundShape(100, 8))
    histogram = Histogram.of_values([4000] * 100)
    for _ in range(rounds):
        counts = [
            {**_use(1000, 3000, 1, 2, 500), "interrupts": 50},
            {**_use(1000, 4500, 1, 2, 500), "interrupts": None},
        ]
        cell.add(Round(100, 100, 0, 1_000_000, 0, histogram, counts))
        counts = [{**counts[0], "taken_ns": taken, "syscalls": 200}, {**counts[1], "syscalls": 300}]
        cell.probed.append(Round(100, 100, 0, 1_000_000, 0, histogram, counts))
    return cell


def test_result__probes__of_a_message_or_of_a_second() -> None:
    result = _probed(10_000).result("time")
    assert result.probes == [
        {"taken_ns": 100.0, "syscalls": 2.0, "interrupts": 50_000.0},
        {"syscalls": 3.0, "interrupts": None},
    ]
    assert result.probed_rounds == 2
    assert result.cpu[0].irq_ns is None
    assert result.figures(0)["user_ns"] == 10.0
    assert "interrupts" not in result.figures(1)
    assert result.figures(2) == {}


def _interrupted(*rounds: tuple[int, int]) -> Cell:
    """Rounds with so many interrupts in so many ns, at one end of two."""
    cell = Cell("tcp", "pingpong", 1000, 1, probes=PROBES, shape=RoundShape(100, 8))
    for count, window_ns in rounds:
        near = {**_use(1000, 3000, 1, 2), "window_ns": window_ns, "interrupts": count}
        far = {**_use(1000, 3000, 1, 2), "interrupts": None, "syscalls": 7}
        cell.add(Round(100, 100, 0, 1_000_000, 0, Histogram.of_values([4000] * 100), [near, far]))
    return cell


def test_result__probes__of_a_second_have_an_interval_of_the_rounds() -> None:
    result = _interrupted(*((count, 1_000_000) for count in range(40, 48))).result("time")
    assert result.probes[0]["interrupts"] == pytest.approx(43_500)
    assert result.probes_ci95 == [{"interrupts": pytest.approx((40_000, 47_000))}, {}]


def test_result__probes__the_interval_has_the_figure_in_it() -> None:
    """One long round with more of them makes the figure, but not the median round."""
    rounds = [(40, 1_000_000)] * 19 + [(10_000, 100_000_000)]
    result = _interrupted(*rounds).result("time")
    assert result.probes[0]["interrupts"] == pytest.approx(10_760 / 0.119)
    assert result.probes_ci95[0]["interrupts"] == pytest.approx((40_000, 10_760 / 0.119))


def test_result__probes__too_few_rounds_have_no_interval() -> None:
    result = _interrupted(*[(40, 1_000_000)] * 5).result("time")
    assert result.probes_ci95 == [{"interrupts": None}, {}]


def test_result__service_demand__of_what_crossed_both_ways() -> None:
    result = _probed(None).result("time")
    # 100 ns of CPU time for 2000 bytes; of it the kernel's are 30 ns and 45 ns.
    assert result.service_demand_us_per_kb == pytest.approx(100 / 2000 * 1.024)
    assert result.bytes_per_system_s == pytest.approx([2000e9 / 30, 2000e9 / 45])


@pytest.mark.parametrize(
    ("pattern", "crossed"),
    [
        *(("pipeline", 0), ("barrier", 0), ("broadcast", 1), ("allreduce", 2), ("alltoall", 2)),
        *(("request", 1), ("oneway", 2)),
    ],
)
def test_result__service_demand__of_what_the_pattern_has_cross(pattern: str, crossed: int) -> None:
    cell = Cell("tcp", pattern, 1000, 1, shape=RoundShape(100, 8))
    histogram = Histogram.of_values([4000] * 100)
    cell.add(Round(100, 100, 0, 1, 0, histogram, [_use(5000, 0, 0, 0, 0)] * 2))
    result = cell.result("time")
    assert result.cpu_ns_per_message == pytest.approx(100)
    demand = result.service_demand_us_per_kb
    assert demand == (pytest.approx(100 / (1000 * crossed) * 1.024) if crossed else None)
    assert bool(result.bytes_per_system_s) == bool(crossed)


@pytest.mark.parametrize(
    ("taken", "differ"),
    [(10_000, False), (10_499, False), (35_000, True), (1, False), (None, None)],
)
def test_result__two_ways_to_see_cpu_time(taken: int | None, differ: bool | None) -> None:
    both = _probed(taken).result("time").cpu_methods
    # A CPU has 10 us for each message here, so less than 0.1 us apart is nobody's business.
    if differ is None:
        assert both is None
    else:
        assert both is not None and taken is not None
        assert (both.accounted_ns, both.taken_ns) == (100.0, taken / 100)
        assert both.differ == differ


def test_result__two_ways_to_see_cpu_time__not_without_both() -> None:
    assert _probed(10_000, rounds=0).probed == []
    cell = _cell()
    cell.add(_round(4000))
    assert cell.result("time").cpu_methods is None


def test_result__a_stream__counts_messages_as_well() -> None:
    cell = _cell("stream")
    for _ in range(8):
        cell.add(_stream_round(2e9))
    result = cell.result("time")
    assert result.rate_messages_per_s is not None
    assert result.rate_messages_per_s.median == pytest.approx(2e6)
    assert result.rate_messages_per_s.ci95 == pytest.approx((2e6, 2e6))


def test_finished__not_before_twenty_rounds() -> None:
    cell = _cell()
    for seed in range(19):
        cell.add(_round(2000, seed=seed))
        assert cell.finished() is None
    cell.add(_round(2000, seed=19))
    assert cell.finished() == "precise"


def test_finished__a_wide_median_is_not_precise() -> None:
    cell = _cell()
    for seed in range(40):
        cell.add(_round(2000 if seed % 2 else 2600, seed=seed))
        assert cell.finished() is None


def test_finished__a_wide_tail_is_not_precise() -> None:
    """The median is known to 1 %, but the slowest per cent is another in each round."""
    cell = _cell()
    for seed in range(30):
        one = _round(2000, seed=seed)
        one.histogram.add(20_000 * (1 + seed % 7), 4)
        cell.add(one)
        assert cell.finished() is None


def test_finished__gives_up_after_many_rounds() -> None:
    cell = _cell()
    answers = set()
    for seed in range(MAXIMUM_ROUNDS + MAXIMUM_ROUNDS // 8):
        cell.add(_round(2000 if seed % 2 else 2600, seed=seed))
        answers.add(cell.finished())
    assert answers == {None, "rounds"}


def test_result__halves_round_trips() -> None:
    cell = _cell()
    for seed in range(20):
        cell.add(_round(2000, seed=seed, lost=1))
    result = cell.result("precise")
    assert result.half_rtt_ns is not None and result.rate_bytes_per_s is not None
    assert result.half_rtt_ns.median == pytest.approx(1000, rel=0.01)
    assert result.rate_bytes_per_s.median == pytest.approx(1e9, rel=0.01)
    assert result.round_medians[0] == pytest.approx(1000, rel=0.01)
    assert (result.n, result.rounds, result.lost, result.batch) == (4000, 20, 20, 1)
    assert result.histogram is not None
    assert sum(count for _, count in result.histogram.buckets) == 4000


def test_result__of_an_exchange_is_not_halved() -> None:
    cell = _cell(pattern="pingping")
    for seed in range(20):
        cell.add(_round(2000, seed=seed))
    result = cell.result("precise")
    assert result.half_rtt_ns is None and result.time_ns is not None
    assert result.time() is result.time_ns
    assert result.time_ns.median == pytest.approx(2000, rel=0.01)
    assert result.rate_bytes_per_s is not None
    assert result.rate_bytes_per_s.median == pytest.approx(0.5e9, rel=0.01)


def test_result__says_how_far_messages_walked() -> None:
    cell = _cell(pattern="cold")
    cell.add(replace(_round(2000), walk_bytes=100, cache_bytes=60))
    result = cell.result("time")
    assert (result.walk_bytes, result.cache_bytes) == (100, 60)


def test_result__overlap_is_what_the_median_round_did_not_cost() -> None:
    cell = _cell(pattern="overlap")
    for alone, beside in ((1000, 250), (1000, 900_000), (1000, 250)):
        cell.add(replace(_round(2000), overlap=(alone, beside, 2000, 3000)))
    result = cell.result("time")
    assert (result.overlap_send, result.overlap_receive) == (0.75, 0.0)
    cell = _cell()
    cell.add(_round(2000))
    assert cell.result("time").overlap_send is None


def test_result__no_interval_is_narrower_than_a_nanosecond() -> None:
    cell = _cell(one_way=True)
    for _ in range(20):
        histogram = Histogram.of_values([4] * 100)
        cell.add(Round(100, 100, 0, 400, 0, histogram, [_use(1, 1, 0, 0)]))
    half = cell.result("time").half_rtt_ns
    assert half is not None
    assert half.ci95 == (3.5, 4.5)


def test_result__of_one_way_is_not_halved() -> None:
    cell = _cell(one_way=True)
    cell.add(_round(2000))
    result = cell.result("time")
    assert result.half_rtt_ns is not None
    assert result.half_rtt_ns.median == pytest.approx(2000, rel=0.01)


def test_result__cpu_is_per_message_of_both_ends() -> None:
    cell = _cell()
    cell.add(_round(2000))
    cell.add(_round(2000))
    near, far = cell.result("time").cpu
    assert (near.user_ns, near.system_ns, near.voluntary_switches) == (10, 20, 1)
    assert (far.user_ns, far.involuntary_switches) == (5, 0.1)


def test_result__percentiles_without_an_upper_limit_are_null() -> None:
    cell = _cell()
    cell.add(_round(2000))
    half = cell.result("time").half_rtt_ns
    assert half is not None
    assert half.p90 is not None
    assert half.p99 is None
    cell.add(_round(2000, seed=2))
    half = cell.result("time").half_rtt_ns
    assert half is not None and half.p99 is not None


def test_result__the_rate_of_a_percentile_is_that_of_the_slow_tail() -> None:
    cell = _cell()
    for seed in range(20):
        cell.add(_round(2000, spread=0.2, seed=seed))
    result = cell.result("time")
    rate, half = result.rate_bytes_per_s, result.half_rtt_ns
    assert rate is not None and half is not None
    assert rate.ci95 is not None and rate.p99 is not None and half.p99 is not None
    assert rate.p99 == pytest.approx(1000 * 1e9 / half.p99)
    assert rate.min <= rate.p99 < rate.ci95[0] <= rate.median <= rate.ci95[1] < rate.max


def test_result__of_a_stream_is_a_rate() -> None:
    cell = _cell("stream")
    for number in range(40):
        cell.add(_stream_round(1e9 + 1e6 * number))
    result = cell.result("time")
    rate = result.rate_bytes_per_s
    assert rate is not None and rate.ci95 is not None
    assert result.half_rtt_ns is None and result.histogram is None
    assert rate.median == pytest.approx(1.0195e9)
    assert rate.ci95[0] < rate.median < rate.ci95[1]
    assert rate.p90 == pytest.approx(1.0039e9)
    assert rate.min == pytest.approx(1e9)
    assert rate.max == pytest.approx(1.039e9)


def test_result__the_mean_rate_of_a_stream_is_total_over_total() -> None:
    cell = _cell("stream")
    cell.add(_stream_round(1e9, 1_000_000))
    cell.add(_stream_round(2e9, 9_000_000))
    dumped = cell.result("time").model_dump()
    assert dumped["rate_bytes_per_s"]["mean"] == pytest.approx(1.9e9)


def test_result__keeps_why_it_is_not_whole() -> None:
    cell = _cell()
    cell.add(_round(2000))
    result = cell.result("error", "node1: the engine died")
    assert (result.stopped_by, result.status) == ("error", "node1: the engine died")


def test_partial__says_again_only_what_has_grown() -> None:
    cell = _cell()
    assert cell.partial() is None
    written = []
    for seed in range(40):
        cell.add(_round(2000, seed=seed))
        line = cell.partial()
        if line is not None:
            written.append(line)
    assert [one.rounds for one in written[:4]] == [1, 2, 3, 4]
    assert len(written) < 20
    assert written[-1].rounds > 0.75 * 40
    assert {(one.type, one.stopped_by, one.status) for one in written} == {
        ("partial", "error", "the run was cut short")
    }


def test_message_ns__is_of_the_last_usual_rounds() -> None:
    cell = _cell()
    for median_ns in (9000, 9000, 2000, 2000, 500_000, 2000, 2000):
        cell.add(_round(median_ns))
    assert cell.message_ns() == pytest.approx(2000, rel=0.05)
