# SPDX-License-Identifier: BSD-3-Clause
"""Figures as Prometheus's text."""

import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from beowire.record.reader import read_record
from beowire.show import prometheus
from unit.evaluator import synthetic_record
from unit.evaluator.test_curves import record, result, summary

_LINE = re.compile(
    r'(?P<name>[a-z_]+)\{(?P<labels>(?:[a-z]+="(?:[^"\\\n]|\\["\\n])*",?)*)\} (?P<value>[-+.e0-9]+)'
)


def _values(text: str) -> dict[str, float]:
    found = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            match = _LINE.fullmatch(line)
            assert match, line
            found[f"{match['name']}{{{match['labels']}}}"] = float(match["value"])
    return found


def test_text__has_seconds_and_bytes() -> None:
    half = summary(2000, 1900, 2100).model_copy(update={"p99": 9000.0})
    found = _values(prometheus.text([record(result(64, half, lost=3))]))
    cell = 'driver="tcp",pattern="pingpong",size="64"'
    assert found[f'beowire_time_seconds{{{cell},quantile="0.5"}}'] == 2e-6
    assert found[f'beowire_time_seconds{{{cell},quantile="0.99"}}'] == 9e-6
    assert f'beowire_time_seconds{{{cell},quantile="0.9"}}' not in found
    assert found[f"beowire_time_seconds_low{{{cell}}}"] == 1.9e-6
    assert found[f"beowire_lost_messages{{{cell}}}"] == 3
    assert found[f"beowire_ok{{{cell}}}"] == 1


def test_text__every_metric_has_its_help_and_type_once_and_before(tmp_path: Path) -> None:
    lines = synthetic_record.lines(("tcp", "beowire"), sizes=(8, 64))
    text = prometheus.text([read_record(synthetic_record.write(tmp_path / "r.jsonl", lines))])
    seen: list[str] = []
    for line in text.splitlines():
        if line.startswith("# TYPE"):
            seen.append(line.split()[2])
            assert line.endswith(" gauge")
        elif not line.startswith("#"):
            assert line.partition("{")[0] == seen[-1]
    assert len(seen) == len(set(seen))
    assert len(_values(text)) == sum(not line.startswith("#") for line in text.splitlines())
    assert text.endswith("\n")


def test_text__names_are_escaped() -> None:
    text = prometheus.text([record(result(8, driver='a"b\\c\nd', load="hog:0"))])
    assert 'driver="a\\"b\\\\c\\nd",pattern="pingpong",size="8",load="hog:0"' in text
    _values(text)


def test_text__what_is_no_number_has_no_line() -> None:
    one = result(8).model_copy(update={"cpu_ns_per_message": float("nan")})
    text = prometheus.text([record(one)])
    assert "beowire_cpu" not in text
    assert "nan" not in text.lower()


def test_text__of_several_launches__is_of_all_of_them() -> None:
    halves = [summary(1000, 990, 1010), summary(1200, 1190, 1210), summary(1100, 1050, 1400)]
    lines = [result(8, half, launch=number) for number, half in enumerate(halves, start=1)]
    lines[1] = lines[1].model_copy(update={"lost": 2, "status": "the engine ended"})
    found = _values(prometheus.text([record(*lines)]))
    cell = 'driver="tcp",pattern="pingpong",size="8"'
    assert found[f'beowire_time_seconds{{{cell},quantile="0.5"}}'] == 1.1e-6
    assert found[f"beowire_time_seconds_low{{{cell}}}"] == 9.9e-7
    assert found[f"beowire_time_seconds_high{{{cell}}}"] == 1.4e-6
    assert (found[f"beowire_messages{{{cell}}}"], found[f"beowire_lost_messages{{{cell}}}"]) == (
        30,
        2,
    )
    assert found[f"beowire_ok{{{cell}}}"] == 0


def test_text__of_several_records__has_the_newest_figure() -> None:
    old = record(result(8, summary(1000)))
    later = old.meta.model_copy(update={"started": old.meta.started + timedelta(hours=1)})
    new = replace(old, meta=later, results=[result(8, summary(2000))])
    for records in ([old, new], [new, old]):
        found = _values(prometheus.text(records))
        cell = 'driver="tcp",pattern="pingpong",size="8",quantile="0.5"'
        assert found[f"beowire_time_seconds{{{cell}}}"] == 2e-6
