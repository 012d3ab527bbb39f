# SPDX-License-Identifier: BSD-3-Clause
"""Best, median, and ratios round by round."""

import pytest

from beowire.apps import results
from beowire.apps.record import Left
from unit.evaluator.apps_records import launch, launches, meta, profile, record

TCP = [100.0, 110.0, 120.0, 90.0, 100.0, 100.0]
OURS = [110.0, 121.0, 132.0, 99.0, 110.0, 90.0]


def cells_of(*lines: object, less: bool = False) -> dict[results.Key, results.Cell]:
    flat = [one for group in lines for one in group]  # type: ignore[attr-defined]
    return results.cells(flat, meta("cg", less=less).apps)


def key(over: str) -> results.Key:
    return "cg", "openmpi4", over, "idle"


def test_cells__the_launch_that_warms_up_is_not_counted() -> None:
    cell = cells_of(launches("cg", "tcp", TCP))[key("tcp")]
    assert (cell.best, cell.median, len(cell.figures)) == (120.0, 100.0, 6)


def test_cells__of_times_the_least_is_best() -> None:
    assert cells_of(launches("cg", "tcp", TCP), less=True)[key("tcp")].best == 90.0


def test_cells__a_failure_leaves_no_figure() -> None:
    lines = [*launches("cg", "tcp", TCP), launch("cg", "tcp", 7, None, status="it hangs")]
    cell = cells_of(lines)[key("tcp")]
    assert (cell.best, cell.median, cell.failure) == (None, None, "it hangs")


def test_speedup__median_of_the_rounds_ratios_with_its_interval() -> None:
    found = cells_of(launches("cg", "tcp", TCP), launches("cg", "beowire", OURS))
    ratio = results.speedup(found[key("beowire")], found[key("tcp")])
    assert ratio is not None
    assert ratio.value == pytest.approx(1.1)
    assert ratio.low == pytest.approx(0.9)
    assert ratio.high == pytest.approx(1.1)


def test_speedup__fewer_than_six_rounds_have_no_interval() -> None:
    found = cells_of(launches("cg", "tcp", TCP[:5]), launches("cg", "beowire", OURS[:5]))
    ratio = results.speedup(found[key("beowire")], found[key("tcp")])
    assert ratio is not None
    assert (ratio.low, ratio.high) == (None, None)


def test_speedup__of_times_is_the_other_way_round() -> None:
    found = cells_of(launches("cg", "tcp", [2.0]), launches("cg", "beowire", [1.0]), less=True)
    ratio = results.speedup(found[key("beowire")], found[key("tcp")])
    assert ratio is not None
    assert ratio.value == 2.0


def test_speedup__only_rounds_that_both_have() -> None:
    lines = [launch("cg", "tcp", 2, 50.0)]
    found = cells_of(lines, launches("cg", "beowire", [1.0, 100.0, 1.0]))
    ratio = results.speedup(found[key("beowire")], found[key("tcp")])
    assert ratio is not None
    assert ratio.value == 2.0
    assert results.speedup(found[key("beowire")], None) is None


def test_relative_percent__of_the_best() -> None:
    found = cells_of(launches("cg", "tcp", [100.0, 50.0]), launches("cg", "beowire", [102.0]))
    percent = results.relative_percent(found[key("beowire")], found[key("tcp")])
    assert percent == pytest.approx(2.0)


def test_geometric_mean() -> None:
    assert results.geometric_mean([2.0, 0.5]) == pytest.approx(1.0)
    assert results.geometric_mean([]) is None


def test_results__a_line_for_each_way() -> None:
    lines = [*launches("cg", "tcp", TCP), *launches("cg", "beowire", OURS)]
    tcp, ours = results.results(record(meta("cg"), *lines))
    assert (tcp.over, tcp.best, tcp.n, tcp.speedup) == ("tcp", 120.0, 6, None)
    assert ours.speedup is not None
    assert ours.speedup.median == pytest.approx(1.1)
    assert ours.speedup.ci95 is not None
    assert list(ours.speedup.ci95) == pytest.approx([0.9, 1.1])


def test_failures__one_line_a_cause_and_where_it_is_right() -> None:
    wrong = {"status": "not verified: zeta", "verified": False}
    lines = [
        *launches("cg", "tcp", TCP),
        launch("cg", "beowire", 0, 1.0, **wrong),
        launch("cg", "packet", 0, 1.0, **wrong),
    ]
    assert results.failures(record(meta("cg"), *lines)) == [
        "cg (openmpi4 over beowire, openmpi4 over packet): not verified: zeta; over tcp it is right"
    ]


def test_failures__of_what_does_not_verify_say_nothing_of_others() -> None:
    lines = [*launches("cg", "tcp", TCP), launch("cg", "beowire", 0, None, status="it hangs")]
    assert results.failures(record(meta("cg"), *lines)) == ["cg (openmpi4 over beowire): it hangs"]


def test_failures__what_was_left_out_and_what_could_not_be_counted() -> None:
    lines = [profile("cg", "tcp", status="no library")]
    left = [Left(app="mg", mpi="intel", reason="mpicc fails"), Left(app="x", reason="no 'x'")]
    assert results.failures(record(meta("cg"), *lines, skipped=left)) == [
        "cg (openmpi4 over tcp), profile: no library",
        "mg intel: mpicc fails",
        "no 'x'",
    ]


def test_profile_of__is_that_of_the_way() -> None:
    whole = record(meta("cg"), *launches("cg", "tcp", TCP), profile("cg", "tcp", messages=7))
    cell = results.cells(whole.launches, whole.meta.apps)[key("tcp")]
    counted = results.profile_of(whole, cell)
    assert counted is not None
    assert counted.messages == 7
