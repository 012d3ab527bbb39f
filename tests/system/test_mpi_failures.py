# SPDX-License-Identifier: BSD-3-Clause
"""MPI jobs over Beowire when something goes wrong: they end, and say with whom and why."""

import contextlib
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from system.conftest import ROOT, RunBeowire, processes_of, wait_until
from system.mpi_jobs import Mpi, compiled_check

#: Within this time the MPI's own handling of errors has to be reached.
BOUND_S = 10.0

_START_S = 30.0


@pytest.fixture(name="mpi")
def make_mpi(run_beowire: RunBeowire) -> Iterator[Mpi]:
    """Debian's Open MPI on a lab of two nodes."""
    done = run_beowire("lab", "up")
    assert done.returncode == 0, done.stderr
    yield Mpi(run_beowire, "openmpi4")
    run_beowire("lab", "down", "--all")


class Endless:
    """Two ranks on two nodes that exchange messages until something happens."""

    def __init__(self, output: Path) -> None:
        """Starts them, and waits until both are under way."""
        self._output = output
        command = [str(ROOT / "beowire"), "lab", "mpirun", "--mpi", "openmpi4", "-n", "2", "--"]
        with output.open("wb") as stream:
            self.launcher = subprocess.Popen(
                [*command, str(compiled_check("openmpi4")), "endless"],
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
            )
        assert wait_until(lambda: len(self.processes()) == 2, _START_S), self.said()

    def said(self) -> str:
        """All that ranks and launcher have said."""
        return self._output.read_text(encoding="utf-8", errors="replace")

    def processes(self) -> dict[int, int]:
        """Process of each rank that is under way."""
        found = re.findall(r"rank (\d), process (\d+), is under way", self.said())
        return {int(rank): int(process) for rank, process in found}

    def names(self, rank: int) -> bool:
        """Whether a line of ours names this rank's process and its host."""
        named = rf"beowire: node\d: process {self.processes()[rank]} on 10\.77\.0\.{rank + 1} \("
        return re.search(named, self.said()) is not None

    def end(self) -> None:
        """Ends the launcher if it has not ended."""
        with contextlib.suppress(ProcessLookupError):
            self.launcher.kill()
        self.launcher.wait()


@pytest.fixture(name="job")
def start_job(mpi: Mpi, tmp_path: Path) -> Iterator[Endless]:
    """A job that is under way."""
    job = Endless(tmp_path / "output")
    yield job
    job.end()


def test_rank_killed__the_job_ends_and_nothing_stays(job: Endless, leftovers: str) -> None:
    os.kill(job.processes()[1], signal.SIGKILL)
    assert job.launcher.wait(timeout=BOUND_S) != 0
    assert job.names(1), job.said()
    ours = str(compiled_check("openmpi4"))
    assert wait_until(lambda: not [line for line in processes_of(leftovers) if ours in line])


def test_link_cut__mpi_reports_an_error_and_a_line_names_the_peer(job: Endless, mpi: Mpi) -> None:
    cut = mpi.run_beowire("lab", "exec", "node1", "--", "ip", "link", "set", "eth0", "down")
    assert cut.returncode == 0, cut.stderr
    said = ("rank 0: MPI says: ", "rank 1: MPI says: ")
    assert wait_until(lambda: any(line in job.said() for line in said), BOUND_S), job.said()
    assert job.names(1), job.said()


def test_launcher_ended__no_rank_stays(job: Endless, leftovers: str) -> None:
    job.launcher.send_signal(signal.SIGTERM)
    assert job.launcher.wait(timeout=BOUND_S) != 0
    assert wait_until(lambda: not [p for p in processes_of(leftovers) if "endless" in p])


def test_wrong_interface__says_which_there_are(mpi: Mpi) -> None:
    done = mpi.run(environment={"FI_BEOWIRE_INTERFACE": "eth9"}, timeout=60)
    assert done.returncode != 0
    for node in ("node0", "node1"):
        line = f"beowire: {node}: FI_BEOWIRE_INTERFACE=eth9: no such network interface is up"
        assert done.stderr.count(line) == 1, done.stderr
    assert "there are: eth0 lo" in done.stderr


def test_no_privilege__udp_is_used_and_one_line_a_node_says_so(mpi: Mpi) -> None:
    # The program is started without the privilege, and cannot get it back.
    weak = ["setpriv", "--bounding-set=-net_raw", "--inh-caps=-net_raw"]
    done = mpi.run("pingpong", ranks=4, before=weak)
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert "pingpong is right on 4 ranks" in done.stdout
    for node in ("node0", "node1"):
        assert done.stderr.count(f"beowire: {node}: no permission") == 1, done.stderr
    assert "setcap cap_net_raw+ep" in done.stderr
    assert "FI_BEOWIRE_LANES=shm,udp" in done.stderr
    content = mpi.run("pingpong", before=weak, environment={"FI_BEOWIRE_LANES": "shm,udp"})
    assert (content.returncode, "beowire:" in content.stderr) == (0, False), content.stderr


def test_two_jobs_on_the_same_nodes__do_not_meet(mpi: Mpi, tmp_path: Path) -> None:
    first = Endless(tmp_path / "first")
    try:
        mpi.check("pingpong", "ordering")
        assert first.launcher.poll() is None, first.said()
    finally:
        first.end()
