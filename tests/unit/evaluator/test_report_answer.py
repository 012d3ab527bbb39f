# SPDX-License-Identifier: BSD-3-Clause
"""The first chart of a report: it is there without scripts, and says what the figures say."""

import re
from pathlib import Path
from xml.etree import ElementTree

from beowire.patterns import PATTERNS
from beowire.record import Record, read_record
from beowire.report import answer
from beowire.report.curves import curves
from unit.evaluator import synthetic_record


def made(tmp_path: Path, *drivers: str) -> Record:
    lines = synthetic_record.lines(drivers)
    return read_record(synthetic_record.write(tmp_path / "record.jsonl", lines))


def chosen(*records: Record) -> tuple[str, str]:
    return answer.chosen(records, {name: curves(records, name) for name in PATTERNS})


def test_chosen__has_the_verdict_and_a_view_of_each_quantity(tmp_path: Path) -> None:
    said, section = chosen(made(tmp_path, "beowire", "tcp-spin", "tcp", "memcpy", "packet"))
    assert said.endswith("times as fast as TCP (tcp-spin).")
    assert re.findall(r'<figure class="answer-(\w+)">', section) == ["relative", "time", "rate"]
    # It is well formed, and drawn for wide and for narrow screens.
    drawn = re.findall(r"<svg.*?</svg>", section, re.DOTALL)
    assert len([ElementTree.fromstring(one) for one in drawn]) == 6
    # Only what somebody can choose between two nodes.
    assert "tcp</span>" in section and "memcpy" not in section and "packet" not in section


def test_chosen__values_are_those_of_the_record(tmp_path: Path) -> None:
    record = made(tmp_path, "beowire", "tcp-spin")
    halves = {
        one.driver: one.half_rtt_ns.median
        for one in record.results
        if one.pattern == "pingpong" and one.size == 8 and one.half_rtt_ns is not None
    }
    _, section = chosen(record)
    at_8 = re.findall(r"<title>8 B\n(.*?)</title>", section, re.DOTALL)[0]
    (said,) = re.findall(r"beowire: ([\d.]+) ×", at_8)
    assert float(said) == round(halves["tcp-spin"] / halves["beowire"], 1)


def test_chosen__nothing_to_compare__nothing(tmp_path: Path) -> None:
    record = made(tmp_path, "tcp")
    assert chosen(record) == ("", "")
    assert chosen(record, record) == ("", "")


def test_chosen__without_tcp__has_no_relative_view(tmp_path: Path) -> None:
    said, section = chosen(made(tmp_path, "beowire", "fi-tcp"))
    assert said.startswith("Fastest: beowire")
    assert re.findall(r'<figure class="answer-(\w+)">', section) == ["time", "rate"]
