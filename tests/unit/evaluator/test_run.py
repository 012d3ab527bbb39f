# SPDX-License-Identifier: BSD-3-Clause
import errno
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from beowire.compare.run import Request, run
from beowire.conduct.others import Busy
from beowire.errors import BeowireError
from beowire.interrupts import Interrupts
from beowire.record.reader import read_record
from unit.evaluator.fake_launcher import FakeLauncher


@pytest.fixture
def launcher() -> Iterator[FakeLauncher]:
    made = FakeLauncher()
    yield made
    assert all(process.poll() is not None for process in made.processes)


def _request(directory: Path, **changes: Any) -> Request:
    members: dict[str, Any] = {
        "patterns": ["pingpong"],
        "sizes": [8, 1024],
        "directory": directory,
        "drivers": "steady",
        "seconds": 20.0,
    }
    return Request(**{**members, **changes})


def test_run__writes_a_whole_record(launcher: FakeLauncher, tmp_path: Path) -> None:
    outcome = run(launcher, _request(tmp_path / "deep" / "out"), Interrupts())
    assert (outcome.failures, outcome.interrupted) == ([], False)
    record = read_record(tmp_path / "deep" / "out" / "record.jsonl")
    assert record.warnings == []
    assert record.end is not None and record.end.status == "ok"
    assert sorted(one.size for one in record.results) == [8, 1024]
    assert record.meta.link.kind == "local"
    assert record.meta.options["budget_s"] == 20.0
    assert record.meta.ends[0].environment["hostname"] == "node0"


