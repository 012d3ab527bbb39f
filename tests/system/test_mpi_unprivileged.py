# SPDX-License-Identifier: BSD-3-Clause
"""MPI jobs in the lab of a user without any privilege, who lives in a user namespace."""

from system.conftest import RunBeowire
from system.mpi_jobs import OPEN_MPI, compiled_check
from system.test_lab import UNPRIVILEGED

_TIMEOUT_S = 90.0


def test_mpirun__in_a_lab_of_a_plain_user(run_beowire: RunBeowire) -> None:
    program = str(compiled_check(OPEN_MPI))
    # All of it in one user namespace: what was made in it is out of reach from another.
    script = (
        'beowire=$1; shift; "$beowire" lab up >/dev/null || exit 9;'
        f' "$beowire" lab mpirun --mpi {OPEN_MPI} -n 2 -- "$@"; status=$?;'
        ' "$beowire" lab down >/dev/null; exit "$status"'
    )
    done = run_beowire(
        program,
        "pingpong",
        prefix=[*UNPRIVILEGED, "sh", "-c", script, "sh"],
        timeout=_TIMEOUT_S,
    )
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert "mpi_check: pingpong is right on 2 ranks" in done.stdout
    assert "rank 1 of 2 is on node1" in done.stdout
