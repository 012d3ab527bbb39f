# SPDX-License-Identifier: BSD-3-Clause
"""The library of apps/ that counts messages: what it says of programs whose messages are known."""

import subprocess
from functools import cache
from pathlib import Path
from typing import Any

from beowire.apps import output
from beowire.places.mpi import linkage
from system.apps_jobs import (
    compile_with,
    compiled,
    compiled_phases,
    compiled_profile,
    profile_of,
    run_ranks,
)
from system.conftest import ROOT


@cache
def messages() -> Path:
    """The program whose messages are known."""
    source = str(ROOT / "tests" / "system" / "apps_messages.c")
    return compile_with("mpicc.openmpi", "messages", "-DWITH_FORTRAN", source, "-lmpi_mpifh")


def profile(ranks: int, program: Path, *words: str) -> dict[str, Any]:
    done = run_ranks(ranks, program, *words, environment={"LD_PRELOAD": str(compiled_profile())})
    assert done.returncode == 0, done.stderr
    return profile_of(done)


def test_messages__are_counted_by_size() -> None:
    found = profile(2, messages())
    assert found["ranks"] == 2
    assert found["sizes"] == {"0": 1, "1": 1, "8": 1, "16": 5, "131072": 1}
    assert found["messages"] == 9
    assert found["bytes"] == 0 + 1 + 8 + 70000 + 3 * 16 + 2 * 9


def test_collectives__are_counted_by_what_each_rank_gives() -> None:
    found = profile(4, messages())["collectives"]
    # Barrier and the broadcast of those that are not its root; alltoall; sum; alltoallv; broadcast.
    assert found["sizes"] == {"0": 4 + 3, "4": 4, "8": 4, "32": 1, "64": 4}
    assert found["messages"] == 20
    assert found["bytes"] == 32 + 4 * 8 + 4 * 4 * 4 + 4 * 4 * 64


def test_calls__have_their_number_and_time() -> None:
    found = profile(2, messages())
    calls = {name: call["count"] for name, call in found["calls"].items()}
    assert calls["MPI_Send"] == 2
    assert calls["MPI_Isend"] == 2
    assert calls["MPI_Start"] == 3
    assert calls["MPI_Recv"] == 7
    assert calls["MPI_Sendrecv"] == 2
    assert calls["MPI_Barrier"] == 2
    assert "MPI_Init" not in calls
    in_calls = sum(call["seconds"] for call in found["calls"].values())
    assert abs(in_calls - found["mpi_seconds"]) < 1e-4
    assert 0 < found["mpi_seconds"] <= found["seconds"]
    assert 0 < found["mpi_share"] <= 1


def test_fortran__is_counted_once() -> None:
    found = profile(2, messages(), "fortran")
    assert found["sizes"] == {"8": 1, "32": 2}
    assert found["bytes"] == 2 * 24 + 8
    assert found["collectives"]["sizes"] == {"16": 2}
    assert {name: call["count"] for name, call in found["calls"].items()} == {
        "MPI_Send": 2,
        "MPI_Recv": 3,
        "MPI_Send_init": 1,
        "MPI_Start": 1,
        "MPI_Wait": 1,
        "MPI_Allreduce": 2,
    }


def test_cg__has_the_messages_of_its_specification() -> None:
    """On 4 ranks, 16 steps with 26 products: a sum of vectors and their transposition, 5600 bytes
    each, and 106 sums of one number, but one of two."""
    found = profile(4, compiled("cg"))
    assert found["sizes"] == {"8": 4 * 16 * 52, "16": 4 * 16, "8192": 4 * 16 * 52}
    assert found["bytes"] == 4 * 16 * (52 * 5600 + 52 * 8 + 16)


def test_sweep__has_the_messages_of_lu() -> None:
    """On 2 ranks, 51 steps with two sweeps over 10 planes, a row of 10 points each, and 53 times
    a face, two points deep, in both directions."""
    found = profile(2, compiled("sweep"))
    assert found["sizes"] == {"512": 51 * 2 * 10, "16384": 53 * 2}
    assert found["bytes"] == 51 * 2 * 10 * 10 * 40 + 53 * 2 * 12 * 12 * 80


def test_a_program_that_says_nothing_of_its_own__is_not_disturbed() -> None:
    """What it writes, and how it ends, is its own."""
    plain = run_ranks(2, compiled("cg"), "--class", "none")
    preloaded = {"LD_PRELOAD": str(compiled_profile())}
    counted = run_ranks(2, compiled("cg"), "--class", "none", environment=preloaded)
    assert (counted.returncode, counted.stdout) == (plain.returncode, plain.stdout)


def phases(ranks: int, program: Path, *words: str) -> list[str]:
    done = run_ranks(ranks, program, *words, environment={"LD_PRELOAD": str(compiled_phases())})
    assert done.returncode == 0, done.stderr
    found = output.phases(done.stderr)
    assert found is not None, done.stderr
    assert min(found.init_s, found.finalize_s) > 0
    assert found.run_s >= 0
    return [line for line in done.stderr.splitlines() if output.PHASES_MARK in line]


def test_phases__a_line_of_each_rank_in_c_and_in_fortran() -> None:
    assert len(phases(2, messages())) == 2
    assert len(phases(2, messages(), "fortran")) == 2


def test_phases__of_no_mpi_and_in_nobodys_way() -> None:
    # It is loaded into shells and launchers' helpers as well, which shall not load an MPI for it.
    assert not [one for one in linkage.needed(compiled_phases()) if one.startswith("libmpi")]
    done = subprocess.run(
        ["sh", "-c", "echo here"],
        env={"LD_PRELOAD": str(compiled_phases()), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert (done.stdout, done.stderr) == ("here\n", "")
