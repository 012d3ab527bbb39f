# SPDX-License-Identifier: BSD-3-Clause
"""`beowire diff` from outside: what it reads, what it says, how it ends."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
import typer

from beowire.commands import diff as command
from beowire.errors import BeowireError
from beowire.record.lines import Skipped
from unit.evaluator.apps_records import meta, written
from unit.evaluator.launch_records import SIZES, flat, write

Captured = pytest.CaptureFixture[str]


def beowire_diff(*words: str | Path) -> int:
    """Its exit status; what it could not do is raised."""
    app = typer.Typer(rich_markup_mode=None)
    app.callback()(lambda: None)
    command.register(app)
    return int(app(["diff", *map(str, words)], standalone_mode=False) or 0)


def refused(*words: str | Path) -> str:
    with pytest.raises(BeowireError) as caught:
        beowire_diff(*words)
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.fixture
def first(tmp_path: Path) -> Path:
    found = {"tcp": flat(30_000, 10, 1), "beowire": flat(1500, 10, 2)}
    return write(tmp_path / "a", found)


def _second(tmp_path: Path, tcp: float, beowire: float) -> Path:
    found = {"tcp": flat(tcp, 10, 3), "beowire": flat(beowire, 10, 4)}
    return write(tmp_path / "b", found, minutes=1)


def test_diff__no_worse__ends_with_0(first: Path, tmp_path: Path, capsys: Captured) -> None:
    assert beowire_diff(first, _second(tmp_path, 30_000, 1500)) == 0
    said = capsys.readouterr().out
    assert said.splitlines()[-1] == "B is no worse than A by 2 % anywhere."
    assert "Half round trip (less is better)" in said
    assert "(10 launches)" in said


def test_diff__what_was_measured_otherwise__is_said(
    first: Path, tmp_path: Path, capsys: Captured
) -> None:
    second = _second(tmp_path, 30_000, 1500)
    head, rest = second.read_text(encoding="utf-8").split("\n", 1)
    meta_line = json.loads(head)
    meta_line["options"] |= {"offset": [1, 64], "socket_buffer": "524288"}
    second.write_text(f"{json.dumps(meta_line)}\n{rest}", encoding="utf-8")
    beowire_diff(first, second)
    said = capsys.readouterr().out
    assert "note: --offset: none in A, 1,64 in B" in said
    assert "note: --socket-buffer: none in A, 524288 in B" in said


def test_diff__worse__ends_with_1_and_says_where(
    first: Path, tmp_path: Path, capsys: Captured
) -> None:
    assert beowire_diff(first.parent, _second(tmp_path, 30_000, 1500 * 1.1).parent) == 1
    said = capsys.readouterr().out.splitlines()
    row = next(line for line in said if line.startswith("beowire"))
    assert "8 B to 64 KiB" in row
    assert row.endswith("worse")
    assert next(line for line in said if line.startswith("tcp ")).endswith("same")
    assert said[-1].startswith("B is worse than A: beowire pingpong, 8 B to 64 KiB: time +")


def test_diff__more_records_than_a_name_may_have_letters__are_a_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.chdir(tmp_path)
    names = [f"{side}-{'x' * 60}-{at}" for side in "ab" for at in range(5)]
    for at, name in enumerate(names):
        write(tmp_path / name, {"tcp": flat(30_000, 1, at)}, minutes=at)
    first, second = (",".join(names[start : start + 5]) for start in (0, 5))
    assert min(len(first), len(second)) > 255
    assert beowire_diff(first, second, "--threshold", "50%") == 0
    assert "(5 launches)" in capsys.readouterr().out
    assert "File name too long" in refused("x" * 300, second)


def test_diff__wide_launches__end_with_2_and_what_to_do(tmp_path: Path, capsys: Captured) -> None:
    wide = [np.exp(0.3 * np.random.default_rng(seed).normal(size=(5, 3))) * 1e4 for seed in (1, 2)]
    paths = [
        write(tmp_path / name, {"tcp": found}, minutes=at)
        for at, (name, found) in enumerate(zip("ab", wide, strict=True))
    ]
    assert beowire_diff(*paths) == 2
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("It is unclear whether B is worse than A by 2 %: tcp pingpong, ")
    assert "10 launches of each are needed as a rule (there are 5 and 5)" in last


def test_diff__rates__more_is_better(tmp_path: Path, capsys: Captured) -> None:
    one = write(tmp_path / "a", {"tcp": flat(1e9, 6, 1)}, pattern="stream")
    other = write(tmp_path / "b", {"tcp": flat(0.8e9, 6, 2)}, pattern="stream", minutes=1)
    assert beowire_diff(one, other, "--json") == 1
    found = json.loads(capsys.readouterr().out)
    (group,) = found["groups"]
    (only,) = group["ranges"]
    assert (group["quantity"], only["verdict"]) == ("rate_bytes_per_s", "worse")
    assert only["change_percent"] == pytest.approx(-20, abs=1)
    low, high = only["ci95_percent"]
    assert low < only["change_percent"] < high
    assert group["sizes"][0]["a"] == pytest.approx(1e9, rel=0.01)
    assert beowire_diff(other, one) == 0
    said = capsys.readouterr().out
    assert "(more is better)" in said
    assert "it is better: tcp stream, 8 B to 64 KiB: rate +" in said


def test_diff__json__has_sizes_and_ranges(first: Path, tmp_path: Path, capsys: Captured) -> None:
    assert beowire_diff(first, _second(tmp_path, 30_000, 1500 * 1.1), "--json") == 1
    found = json.loads(capsys.readouterr().out)
    assert found["verdict"] == "worse"
    assert (found["a"]["launches"], found["b"]["launches"]) == (10, 10)
    assert found["threshold_percent"] == 2
    by_driver = {group["driver"]: group for group in found["groups"]}
    assert [one["size"] for one in by_driver["tcp"]["sizes"]] == list(SIZES)
    one = by_driver["beowire"]["sizes"][0]
    assert one["change_percent"] == pytest.approx(10, abs=1)
    assert one["p"] < one["p_adjusted"] < 0.05


def test_diff__p99_is_worse_where_no_median_is(tmp_path: Path, capsys: Captured) -> None:
    paths = [
        write(tmp_path / name, {"tcp": flat(30_000, 10, at)}, minutes=at, p99=p99)
        for at, (name, p99) in enumerate((("a", 2.0), ("b", 2.6)))
    ]
    assert beowire_diff(*paths) == 1
    said = capsys.readouterr().out
    assert "Half round trip, 99th percentile (less is better)" in said
    assert "Differences below 2 % (10 % of 99th percentiles) are ignored" in said
    assert said.splitlines()[-1].startswith("B is worse than A: tcp pingpong p99, 8 B to 64 KiB")
    assert beowire_diff(*paths, "--json") == 1
    groups = json.loads(capsys.readouterr().out)["groups"]
    assert [one["quantity"] for one in groups] == ["time_ns", "p99_ns"]
    assert groups[0]["ranges"][0]["verdict"] == "same"
    assert groups[1]["ranges"][0]["change_percent"] == pytest.approx(30, abs=2)


def test_diff__p99_that_cannot_be_told__decides_nothing(tmp_path: Path, capsys: Captured) -> None:
    """Launches differ by so much in their tails alone."""
    paths = []
    for at, name in enumerate("ab"):
        path = write(tmp_path / name, {"tcp": flat(30_000, 10, at)}, minutes=at, p99=2.0)
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        random = np.random.default_rng(at)
        for line in lines:
            if line["type"] == "result":
                line["half_rtt_ns"]["p99"] *= float(np.exp(0.5 * random.normal()))
        path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        paths.append(path)
    assert beowire_diff(*paths) == 0
    said = capsys.readouterr().out
    assert "unsure" in said
    assert said.splitlines()[-1] == "B is no worse than A by 2 % anywhere."


def test_diff__several_records__are_several_launches(tmp_path: Path, capsys: Captured) -> None:
    paths = {
        name: [
            write(
                tmp_path / name / str(at),
                {"tcp": flat(30_000 * factor, 1, at)},
                minutes=2 * at + (name == "b"),
            )
            for at in range(5)
        ]
        for name, factor in (("a", 1), ("b", 1.2))
    }
    assert beowire_diff(*(",".join(map(str, of)) for of in paths.values())) == 1
    by_name = capsys.readouterr().out
    assert "(5 launches)" in by_name
    assert "one side was measured after the other" not in by_name
    assert beowire_diff(tmp_path / "a", tmp_path / "b") == 1
    assert capsys.readouterr().out.splitlines()[-1] == by_name.splitlines()[-1]


def test_diff__threshold__is_what_counts(first: Path, tmp_path: Path, capsys: Captured) -> None:
    second = _second(tmp_path, 30_000, 1500 * 1.1)
    assert beowire_diff(first, second, "--threshold", "15%") == 0
    assert "no worse than A by 15 %" in capsys.readouterr().out


def test_diff__a_driver_that_failed__cannot_be_told(
    first: Path, tmp_path: Path, capsys: Captured
) -> None:
    found = {"tcp": flat(30_000, 10, 3), "beowire": flat(1500, 10, 4)}
    second = write(tmp_path / "b", found, minutes=1, failed={"beowire": "the engine ended"})
    assert beowire_diff(first, second) == 2
    said = capsys.readouterr().out
    assert "beowire pingpong, 8 B to 64 KiB: B: the engine ended" in said
    assert "some of it failed" in said.splitlines()[-1]


def test_diff__a_driver_that_was_skipped__cannot_be_told(first: Path, tmp_path: Path) -> None:
    reason = Skipped(driver="beowire", reason="no such thing")
    found = {"tcp": flat(30_000, 10, 3)}
    assert beowire_diff(first, write(tmp_path / "b", found, minutes=1, skipped=[reason])) == 2


def test_diff__a_driver_that_nobody_asked_for__does_not_matter(
    first: Path, tmp_path: Path, capsys: Captured
) -> None:
    second = write(tmp_path / "b", {"tcp": flat(30_000, 10, 3)}, minutes=1)
    assert beowire_diff(first, second) == 0
    assert "beowire pingpong, 8 B to 64 KiB: only in A" in capsys.readouterr().out


def test_diff__what_else_differs__is_said(first: Path, tmp_path: Path, capsys: Captured) -> None:
    found = {"tcp": flat(30_000, 10, 3), "beowire": flat(1500, 10, 4)}
    assert beowire_diff(first, write(tmp_path / "b", found, minutes=1, mtu=9000)) == 0
    said = capsys.readouterr().out
    assert "note: link mtu: 1500 in A, 9000 in B" in said
    assert "note: one side was measured after the other" in said


def test_diff__record_cut_short__warns(first: Path, tmp_path: Path, capsys: Captured) -> None:
    second = _second(tmp_path, 30_000, 1500)
    second.write_bytes(second.read_bytes()[:-9])
    assert beowire_diff(first, second) == 0
    assert f"beowire: {second}: cut short in line" in capsys.readouterr().err


def test_diff__what_is_no_record(first: Path, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no record\n")
    (tmp_path / "empty").mkdir()
    written(tmp_path / "record.jsonl", meta("cg"))
    assert f"{tmp_path}/nothing" in refused(first, tmp_path / "nothing")
    assert "text is no Beowire record" in refused(first, tmp_path / "text")
    assert "no record in" in refused(first, tmp_path / "empty")
    assert "is of `beowire apps`" in refused(first, tmp_path / "record.jsonl")


def test_diff__an_empty_name(first: Path) -> None:
    assert "an empty name" in refused(f"{first},", first)


def test_diff__the_same_run_twice(first: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(first.read_bytes())
    assert "are the same run: name each once" in refused(first, copy)
    assert "are the same run: name each once" in refused(f"{first},{first}", copy)


def test_diff__nothing_in_common(first: Path, tmp_path: Path) -> None:
    second = write(tmp_path / "b", {"udp": flat(1e4, 10, 3)}, minutes=1)
    said = refused(first, second)
    assert "no driver, pattern and size in common" in said
    assert "B has udp pingpong" in said
    found = {"tcp": flat(30_000, 10, 3), "beowire": flat(1500, 10, 4)}
    other = write(tmp_path / "c", found, minutes=2, sizes=(1, 2, 3))
    assert refused(first, other).endswith("the same with other sizes")


def test_diff__one_launch_each(tmp_path: Path) -> None:
    paths = [
        write(tmp_path / name, {"tcp": flat(1e4, 1, at)}, minutes=at)
        for at, name in enumerate("ab")
    ]
    said = refused(*paths)
    assert said.startswith("A has 1 launch, B has 1 launch: too few for a verdict,")
    assert "--launches 10" in said


def test_diff__nothing_was_measured(first: Path, tmp_path: Path) -> None:
    assert "has no result to compare" in refused(first, write(tmp_path / "b", {}, minutes=1))


@pytest.mark.parametrize("text", ["3", "x%", "-1%", "1001%", "3 percent", ""])
def test_diff__a_threshold_that_is_none(first: Path, text: str) -> None:
    assert "write per cent" in refused(first, first, f"--threshold={text}")


def test_diff__nobody_reads__does_not_end_as_if_b_were_worse(
    first: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    second = _second(tmp_path, 30_000, 1500)
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as gone:
        monkeypatch.setattr("sys.stdout", gone)
        assert "cannot write the comparison" in refused(first, second)
        monkeypatch.undo()
        # What is left in its buffer goes nowhere, either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), gone.fileno())
