# SPDX-License-Identifier: BSD-3-Clause
"""`beowire compare` with Debian's Open MPI: its ranks are the engines, its launcher starts them."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from beowire.record import read_record
from system.conftest import ROOT, RunBeowire, wait_until

PUT, GET = "mpi-put:openmpi4/beowire", "mpi-get-fence:openmpi4/tcp"
TCP, BEOWIRE = "mpi:openmpi4/tcp", "mpi:openmpi4/beowire"
ENGINE = str((ROOT / "build" / "engine" / "beowire-engine").resolve())

#: What was started has to have ended so soon after whatever was killed.
BOUND_S = 5.0


def test_mpi_beside_other_drivers(run_beowire: RunBeowire, tmp_path: Path) -> None:
    words = ["--drivers", f"{TCP},{BEOWIRE},{PUT},{GET}", "--sizes", "1000", "--time", "3"]
    words += ["--pattern", "alignment,bidirectional,allreduce"]
    words += ["--offset", "3,65", "--out", str(tmp_path / "out")]
    done = run_beowire("compare", "--lab", *words)
    assert done.returncode == 0, done.stderr
    record = read_record(tmp_path / "out" / "record.jsonl")
    measured = {(one.driver, one.pattern, one.size): one for one in record.results}
    assert len(measured) == 4 + 2 * 2
    assert {(one.driver, one.pattern) for one in record.skipped} == {
        (driver, pattern) for driver in (PUT, GET) for pattern in ("bidirectional", "allreduce")
    }
    assert {one.status for one in measured.values()} == {"ok"}
    assert all(len(one.cpu) == 2 for one in measured.values())
    assert BEOWIRE in done.stdout


def test_one_that_cannot_be_compiled__is_named_and_the_rest_measured(
    run_beowire: RunBeowire, tmp_path: Path
) -> None:
    launcher = shutil.which("mpirun.openmpi")
    broken = tmp_path / "bin"
    broken.mkdir()
    for name, script in (
        ("mpirun.openmpi", f'exec {launcher} "$@"'),
        ("mpicc.openmpi", "echo 'error: no such compiler' >&2; exit 1"),
    ):
        (broken / name).write_text(f"#!/bin/sh\n{script}\n")
        (broken / name).chmod(0o755)
    words = ["--drivers", f"{TCP},tcp", "--sizes", "8", "--time", "0.5"]
    path = {"PATH": f"{broken}:{os.environ['PATH']}"}
    done = run_beowire("compare", *words, "--out", str(tmp_path / "o"), environment=path)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"beowire: {TCP} failed on local0: {broken}/mpicc.openmpi fails: error:")
    (result,) = read_record(tmp_path / "o" / "record.jsonl").results
    assert (result.driver, result.status) == ("tcp", "ok")


def test_mpi_within_this_host(run_beowire: RunBeowire, tmp_path: Path) -> None:
    words = ["--drivers", f"mpi:openmpi4/shm,{PUT}", "--pattern", "integrity"]
    words += ["--sizes", "1000", "--time", "2", "--offset", "3,65"]
    done = run_beowire("compare", *words, "--out", str(tmp_path / "o"))
    assert done.returncode == 0, done.stderr
    record = read_record(tmp_path / "o" / "record.jsonl")
    assert [one.status for one in record.results] == ["ok", "ok"]


def ranks() -> dict[str, list[psutil.Process]]:
    """The engines that Open MPI's launchers have started, of each driver the first rank first."""
    found: dict[str, dict[int, psutil.Process]] = {TCP: {}, BEOWIRE: {}}
    for process in psutil.process_iter():
        try:
            line, environment = process.cmdline(), process.environ()
        except psutil.Error:
            continue
        if line[:2] == [ENGINE, "--attach"]:
            driver = BEOWIRE if environment["OMPI_MCA_pml"] == "cm" else TCP
            found[driver][int(environment["OMPI_COMM_WORLD_RANK"])] = process
    return {driver: [of[rank] for rank in sorted(of)] for driver, of in found.items()}


@pytest.fixture(name="running")
def start_run(tmp_path: Path, leftovers: str) -> Iterator["subprocess.Popen[str]"]:
    """A comparison that has begun to measure, and would take a minute."""
    del leftovers
    record = tmp_path / "out" / "record.jsonl"
    words = ["--drivers", f"{BEOWIRE},{TCP}", "--sizes", "8,64,512,4096", "--time", "60"]
    with subprocess.Popen(
        [str(ROOT / "beowire"), "compare", "--lab", *words, "--out", str(record.parent)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert wait_until(lambda: record.exists() and BEOWIRE in _results(record), 30.0)
            yield process
        finally:
            process.kill()


def _results(record: Path) -> str:
    return record.read_text(encoding="utf-8").partition("\n")[2]


def test_killed__what_ends_with_it(running: "subprocess.Popen[str]", tmp_path: Path) -> None:
    """A rank takes its driver with it, the comparison all that is left."""
    drivers = ranks()
    drivers[BEOWIRE][1].kill()
    assert not psutil.wait_procs(drivers[BEOWIRE], BOUND_S)[1]
    record = tmp_path / "out" / "record.jsonl"
    assert wait_until(lambda: "node1: the rank has ended: mpirun" in _results(record))
    assert all(one.is_running() for one in drivers[TCP])
    launchers = [parent for one in drivers[TCP] for parent in one.parents()[:2] if parent.pid > 1]
    running.kill()
    assert not psutil.wait_procs([*drivers[TCP], *launchers], BOUND_S)[1]
