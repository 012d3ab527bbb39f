# SPDX-License-Identifier: BSD-3-Clause
import os
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beowire.counters import stats
from beowire.counters.stats import StatsError, parse
from unit.evaluator.published import ADDRESS, endpoint, file_of, publish, table


@pytest.fixture
def descriptors() -> Iterator[list[int]]:
    """What a test appends is closed at its end."""
    opened: list[int] = []
    yield opened
    for descriptor in opened:
        os.close(descriptor)


def test_parse__takes_tables_as_the_file_says_they_are() -> None:
    snapshot = parse(endpoint(7, at_s=2.5, process=42))
    assert (snapshot.process, snapshot.opened_ns, snapshot.published_ns) == (42, 0, 2_500_000_000)
    assert snapshot.rows("endpoint")[0]["name"] == ADDRESS
    lane = snapshot.rows("lanes")[0]
    assert (lane["name"], lane["sent_frames"], lane["sent_bytes"]) == ("packet/eth0", 7, 700)
    assert snapshot.values("counters") == {"message_eager": 7}
    assert snapshot.rows("nothing of that name") == []


def test_parse__rows_that_are_not_used_are_left_out() -> None:
    data = file_of({"peers": table({"name": 8, "value": 8}, ["a", 1], ["", 2], ["c", 3])})
    assert [row["name"] for row in parse(data).rows("peers")] == ["a", "c"]


def test_parse__columns_of_a_kind_that_is_not_known_are_left_out() -> None:
    data = bytearray(file_of({"t": table({"name": 8, "value": 8}, ["a", 1])}))
    kind_at = 64 + 48 + 32 + 28
    assert data[kind_at] == 2
    data[kind_at] = 9
    assert parse(bytes(data)).rows("t") == [{"name": "a"}]


def test_parse__text_has_nothing_that_a_terminal_obeys() -> None:
    data = file_of({"t": table({"name": 32}, ["\x1b[2Jred\n\x9b1m"], ["\udcff\u202eabc"])})
    for row in parse(data).rows("t"):
        assert str(row["name"]).isprintable()
    assert parse(data).rows("t")[0]["name"] == "\\u001b[2Jred\\n\\u009b1m"


def test_parse__text_that_fills_its_column_ends_with_it() -> None:
    assert parse(file_of({"t": table({"name": 4}, ["abcd"])})).rows("t") == [{"name": "abcd"}]


@pytest.mark.parametrize(
    ("at", "value", "reason"),
    [
        (0, b"nonsense", "not (yet) a file of counters"),
        (8, struct.pack("<I", 2), "version 2"),
        (12, struct.pack("<I", 33), "33 tables"),
        (12, struct.pack("<I", 32), "too large"),
        (16, struct.pack("<Q", 1), "says 1"),
        (64 + 16, struct.pack("<I", 0xFFFFFFF0), "beyond"),  # fields_at
        (64 + 20, struct.pack("<I", 0xFFFFFFFF), "too large"),  # fields
        (64 + 24, struct.pack("<I", 0xFFFFFFF0), "beyond"),  # rows_at
        (64 + 28, struct.pack("<I", 0), "too large"),  # row_bytes
        (64 + 28, struct.pack("<I", 12), "beyond its row"),
        (64 + 32, struct.pack("<I", 0xFFFFFFFF), "too large"),  # rows
        (64 + 48 + 24, struct.pack("<H", 65535), "beyond its row"),  # offset of a column
        (64 + 48 + 32 + 26, struct.pack("<H", 4), "beyond its row"),  # a number of 4 bytes
    ],
)
def test_parse__what_does_not_fit_is_refused(at: int, value: bytes, reason: str) -> None:
    data = bytearray(file_of({"t": table({"name": 8, "value": 8}, ["a", 1])}))
    data[at : at + len(value)] = value
    with pytest.raises(StatsError) as refused:
        parse(bytes(data))
    assert reason in str(refused.value)


def shared(tables: int, row_bytes: int, rows: int, *columns: tuple[int, int]) -> bytes:
    """A file of 1 MiB: so many tables of the same rows and the same columns of text."""
    fields_at = 64 + 48 * tables
    fields = b"".join(
        struct.pack("<24sHHI", b"c%d" % at, *column, 1) for at, column in enumerate(columns)
    )
    head = struct.pack("<8sIIQQQQI12x", stats.MAGIC, stats.VERSION, tables, 1 << 20, 2, 0, 0, 0)
    body = b"".join(
        struct.pack("<16sIIIII12x", b"t%d" % at, fields_at, len(columns), 0, row_bytes, rows)
        for at in range(tables)
    )
    return (head + body + fields).ljust(1 << 20, b"x")


