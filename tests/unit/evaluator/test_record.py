# SPDX-License-Identifier: BSD-3-Clause
"""The record: what is written can be read, and nothing else passes for a record."""

import json
import os
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from beowire.errors import BeowireError
from beowire.record.histogram import BUCKETS, bucket_lower
from beowire.record.lines import (
    CpuCost,
    End,
    Histogram,
    Line,
    Meta,
    NodeEnd,
    Result,
    Skipped,
    Summary,
    Wire,
)
from beowire.record.parts import Link
from beowire.record.reader import read_record
from beowire.record.writer import RecordWriter
from unit.evaluator import synthetic_record

ROOT = Path(__file__).resolve().parents[3]

numbers = st.floats(min_value=0, allow_nan=False, allow_infinity=False)
texts = st.text(max_size=20)
scalars = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | numbers | texts
times = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))

summaries = st.builds(
    Summary,
    median=numbers,
    ci95=st.none() | st.tuples(numbers, numbers),
    p90=st.none() | numbers,
    p99=st.none() | numbers,
    min=numbers,
    max=numbers,
)

histograms = st.builds(
    Histogram,
    buckets=st.dictionaries(
        st.integers(0, BUCKETS - 1).map(bucket_lower), st.integers(1, 2**40), max_size=20
    ).map(lambda counts: sorted(counts.items())),
)

results = st.builds(
    Result,
    driver=texts,
    pattern=texts,
    size=st.integers(0, 2**40),
    launch=st.integers(1, 99),
    n=st.integers(0, 2**50),
    rounds=st.integers(0, 400),
    batch=st.integers(1, 10000),
    lost=st.integers(0, 2**40),
    status=texts,
    stopped_by=st.sampled_from(["precise", "time", "rounds", "error"]),
    half_rtt_ns=st.none() | summaries,
    rate_bytes_per_s=st.none() | summaries,
    round_medians=st.lists(numbers, max_size=5),
    histogram=st.none() | histograms,
    cpu=st.lists(
        st.builds(
            CpuCost,
            user_ns=numbers,
            system_ns=numbers,
            voluntary_switches=numbers,
            involuntary_switches=numbers,
        ),
        max_size=2,
    ),
    elapsed_ns=numbers,
    settled=st.none() | st.booleans(),
)

skips = st.builds(
    Skipped,
    driver=texts,
    pattern=st.none() | texts,
    size=st.none() | st.integers(0, 2**40),
    reason=texts,
)

ends = st.builds(NodeEnd, node=texts, environment=st.dictionaries(texts, scalars, max_size=4))

metas = st.builds(
    Meta,
    schema_version=st.just(1),
    beowire=texts,
    started=times,
    command=st.lists(texts, max_size=4),
    options=st.dictionaries(texts, scalars | st.lists(scalars, max_size=3), max_size=4),
    link=st.builds(Link, kind=texts, mtu=st.none() | st.integers(0, 65535)),
    wire=st.none() | st.builds(Wire, payload_bytes_per_s=st.floats(1, 1e12)),
    ends=st.tuples(ends, ends).map(list),
    drivers=st.just([]),
)

finals = st.builds(End, finished=times, status=texts, elapsed_s=numbers)


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """A record of a few lines: meta, two results, two skipped, end."""
    lines = synthetic_record.lines(("tcp", "packet"), sizes=(8,), patterns=("pingpong",))
    return synthetic_record.write(tmp_path / "record.jsonl", lines)


def edit(path: Path, number: int, **changes: Any) -> None:
    """Changes members of a line, counted from 1."""
    lines = path.read_text().splitlines()
    lines[number - 1] = json.dumps(json.loads(lines[number - 1]) | changes)
    path.write_text("\n".join(lines) + "\n")


def refusal(path: Path) -> str:
    with pytest.raises(BeowireError) as caught:
        read_record(path)
    message = str(caught.value)
    assert "\n" not in message
    assert str(path) in message
    return message


def _cell(line: Line) -> object:
    return line.cell_of_all() if isinstance(line, Result) else id(line)


@given(meta=metas, body=st.lists(results | skips, max_size=4, unique_by=_cell), end=finals)
def test_read_record__any_lines_written__gives_the_same_lines(
    tmp_path_factory: pytest.TempPathFactory, meta: Meta, body: list[Line], end: End
) -> None:
    path = tmp_path_factory.mktemp("trip") / "record.jsonl"
    synthetic_record.write(path, [meta, *body, end])
    record = read_record(path)
    assert record.meta == meta
    assert record.results == [line for line in body if isinstance(line, Result)]
    assert record.skipped == [line for line in body if isinstance(line, Skipped)]
    assert record.end == end


