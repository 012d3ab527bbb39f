# SPDX-License-Identifier: BSD-3-Clause
"""`beowire compare --against` from outside, with engines that only pretend."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import typer

from beowire.commands import compare as command
from beowire.commands.against import prepare
from beowire.compare.run import Request
from beowire.errors import BeowireError
from beowire.record.lines import Line
from beowire.record.reader import Record, read_record
from unit.evaluator import synthetic_record
from unit.evaluator.fake_launcher import FakeLauncher
from unit.evaluator.launch_records import flat, write


def _request(tmp_path: Path, **changes: object) -> Request:
    found = {"patterns": ["pingpong"], "sizes": [1, 2, 3], "directory": tmp_path / "new"}
    return Request(**(found | changes))  # type: ignore[arg-type]


@pytest.fixture
def first(tmp_path: Path) -> Path:
    found = {"tcp": flat(30_000, 10, 1), "beowire": flat(1500, 10, 2)}
    return write(tmp_path / "a", found)


def test_prepare__takes_over_what_is_not_named(first: Path, tmp_path: Path) -> None:
    request = prepare(str(first), "2%", _request(tmp_path), ()).request
    assert request.drivers == "tcp,beowire"
    assert request.sizes == [8, 1024, 65536]
    assert request.launches == 20
    assert request.seconds == 120.0 * 20  # its meta says 120 s, and one launch
    assert not request.scheduled
    assert request.loads == ()


def test_prepare__leaves_what_is_named(first: Path, tmp_path: Path) -> None:
    asked = _request(tmp_path, drivers="tcp", seconds=3.0, launches=7, patterns=["stream"])
    named = {"drivers", "sizes", "pattern", "seconds", "launches"}
    request = prepare(str(first), "2%", asked, named).request
    assert (request.drivers, request.sizes, request.seconds) == ("tcp", [1, 2, 3], 3.0)
    assert (request.launches, request.patterns) == (7, ["stream"])


def test_prepare__a_load_is_taken_over(tmp_path: Path) -> None:
    lines = synthetic_record.lines(("tcp",), sizes=(8,), launches=5, samples=40)
    record = read_record(synthetic_record.write(tmp_path / "idle.jsonl", lines))
    record = synthetic_record.with_load(record, "hog:19", 2.0)
    again: list[Line] = [record.meta, *record.results]
    path = synthetic_record.write(tmp_path / "loaded.jsonl", again)
    (load,) = prepare(str(path), "2%", _request(tmp_path), ()).request.loads
    assert load is not None and load.text == "hog:19"


def _with_options(path: Path, **options: object) -> Path:
    """The record, as one of a run that was asked for otherwise."""
    first, rest = path.read_text(encoding="utf-8").split("\n", 1)
    meta = json.loads(first)
    meta["options"] |= options
    path.write_text(f"{json.dumps(meta)}\n{rest}", encoding="utf-8")
    return path


def test_prepare__what_was_measured_otherwise_is_so_again(tmp_path: Path) -> None:
    path = write(tmp_path / "a", {"tcp-buffer": flat(30_000, 10, 1)})
    _with_options(
        path, offset=[1, 64], socket_buffer="524288", message_rate=5000.0, call_cost_ns=300
    )
    request = prepare(str(path), "2%", _request(tmp_path), ()).request
    assert request.offsets == (1, 64)
    assert (request.socket_buffer, request.message_rate) == (524288, 5000.0)
    assert request.call_cost_ns == 300
    named = {"offset", "socket_buffer", "message_rate", "system_call_cost"}
    request = prepare(str(path), "2%", _request(tmp_path), named).request
    assert (request.offsets, request.socket_buffer, request.message_rate) == ((0, 0), None, None)
    assert request.call_cost_ns is None
    # Of a driver that is not measured again nothing is taken over, for that would add it.
    asked = _request(tmp_path, drivers="tcp")
    assert prepare(str(path), "2%", asked, {"drivers"}).request.socket_buffer is None


def test_prepare__options_that_say_nothing_are_left_out(first: Path, tmp_path: Path) -> None:
    path = _with_options(first, offset="x", socket_buffer="²", message_rate=None)
    request = prepare(str(path), "2%", _request(tmp_path), ()).request
    assert (request.offsets, request.socket_buffer, request.message_rate) == ((0, 0), None, None)


def test_prepare__too_few_launches(tmp_path: Path) -> None:
    path = write(tmp_path / "a", {"tcp": flat(1e4, 1, 1)})
    with pytest.raises(BeowireError, match="too few for a verdict") as caught:
        prepare(str(path), "2%", _request(tmp_path), ())
    assert caught.value.exit_code == 2


def test_prepare__nothing_was_measured(tmp_path: Path) -> None:
    with pytest.raises(BeowireError, match="has no result to compare with"):
        prepare(str(write(tmp_path / "a", {})), "2%", _request(tmp_path), ())


# The whole command


@pytest.fixture
def launchers(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[FakeLauncher]]:
    made: list[FakeLauncher] = []

    def launcher() -> FakeLauncher:
        made.append(FakeLauncher(drivers=_slower()))
        return made[-1]

    monkeypatch.setattr("beowire.commands.options.LocalLauncher", launcher)
    yield made
    assert all(process.poll() is not None for one in made for process in one.processes)


_FACTOR = {"steady": 1.0}

#: Of 20 launches: 0.1 s of each.
_TIME = ("--time", "2")


def _slower() -> dict[str, dict[str, object]]:
    return {"steady": {"median_ns": 4000.0 * _FACTOR["steady"]}}


@pytest.fixture
def measured(tmp_path: Path) -> Path:
    """A record of ten launches of the driver that pretends: half a round trip takes 2 us."""
    return write(tmp_path / "before", {"steady": flat(2000, 10, 1, 2)}, sizes=(8, 1024))


def _compare(*words: str | Path) -> int:
    app = typer.Typer(rich_markup_mode=None)
    app.callback()(lambda: None)
    command.register(app)
    return int(app(["compare", *map(str, words)], standalone_mode=False) or 0)


Again = Callable[[float], tuple[int, str, Record]]


@pytest.fixture
def again(
    measured: Path,
    launchers: list[FakeLauncher],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Again:
    """Compares with what was measured, while all is by a factor slower."""

    def compare(factor: float) -> tuple[int, str, Record]:
        monkeypatch.setitem(_FACTOR, "steady", factor)
        out = tmp_path / "after"
        status = _compare("--against", measured, "--out", out, "--threshold", "10%", *_TIME)
        assert len(launchers) == 1
        return status, capsys.readouterr().out, read_record(out / "record.jsonl")

    return compare


@pytest.mark.parametrize(("factor", "status"), [(1.0, 0), (1.3, 1)])
def test_compare__against__ends_when_the_verdict_is_in(
    again: Again, factor: float, status: int
) -> None:
    ended, said, record = again(factor)
    assert ended == status
    assert max(result.launch for result in record.results) == 4
    assert {result.size for result in record.results} == {8, 1024}
    assert str(record.meta.options["against"]).endswith("before/record.jsonl")
    assert "4 of at most 20 launches" in said
    assert ("B is worse than A: steady pingpong" in said) is bool(status)


def test_compare__against__json_has_the_comparison_last(
    measured: Path,
    launchers: list[FakeLauncher],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = (
        "--against",
        measured,
        "--out",
        tmp_path / "after",
        "--threshold",
        "10%",
        "--json",
        *_TIME,
    )
    assert _compare(*words) == 0
    *results, last = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert {one["type"] for one in results} == {"result"}
    assert (last["type"], last["verdict"], last["launches"]) == ("comparison", "no worse", 4)
    assert launchers


def test_compare__against__what_fails_does_not_end_as_if_it_were_worse(
    measured: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = {"steady": {"fault": "die", "fault_run": 1}}
    monkeypatch.setattr(
        "beowire.commands.options.LocalLauncher", lambda: FakeLauncher(drivers=broken)
    )
    with pytest.raises(BeowireError) as caught:
        _compare("--against", measured, "--out", tmp_path / "after", "--launches", "4", *_TIME)
    assert caught.value.exit_code == 2


def test_compare__threshold_without_a_record() -> None:
    with pytest.raises(BeowireError, match="--threshold needs --against RECORD"):
        _compare("--threshold", "3%")
