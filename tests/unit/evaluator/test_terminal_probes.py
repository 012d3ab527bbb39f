# SPDX-License-Identifier: BSD-3-Clause
from pathlib import Path

from beowire.analysis.curves import curves
from beowire.record.reader import Record, read_record
from beowire.show import terminal
from beowire.show.terminal_probes import figure_text, methods_text
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
    assert rows["the interrupts"] == "44.4 k/s ±3.5%, 1.00 k/s ±?"
    assert rows["the taken_ns, a message"] == "700 ns"
    assert rows["service demand, both ends"] == "1.50 µs/KB"
    assert rows["throughput to a second of system time"] == "2.00 GB/s, 3.00 GB/s"
    assert rows["CPU time accounted, and seen by a soaker"] == "600 ns, 700 ns"
    assert "Not counted\n  cycles (node0): no such counter\n  cycles (node1): <i>not" in text


def test_render__probes__says_where_two_ways_differ(tmp_path: Path) -> None:
    record = synthetic_record.with_probes(_record(tmp_path, "tcp", sizes=(8,)), differ=True)
    text = terminal.render(record, width=100, colour=False, probes=True)
    assert "600 ns, 700 ns DIFFER" in text


MANY = (
    *("memcpy", "shm", "tcp", "tcp-spin", "tcp-nagle", "udp", "packet", "beowire", "fi-tcp"),
    *("pvm", "mpi:openmpi4/tcp", "mpi:openmpi4/beowire", "mpi-put:openmpi4/beowire", "mine"),
)


def test_render__probes__many_drivers__a_row_each_under_their_groups(tmp_path: Path) -> None:
    record = synthetic_record.with_probes(_record(tmp_path, *MANY, sizes=(8, 64, 1024)))
    text = terminal.render(record, width=100, colour=False, probes=True)
    table = text[text.index("What probes counted at 8 B") :].split("\n\n")[0].splitlines()
    assert max(map(len, table)) <= 100
    assert table[1].split() == ["demand", "taken", "interrupts", "user", "voluntary"]
    assert table[2].split() == ["driver", "µs/KB", "µs", "k/s", "µs", "switches"]
    labels = [line.split("  1.50")[0].rstrip() for line in table[3:]]
    assert labels[:5] == ["Memory", "  memcpy", "One host", "  shm", "Sockets"]
    assert labels[-6:] == [
        "MPI",
        *("  mpi:openmpi4/beowire", "  mpi:openmpi4/tcp", "  mpi-put:openmpi4/beowire"),
        *("Others", "  mine"),
    ]
    (row,) = (line for line in table if line.startswith("  tcp "))
    assert row.split()[1:6] == ["1.50", "0.700", "44.4", "±3.5%,", "1.00"]


def test_render__probes__many_drivers__says_what_does_not_fit(tmp_path: Path) -> None:
    record = synthetic_record.with_probes(_record(tmp_path, *MANY, sizes=(8,)))
    text = terminal.render(record, width=60, colour=False, probes=True)
    table = text[text.index("What probes counted at 8 B") :].split("\n\n")[0].splitlines()
    assert table[1].split() == ["demand", "taken", "interrupts"][: len(table[1].split())]
    assert max(map(len, table)) <= 60
    note = " ".join(line.strip() for line in table[3 + len(MANY) + 9 :])
    assert note.startswith("not shown for want of columns: ")
    assert note.endswith("voluntary_switches; all are in report.html")
    wide = terminal.render(record, width=300, colour=False, probes=True)
    assert "not shown for want of columns" not in wide


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
