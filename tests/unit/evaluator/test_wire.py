# SPDX-License-Identifier: BSD-3-Clause
"""What the wire alone would take."""

from dataclasses import replace
from pathlib import Path

import pytest

from beowire.analysis import wire
from beowire.record.lines import Wire
from beowire.record.reader import Record
from unit.evaluator import synthetic_record


@pytest.fixture
def record(tmp_path: Path) -> Record:
    meta = next(line for line in synthetic_record.lines(("tcp",)) if line.type == "meta")
    return Record(tmp_path, meta, [], [], None)


def changed(record: Record, **changes: object) -> Record:
    limit = changes.pop("wire", record.meta.wire)
    link = record.meta.link.model_copy(update=changes)
    return replace(record, meta=record.meta.model_copy(update={"link": link, "wire": limit}))


def test_time_ns__a_rate__is_the_frames_of_the_message(record: Record) -> None:
    assert wire.time_ns(record, 1_200_000) == pytest.approx(1e6)
    assert wire.time_ns(record, 1) == pytest.approx(84 * 8 / 10)


def test_time_ns__a_delay__comes_on_top(record: Record) -> None:
    late = changed(record, delay_ns=5000.0)
    assert wire.time_ns(late, 1_200_000) == pytest.approx(1_005_000)
    alone = changed(record, delay_ns=5000.0, wire=None, rate_bits_per_s=None)
    assert wire.time_ns(alone, 1_200_000) == 5000
    assert wire.is_known(alone)


def test_is_known__nothing_limits__is_not(record: Record) -> None:
    assert wire.is_known(record)
    assert not wire.is_known(changed(record, wire=None))


def test_different__records__each_wire_once(record: Record) -> None:
    slow = changed(record, wire=Wire(payload_bytes_per_s=1e6))
    none = changed(record, wire=None)
    assert wire.different([record, none, slow, record]) == [record, slow]


def test_wire_text__a_rate__says_what_limits(record: Record) -> None:
    assert wire.wire_text(record) == "1.20 GB/s of payload: 10 Gbit/s, MTU 1500"
    assert wire.wire_text(changed(record, wire=None)) == ""


def test_burst_text__only_beside_a_limit(record: Record) -> None:
    assert wire.burst_text(record) == ""
    assert "50 kB pass at once" in wire.burst_text(changed(record, burst_bytes=50_000))
    assert wire.burst_text(changed(record, burst_bytes=50_000, wire=None)) == ""
