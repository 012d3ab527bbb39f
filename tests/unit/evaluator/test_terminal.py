# SPDX-License-Identifier: BSD-3-Clause
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import JsonValue

from beowire.plan.patterns import PATTERNS
from beowire.record.reader import Record, read_record
from beowire.show import terminal
from beowire.units import count_rate_text
from unit.evaluator import synthetic_record


def _record(tmp_path: Path, *drivers: str, **options: object) -> Record:
    lines = synthetic_record.lines(drivers, **options)  # type: ignore[arg-type]
    return read_record(synthetic_record.write(tmp_path / "record.jsonl", lines))


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_render__tables_and_plot_fit_the_width(tmp_path: Path, width: int) -> None:
    record = _record(tmp_path, "beowire", "packet", "tcp-spin", "tcp", "udp", "shm", "memcpy")
    text = terminal.render(record, width=width, colour=False)
    table = text[: text.index("What to use")]
    too_wide = [line for line in table.splitlines() if len(line) > width]
    assert [line for line in too_wide if line.startswith(" ") or "│" in line] == []


def test_render__is_plain_without_colour(tmp_path: Path) -> None:
    record = _record(tmp_path, "beowire", "tcp-spin")
    text = terminal.render(record, width=80, colour=False)
    assert "\x1b" not in text
    assert "\x1b" in terminal.render(record, width=80, colour=True)


def test_render__shows_every_driver_and_size(tmp_path: Path) -> None:
    record = _record(tmp_path, "beowire", "tcp-spin", sizes=(8, 1024, 65536))
    text = terminal.render(record, width=100, colour=False)
    for word in ("beowire", "tcp-spin", "8 B", "1 KiB", "64 KiB"):
        assert word in text


def test_render__every_pattern_has_its_tables(tmp_path: Path) -> None:
    lines = synthetic_record.lines(("beowire", "tcp-spin"), patterns=tuple(PATTERNS))
    record = read_record(synthetic_record.write(tmp_path / "record.jsonl", lines))
    text = terminal.render(record, width=100, colour=False)
    for pattern in PATTERNS.values():
        assert f"\n{pattern.title}" in text
        assert f"What to use between two nodes, by {pattern.quantity}\n" in text
        has_rate = pattern.is_times and pattern.sized
        assert not has_rate or f"\n{pattern.rate[0].upper()}{pattern.rate[1:]}" in text


def test_render__overlap_has_its_shares(tmp_path: Path) -> None:
    record = _record(tmp_path, "beowire", "tcp-spin", patterns=("overlap",), sizes=(8, 1024))
    shares = {"overlap_send": 0.5, "overlap_receive": 0.07}
    assert "Share of a transfer" not in terminal.render(record, width=100, colour=False)
    changed = [one.model_copy(update=shares) for one in record.results]
    text = terminal.render(replace(record, results=changed), width=100, colour=False)
    assert "Share of a transfer that went on while its sender, its receiver computed" in text
    assert "50% 7%" in text


def test_render__says_between_what_it_was_measured(tmp_path: Path) -> None:
    lines = terminal.render(_record(tmp_path, "tcp-spin"), width=80, colour=False).splitlines()
    assert lines[0].startswith("node0 ⇄ node1: virtual cluster (switch link), MTU 1500, 10 Gbit/s,")
    assert lines[0].endswith(", congestion control cubic")
    assert lines[1] == ""


def test_render__figures_are_the_records(tmp_path: Path) -> None:
    record = _record(tmp_path, "tcp-spin", sizes=(8,))
    half = record.results[0].half_rtt_ns
    assert half is not None
    assert f"{half.median / 1000:.3f} ±" in terminal.render(record, width=80, colour=False)


def _with_interval(record: Record, low: float | None, high: float | None) -> Record:
    result = record.results[0]
    assert result.half_rtt_ns is not None and result.rate_bytes_per_s is not None
    half, rate = result.half_rtt_ns, result.rate_bytes_per_s
    interval = None if low is None or high is None else (half.median * low, half.median * high)
    inverse = None if low is None or high is None else (rate.median / high, rate.median / low)
    changed = result.model_copy(
        update={
            "half_rtt_ns": half.model_copy(update={"ci95": interval}),
            "rate_bytes_per_s": rate.model_copy(update={"ci95": inverse}),
            "stopped_by": "time",
        }
    )
    return Record(record.path, record.meta, [changed], [], record.end)


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [
        (0.99, 1.02, "±2.0%\n"),
        (0.94, 1.01, "±6.0%~\n"),
        (0.9, 25.0, "±>100%~\n"),
        (1.0, 1.0, "±<0.1%\n"),
        (None, None, "±?~\n"),
    ],
)
def test_render__an_interval_is_a_share_and_marked_if_wide(
    tmp_path: Path, low: float | None, high: float | None, shown: str
) -> None:
    record = _with_interval(_record(tmp_path, "tcp-spin", sizes=(8,)), low, high)
    text = terminal.render(record, width=80, colour=False)
    assert shown in text
    assert ("~ wider than ±5%: 1 of 1 cells" in text) == ("~" in shown)
    assert "0 of 1 cells (a driver at a size) met the goal (±1%, p99 ±5%)" in text


