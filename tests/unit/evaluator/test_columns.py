# SPDX-License-Identifier: BSD-3-Clause
"""Columns for other programs: NetPIPE's, to the digit as its two versions print them, and CSV."""

import csv
import io

import pytest

from beowire.record.lines import CpuCost, Result
from beowire.show import columns
from unit.evaluator.apps_records import launch, meta
from unit.evaluator.apps_records import record as record_of_apps
from unit.evaluator.test_curves import record, result, summary

MEBI = 1 << 20


def of_rate(pattern: str, bytes_per_s: float, **more: object) -> Result:
    """A result of a pattern that reports rates."""
    line = result(8, None, pattern=pattern, **more)
    changes = {"half_rtt_ns": None, "rate_bytes_per_s": summary(bytes_per_s)}
    return line.model_copy(update=changes)


def test_netpipe__a_ping_pong__is_bytes_mebibits_and_seconds() -> None:
    (found,) = columns.netpipe(record(result(64, summary(2590)), result(1, summary(2630))))
    assert found.text == "       1 2.900910   0.00000263\n      64 188.525579   0.00000259\n"
    assert found.file_name == "np.tcp.out"


def test_netpipe__both_ways__counts_the_bytes_of_both() -> None:
    (found,) = columns.netpipe(record(of_rate("bidirectional", 16e6)))
    size, mbps, seconds = found.text.split()
    assert size == "16"
    assert float(seconds) == pytest.approx(1e-6)
    assert float(mbps) == pytest.approx(128 / MEBI / 1e-6, rel=1e-5)
    assert found.file_name == "np.tcp.bidirectional.out"


def test_netpipe__integrity__counts_messages() -> None:
    (found,) = columns.netpipe(record(of_rate("integrity", 1e6, n=77)))
    assert found.text == "       8 77\n"


def test_netpipe__version_5__is_gigabits_of_the_slowest_and_quickest_round_and_us() -> None:
    line = result(1000, summary(1000), round_medians=[500.0, 1000.0, 2000.0])
    (found,) = columns.netpipe(record(line), version=5)
    assert found.text == "     1000     8.000     4.000    16.000    1.00\n"


def test_blocks__one__stands_alone_and_several_are_named() -> None:
    one = columns.netpipe(record(result(8)))
    assert columns.blocks(one) == one[0].text
    two = columns.netpipe(record(result(8), result(8, driver="mpi:mpich/tcp")))
    text = columns.blocks(two)
    assert text.startswith("# tcp pingpong\n       8 ")
    assert "\n\n\n# mpi:mpich/tcp pingpong\n" in text
    assert two[1].file_name == "np.mpi-mpich-tcp.out"


def test_columns__idle_and_loaded__are_told_apart() -> None:
    both = record(result(8), result(8, load="hog:19", service_demand_us_per_kb=1.5))
    found = columns.netpipe(both)
    assert [one.file_name for one in found] == ["np.tcp.out", "np.tcp-hog-19.out"]
    assert "# tcp +hog:19 pingpong\n" in columns.blocks(found)
    rows = list(csv.DictReader(io.StringIO(columns.comma_separated([both]))))
    assert [row["load"] for row in rows] == ["", "hog:19"]
    assert rows[1]["service_demand_us_per_kb"] == "1.5"


def test_screen_lines__each_size__is_said_as_netpipe_says_it() -> None:
    (line,) = columns.screen_lines(record(result(64, summary(2590), n=1234)))
    assert line == "  0:      64 bytes   1234 times -->   188.53 Mbps in       2.59 usec"


def test_comma_separated__results__have_every_figure_under_its_name() -> None:
    cost = CpuCost(user_ns=1, system_ns=2, voluntary_switches=0, involuntary_switches=0)
    lines = [
        result(8, summary(1000, 900, 1100), cpu=[cost], settled=True),
        result(64, status='a "quoted", long reason'),
    ]
    rows = list(csv.DictReader(io.StringIO(columns.comma_separated([record(*lines)]))))
    assert [row["size"] for row in rows] == ["8", "64"]
    assert rows[0]["half_rtt_ns_median"] == "1000.0"
    assert (rows[0]["half_rtt_ns_ci95_low"], rows[0]["half_rtt_ns_ci95_high"]) == (
        "900.0",
        "1100.0",
    )
    assert rows[0]["cpu_initiator_system_ns"] == "2.0" and rows[0]["cpu_responder_user_ns"] == ""
    assert rows[0]["settled"] == "true"
    assert rows[1]["status"] == 'a "quoted", long reason'


def test_comma_separated__several_records__are_named() -> None:
    text = columns.comma_separated(
        [record(result(8), path="a/record.jsonl"), record(result(8), path="b/record.jsonl")]
    )
    assert [row["record"] for row in csv.DictReader(io.StringIO(text))] == ["a", "b"]


def test_comma_separated__what_a_spreadsheet_would_compute__is_text() -> None:
    text = columns.comma_separated([record(result(8, driver="=1+1"))])
    assert next(csv.DictReader(io.StringIO(text)))["driver"] == "'=1+1"


def test_comma_separated_launches__each__is_a_row() -> None:
    found = record_of_apps(meta("cg"), launch("cg", "tcp", 1, 100.0))
    (row,) = csv.DictReader(io.StringIO(columns.comma_separated_launches(found.launches)))
    assert (row["app"], row["over"], row["figure"]) == ("cg", "tcp", "100.0")
