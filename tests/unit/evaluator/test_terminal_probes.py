# SPDX-License-Identifier: BSD-3-Clause
from pathlib import Path

from beowire import terminal
from beowire.record import Record, read_record
from beowire.report.curves import curves
from beowire.terminal_probes import figure_text, methods_text
from unit.evaluator import synthetic_record


def _record(directory: Path, *drivers: str, sizes: tuple[int, ...]) -> Record:
    lines = synthetic_record.lines(drivers, sizes=sizes, samples=400)
    return read_record(synthetic_record.write(directory / "record.jsonl", lines))


def test_render__probes__only_if_asked_for(tmp_path: Path) -> None:
    record = synthetic_record.with_probes(_record(tmp_path, "tcp", sizes=(8, 64, 1024)))
    assert "What probes counted" not in terminal.render(record, width=100, colour=False)
    text = terminal.render(record, width=100, colour=False, probes=True)
    assert text.count("What probes counted at") == 2 * 2  # of two patterns
    assert "What probes counted at 8 B: initiator, responder" in text
    table = text[text.index("What probes counted at 8 B") :].split("\n\n")[0].splitlines()
    rows = {line[:42].strip(): line[42:].strip() for line in table[2:]}
    assert rows["the interrupts"] == "44.4 k/s, 1.00 k/s"
    assert rows["the taken_ns, a message"] == "700 ns"
    assert rows["service demand, both ends"] == "1.50 µs/KB"
    assert rows["throughput to a second of system time"] == "2.00 GB/s, 3.00 GB/s"
    assert rows["CPU time accounted, and seen by a soaker"] == "600 ns, 700 ns"
    assert "Not counted\n  cycles (node0): no such counter\n  cycles (node1): <i>not" in text


def test_render__probes__says_where_two_ways_differ(tmp_path: Path) -> None:
    record = synthetic_record.with_probes(_record(tmp_path, "tcp", sizes=(8,)), differ=True)
    text = terminal.render(record, width=100, colour=False, probes=True)
    assert "600 ns, 700 ns DIFFER" in text


def test_figure_text__by_unit() -> None:
    by_name = {info.name: info for info in synthetic_record.PROBES}
    assert figure_text(by_name["taken_ns"], 1500.0) == "1.50 µs"
    assert figure_text(by_name["interrupts"], 44_432.0) == "44.4 k/s"
    assert figure_text(by_name["cycles"], 5.0) == "5.00"
    assert figure_text(by_name["cycles"], 123_456.0) == "1.23e+05"
    assert figure_text(by_name["cycles"], None) == "-"


def test_methods_text__without_a_soaker(tmp_path: Path) -> None:
    record = _record(tmp_path, "tcp", sizes=(8,))
    (curve,) = curves([record], "pingpong")
    assert methods_text(curve.cells[0]) == "-"
