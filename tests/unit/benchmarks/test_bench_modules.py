# SPDX-License-Identifier: BSD-3-Clause
"""Each benchmark on a record that a comparison might have written."""

import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

import benchmarks.__main__ as command
from benchmarks import context, impi, memory, provider, shm, trace
from benchmarks.compare import Comparison
from benchmarks.context import Context
from beowire.errors import BeowireError
from beowire.record.lines import Result, Skipped
from beowire.record.reader import Record, read_record
from beowire.sizes import parse_size
from unit.evaluator import synthetic_record

#: Those that only run `compare`.
COMPARING = ("latency", "bulk", "rate", "shaped", "loss", "cpu", "loaded")

IMB = """
# Benchmarking PingPong
       #bytes #repetitions      t[usec]   Mbytes/sec
            8       200000         0.26        30.41
        65536          640         9.72      6742.51
# All processes entering MPI_Finalize
"""


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The commands that were run; each gave a synthetic record of what it asked for."""
    ran: list[str] = []

    def run(comparison: Comparison) -> Record:
        words = comparison.arguments
        ran.append(comparison.command)
        lines = synthetic_record.lines(
            tuple(_after(words, "--drivers").split(",")),
            sizes=tuple(parse_size(size) for size in _after(words, "--sizes").split(",")),
            patterns=(_after(words, "--pattern"),),
            launches=int(_after(words, "--launches")),
        )
        comparison.directory.mkdir(parents=True)
        path = synthetic_record.write(comparison.directory / "record.jsonl", lines)
        record = read_record(path)
        results = [_with_everything(one) for one in record.results]
        return Record(path, record.meta, results, record.skipped, record.end)

    monkeypatch.setattr(Comparison, "run", run)
    monkeypatch.setattr(context, "_is_ready", lambda name: True)
    return ran


def _with_everything(result: Result) -> Result:
    """What the synthetic record does not have, and a measured one has."""
    rate = result.rate_bytes_per_s
    assert rate is not None
    with_mean = rate.model_copy(update={"mean": rate.median}) if result.histogram is None else rate
    return result.model_copy(update={"cpu_ns_per_message": 100.0, "rate_bytes_per_s": with_mean})


def _after(words: tuple[str, ...], option: str) -> str:
    return words[words.index(option) + 1]


@pytest.mark.parametrize("name", COMPARING)
def test_benchmark__compares_within_its_time(
    name: str, commands: list[str], tmp_path: Path
) -> None:
    module = command.BENCHMARKS[name]
    results = module.run(Context(tmp_path / name, 48.0))
    asked = [one for one in results.figures if one.verdict != "-"]
    assert asked and len({one.name for one in results.figures}) == len(results.figures)
    assert {one.split("; ")[0] for one in (f.command for f in results.figures)} <= set(commands)
    seconds = [float(_after(tuple(one.split()), "--time")) for one in commands]
    assert sum(seconds) == pytest.approx(48.0, rel=0.01)
    assert results.problems == []


@pytest.mark.parametrize("name", [name for name in COMPARING if name in command.SLOWED])
def test_benchmark__hands_a_cost_of_system_calls_on(
    name: str, commands: list[str], tmp_path: Path
) -> None:
    command.BENCHMARKS[name].run(Context(tmp_path / name, 24.0, "300ns"))
    assert commands and all("--system-call-cost 300ns" in one for one in commands)


def test_loss__in_turns_as_many_as_there_is_time_for(commands: list[str], tmp_path: Path) -> None:
    results = command.BENCHMARKS["loss"].run(Context(tmp_path, 36.0))
    assert [one.split("--loss ")[1].split()[0] for one in commands] == (
        ["0", "0", "1%", "1%", "5%", "5%"] * 2
    )
    assert [one.split("--drivers ")[1].split()[0] for one in commands] == ["beowire", "tcp"] * 6
    assert all(one.imprecise for one in results.figures)
    assert {one.asked for one in results.figures} == {"", "≥ 0.9", "≥ 0.7"}


def test_benchmark__a_driver_that_gave_nothing__is_a_problem(
    commands: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Comparison.run

    def run(comparison: Comparison) -> Record:
        record = whole(comparison)
        left = [one for one in record.results if one.driver != "beowire"]
        reason = Skipped(driver="beowire", reason="needs a privilege")
        return Record(record.path, record.meta, left, [reason], record.end)

    monkeypatch.setattr(Comparison, "run", run)
    for name in COMPARING:
        results = command.BENCHMARKS[name].run(Context(tmp_path / name, 18.0))
        assert [one for one in results.figures if one.verdict != "-"] == []
        assert any("beowire: needs a privilege" in problem for problem in results.problems)


def test_impi_parse__imb_table() -> None:
    found = impi.parse(IMB)
    assert sorted(found) == [8, 65536]
    assert found[8].half_rtt_ns == pytest.approx(260)
    assert found[65536].rate_bytes_per_s == pytest.approx(6742.51e6)
    assert impi.parse("mpiexec: no such file\n1 2 x y\n") == {}


def _pingpong(size: int) -> impi.PingPong:
    return impi.PingPong(size, 300.0, 8e9)


def test_shm__ratios_turn_by_turn(tmp_path: Path) -> None:
    sizes = (8, 65536, 4 << 20)
    lines = synthetic_record.lines(("beowire", "shm"), sizes=sizes, patterns=("pingpong",))
    record = read_record(synthetic_record.write(tmp_path / "record.jsonl", lines))
    turn = {size: _pingpong(size) for size in sizes}
    results = shm.figures([turn] * 6, [record] * 6, "again")
    assert len(results.figures) == 6
    asked = [one for one in results.figures if one.verdict != "-"]
    assert [one.asked for one in asked] == ["≤ 1.143", "≥ 1", "≥ 1"]
    small = asked[0]
    first = record.results[0]
    assert small.ratio.value == pytest.approx(first.elapsed_ns / first.n / 2 / 300.0)


def test_trace__a_place_without_the_loop_around_it() -> None:
    cases = [
        {"case": "loop", "ns": [0.5, 0.6, 0.5, 0.5, 0.6, 0.5, 0.5, 0.5]},
        {"case": "off", "ns": [0.7, 0.8, 0.7, 0.7, 0.8, 0.7, 0.7, 0.7]},
        {"case": "on", "ns": [10.5, 10.6, 10.5, 10.5, 10.6, 25.0, 10.5, 10.5]},
    ]
    on, off = trace.figures(cases, "again")
    assert (on.name, on.at_most, on.verdict) == ("a place of the trace, on", 20, "met?")
    assert on.ratio.value == pytest.approx(10)
    assert off.ratio.value == pytest.approx(0.2)
    assert (off.at_most, off.verdict) == (1, "met")
    cases[2]["ns"] = [31.0] * 8
    assert trace.figures(cases, "again")[0].verdict == "missed"


def test_memory__figures_of_what_was_printed() -> None:
    times = [1_000_000 + 1000 * number for number in range(15)]
    cases = [
        {"case": "connected", "known": 64, "bytes_per_peer": 2800},
        {"case": "open", "known": 0, "open_ns": times, "add_ns": [0] * 15, "bytes_per_peer": 0},
        {
            "case": "open",
            "known": 60000,
            "open_ns": [2 * time for time in times],
            "add_ns": [60_000_000] * 15,
            "bytes_per_peer": 5000,
        },
    ]
    results = memory.figures(cases, "again")
    verdicts = {one.name: one.verdict for one in results.figures}
    assert verdicts == {
        "state of a peer, 64 connected and idle": "met",
        "state of a peer, 60000 known, never met": "missed",
        "opening with room for 60000 peers / for one": "missed",
    }
    assert "making one known: 1.00 µs" in results.figures[-1].detail


def test_provider__difference_pair_by_pair() -> None:
    # Each pair is slower than the one before, as on a machine that gets busier.
    pairs = [(3000.0 + 500 * i, 3100.0 + 500 * i + i % 3) for i in range(20)]
    (figure,) = provider.figures(pairs, "again").figures
    assert figure.ratio.value == pytest.approx(101)
    assert (figure.asked, figure.verdict) == ("≤ 150 ns", "met")
    slow = [(one[0], one[0] + 200) for one in pairs]
    assert provider.figures(slow, "again").figures[0].verdict == "missed"


def test_main__prints_and_writes_every_benchmark_that_is_named(
    commands: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = command.main(["rate", "cpu", "--time", "12", "--out", str(tmp_path / "out")])
    text = capsys.readouterr().out
    assert status in (1, 2)
    assert "8 B messages per second: beowire / tcp-spin" in text
    assert (tmp_path / "out" / "rate" / "figures.json").is_file()
    assert (tmp_path / "out" / "cpu" / "figures.json").is_file()


def test_main__a_benchmark_that_fails__does_not_stop_the_next(
    commands: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(context: Context) -> None:
        raise BeowireError("no lab can be made")

    monkeypatch.setattr(command.BENCHMARKS["latency"], "run", fail)
    arguments = ["latency", "rate", "--time", "12", "--out", str(tmp_path / "out")]
    assert command.main(arguments) == 1
    text = capsys.readouterr().out
    assert "not measured: no lab can be made" in text
    assert "8 B messages per second" in text


#: Runs the command with a benchmark that waits for a process, which ends the command.
_ENDED = """
import subprocess, sys
sys.path[:] = sys.argv[3:]
from benchmarks import __main__ as command

def run(context):
    words = ["/bin/sh", "-c", "read _; echo $$; kill -TERM $PPID; exec sleep 600"]
    with open(sys.argv[2], "w") as file:
        subprocess.run(words, stdout=file, input=b"it is waited for by now\\n")

command.BENCHMARKS["latency"].run = run
sys.exit(command.main(["latency", "--out", sys.argv[1]]))
"""


def _has_ended(pid: int) -> bool:
    """Nobody need have waited for it yet."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_main__ended_by_a_signal__its_command_ends_as_well(tmp_path: Path) -> None:
    out, said = tmp_path / "out", tmp_path / "pid"
    words = [sys.executable, "-c", _ENDED, str(out), str(said), *sys.path]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 130, done.stderr
    assert done.stderr == f"scripts/bench: interrupted; what was measured is in {out}\n"
    pid, deadline = int(said.read_text()), time.monotonic() + 60
    while not _has_ended(pid):  # a killed process takes a moment to go
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("arguments", [[], ["speed"], ["rate", "--time", "0"]])
def test_main__what_is_not_understood_is_refused(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as refusal:
        command.main(arguments)
    assert refusal.value.code == 2