def _cell_lines(*types: str, size: int = 8) -> list[Line]:
    """Lines of one cell, of the given types, with 1, 2, ... rounds."""
    (result,) = (
        line
        for line in synthetic_record.lines(("tcp",), sizes=(size,), patterns=("pingpong",))
        if isinstance(line, Result)
    )
    return [
        result.model_copy(update={"type": kind, "rounds": rounds})
        for rounds, kind in enumerate(types, start=1)
    ]


def test_read_record__partial_results__the_last_stands_where_the_run_was_cut_short(
    tmp_path: Path,
) -> None:
    first, second = _cell_lines("partial", "partial"), _cell_lines("partial", "result", size=64)
    meta = synthetic_record.lines(("tcp",))[0]
    path = synthetic_record.write(
        tmp_path / "record.jsonl", [meta, first[0], second[0], first[1], second[1]]
    )
    record = read_record(path)
    assert [(one.type, one.size, one.rounds) for one in record.results] == [
        ("result", 64, 2),
        ("result", 8, 2),
    ]
    assert "cut short" in record.warnings[0]


@cache
def _short(*drivers: str) -> tuple[list[Line], bytes]:
    """Lines of a record with little in it, and its content."""
    lines = synthetic_record.lines(drivers, sizes=(8,), patterns=("pingpong",), samples=40)
    with tempfile.TemporaryDirectory() as directory:
        path = synthetic_record.write(Path(directory) / "record.jsonl", lines)
        return lines, path.read_bytes()


