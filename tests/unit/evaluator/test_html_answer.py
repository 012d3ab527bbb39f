# SPDX-License-Identifier: BSD-3-Clause
"""The first screen of a report: it is there without scripts, and says what the figures say."""

import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

from beowire.analysis.curves import curves
from beowire.plan.patterns import PATTERNS
from beowire.record.reader import Record
from beowire.show.html import answer
from unit.evaluator import synthetic_record

MPIS = tuple(f"mpi:mpich/{number}" for number in range(30))


def made(*drivers: str) -> Record:
    return synthetic_record.held(synthetic_record.lines(drivers))


def chosen(*records: Record) -> tuple[str, str]:
    by_pattern = {name: curves(records, name) for name in PATTERNS}
    return answer.sentence(records, by_pattern), answer.section(records, by_pattern)


def views(section: str) -> list[str]:
    return re.findall(r"<label[^>]*>([^<]*)</label>", section)


def test_section__has_a_view_of_each_quantity() -> None:
    said, section = chosen(made("beowire", "tcp-spin", "tcp", "memcpy", "packet"))
    assert said.endswith("times as fast as TCP (tcp-spin).")
    assert views(section) == ["Speed relative to TCP", "Half round trip", "Throughput"]
    drawn = re.findall(r"<figure>(.*?)</figure>", section, re.DOTALL)
    for one in drawn:  # well formed
        ElementTree.fromstring(f"<figure>{one}</figure>")
    # Beside TCP are only those that somebody can choose between two nodes.
    assert "memcpy" not in drawn[0] and "packet" not in drawn[0]
    assert "memcpy" in drawn[1] and "packet" in drawn[2]


def test_section__values_are_those_of_the_record() -> None:
    record = made("beowire", "tcp-spin")
    halves = {
        one.driver: one.half_rtt_ns.median
        for one in record.results
        if one.pattern == "pingpong" and one.size == 8 and one.half_rtt_ns is not None
    }
    _, section = chosen(record)
    at_8 = re.findall(r"<title>8 B\n(.*?)</title>", section, re.DOTALL)[0]
    (said,) = re.findall(r"beowire: ([\d.]+) ×", at_8)
    assert float(said) == round(halves["tcp-spin"] / halves["beowire"], 1)


def test_section__explains_tcp_and_says_where_nothing_differs() -> None:
    record = made("beowire", "tcp-spin", "tcp")
    _, section = chosen(record)
    assert "<b>tcp-spin</b>: TCP with busy polling" in section and "fi-tcp" not in section
    assert "grey: no significant difference between beowire and tcp-spin at no size" in section
    assert re.findall(r'class="value"[^>]*>([^<]*)<', section)


def test_section__several_records__times_and_rates_of_all() -> None:
    first, second = (
        replace(made("tcp-spin", "beowire"), path=Path(f"/{name}/record.jsonl"))
        for name in ("first", "second")
    )
    said, section = chosen(first, second)
    assert said == "" and views(section) == ["Half round trip", "Throughput"]
    assert "beowire · first" in section and "beowire · second" in section


def test_section__without_tcp__has_no_relative_view() -> None:
    said, section = chosen(made("beowire", "fi-tcp"))
    assert said.startswith("Fastest: beowire")
    assert views(section) == ["Half round trip", "Throughput"]
    assert "hollow" not in section


def test_section__many_drivers__says_how_many_are_drawn() -> None:
    _, section = chosen(made("beowire", "tcp-spin", "tcp", *MPIS))
    (drawn,) = re.findall(r"drawn are (\d+) of 33 drivers", section)
    assert 3 < int(drawn) <= 14
    assert "mpi:mpich/29" not in section


def test_section__nothing_measured__is_empty() -> None:
    assert chosen(made()) == ("", "")
