# SPDX-License-Identifier: BSD-3-Clause
"""Tables of what patterns have found besides one figure a size."""

from types import SimpleNamespace
from typing import Any

from beowire.analysis.sheets import Sheet, sheets
from beowire.record.lines import Result


def _summary(median: float) -> dict[str, Any]:
    return {
        "median": median,
        "ci95": None,
        "p90": None,
        "p99": 10 * median,
        "min": median,
        "max": median,
    }


def _result(pattern: str, **members: Any) -> Result:
    usual = {
        "driver": "tcp",
        "size": 64,
        "launch": 1,
        "n": 1,
        "rounds": 1,
        "batch": 1,
        "lost": 0,
        "status": "ok",
        "stopped_by": "time",
        "cpu": [],
        "elapsed_ns": 1.0,
        "time_ns": _summary(3000.0),
    }
    return Result.model_validate({**usual, "pattern": pattern, **members})


def _sheets(pattern: str, *results: Result) -> list[Sheet]:
    record: Any = SimpleNamespace(results=list(results))
    found = sheets(record, pattern)
    for one in found:
        assert all(len(row) == len(one.heads) for row in one.rows)
    return found


def _level(share: float | None, **members: Any) -> dict[str, Any]:
    level = {"share": share, "rate_messages_per_s": 1e5 * (share or 1), "n": 100, "lost": 0}
    return {**level, "late": 5, "time_ns": _summary(1000 * (share or 1)), **members}


def test_sheets__a_pattern_with_one_figure_has_none() -> None:
    assert _sheets("pingpong", _result("pingpong")) == []


def test_sheets__open_loop_has_each_level() -> None:
    levels = [_level(0.1), _level(0.5), _level(0.9)]
    result = _result("open-loop", levels=levels, loss_free_messages_per_s=1e5)
    (sheet,) = _sheets("open-loop", result, _result("pingpong"))
    times = ["100 ns", "1.00 µs", "500 ns", "5.00 µs", "900 ns", "9.00 µs"]
    assert sheet.rows == [["tcp", "64 B", "100 k/s", *times, "5%"]]
    assert sheet.notes == []


def test_sheets__open_loop_says_where_no_rate_is_free_of_loss() -> None:
    (sheet,) = _sheets("open-loop", _result("open-loop", levels=[_level(0.1), _level(0.9)]))
    assert sheet.rows[0][2] == "100 k/s ?"
    assert sheet.notes[0].startswith("? messages were lost")


def test_sheets__open_loop_at_a_rate_of_the_users() -> None:
    (sheet,) = _sheets("open-loop", _result("open-loop", levels=[_level(None, lost=7)]))
    assert sheet.heads == ["driver", "size", "rate", "median", "p99", "lost", "late"]
    assert sheet.rows == [["tcp", "64 B", "100 k/s", "1.00 µs", "10.0 µs", "7", "5%"]]
    assert sheet.notes == []


def test_sheets__oneway_has_the_bound_beside_the_figure() -> None:
    (sheet,) = _sheets("oneway", _result("oneway", clock_bound_ns=40.0))
    assert sheet.rows == [["tcp", "64 B", "3.00 µs", "±40.0 ns"]]


def test_sheets__incast_is_by_the_number_of_senders() -> None:
    senders = [
        {"senders": number, "time_ns": _summary(1000.0 * number), "goodput_bytes_per_s": 5e7}
        for number in (1, 3)
    ]
    (sheet,) = _sheets("incast", _result("incast", senders=senders, start_skew_ns=12e3))
    assert sheet.heads == ["driver", "size", "1 sender", "3 senders", "start skew"]
    assert sheet.rows == [["tcp", "64 B", "1.00 µs 50.0 MB/s", "3.00 µs 50.0 MB/s", "12.0 µs"]]


def test_sheets__pairs_name_the_slowest() -> None:
    pairs = [
        {"a": "node0", "b": "node2", "rate_bytes_per_s": 2e8},
        {"a": "node1", "b": "node3", "rate_bytes_per_s": 1e8},
    ]
    (sheet,) = _sheets("pairs", _result("pairs", pairs=pairs))
    assert sheet.rows == [["tcp", "64 B", "300 MB/s", "100 MB/s", "node1 – node3", "–"]]


def test_sheets__all_pairs_are_a_matrix_that_names_the_slow_link() -> None:
    def pairs(half_ns: float, rate: float) -> list[dict[str, Any]]:
        names = (("n0", "n1"), ("n0", "n2"), ("n1", "n2"))
        return [
            {"a": a, "b": b, "half_rtt_ns": half_ns, "rate_bytes_per_s": rate} for a, b in names
        ]

    (sheet,) = _sheets(
        "all-pairs",
        _result("all-pairs", pairs=pairs(1e3, 1e6), slow=["n1 – n2"]),
        _result("all-pairs", size=4096, pairs=pairs(9e3, 9e8), slow=["n1 – n2"]),
    )
    assert sheet.rows == [
        ["n0", "", "1.00 µs", "1.00 µs"],
        ["n1", "900 MB/s", "", "1.00 µs"],
        ["n2", "900 MB/s", "900 MB/s", ""],
    ]
    assert sheet.notes == ["Slow with tcp: n1 – n2 (at 64 B, 4 KiB)"]
    (quiet,) = _sheets("all-pairs", _result("all-pairs", pairs=pairs(1e3, 1e6)))
    assert quiet.notes == ["No link is slower than the others with tcp."]


def test_sheets__launches_are_told_apart() -> None:
    results = [_result("oneway", launch=number, clock_bound_ns=1.0) for number in (2, 1)]
    (sheet,) = _sheets("oneway", *results)
    assert [row[0] for row in sheet.rows] == ["tcp (1)", "tcp (2)"]