def test_run__what_others_used__is_looked_at_between_rounds(
    launcher: FakeLauncher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = []
    monkeypatch.setattr("beowire.conduct.others.Others.look", lambda *_: looks.append(1))
    monkeypatch.setattr(
        "beowire.conduct.others.Others.busy", lambda *_: Busy(float(len(looks)), 0.4)
    )
    run(launcher, _request(tmp_path, sizes=[8]), Interrupts())
    record = read_record(tmp_path / "record.jsonl")
    assert record.end is not None
    assert record.end.busy_s is not None and record.end.busy_s >= record.results[0].rounds
    assert record.end.busy_cpus == 0.4


def test_run__its_engines_are_ours_whoever_started_them(
    launcher: FakeLauncher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[str, list[int]]] = []
    for name in ("look", "follow"):
        monkeypatch.setattr(
            f"beowire.conduct.others.Others.{name}",
            lambda _, pids, name=name: told.append((name, pids)),
        )
    run(launcher, _request(tmp_path, sizes=[8]), Interrupts())
    engines = [process.pid for process in launcher.processes[-2:]]
    assert told[0] == ("look", engines)
    assert told[-1] == ("follow", engines)


def test_run__a_schedule_that_is_too_long__is_made_coarser(
    launcher: FakeLauncher, tmp_path: Path
) -> None:
    request = _request(tmp_path, sizes=[5, 7, 8, 9], scheduled=True, seconds=0.9)
    run(launcher, request, Interrupts())
    record = read_record(tmp_path / "record.jsonl")
    assert [one.size for one in record.results] == [8]
    options = record.meta.options
    assert options["sizes"] == [8]
    assert (options["schedule_sizes"], options["schedule_s"]) == (4, 1.0)


def test_run__sizes_that_were_named__are_all_measured(
    launcher: FakeLauncher, tmp_path: Path
) -> None:
    run(launcher, _request(tmp_path, sizes=[5, 7, 8, 9], seconds=0.9), Interrupts())
    record = read_record(tmp_path / "record.jsonl")
    assert record.meta.options["sizes"] == [5, 7, 8, 9]
    assert "schedule_sizes" not in record.meta.options


def test_run__lists_the_absent_drivers_as_skipped(tmp_path: Path) -> None:
    faulty = ("dies", "garbage", "hangs", "breaks", "unopened", "void", "refuses")
    launcher = FakeLauncher(drivers={name: {"ready": False, "reason": "no"} for name in faulty})
    run(launcher, _request(tmp_path, drivers=None, sizes=[8], seconds=4.0), Interrupts())
    record = read_record(tmp_path / "record.jsonl")
    absent = {one.driver: one.reason for one in record.skipped if one.size is None}
    assert absent == {
        "absent": "node0: install libabsent",
        **dict.fromkeys(faulty, "node0: no"),
    }
    assert {one.driver for one in record.results} == {
        "steady",
        "slow",
        "bimodal",
        "tiny",
        "shared",
        "lossy",
    }


def test_run__probes__count_in_rounds_of_their_own(launcher: FakeLauncher, tmp_path: Path) -> None:
    run(launcher, _request(tmp_path, sizes=[8], probes="soaker, syscalls"), Interrupts())
    record = read_record(tmp_path / "record.jsonl")
    assert record.meta.options["probes"] == ["soaker", "syscalls"]
    assert [one.name for one in record.meta.probes if one.disturbs] == [
        "taken_ns",
        "syscalls",
        "cycles",
    ]
    (result,) = record.results
    assert result.probed_rounds >= 1
    assert [end["syscalls"] for end in result.probes] == [2.0, 2.0]
    assert [end["interrupts"] for end in result.probes] == pytest.approx([1e6, 1e6], rel=0.01)
    assert result.cpu_methods is not None
    assert result.cpu_methods.taken_ns == 900.0
    assert "cycles" not in result.figures(0)


def test_run__without_probes__only_those_that_disturb_nothing(
    launcher: FakeLauncher, tmp_path: Path
) -> None:
    run(launcher, _request(tmp_path, sizes=[8]), Interrupts())
    (result,) = read_record(tmp_path / "record.jsonl").results
    assert result.probed_rounds == 0
    assert [set(end) for end in result.probes] == [{"interrupts"}] * 2
    assert result.service_demand_us_per_kb == pytest.approx(850 / 16 * 1.024)


def test_run__an_unknown_probe_leaves_no_directory(launcher: FakeLauncher, tmp_path: Path) -> None:
    with pytest.raises(BeowireError, match="no probe 'moon': write all, or of soaker, syscalls"):
        run(launcher, _request(tmp_path / "out", probes="usage,moon"), Interrupts())
    assert not (tmp_path / "out").exists()


def test_run__each_launch_has_its_own_processes(launcher: FakeLauncher, tmp_path: Path) -> None:
    run(launcher, _request(tmp_path, launches=3, sizes=[8]), Interrupts())
    record = read_record(tmp_path / "record.jsonl")
    assert [one.launch for one in record.results] == [1, 2, 3]
    assert len(launcher.processes) == 2 + 3 * 2


def test_run__never_overwrites_a_record(launcher: FakeLauncher, tmp_path: Path) -> None:
    (tmp_path / "record.jsonl").write_text("precious")
    with pytest.raises(BeowireError, match="not overwritten"):
        run(launcher, _request(tmp_path), Interrupts())
    assert (tmp_path / "record.jsonl").read_text() == "precious"
    assert launcher.processes == []


def test_run__an_unknown_driver_leaves_no_directory(launcher: FakeLauncher, tmp_path: Path) -> None:
    with pytest.raises(BeowireError, match="no driver 'nope'"):
        run(launcher, _request(tmp_path / "out", drivers="nope"), Interrupts())
    assert not (tmp_path / "out").exists()


def test_run__a_failed_driver_is_in_the_end_line(launcher: FakeLauncher, tmp_path: Path) -> None:
    outcome = run(launcher, _request(tmp_path, drivers="steady,dies"), Interrupts())
    assert len(outcome.failures) == 1
    record = read_record(tmp_path / "record.jsonl")
    assert record.end is not None and "dies failed on node1" in record.end.status
    assert {one.driver for one in record.results if one.status == "ok"} == {"steady"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_run__a_signal_keeps_what_was_measured(tmp_path: Path, number: signal.Signals) -> None:
    launcher = FakeLauncher(drivers={"steady": {"law": "bimodal", "real_time": 1.0}})
    record_path = tmp_path / "record.jsonl"

    def interrupt() -> None:
        """Once the first of the sizes is being measured: the record has its first line."""
        deadline = time.monotonic() + 60
        while not (record_path.exists() and record_path.stat().st_size):
            if time.monotonic() > deadline:
                return
            time.sleep(0.01)
        while len(launcher.processes) < 4 and time.monotonic() < deadline:
            time.sleep(0.01)
        os.kill(os.getpid(), number)

    sender = threading.Thread(target=interrupt)
    with Interrupts() as interrupts:
        sender.start()
        request = _request(tmp_path, sizes=[200_000_000], seconds=60.0)
        outcome = run(launcher, request, interrupts)
    sender.join()
    assert outcome.interrupted
    record = read_record(record_path)
    assert record.end is not None and record.end.status == "interrupted"
    cells = [*record.results, *record.skipped]
    assert len(cells) == 1
    assert all(process.poll() is not None for process in launcher.processes)


def test_run__a_full_disk_is_one_line_and_keeps_the_rest(
    launcher: FakeLauncher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk fills up with the second result."""
    really = os.write
    seen = 0

    def write(descriptor: int, data: bytes) -> int:
        nonlocal seen
        data = bytes(data)
        if data.startswith(b'{"type":"result"'):
            seen += 1
        if seen >= 2 and data.startswith(b'{"type"'):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return really(descriptor, data)

    monkeypatch.setattr("os.write", write)
    with pytest.raises(BeowireError, match="No space left on device") as caught:
        run(launcher, _request(tmp_path), Interrupts())
    assert caught.value.exit_code == 1
    record = read_record(tmp_path / "record.jsonl")
    assert len(record.results) == 1
    assert record.end is None


def test_run__json_lines_are_those_of_the_record(
    launcher: FakeLauncher, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(launcher, _request(tmp_path, json=True), Interrupts())
    printed = capsys.readouterr().out.splitlines()
    written = (tmp_path / "record.jsonl").read_text().splitlines()
    assert printed == [line for line in written if line.startswith('{"type":"result"')]
    assert len(printed) == 2


def test_run__knows_the_wires_limit_of_a_shaped_lab(tmp_path: Path) -> None:
    class Shaped(FakeLauncher):
        def describe_link(self) -> dict[str, object]:
            return {"kind": "lab", "mtu": 1500, "rate_bits_per_s": 1_000_000_000, "delay_ns": 0}

    run(Shaped(), _request(tmp_path, sizes=[8]), Interrupts())
    wire = read_record(tmp_path / "record.jsonl").meta.wire
    assert wire is not None
    assert wire.payload_bytes_per_s == pytest.approx(125e6 * 1500 / 1538)


def test_how__rounds_outlast_the_burst_of_a_shaper(tmp_path: Path) -> None:
    """What a shaped port sends at once after a pause must not count as its speed."""
    launcher = FakeLauncher()
    link = {"kind": "lab", "rate_bits_per_s": 1e9, "burst_bytes": 50_000}
    launcher.describe_link = lambda: link  # type: ignore[method-assign]
    run(launcher, _request(tmp_path, sizes=[8], seconds=8.0), Interrupts())
    (result,) = read_record(tmp_path / "record.jsonl").results
    assert result.elapsed_ns / result.rounds > 40e6
