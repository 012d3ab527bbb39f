# SPDX-License-Identifier: BSD-3-Clause
import stat
import sys
from pathlib import Path

import pytest

from benchmarks import compare
from benchmarks.compare import Comparison
from beowire.errors import BeowireError
from beowire.record.reader import Record, read_record
from unit.evaluator import synthetic_record


def _record(tmp_path: Path, *drivers: str, **options: object) -> Record:
    lines = synthetic_record.lines(drivers, **options)  # type: ignore[arg-type]
    return read_record(synthetic_record.write(tmp_path / "record.jsonl", lines))


def _comparison(tmp_path: Path, seconds: float = 30, launches: int | None = None) -> Comparison:
    return Comparison.of(
        tmp_path / "part",
        drivers=("beowire", "tcp"),
        sizes=(8, 65536),
        seconds=seconds,
        launches=launches,
        where=("--lab", "--rate", "1g"),
    )


def test_command__is_what_a_person_types(tmp_path: Path) -> None:
    assert _comparison(tmp_path).command == (
        "./beowire compare --lab --rate 1g --drivers beowire,tcp --pattern pingpong"
        " --sizes 8,64KiB --time 30 --launches 2"
    )
    assert _comparison(tmp_path, launches=6).command.endswith(" --launches 6")


def _pretend(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str) -> None:
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(sys, "executable", str(program))


def test_run__reads_the_record(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _record(tmp_path, "beowire", "tcp")
    copy = f'mkdir -p part/compare; cp "{tmp_path}/record.jsonl" part/compare; echo "$@"'
    _pretend(monkeypatch, tmp_path, f'cd "{tmp_path}"; {copy}')
    record = _comparison(tmp_path).run()
    assert {one.driver for one in record.results} == {"beowire", "tcp"}
    said = (tmp_path / "part" / "compare.txt").read_text()
    assert said.startswith("-I ")
    assert "isolated.py beowire compare --lab --rate 1g --drivers beowire,tcp " in said
    assert said.rstrip().endswith(f"--out {tmp_path}/part/compare")


def test_run__says_why_there_is_no_record(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _pretend(monkeypatch, tmp_path, "echo beowire: no driver tcp >&2; exit 2")
    with pytest.raises(BeowireError, match="no driver tcp"):
        _comparison(tmp_path).run()


def test_ratio_of__launch_by_launch(tmp_path: Path) -> None:
    record = _record(tmp_path, "beowire", "packet", sizes=(8,), patterns=("pingpong",), launches=3)
    ratio = compare.ratio_of(record, "beowire", "packet", 8, compare.half_rtt)
    assert ratio is not None
    singles = []
    for launch in (1, 2, 3):
        mine, theirs = (
            next(
                one
                for one in record.results
                if (one.driver, one.launch, one.pattern) == (driver, launch, "pingpong")
            )
            for driver in ("beowire", "packet")
        )
        assert mine.half_rtt_ns is not None and theirs.half_rtt_ns is not None
        singles.append(mine.half_rtt_ns.median / theirs.half_rtt_ns.median)
    assert ratio.value == pytest.approx(sorted(singles)[1])
    assert ratio.low is not None and ratio.low < min(singles)
    assert ratio.high is not None and ratio.high > max(singles)


def test_ratio_of__a_driver_that_is_not_there(tmp_path: Path) -> None:
    record = _record(tmp_path, "beowire", sizes=(8,), patterns=("pingpong",))
    assert compare.ratio_of(record, "beowire", "tcp", 8, compare.half_rtt) is None
    assert compare.missing(record, "tcp") == "tcp: it was not measured"
    assert compare.missing(record, "verbs").startswith("verbs: no RDMA device")
    assert "raise --time" in compare.missing(record, "beowire")


def test_ratio_of__values_without_intervals__has_one_from_six_launches(tmp_path: Path) -> None:
    record = _record(tmp_path, "beowire", "tcp", sizes=(8,), patterns=("stream",), launches=6)
    costly = [
        one.model_copy(update={"cpu_ns_per_message": 100.0 * (one.launch + (one.driver == "tcp"))})
        for one in record.results
    ]
    changed = Record(record.path, record.meta, costly, [], record.end)
    ratio = compare.ratio_of(changed, "beowire", "tcp", 8, compare.cpu)
    assert ratio is not None
    assert ratio.low == pytest.approx(1 / 2)
    assert ratio.high == pytest.approx(6 / 7)


def test_values_text__of_those_that_were_measured(tmp_path: Path) -> None:
    record = _record(tmp_path, "beowire", "tcp", sizes=(8,))
    text = compare.values_text(record, 8, ("beowire", "fi-tcp", "tcp"), compare.rate, "count")
    assert text.startswith("beowire ") and ", tcp " in text and "/s" in text
    assert "fi-tcp" not in text
