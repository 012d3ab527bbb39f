# SPDX-License-Identifier: BSD-3-Clause
"""`beowire compare` as people run it: the whole program, with real engines and with pretended."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import psutil
import pytest

from beowire import isolated
from beowire.plan.patterns import PATTERNS
from beowire.record.reader import Record, read_record
from system.time_enough import compare_in_time
from unit.evaluator import fake_launcher

ROOT = Path(__file__).resolve().parents[2]
COMMAND = [*isolated.command("beowire"), "compare"]

#: Long enough for a starved machine; the runs themselves take a few seconds.
PATIENCE_S = 200


def _environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT / "evaluator"), **more}


def _compare(directory: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *words],
        cwd=directory,
        env=_environment(**environment),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


@pytest.fixture
def pretended(tmp_path: Path) -> str:
    """A BEOWIRE_ENGINE_DIR whose engine only pretends."""
    return str(fake_launcher.write_engine(tmp_path / "engine"))


@pytest.fixture
def running(tmp_path: Path, pretended: str) -> Iterator[subprocess.Popen[str]]:
    """A run that would take a minute, with its engines at work."""
    slow = {"steady": {"law": "bimodal", "real_time": 1.0, "median_ns": 20e6}}
    hears_all = ["env", "--default-signal=HUP"]  # also where the tests run under nohup
    process = subprocess.Popen(
        [
            *hears_all,
            *COMMAND,
            "--drivers",
            "steady",
            "--sizes",
            "8,1024,4096",
            "--time",
            "60",
            "--out",
            "o",
        ],
        cwd=tmp_path,
        env=_environment(BEOWIRE_ENGINE_DIR=pretended, BEOWIRE_FAKE=json.dumps(slow)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        _until(lambda: len(_engines(process.pid)) == 2 and (tmp_path / "o/record.jsonl").exists())
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def _until(condition: object) -> None:
    assert callable(condition)
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.02)


def _engines(pid: int) -> list[psutil.Process]:
    """The engines of a run that is up: children with an open session."""
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def _one_line(text: str) -> str:
    lines = text.splitlines()
    assert len(lines) == 1, text
    assert lines[0].startswith("beowire: ")
    return lines[0]


def _whole(directory: Path) -> Record:
    record = read_record(directory / "record.jsonl")
    assert record.warnings == []
    return record


# Real engines


def test_compare__real_drivers_over_loopback(tmp_path: Path) -> None:
    done = _compare(
        tmp_path, "--drivers", "memcpy,tcp,tcp-spin", "--sizes", "8,4096", "--time", "5"
    )
    assert done.returncode == 0, done.stderr
    (directory,) = tmp_path.glob("beowire-*")
    record = _whole(directory)
    assert {(one.driver, one.size) for one in record.results} == {
        (driver, size) for driver in ("memcpy", "tcp", "tcp-spin") for size in (8, 4096)
    }
    assert all(one.status == "ok" for one in record.results)
    assert all(end.environment for end in record.meta.ends)
    assert (directory / "report.html").stat().st_size > 10_000
    assert "tcp-spin" in done.stdout and str(directory.name) in done.stdout


@pytest.mark.timeout(600)
def test_compare__every_pattern_over_every_kind_of_driver_or_a_reason(tmp_path: Path) -> None:
    drivers = ("tcp", "udp", "beowire", "shm", "memcpy")
    # Taking so much memory takes long; what is between many nodes is in test_compare_nodes.py.
    names = [name for name, row in PATTERNS.items() if name != "cold" and not row.many]
    words = ("--drivers", ",".join(drivers), "--sizes", "1000", "--offset", "1,3")
    compare = partial(_compare, tmp_path, *words, "--pattern", ",".join(names))
    done, record = compare_in_time(compare, tmp_path / "o", 30)
    assert done.returncode == 0, done.stderr
    assert record.warnings == []
    able = {info.name: info for info in record.meta.drivers}
    measured = {(one.driver, one.pattern, "") for one in record.results}
    left_out = {(one.driver, one.pattern, one.reason) for one in record.skipped}
    assert measured | left_out == {
        (driver, name, PATTERNS[name].obstacle(able[driver]))
        for driver in drivers
        for name in names
    }
    assert all(one.status == "ok" and one.n > 0 for one in record.results)
    assert all(getattr(one, PATTERNS[one.pattern].field) is not None for one in record.results)
    assert record.meta.options["offset"] == [1, 3]
    # None of these has the operations that collective patterns take: they have no table.
    assert all(PATTERNS[name].title in done.stdout for _, name, reason in measured if not reason)
    assert "messages began 1 (sent) and 3 (received) bytes after a page" in done.stdout


def test_compare__cold_messages_say_how_far_they_walked(tmp_path: Path) -> None:
    words = ("--drivers", "tcp,memcpy", "--sizes", "1000", "--pattern", "cold")
    done, record = compare_in_time(partial(_compare, tmp_path, *words), tmp_path / "o", 6)
    assert done.returncode == 0, done.stderr
    assert record.warnings == []
    results = record.results
    assert {one.driver for one in results} == {"tcp", "memcpy"}
    assert all(one.walk_bytes is not None and one.walk_bytes >= 1 << 20 for one in results)
    assert "Messages walked through" in done.stdout


def test_compare__in_a_lab(tmp_path: Path) -> None:
    drivers = "tcp,tcp-spin,packet,beowire"
    words = ("--lab", "--drivers", drivers, "--sizes", "8,1024")
    done, record = compare_in_time(partial(_compare, tmp_path, *words), tmp_path / "o", 8)
    assert done.returncode == 0, done.stderr
    assert record.warnings == []
    assert {one.driver for one in record.results} == set(drivers.split(","))
    assert record.meta.link.kind == "lab"
    assert record.meta.ends[0].address != record.meta.ends[1].address


def test_compare__says_which_congestion_control_tcp_had(tmp_path: Path) -> None:
    words = ("--drivers", "tcp", "--sizes", "8", "--time", "1")
    asked = _compare(tmp_path, "--lab", "--congestion", "reno", *words, "--out", "lab")
    assert asked.returncode == 0, asked.stderr
    record = _whole(tmp_path / "lab")
    assert record.meta.link.congestion_control == "reno"
    used = [end.environment["net_ipv4_tcp_congestion_control"] for end in record.meta.ends]
    assert used == ["reno", "reno"]
    assert asked.stdout.splitlines()[0].endswith(", congestion control reno")

    loopback = _compare(tmp_path, *words, "--out", "here")
    assert loopback.returncode == 0, loopback.stderr
    host = Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text(encoding="ascii").strip()
    record = _whole(tmp_path / "here")
    assert record.meta.link.congestion_control is None
    used = [end.environment["net_ipv4_tcp_congestion_control"] for end in record.meta.ends]
    assert used == [host, host]
    assert loopback.stdout.splitlines()[0].endswith(f", congestion control {host}")


# Output


def test_compare__json_prints_result_lines_and_nothing_else(tmp_path: Path, pretended: str) -> None:
    words = ("--drivers", "steady,slow", "--sizes", "8,64", "--time", "10", "--json", "--out", "o")
    done = _compare(tmp_path, *words, BEOWIRE_ENGINE_DIR=pretended)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["type"] for one in results] == ["result"] * 4
    assert all(one["half_rtt_ns"]["ci95"] for one in results)


def test_compare__when_the_report_cannot_be_written_the_table_is_there(
    tmp_path: Path, pretended: str
) -> None:
    (tmp_path / "o" / "report.html").mkdir(parents=True)  # in the way
    words = ("--drivers", "steady", "--sizes", "8", "--time", "10", "--out", "o")
    done = _compare(tmp_path, *words, BEOWIRE_ENGINE_DIR=pretended)
    assert done.returncode == 1
    assert "cannot write o/report.html" in _one_line(done.stderr)
    assert "Half round trip" in done.stdout and "report:" not in done.stdout
    assert len(_whole(tmp_path / "o").results) == 1


def test_compare__when_nobody_reads_the_table_the_report_is_there(
    tmp_path: Path, pretended: str
) -> None:
    words = ["--drivers", "steady", "--sizes", "8", "--time", "10", "--out", "o"]
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*COMMAND, *words],
        cwd=tmp_path,
        env=_environment(BEOWIRE_ENGINE_DIR=pretended),
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, "")
    assert (tmp_path / "o/report.html").stat().st_size > 10_000


def test_compare__when_nothing_can_be_measured_it_says_why(tmp_path: Path, pretended: str) -> None:
    words = ("--drivers", "tiny", "--pattern", "stream", "--sizes", "8,16", "--out", "o")
    done = _compare(tmp_path, *words, BEOWIRE_ENGINE_DIR=pretended)
    assert done.returncode == 1
    assert _one_line(done.stderr) == (
        "beowire: nothing could be measured: tiny: it has no other end"
    )


# Bad input


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--drivers", "nope"], "`beowire drivers` lists them; groups are"),
        (["--drivers", "absent"], "install libabsent"),
        (["--sizes", "8,elephant"], "'elephant' is not a size"),
        (["--sizes", "8M", "--max-size", "4M"], "raise --max-size"),
        (["--pattern", "bang"], "no pattern 'bang': there are pingpong, pingping, "),
        (["--time", "0"], "--time"),
        (["--time", "nan"], "--time"),
        (["--launches", "0"], "--launches"),
        (["--pin", "a,b"], "--pin"),
        (["--offset", "4096"], "cannot read --offset '4096': write bytes up to 4095"),
        (["--offset", "1,2,3"], "--offset"),
        (["--offset", "1,"], "--offset"),
        (["--mtu", "9000"], "add --lab"),
        (["--congestion", "reno"], "add --lab"),
        (["--lab", "--congestion", "vegan"], "cannot have the congestion control 'vegan'"),
        (["--lab", "--hosts", "a,b"], "exclude"),
        (["--lab", "--loss", "many"], "loss"),
        (["--hosts", "onlyone"], "two different hosts"),
        (["--ssh-option", "Port=22"], "--hosts"),
        (["--seed", "x"], "'--seed'"),
        (["--hosts", "a,b", "--ssh-option", "-p 22"], "write it as in ssh_config: Port=2222"),
        (["--out", "/proc/nowhere"], "cannot make /proc/nowhere"),
    ],
)
def test_compare__bad_input_is_one_line(
    tmp_path: Path, pretended: str, words: list[str], says: str
) -> None:
    done = _compare(tmp_path, "--drivers", "steady", *words, BEOWIRE_ENGINE_DIR=pretended)
    assert done.returncode == 2
    assert says in _one_line(done.stderr)
    assert done.stdout == ""
    assert list(tmp_path.glob("beowire-*")) == []


def test_compare__an_existing_record_is_not_overwritten(tmp_path: Path, pretended: str) -> None:
    (tmp_path / "record.jsonl").write_text("precious\n")
    done = _compare(tmp_path, "--out", ".", BEOWIRE_ENGINE_DIR=pretended)
    assert done.returncode == 2
    assert "exists already and is not overwritten" in _one_line(done.stderr)
    assert (tmp_path / "record.jsonl").read_text() == "precious\n"


# Failures


@pytest.mark.parametrize("driver", ["dies", "garbage", "breaks"])
def test_compare__a_driver_that_fails_is_named_and_the_rest_measured(
    tmp_path: Path, pretended: str, driver: str
) -> None:
    words = ("--drivers", f"steady,{driver}", "--sizes", "8,64,512", "--time", "20", "--out", "o")
    done = _compare(tmp_path, *words, BEOWIRE_ENGINE_DIR=pretended)
    assert done.returncode == 1
    assert f"{driver} failed on local1" in _one_line(done.stderr)
    assert "Half round trip" in done.stdout
    record = read_record(tmp_path / "o/record.jsonl")
    assert sum(one.driver == "steady" and one.status == "ok" for one in record.results) == 3
    assert (tmp_path / "o/report.html").exists()


@pytest.mark.parametrize("end", [0, 1])
def test_compare__a_killed_engine_is_named(
    tmp_path: Path, running: subprocess.Popen[str], end: int
) -> None:
    engines = sorted(_engines(running.pid), key=lambda engine: engine.pid)
    engines[end].kill()
    _, error = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 1
    assert f"steady failed on local{end}: the engine was killed by SIGKILL" in _one_line(error)
    assert read_record(tmp_path / "o/record.jsonl").end is not None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_compare__a_signal_leaves_a_record_and_no_process(
    tmp_path: Path, running: subprocess.Popen[str], number: signal.Signals
) -> None:
    engines = _engines(running.pid)
    os.killpg(running.pid, number)  # as a terminal does: the engines get it too
    _, error = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 130
    assert "interrupted" in _one_line(error)
    record = read_record(tmp_path / "o/record.jsonl")
    assert record.end is not None and record.end.status == "interrupted"
    assert not any(engine.is_running() for engine in engines)


def test_compare__killed_itself_leaves_no_engine_and_what_was_measured(
    tmp_path: Path, running: subprocess.Popen[str]
) -> None:
    engines = _engines(running.pid)
    path = tmp_path / "o/record.jsonl"
    _until(lambda: '"type":"partial"' in path.read_text().rpartition("\n")[0])
    running.kill()
    running.communicate(timeout=PATIENCE_S)
    _, alive = psutil.wait_procs(engines, timeout=PATIENCE_S)
    assert alive == []
    record = read_record(path)
    assert "cut short" in record.warnings[0]
    assert [one.status for one in record.results] == ["the run was cut short"]
    assert record.results[0].rounds > 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a small disk")
def test_compare__a_full_disk_is_one_line_and_keeps_what_fits(
    tmp_path: Path, pretended: str
) -> None:
    (tmp_path / "small").mkdir()
    script = (
        f"mount -t tmpfs -o size=24k none {tmp_path}/small && "
        'shift && "$@"; status=$?; '
        f"cp {tmp_path}/small/o/record.jsonl {tmp_path}/kept.jsonl; exit $status"
    )
    words = ["--drivers", "steady,slow", "--sizes", "1-4096", "--time", "30", "--out", "small/o"]
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script, "sh", "", *COMMAND, *words],
        cwd=tmp_path,
        env=_environment(BEOWIRE_ENGINE_DIR=pretended),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 1
    kept = len(read_record(tmp_path / "kept.jsonl").results)
    assert kept > 0
    said = _one_line(done.stderr)
    assert "No space left on device; what was measured before is kept" in said
    assert f"({kept} result" in said


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a small disk")
def test_compare__a_disk_that_is_full_already_gets_no_empty_record(
    tmp_path: Path, pretended: str
) -> None:
    (tmp_path / "small").mkdir()
    script = (
        f"mount -t tmpfs -o size=8k none {tmp_path}/small && mkdir {tmp_path}/small/o && "
        f"head -c 8192 /dev/zero >{tmp_path}/small/full; "
        f'shift && "$@"; status=$?; ls {tmp_path}/small/o >&2; exit $status'
    )
    words = ["--drivers", "steady", "--sizes", "8", "--time", "2", "--out", "small/o"]
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script, "sh", "", *COMMAND, *words],
        cwd=tmp_path,
        env=_environment(BEOWIRE_ENGINE_DIR=pretended),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 1
    assert _one_line(done.stderr).endswith("No space left on device; nothing was measured")