@given(cut=st.integers(0, 5000))
def test_read_record__cut_anywhere__gives_a_prefix_or_one_clear_line(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    path = tmp_path_factory.mktemp("cut") / "record.jsonl"
    lines, content = _short("tcp", "packet")
    cut %= len(content)
    path.write_bytes(content[:cut])
    if cut < content.index(b"\n"):
        refusal(path)
        return
    record = read_record(path)
    complete = content[: cut + 1].count(b"\n")
    read = [record.meta, *record.results, *record.skipped] + [record.end] * bool(record.end)
    assert read == lines[:complete]
    assert record.warnings or record.end


@given(at=st.integers(0, 10**6), byte=st.integers(0, 255))
def test_read_record__any_byte_changed__never_fails_otherwise(
    tmp_path_factory: pytest.TempPathFactory, at: int, byte: int
) -> None:
    path = tmp_path_factory.mktemp("flip") / "record.jsonl"
    content = bytearray(_short("tcp")[1])
    content[at % len(content)] = byte
    path.write_bytes(content)
    try:
        read_record(path)
    except BeowireError as error:
        assert "\n" not in str(error)


def test_write__each_line__is_in_the_file_at_once(tmp_path: Path) -> None:
    path = tmp_path / "record.jsonl"
    with RecordWriter(path) as writer:
        for number, line in enumerate(synthetic_record.lines(("tcp",), sizes=(8, 64)), start=1):
            writer.write(line)
            assert path.read_bytes().count(b"\n") == number


def test_writer__file_exists__is_refused_and_kept(whole: Path) -> None:
    before = whole.read_bytes()
    with pytest.raises(BeowireError, match="exists already") as caught:
        RecordWriter(whole)
    assert str(whole) in str(caught.value)
    assert whole.read_bytes() == before


def test_writer__no_such_directory__is_one_line(tmp_path: Path) -> None:
    with pytest.raises(BeowireError, match=r"cannot create .*: No such file or directory"):
        RecordWriter(tmp_path / "nowhere" / "record.jsonl")


@pytest.mark.parametrize("order", [[1], [0, 0], [0, -1, 1], [0, -1, -1]])
def test_write__lines_out_of_order__are_refused(tmp_path: Path, order: list[int]) -> None:
    lines = synthetic_record.lines(("tcp",), sizes=(8,))
    with RecordWriter(tmp_path / "record.jsonl") as writer:
        for index in order[:-1]:
            writer.write(lines[index])
        with pytest.raises(ValueError, match="cannot follow"):
            writer.write(lines[order[-1]])


def test_write__after_close__is_refused(tmp_path: Path) -> None:
    writer = RecordWriter(tmp_path / "record.jsonl")
    writer.close()
    writer.close()
    with pytest.raises(BeowireError, match="closed"):
        writer.write(synthetic_record.lines(("tcp",))[0])


FILL = """
import sys
from pathlib import Path
from unit.evaluator import synthetic_record
from beowire.errors import BeowireError
from beowire.record.reader import read_record
from beowire.record.writer import RecordWriter

path = Path(sys.argv[1]) / "record.jsonl"
lines = synthetic_record.lines(("tcp", "packet", "udp"), patterns=("pingpong",))
with RecordWriter(path) as writer:
    written = 0
    try:
        for line in lines:
            writer.write(line)
            written += 1
    except BeowireError as error:
        print(error.exit_code, error)
    before = path.read_bytes()
    for _ in range(2):  # nothing is added to a full disk, and nothing is lost
        try:
            writer.write(lines[2])
            sys.exit("a line fitted on the full disk")
        except BeowireError:
            assert path.read_bytes() == before
assert before.endswith(b"\\n") and before.count(b"\\n") == written
record = read_record(path)
print(written, 1 + len(record.results))
"""


def test_write__disk_full__takes_the_line_back_and_says_so(tmp_path: Path) -> None:
    """On a real file system that is full: a small tmpfs in a mount namespace of its own."""
    disk = tmp_path / "disk"
    disk.mkdir()
    namespaces = "-m" if os.geteuid() == 0 else "-Urm"
    mount = f'mount -t tmpfs -o size=64k none "{disk}" && exec "$@"'
    answer = subprocess.run(
        ["unshare", namespaces, "sh", "-c", mount, "sh", sys.executable, "-c", FILL, str(disk)],
        env=os.environ | {"PYTHONPATH": f"{ROOT}/evaluator:{ROOT}/tests"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert answer.returncode == 0, answer.stderr
    message, counts = answer.stdout.splitlines()
    assert message.startswith(f"1 cannot write {disk}/record.jsonl: No space left on device")
    written, read = map(int, counts.split())
    assert written == read > 5


LIMITED = """
import os, resource, sys
from pathlib import Path
from unit.evaluator import synthetic_record
from beowire.errors import BeowireError
from beowire.record.reader import read_record
from beowire.record.writer import RecordWriter

path = Path(sys.argv[1]) / "record.jsonl"
lines = synthetic_record.lines(("tcp",), sizes=(8, 64, 512, 4096), patterns=("pingpong",))
lines = [line for line in lines if line.type in ("meta", "result")]
room = sum(len(line.model_dump_json(by_alias=True)) + 1 for line in lines[: int(sys.argv[2])]) + 7
resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
with RecordWriter(path) as writer:
    try:
        for line in lines:
            writer.write(line)
    except BeowireError as error:
        print(error)
print(len(read_record(path).results) if path.exists() else "gone")
"""


@pytest.mark.parametrize(
    ("fitting", "says", "results"),
    [
        (0, "nothing was measured", "gone"),
        (1, "no result was in it yet", "0"),
        (2, "what was measured before is kept (1 result)", "1"),
        (4, "what was measured before is kept (3 results)", "3"),
    ],
)
def test_write__no_room__says_what_is_there(
    tmp_path: Path, fitting: int, says: str, results: str
) -> None:
    """A limit of the file's size, which is like a disk that fills up in the middle of a line."""
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path), str(fitting)],
        env=os.environ | {"PYTHONPATH": f"{ROOT}/evaluator:{ROOT}/tests"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    message, found = done.stdout.splitlines()
    assert message == f"cannot write {tmp_path}/record.jsonl: File too large; {says}"
    assert found == results


def test_read_record__no_file__is_refused(tmp_path: Path) -> None:
    assert "No such file" in refusal(tmp_path / "record.jsonl")


@pytest.mark.parametrize("content", [b"", b"\n", b"\0\0\0\0", b" \n \n"])
def test_read_record__empty_file__is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "record.jsonl"
    path.write_bytes(content)
    assert "is empty" in refusal(path)


@pytest.mark.parametrize(
    "content",
    [
        b"hello\nworld\n",
        b"\x7fELF\x02\x01\x00\xff\n",
        b"[1,2]\n",
        b"{}\n",
        b"7\n",
        b"null\n",
        b"[" * 100000,
        b'{"type":"result"}\n',
        b'{"type":"meta"',
        b'{"type":["meta"]}\n',
    ],
)
def test_read_record__something_else__is_no_record(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "record.jsonl"
    path.write_bytes(content)
    assert "is no Beowire record: line 1" in refusal(path)


def test_read_record__newer_schema__says_to_update(whole: Path) -> None:
    edit(whole, 1, schema=2, link="something new")
    assert "has schema 2, and this beowire reads up to 1: update" in refusal(whole)


@pytest.mark.parametrize("schema", [None, "1", 1.0, 0, -1, True])
def test_read_record__no_proper_schema__is_refused(whole: Path, schema: object) -> None:
    edit(whole, 1, schema=schema)
    assert "line 1" in refusal(whole)


def test_read_record__broken_line_in_the_middle__is_named(whole: Path) -> None:
    lines = whole.read_text().splitlines()
    lines[2] = lines[2][:50]
    whole.write_text("\n".join(lines) + "\n")
    assert "line 3 is broken" in refusal(whole)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"size": "8"}, "size: "),
        ({"size": -1}, "size: "),
        ({"size": 8.5}, "size: "),
        ({"elapsed_ns": float("nan")}, "elapsed_ns: "),
        ({"elapsed_ns": float("inf")}, "elapsed_ns: "),
        ({"stopped_by": "boredom"}, "stopped_by: "),
        ({"half_rtt_ns": {"median": 1}}, "half_rtt_ns.ci95: "),
        ({"histogram": {"buckets": [[8, 1], [8, 1]]}}, "histogram: "),
        ({"histogram": {"buckets": [[257, 1]]}}, "histogram: "),
        ({"histogram": {"buckets": [[8, 0]]}}, "histogram: "),
        ({"histogram": {"kind": "linear", "buckets": []}}, "histogram.kind: "),
        ({"cpu": None}, "cpu: "),
        ({"type": "outcome"}, "unknown type"),
        ({"type": None}, "unknown type"),
    ],
)
def test_read_record__wrong_value__is_named_with_its_line(
    whole: Path, changes: dict[str, object], complaint: str
) -> None:
    edit(whole, 2, **changes)
    message = refusal(whole)
    assert "line 2: " in message
    assert complaint in message


