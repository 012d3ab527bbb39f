# SPDX-License-Identifier: BSD-3-Clause
"""`beowire compare` with Debian's Open MPI: its ranks are the engines, its launcher starts them."""

import contextlib
import os
import shutil
import threading
from functools import partial
from pathlib import Path

import psutil

from beowire.record.reader import read_record
from system.conftest import RunBeowire
from system.mpi_jobs import OPEN_MPI
from system.time_enough import compare_in_time

PUT, GET = f"mpi-put:{OPEN_MPI}/beowire", f"mpi-get-fence:{OPEN_MPI}/tcp"
TCP, BEOWIRE = f"mpi:{OPEN_MPI}/tcp", f"mpi:{OPEN_MPI}/beowire"


def test_mpi_beside_other_drivers(run_beowire: RunBeowire, tmp_path: Path) -> None:
    words = ["--drivers", f"{TCP},{BEOWIRE},{PUT},{GET}", "--sizes", "1000", "--offset", "3,65"]
    words += ["--pattern", "alignment,bidirectional,allreduce"]
    compare = partial(run_beowire, "compare", "--lab", *words)
    done, record = compare_in_time(compare, tmp_path / "out", 3)
    assert done.returncode == 0, done.stderr
    measured = {(one.driver, one.pattern, one.size): one for one in record.results}
    assert len(measured) == 4 + 2 * 2
    assert {(one.driver, one.pattern) for one in record.skipped} == {
        (driver, pattern) for driver in (PUT, GET) for pattern in ("bidirectional", "allreduce")
    }
    assert {one.status for one in measured.values()} == {"ok"}
    assert all(len(one.cpu) == 2 for one in measured.values())
    assert BEOWIRE in done.stdout


def _filters(status: Path) -> str:
    """Of `Seccomp_filters`, if the thread is still there."""
    with contextlib.suppress(OSError):
        for line in status.read_text().splitlines():
            if line.startswith("Seccomp_filters:"):
                return line.split()[1]
    return ""


def test_system_call_cost__is_in_every_thread_of_engines_and_ranks(
    run_beowire: RunBeowire, tmp_path: Path
) -> None:
    found: dict[int, set[str]] = {}
    over = threading.Event()

    def look() -> None:
        """At all engines below us; what one has had last counts."""
        while not over.wait(0.02):
            with contextlib.suppress(psutil.Error):
                for child in psutil.Process().children(recursive=True):
                    command = child.cmdline()
                    if (
                        command
                        and command[0].endswith("beowire-engine")
                        and "--proxy" not in command
                    ):
                        tasks = Path(f"/proc/{child.pid}/task").glob("*/status")
                        found[child.pid] = {_filters(task) for task in tasks} - {""} or found.get(
                            child.pid, set()
                        )

    own = _filters(Path("/proc/self/status")) or "0"
    words = ["--drivers", f"beowire,{BEOWIRE}", "--sizes", "8", "--system-call-cost", "1us"]
    looker = threading.Thread(target=look)
    looker.start()
    try:
        compare = partial(run_beowire, "compare", "--lab", *words)
        done, record = compare_in_time(compare, tmp_path / "out", 3)
    finally:
        over.set()
        looker.join()
    assert done.returncode == 0, done.stderr
    assert {one.status for one in record.results} == {"ok"}
    assert all(end.call_cost and end.call_cost.added_ns > 0 for end in record.meta.ends)
    assert record.meta.options["call_cost_ns"] == 1000
    for text in (done.stdout, record.path.with_name("report.html").read_text(encoding="utf-8")):
        assert "each system call costs" in text
    slowed = [threads for threads in found.values() if threads == {str(int(own) + 1)}]
    assert len(slowed) >= 4, found  # two engines and two ranks, each with all of its threads


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
    words = ["--drivers", f"mpi:{OPEN_MPI}/shm,{PUT}", "--pattern", "integrity"]
    words += ["--sizes", "1000", "--offset", "3,65"]
    done, record = compare_in_time(partial(run_beowire, "compare", *words), tmp_path / "o", 2)
    assert done.returncode == 0, done.stderr
    assert [one.status for one in record.results] == ["ok", "ok"]
