# SPDX-License-Identifier: BSD-3-Clause
"""An MPI's launcher: what it says of a failure, and its end."""

import os
import time
from collections.abc import Callable, Iterator

import pytest

from beowire.errors import BeowireError
from beowire.places.mpi.job import Job, cause, rank_in

Start = Callable[[str], Job]

RULE = "-" * 74

OPEN_MPI = f"""{RULE}
Primary job  terminated normally, but 1 process returned
a non-zero exit code. Per user-direction, the job has been aborted.
{RULE}
{RULE}
mpirun noticed that process rank 1 with PID 0 on node 10.77.0.2 exited on signal
9 (Killed).
{RULE}
"""
MPICH = """
===================================================================================
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   PID 11964 RUNNING AT 10.77.0.2
=   EXIT CODE: 9
=   CLEANING UP REMAINING PROCESSES
=   YOU CAN IGNORE THE BELOW CLEANUP MESSAGES
===================================================================================
[proxy:0@node0] HYDT_dmxu_poll_wait_for_event: callback returned error status
"""
ADDRESSES = ("10.77.0.1", "10.77.0.2")


@pytest.fixture(name="start")
def make_jobs() -> Iterator[Start]:
    jobs: list[Job] = []

    def start(script: str) -> Job:
        jobs.append(Job(["sh", "-c", script], os.environ))
        return jobs[-1]

    yield start
    for job in jobs:
        job.end(0.0)
        assert job.has_ended()


def test_cause__of_a_rank_that_was_killed() -> None:
    assert cause(OPEN_MPI) == (
        "mpirun noticed that process rank 1 with PID 0 on node 10.77.0.2 exited on signal"
        " 9 (Killed)."
    )
    assert cause(MPICH) == (
        "BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES"
        " PID 11964 RUNNING AT 10.77.0.2 EXIT CODE: 9"
    )


OPEN_MPI_STATUS = """\
--------------------------------------------------------------------------
Primary job  terminated normally, but 1 process returned
a non-zero exit code. Per user-direction, the job has been aborted.
--------------------------------------------------------------------------
--------------------------------------------------------------------------
mpirun detected that one or more processes exited with non-zero status, thus causing
the job to be terminated. The first process to do so was:

  Process name: [[15183,1],0]
  Exit code:    1
--------------------------------------------------------------------------
"""


def test_cause__of_a_rank_that_has_ended_because_the_other_did() -> None:
    assert cause(OPEN_MPI_STATUS) == (
        "mpirun detected that one or more processes exited with non-zero status, thus causing"
        " the job to be terminated. The first process to do so was:"
    )
    assert cause("--- \nfatal: no device\n" + OPEN_MPI_STATUS) == "fatal: no device"


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("", ""),
        ("one\n\ntwo\nthree\n", "two three"),
        (
            "all is well\n\nlibmpi.so: cannot open shared object file\n\nfatal: so\n",
            "libmpi.so: cannot open shared object file",
        ),
        ("text " * 100 + "\nerror: \x1b[1m\n", r"error: \u001b[1m"),
    ],
)
def test_cause__else(said: str, expected: str) -> None:
    assert cause(said) == expected


def test_rank_in__by_its_number_or_its_host() -> None:
    assert rank_in(cause(OPEN_MPI), ADDRESSES) == 1
    assert rank_in(cause(MPICH), ADDRESSES) == 1
    assert rank_in("RANK 0 PID 1 RUNNING AT 10.77.0.2", ADDRESSES) == 0
    assert rank_in("rank 7", ADDRESSES) is None
    assert rank_in("10.77.0.1 cannot reach 10.77.0.2", ADDRESSES) is None
    assert rank_in("10.77.0.21 is gone", ADDRESSES) is None
    assert rank_in("no", ADDRESSES) is None


def test_last_words__of_one_that_has_ended(start: Start) -> None:
    job = start("echo well; echo; echo 'fatal: no' >&2; exit 3")
    assert job.last_words(60.0) == "fatal: no"
    assert job.has_ended()


def test_last_words__of_one_that_was_killed(start: Start) -> None:
    assert start("kill -9 $$").last_words(60.0) == "sh was killed by signal 9"


def test_output__without_an_end_is_read_and_not_kept(start: Start) -> None:
    job = start("yes 0123456789 | head -c 5000000; echo; echo; echo the end")
    assert job.last_words(60.0) == "the end"


def test_end__of_one_that_does_not_want_to(start: Start) -> None:
    job = start("trap '' TERM; sleep 1000 & sleep 1000; :")
    begun = time.monotonic()
    job.end(0.0)
    assert job.has_ended()
    assert time.monotonic() - begun < 30


def test_start__a_launcher_that_is_not_there() -> None:
    with pytest.raises(BeowireError, match="cannot start /nowhere/mpirun: No such file"):
        Job(["/nowhere/mpirun"], os.environ)