def test_render__seven_drivers_fit_120_columns(tmp_path: Path) -> None:
    drivers = ("beowire", "packet", "tcp-spin", "tcp", "udp", "shm", "memcpy")
    text = terminal.render(_record(tmp_path, *drivers), width=120, colour=False)
    latency = text[: text.index("Throughput")]
    assert latency.count("size ") == 1


def test_render__a_long_schedule_is_selected_from_and_says_so(tmp_path: Path) -> None:
    sizes = tuple(range(1, 400, 3))
    record = _record(tmp_path, "tcp-spin", sizes=sizes)
    text = terminal.render(record, width=80, colour=False)
    assert f"of {len(sizes)} sizes are shown; all are in {record.path}" in text
    assert text.count(" B ") < 4 * 14


def test_render__advises_among_reliable_drivers_between_nodes(tmp_path: Path) -> None:
    record = _record(tmp_path, "beowire", "packet", "tcp-spin", "tcp", "shm", "memcpy")
    text = terminal.render(record, width=100, colour=False)
    advice = text[text.index("What to use") :].split("\n\n")[0]
    assert "beowire" in advice
    assert "CPU time per round trip, both ends: beowire 9" in advice
    for line in advice.splitlines()[1:]:
        assert not any(f" {name}:" in line for name in ("packet", "shm", "memcpy"))


def _half_rounds(
    record: Record, medians: dict[tuple[str, int], float], reach: float | None
) -> Record:
    """The record with the medians of these drivers and sizes, and intervals of that reach."""
    changed = []
    for result in record.results:
        if result.half_rtt_ns is None:
            continue
        value = medians[result.driver, result.size]
        around = None if reach is None else (value / reach, value * reach)
        half = result.half_rtt_ns.model_copy(update={"median": value, "ci95": around})
        changed.append(result.model_copy(update={"half_rtt_ns": half}))
    return replace(record, results=changed)


def _advice(record: Record) -> list[str]:
    text = terminal.render(record, width=80, colour=False)
    return text[text.index("What to use") :].split("\n\n")[0].splitlines()[1:]


def test_render__without_intervals_nothing_is_advised(tmp_path: Path) -> None:
    record = _record(tmp_path, "tcp", "tcp-spin", sizes=(8, 1024))
    medians = {("tcp", 8): 9e3, ("tcp", 1024): 9e3, ("tcp-spin", 8): 1e3, ("tcp-spin", 1024): 1e3}
    (advice,) = _advice(_half_rounds(record, medians, None))
    assert advice.startswith("  8 B to 1 KiB         inconclusive, too few rounds: use a longer")


def test_render__of_those_not_told_apart_the_usually_faster_is_first(tmp_path: Path) -> None:
    record = _record(tmp_path, "tcp", "tcp-spin", sizes=(8, 1024))
    # At the first size the other one is a little faster.
    medians = {("tcp", 8): 1e3, ("tcp", 1024): 5e3, ("tcp-spin", 8): 11e2, ("tcp-spin", 1024): 3e3}
    advice = _advice(_half_rounds(record, medians, 9.0))
    assert advice[0].startswith(
        "  8 B to 1 KiB         tcp-spin or tcp (no significant difference)"
    )


def test_render__gives_no_advice_on_a_single_driver(tmp_path: Path) -> None:
    record = _record(tmp_path, "tcp")
    assert "What to use" not in terminal.render(record, width=80, colour=False)


def test_render__a_stream__shows_messages_and_their_cpu_time(tmp_path: Path) -> None:
    record = _record(tmp_path, "tcp-spin", patterns=("stream",), sizes=(8,))
    result = record.results[0]
    assert result.rate_bytes_per_s is not None
    shown = result.model_copy(update={"cpu_ns_per_message": 1234.0})
    text = terminal.render(
        Record(record.path, record.meta, [shown], [], record.end), width=100, colour=False
    )
    rate = count_rate_text(result.rate_bytes_per_s.median / 8)
    assert f"{rate} 1.23 µs" in text


