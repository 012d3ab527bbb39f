# SPDX-License-Identifier: BSD-3-Clause
"""Records of many launches: what is kept of each is what statistics need, and little else."""

import gc
import tracemalloc
from collections import Counter
from pathlib import Path
from statistics import median

import numpy as np
import pytest

from beowire.analysis.curves import curves, distribution
from beowire.diff.show import as_json
from beowire.diff.sides import read_sides
from beowire.diff.verdict import compare
from beowire.record import launches
from beowire.record.lines import Result
from beowire.record.reader import Record, read_record
from unit.evaluator import launch_records, synthetic_record

MANY = launches.WHOLE + 5


def written(directory: Path, count: int, drivers: tuple[str, ...] = ("tcp", "udp")) -> Path:
    lines = synthetic_record.lines(
        drivers, sizes=(8, 1024), patterns=("pingpong", "stream"), launches=count, samples=300
    )
    return synthetic_record.write(directory / f"{count}.jsonl", lines)


def one_by_one(path: Path, monkeypatch: pytest.MonkeyPatch) -> Record:
    """As if no number of launches were many."""
    with monkeypatch.context() as patch:
        patch.setattr(launches, "WHOLE", 10**6)
        return read_record(path)


def cells(record: Record) -> dict[object, list[Result]]:
    found: dict[object, list[Result]] = {}
    for result in record.results:
        found.setdefault(result.cell_of_all(), []).append(result)
    return found


def test_read_record__of_one_launch_nothing_is_changed(tmp_path: Path) -> None:
    lines = [line for line in synthetic_record.lines(("tcp",)) if isinstance(line, Result)]
    path = synthetic_record.write(tmp_path / "r.jsonl", synthetic_record.lines(("tcp",)))
    assert read_record(path).results == lines


def test_read_record__the_first_launch_has_the_histogram_of_all(tmp_path: Path) -> None:
    path = written(tmp_path, 3)
    counts: dict[object, Counter[int]] = {}
    for line in synthetic_record.lines(
        ("tcp", "udp"), sizes=(8, 1024), patterns=("pingpong",), launches=3, samples=300
    ):
        if isinstance(line, Result) and line.histogram:
            counts.setdefault(line.cell_of_all(), Counter()).update(dict(line.histogram.buckets))
    record = read_record(path)
    assert [one.launch for one in record.results][:3] == [1, 1, 1]
    for cell, found in cells(record).items():
        first, *others = found
        assert len(found) == 3
        assert all(one.histogram is None for one in others)
        assert (first.histogram and Counter(dict(first.histogram.buckets))) == counts.get(cell)
        assert all(len(one.round_medians) == 2 for one in found)


def test_read_record__of_many_launches_one_result_stands_for_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, MANY)
    folded, whole = read_record(path), cells(one_by_one(path, monkeypatch))
    assert len(folded.results) == len(whole) == 8
    for one in folded.results:
        every = whole[one.cell_of_all()]
        assert (one.launches, one.launch) == (MANY, MANY)
        assert one.n == sum(each.n for each in every)
        assert one.lost == sum(each.lost for each in every)
        summaries = [each.time() or each.rate_bytes_per_s for each in every]
        known = [each for each in summaries if each is not None]
        mine = one.time() or one.rate_bytes_per_s
        assert mine is not None
        assert mine.median == median(each.median for each in known)
        assert (mine.min, mine.max) == (min(e.min for e in known), max(e.max for e in known))
        bounds = [each.ci95 for each in known if each.ci95]
        assert mine.ci95 == (min(low for low, _ in bounds), max(high for _, high in bounds))
        assert one.cpu[1].user_ns == median(each.cpu[1].user_ns for each in every)
        name = "voluntary_switches"
        assert one.figures(0)[name] == median(each.figures(0)[name] for each in every)
        assert one.round_medians == [
            min(min(each.round_medians) for each in every),
            max(max(each.round_medians) for each in every),
        ]
        assert list(folded.launches_of(one)) == [launches.figures_of(each) for each in every]


def test_report__shows_the_same_curves_of_many_launches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, MANY)
    for pattern in ("pingpong", "stream"):
        ours = curves([read_record(path)], pattern)
        theirs = curves([one_by_one(path, monkeypatch)], pattern)
        for one, other in zip(ours, theirs, strict=True):
            for mine, every in zip(one.cells, other.cells, strict=True):
                assert mine.time == every.time or mine.time is None
                assert mine.rate_bytes_per_s.median == every.rate_bytes_per_s.median
                assert mine.messages == every.messages
                assert mine.figure("user_ns", 0) == every.figure("user_ns", 0)
                assert distribution(one, mine) == distribution(other, every)


def test_diff__of_many_launches_has_the_same_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = []
    for name, value, seed in (("a", 1000.0, 1), ("b", 1040.0, 2)):
        found = {"tcp": launch_records.flat(value, MANY, seed)}
        found["udp"] = launch_records.flat(2000.0, MANY, seed + 2)
        paths.append(str(launch_records.write(tmp_path / name, found, minutes=seed, p99=1.5)))
    folded = read_sides(*paths)
    assert len(folded[0].launches) == MANY
    with monkeypatch.context() as patch:
        patch.setattr(launches, "WHOLE", 10**6)
        whole = read_sides(*paths)
    assert as_json(compare(*folded)) == as_json(compare(*whole))
    assert compare(*folded).verdict == "worse"


def test_read_record__a_launch_that_failed_counts_as_that(tmp_path: Path) -> None:
    path = written(tmp_path, MANY, ("tcp",))
    text = path.read_text(encoding="utf-8").splitlines()
    at = next(
        number
        for number, line in enumerate(text)
        if '"launch":3,' in line and '"pattern":"pingpong","size":8,' in line
    )
    text[at] = text[at].replace('"status":"ok"', '"status":"node1: the engine died"')
    path.write_text("\n".join(text) + "\n", encoding="utf-8")
    record = read_record(path)
    (one,) = [each for each in record.results if (each.pattern, each.size) == ("pingpong", 8)]
    assert one.status == "node1: the engine died"
    assert [each.ok for each in record.launches_of(one)].count(False) == 1
    assert not record.launches_of(one)[2].ok


@pytest.mark.parametrize("many", [3 * launches.WHOLE])
def test_read_record__a_launch_more_takes_next_to_no_memory(tmp_path: Path, many: int) -> None:
    paths = [written(tmp_path, count, ("tcp",)) for count in (many, 2 * many)]
    read_record(paths[0])  # whatever is kept for good
    sizes = []
    for path in paths:
        gc.collect()
        tracemalloc.start()
        record = read_record(path)
        sizes.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
        assert len(record.results) == 4
    per_launch = (sizes[1] - sizes[0]) / many / 4
    assert per_launch < 1500, f"{per_launch:.0f} bytes a cell and launch"


def test_median__of_launches_is_of_all_of_them(tmp_path: Path) -> None:
    values = np.array([[1000.0 + launch] for launch in range(MANY)])
    path = launch_records.write(tmp_path, {"tcp": values}, sizes=(8,))
    (one,) = read_record(path).results
    assert one.half_rtt_ns is not None
    assert one.half_rtt_ns.median == 1000.0 + (MANY - 1) / 2
