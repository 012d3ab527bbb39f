# SPDX-License-Identifier: BSD-3-Clause
"""MPI jobs over Beowire when something goes wrong: they end, and say with whom and why."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from system.conftest import RunBeowire, wait_until
from system.mpi_files import LabLeftovers
from system.mpi_jobs import BOUND_S, OPEN_MPI, Endless, Mpi


@pytest.fixture(name="library")
def debians_open_mpi(run_beowire: RunBeowire) -> Mpi:
    """Debian's Open MPI; `make mpi-test` tries others."""
    return Mpi(run_beowire, OPEN_MPI)


@pytest.fixture(name="left")
def make_lab(library: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabLeftovers]:
    """A lab of two nodes, where jobs may leave neither processes nor files."""
    done = library.run_beowire("lab", "up")
    assert done.returncode == 0, done.stderr
    try:
        left = LabLeftovers(library.run_beowire, [tmp_path_factory.getbasetemp()])
        yield left
        wait_until(lambda: not left.processes())
        assert (left.processes(), left.files()) == ([], [])
    finally:
        library.run_beowire("lab", "down", "--all")


@pytest.fixture(name="mpi")
def make_mpi(library: Mpi, left: LabLeftovers) -> Mpi:
    """The MPI, on that lab."""
    return library


@pytest.fixture(name="job")
def start_job(mpi: Mpi, tmp_path: Path) -> Iterator[Endless]:
    """A job that is under way."""
    job = Endless(mpi, tmp_path / "output")
    yield job
    job.end()


def test_rank_killed__the_job_ends_and_nothing_stays(job: Endless, left: LabLeftovers) -> None:
    os.kill(job.processes()[1], signal.SIGKILL)
    assert job.launcher.wait(timeout=BOUND_S) != 0
    assert job.names(1) or job.launcher_names(1), job.said()
    assert wait_until(lambda: not left.processes()), left.processes()


def test_link_cut__mpi_reports_an_error_and_a_line_names_the_peer(
    job: Endless, mpi: Mpi, left: LabLeftovers
) -> None:
    link = ("lab", "exec", "node1", "--", "ip", "link", "set", "eth0")
    cut = mpi.run_beowire(*link, "down")
    assert cut.returncode == 0, cut.stderr
    assert wait_until(lambda: job.mpi_says() and job.names(1), BOUND_S), job.said()
    rank = f": {mpi.program} endless"
    assert wait_until(lambda: not any(rank in line for line in left.processes()))
    # Until the link is back the launchers may wait for their agents, over whatever MPI runs.
    assert mpi.run_beowire(*link, "up").returncode == 0
    waits = mpi.name == "openmpi5"  # then, too; and if its daemons end before it, it ends with 0
    if waits:
        left.end()
    assert job.launcher.wait(timeout=2 * BOUND_S) != 0 or waits


def test_launcher_ended__no_rank_stays(job: Endless, left: LabLeftovers) -> None:
    job.launcher.send_signal(signal.SIGTERM)
    assert job.launcher.wait(timeout=BOUND_S) != 0
    assert wait_until(lambda: not left.processes()), left.processes()


def test_wrong_interface__says_which_there_are(mpi: Mpi) -> None:
    done = mpi.run(environment={"FI_BEOWIRE_INTERFACE": "eth9"}, timeout=60)
    assert done.returncode != 0
    lines = [
        done.stderr.count(
            f"beowire: {node}: FI_BEOWIRE_INTERFACE=eth9: no such network interface is up"
        )
        for node in ("node0", "node1")
    ]
    # The first rank that gives up ends the job: the launcher may drop what others were to say.
    assert max(lines) == 1, done.stderr
    assert "there are: eth0 lo" in done.stderr


def test_no_privilege__udp_is_used_and_one_line_a_node_says_so(mpi: Mpi) -> None:
    # The program is started without the privilege, and cannot get it back.
    weak = ["setpriv", "--bounding-set=-net_raw", "--inh-caps=-net_raw"]
    done = mpi.run("pingpong", ranks=4, before=weak)
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert "pingpong is right on 4 ranks" in done.stdout
    for node in ("node0", "node1"):
        assert done.stderr.count(f"beowire: {node}: no permission") == 1, done.stderr
    assert "`beowire setup --group GROUP --broker --apply`" in done.stderr
    assert "FI_BEOWIRE_LANES=shm,udp" in done.stderr
    asked = mpi.run("pingpong", before=weak, environment={"FI_BEOWIRE_LANES": "packet,udp"})
    assert (asked.returncode, asked.stderr.count(": no permission")) == (0, 2), asked.stderr
    content = mpi.run("pingpong", before=weak, environment={"FI_BEOWIRE_LANES": "shm,udp"})
    assert (content.returncode, "beowire:" in content.stderr) == (0, False), content.stderr


def test_two_jobs_on_the_same_nodes__do_not_meet(mpi: Mpi, tmp_path: Path) -> None:
    first = Endless(mpi, tmp_path / "first")
    try:
        mpi.check("pingpong", "ordering")
        assert first.launcher.poll() is None, first.said()
    finally:
        first.end()