def test_render__with_load__shows_the_tail_and_says_so(tmp_path: Path) -> None:
    record = _record(tmp_path, "tcp-spin", sizes=(8,))
    assert "99th percentile" not in terminal.render(record, width=100, colour=False)
    load: JsonValue = {"kind": "hog", "nice": 19, "hogs": [2]}
    options = {**record.meta.options, "load": load}
    meta = record.meta.model_copy(update={"options": options})
    loaded = Record(record.path, meta, record.results, [], record.end)
    text = terminal.render(loaded, width=100, colour=False)
    assert "99th percentile of it, with a hog at nice 19 on every CPU" in text


def test_render__many_drivers__are_rows_under_their_groups(tmp_path: Path) -> None:
    many = (
        *("memcpy", "shm", "tcp", "tcp-spin", "udp", "packet", "beowire", "fi-tcp", "ucx:tcp"),
        *("mpi:openmpi4/tcp", "mpi:openmpi4/beowire", "mpi:mpich/tcp", "mpi:mpich/beowire"),
    )
    record = _record(tmp_path, *many)
    for width in (60, 100):
        lines = terminal.render(record, width=width, colour=False).splitlines()
        table = lines[lines.index("Sockets") - 5 : lines.index("MPI") + 5]
        assert table[0].split()[:2] == ["driver", "1"] and table[0].endswith(("MiB", "KiB"))
        rows = [line.split()[0] for line in table if line.startswith("  ")]
        assert sorted(rows) == sorted(many)
        assert max(map(len, table)) <= width
        legend = next(line for line in lines if "against message size" in line)
        assert "mpi:openmpi4/beowire" in legend and "mpi:mpich/beowire" not in legend


def test_render__many_drivers_of_long_names__keep_one_size_at_least(tmp_path: Path) -> None:
    many = tuple(f"driver-of-somebody-with-a-long-name-{number:02}" for number in range(13))
    lines = terminal.render(_record(tmp_path, *many), width=60, colour=False).splitlines()
    heads = [line.split() for line in lines if line.startswith("driver ")]
    assert heads and all(words == ["driver", "1", "B"] for words in heads)


def test_render__idle_and_loaded__side_by_side(tmp_path: Path) -> None:
    record = _record(tmp_path, "tcp", "tcp-spin", sizes=(8, 1024))
    record = replace(record, results=[one for one in record.results if one.half_rtt_ns])
    loaded = synthetic_record.with_load(record, "hog:0", 12.0)
    text = terminal.render(loaded, width=120, colour=False)
    heads = text.splitlines()[3].split()
    assert heads == ["size", "tcp-spin", "tcp-spin", "+hog:0", "tcp", "tcp", "+hog:0"]
    assert "99th percentile of it, idle, and beside a hog at nice 0 on every CPU" in text
    costs = text[text.index("Half round trip beside the load") :].splitlines()
    assert costs[1].split() == ["size", "tcp-spin", "+hog:0", "tcp", "+hog:0"]
    assert costs[2].split() == ["8", "B", "x12.0", "x12.0", "x12.0", "x12.0"]
    assert text.count("What to use between two nodes") == 2
    assert "by half round trip, beside a hog at nice 0 on every CPU" in text
    narrow = terminal.render(loaded, width=80, colour=True)
    assert ", beside a hog at nice 0 on\n  every CPU\n" in narrow
    # Throughput is told against the baseline beside the same load.
    rates = text[text.index("Throughput of a ping-pong") :].splitlines()
    assert rates[2].count("x1.0") == 2


def test_render__many_drivers_idle_and_loaded__have_a_row_each(tmp_path: Path) -> None:
    many = ("memcpy", "tcp-spin", *(f"mpi:mpich/way{number:02}" for number in range(11)))
    record = _record(tmp_path, *many, sizes=(8, 1024))
    record = replace(record, results=[one for one in record.results if one.half_rtt_ns])
    loaded = synthetic_record.with_load(record, "hog:0", 12.0)
    text = terminal.render(loaded, width=100, colour=False)
    table, costs = (
        text[text.index(title) :].split("\n\n", 1)[0].splitlines()
        for title in ("Throughput of a ping-pong", "Half round trip beside the load")
    )
    names = [line[2:].split("  ")[0] for line in table if line.startswith("  ")]
    assert sorted(names) == sorted(f"{one}{more}" for one in many for more in ("", " +hog:0"))
    assert names.index("tcp-spin +hog:0") == names.index("tcp-spin") + 1
    # Each is told against the baseline beside the same load.
    assert [line.count("x1.0") for line in table if "tcp-spin" in line][1:] == [2, 2]
    of_costs = [line for line in costs if line.startswith("  ")]
    assert len(of_costs) == len(many)
    assert all(" +hog:0 " in line and line.count("x12.0") == 4 for line in of_costs)
    assert text.count("What to use between two nodes") == 2