@pytest.mark.parametrize(
    "data",
    [
        shared(32, 8, 100_000),  # no columns
        shared(32, 1, 1 << 20),
        shared(32, 30_000, 30, (0, 30_000)),
        shared(1, 60_000, 17, *[(0, 60_000)] * 2000),
        shared(32, 1, 0, *[(0, 1)] * 30_000),
    ],
)
def test_parse__tables_that_have_bytes_in_common_are_refused(data: bytes) -> None:
    """A file of 1 MiB would be many times as much in memory."""
    with pytest.raises(StatsError, match=r"too large|longer than its rows"):
        parse(data)


def test_values__a_row_without_a_name() -> None:
    assert parse(file_of({"drops": table({"x": 8}, [1])})).values("drops") == {"": 0}


def test_parse__every_shorter_file_is_refused() -> None:
    data = endpoint(1)
    for length in range(len(data)):
        with pytest.raises(StatsError):
            parse(data[:length])
        if length >= 64:  # one that does not give itself away by its length
            with suppress(StatsError):
                parse(data[:16] + struct.pack("<Q", length) + data[24:length])


@given(st.data())
def test_parse__whatever_is_in_it_it_is_read_or_refused(data: st.DataObject) -> None:
    forged = bytearray(endpoint(3))
    for _ in range(data.draw(st.integers(1, 12))):
        forged[data.draw(st.integers(8, len(forged) - 1))] = data.draw(st.integers(0, 255))
    with suppress(StatsError):
        for rows in parse(bytes(forged)).tables.values():
            for row in rows:
                assert all(isinstance(value, int) or value.isprintable() for value in row.values())


def test_read__one_that_is_being_written_is_not_waited_for_for_ever(
    descriptors: list[int],
) -> None:
    descriptors.append(publish(endpoint(1)))
    path = f"/proc/self/fd/{descriptors[0]}"
    assert stats.read(path).values("counters") == {"message_eager": 1}
    os.pwrite(descriptors[0], struct.pack("<Q", 3), 24)
    with pytest.raises(StatsError, match="stopped"):
        stats.read(path)


def test_read__only_files_and_not_large_ones(descriptors: list[int], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StatsError):
        stats.read(str(tmp_path / "pipe"))
    descriptors.append(os.memfd_create("large"))
    os.ftruncate(descriptors[0], 1 << 30)
    with pytest.raises(StatsError):
        stats.read(f"/proc/self/fd/{descriptors[0]}")
    descriptors.append(os.memfd_create("empty"))
    with pytest.raises(StatsError):
        stats.read(f"/proc/self/fd/{descriptors[1]}")


def test_find__those_of_a_process_by_their_name(descriptors: list[int]) -> None:
    descriptors += [publish(endpoint(1)), publish(b"", "something else"), publish(endpoint(2))]
    found = stats.find(os.getpid())
    assert [one.descriptor for one in found] == sorted([descriptors[0], descriptors[2]])
    assert stats.read(found[0].path).values("counters") == {"message_eager": 1}


def test_find__one_that_a_child_has_inherited_is_shown_once(descriptors: list[int]) -> None:
    descriptors.append(publish(endpoint(1, process=os.getpid())))
    about = os.fstat(descriptors[0])
    wait = "print(flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", wait],
        pass_fds=descriptors,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert len(stats.find(child.pid)) == 1
        all_of_it = [one for one in stats.find() if one.identity == (about.st_dev, about.st_ino)]
        child.communicate(b"\n")
    assert [(one.pid, one.descriptor) for one in all_of_it] == [(os.getpid(), descriptors[0])]


def test_find__a_process_that_is_not_there_has_none() -> None:
    assert stats.find(2**22 + 1) == []


def test_command_of__says_what_a_process_is() -> None:
    assert "python" in stats.command_of(os.getpid())
    assert stats.command_of(2**22 + 1) == ""


@pytest.mark.parametrize(
    ("name", "words", "said"),
    [
        (
            "exchange_of_lon",
            "/opt/x/exchange_of_long_names|eth0|-n|2",
            "exchange_of_long_names eth0 -n 2",
        ),
        (
            "weather_forecas",
            "/usr/bin/python3|-u|./bin/weather_forecast.py|7",
            "weather_forecast.py 7",
        ),
        (
            "python3",
            "/usr/bin/python3.11|/home/me/python3_too.py",
            "python3.11 /home/me/python3_too.py",
        ),
        ("MainThread", "/usr/bin/node|server.js", "node server.js"),  # it has named itself
        ("kworker/0:1", "", "kworker/0:1"),
        ("exchange", "exchange", "exchange"),
    ],
)
def test_command_of__is_the_whole_name_of_the_program(
    tmp_path: Path, name: str, words: str, said: str
) -> None:
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "comm").write_text(f"{name}\n", encoding="utf-8")
    line = words.replace("|", "\0") + ("\0" if words else "")
    (tmp_path / "7" / "cmdline").write_text(line, encoding="utf-8")
    assert stats.command_of(7, tmp_path) == said
