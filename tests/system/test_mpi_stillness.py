# SPDX-License-Identifier: BSD-3-Clause
"""MPI jobs of which ranks are stopped for longer than peers are waited for: they go on."""

import os
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from system.conftest import RunBeowire, wait_until
from system.mpi_jobs import ALONE, OPEN_MPI, Endless, Mpi

#: Peer timeout, in whole seconds; and for how many of them nobody runs.
_TIMEOUT_S = 1
_TIMES = 3

_BOUND_S = 60.0

#: Frames of a job that goes on.
_MORE = 200


@pytest.fixture(name="library")
def debians_open_mpi(run_beowire: RunBeowire) -> Mpi:
    """Debian's Open MPI; `make mpi-test` tries others."""
    return Mpi(run_beowire, OPEN_MPI)


@pytest.fixture(name="mpi")
def make_lab(library: Mpi) -> Iterator[Mpi]:
    """The MPI, in a lab of two nodes."""
    done = library.run_beowire("lab", "up")
    assert done.returncode == 0, done.stderr
    try:
        yield library
    finally:
        library.run_beowire("lab", "down", "--all")


@pytest.fixture(name="job", params=[(), ("node0",)], ids=["two nodes", "one node"])
def start_job(request: pytest.FixtureRequest, mpi: Mpi, tmp_path: Path) -> Iterator[Endless]:
    """A job that is under way."""
    environment = {**ALONE, "FI_BEOWIRE_PEER_TIMEOUT": str(_TIMEOUT_S)}
    job = Endless(mpi, tmp_path / "output", on=request.param, environment=environment)
    yield job
    job.end()


def send(job: Endless, ranks: Sequence[int], what: signal.Signals) -> None:
    for rank in ranks:
        os.kill(job.processes()[rank], what)


def assert_goes_on(job: Endless) -> None:
    """Both ranks still exchange messages."""
    before = [job.sent(rank) for rank in range(2)]
    assert all(before), job.said()

    def has_gone_on() -> bool:
        return all(job.sent(rank) > before[rank] + _MORE for rank in range(2))

    assert wait_until(has_gone_on, _BOUND_S), job.said()
    assert job.launcher.poll() is None, job.said()


def test_one_rank_is_stopped__the_other_says_so_and_waits(job: Endless) -> None:
    send(job, [1], signal.SIGSTOP)
    assert wait_until(lambda: ": stopped: " in job.said(), _BOUND_S), job.said()
    assert f"process {job.processes()[1]} on 10.77.0." in job.said()
    send(job, [1], signal.SIGCONT)
    assert wait_until(lambda: ": runs again after " in job.said(), _BOUND_S), job.said()
    assert_goes_on(job)
    assert job.said().count(": stopped: ") == 1, job.said()


def test_all_ranks_are_stopped__they_go_on(job: Endless) -> None:
    send(job, [0, 1], signal.SIGSTOP)
    assert not wait_until(lambda: job.launcher.poll() is not None, _TIMES * _TIMEOUT_S)
    send(job, [0, 1], signal.SIGCONT)
    assert_goes_on(job)
