# SPDX-License-Identifier: BSD-3-Clause
from pathlib import Path

import pytest

from beowire.record.reader import Record, read_record
from beowire.show.html import probe_table
from unit.evaluator import synthetic_record


@pytest.fixture
def record(tmp_path: Path) -> Record:
    lines = synthetic_record.lines(("tcp", "memcpy"), sizes=(8, 1024), samples=400)
    return read_record(synthetic_record.write(tmp_path / "record.jsonl", lines))


def test_counted__a_row_a_result_and_a_column_a_figure(record: Record) -> None:
    html = probe_table.counted([synthetic_record.with_probes(record)])
    assert html.count('<th scope="row">') == len(record.results)
    assert "interrupts <small>/s</small>" in html
    assert "taken <small>µs</small>" in html
    assert "<td>44400 ±3.5%, 1000 ±?</td>" in html
    # A second of system time, in MB; a driver without another end has one figure.
    assert "<td>2000, 3000</td>" in html
    assert "<td>0.600, 0.700</td>" in html
    assert "differ" not in html


def test_counted__says_where_two_ways_differ(record: Record) -> None:
    html = probe_table.counted([synthetic_record.with_probes(record, differ=True)])
    assert html.count('<span class="mark">differ</span>') == len(record.results)


def test_counted__what_each_is_and_what_could_not_be(record: Record) -> None:
    html = probe_table.counted([synthetic_record.with_probes(record)])
    assert "<dd>the interrupts: by heart</dd>" in html
    assert "<dd>the taken_ns: by heart; in separate rounds</dd>" in html
    assert "cycles (node0): no such counter" in html
    assert "cycles (node1): &lt;i&gt;not allowed&lt;/i&gt;" in html


def test_counted__beside_a_load(record: Record) -> None:
    loaded = synthetic_record.with_load(synthetic_record.with_probes(record), "idle", 2.0)
    html = probe_table.counted([loaded])
    assert "<td>idle</td>" in html and "<td>nothing</td>" in html


def test_counted__a_record_that_names_none(record: Record) -> None:
    assert "an older version measured it" in probe_table.counted([record])


def test_counted__many_drivers__first_at_one_size_under_their_groups(tmp_path: Path) -> None:
    names = (
        *("memcpy", "shm", "tcp", "tcp-spin", "udp", "packet", "beowire", "fi-tcp", "tcp-nagle"),
        *("mpi:openmpi4/tcp", "mpi:openmpi4/beowire", "mpi:mpich/tcp", "mpi:mpich/beowire"),
    )
    lines = synthetic_record.lines(names, sizes=(8, 1024), samples=400)
    record = read_record(synthetic_record.write(tmp_path / "many.jsonl", lines))
    html = probe_table.counted([synthetic_record.with_probes(record)])
    glance, _, every = html.partition("<details><summary>More sizes")
    assert glance.count("<details") == 2 and glance.count("<details open>") == 1  # patterns
    pingpong, _, stream = glance.partition("</details>")
    assert "at 8 B</summary>" in pingpong and "at 8 B</summary>" in stream
    assert pingpong.count('<tr><th scope="row">') == len(names)
    assert pingpong.count('<tr class="group">') == 7
    # A column of its own for what was asked for, and for what is of a second, before the others.
    assert pingpong.index("taken <small>") < pingpong.index("interrupts <small>/s")
    assert pingpong.index("interrupts <small>/s") < pingpong.index("user <small>")
    assert every.count('<th scope="row">') == len(record.results)