def test_read_record__last_line_cut__is_left_out_with_a_warning(whole: Path) -> None:
    whole.write_bytes(whole.read_bytes()[:-20])
    record = read_record(whole)
    assert record.end is None
    assert len(record.results) == 2
    assert any("cut short in line 6" in warning for warning in record.warnings)


def test_read_record__zeros_after_a_power_cut__are_passed_over(whole: Path) -> None:
    lines = whole.read_bytes().splitlines(keepends=True)
    whole.write_bytes(b"".join(lines[:3]) + b"\0" * 4096)
    record = read_record(whole)
    assert len(record.results) == 2
    assert any("no `end` line" in warning for warning in record.warnings)


def test_read_record__last_newline_missing__is_whole(whole: Path) -> None:
    whole.write_bytes(whole.read_bytes().rstrip(b"\n"))
    record = read_record(whole)
    assert record.end is not None
    assert record.warnings == []


def test_read_record__interrupted_run__warns(whole: Path) -> None:
    edit(whole, 6, status="interrupted")
    assert read_record(whole).warnings == ["the run did not end well: interrupted"]


@pytest.mark.parametrize("copied", [1, 2, 6])
def test_read_record__line_after_the_end__is_refused(whole: Path, copied: int) -> None:
    lines = whole.read_text().splitlines()
    whole.write_text("\n".join([*lines, lines[copied - 1]]) + "\n")
    assert "line 7: nothing may follow" in refusal(whole)


def test_read_record__second_meta__is_refused(whole: Path) -> None:
    lines = whole.read_text().splitlines()
    whole.write_text("\n".join([lines[0], *lines]) + "\n")
    assert "line 2: a second `meta` line" in refusal(whole)


def test_read_record__unknown_fields__survive_a_copy(whole: Path, tmp_path: Path) -> None:
    edit(whole, 2, interrupts={"per_message": 0.5})
    edit(whole, 1, operator="J. Random")
    record = read_record(whole)
    copy = synthetic_record.write(tmp_path / "copy.jsonl", [record.meta, *record.results])
    lines = [json.loads(line) for line in copy.read_text().splitlines()]
    assert lines[0]["operator"] == "J. Random"
    assert lines[1]["interrupts"] == {"per_message": 0.5}


def test_lines__written__have_the_documented_members(whole: Path) -> None:
    """docs/RECORD.md names every member; scripts rely on them."""
    document = (ROOT / "docs" / "RECORD.md").read_text()
    for text in whole.read_text().splitlines():
        line = json.loads(text)
        for name in line:
            assert f"`{name}`" in document, name
        assert line["type"] in ("meta", "result", "skipped", "end")


def test_models__text_for_a_number__is_refused_when_written() -> None:
    with pytest.raises(ValidationError):
        Skipped.model_validate({"driver": "tcp", "size": "8", "reason": ""})


def test_write__bytes_that_are_no_text_in_a_command__are_replaced(tmp_path: Path) -> None:
    lines = synthetic_record.lines(("tcp",), sizes=(8,))
    odd = os.fsdecode(b"caf\xe9")
    command = {"command": ["beowire", odd], "options": {"out": odd}}
    meta = Meta.model_validate(lines[0].model_dump(by_alias=True) | command)
    reason = Skipped(driver="tcp", reason=f"no {odd}")
    record = read_record(synthetic_record.write(tmp_path / "record.jsonl", [meta, reason]))
    assert record.meta.command == ["beowire", "caf?"]
    assert record.meta.options == {"out": "caf?"}
    assert record.skipped[0].reason == "no caf?"
