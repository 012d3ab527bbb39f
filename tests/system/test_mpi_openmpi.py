# SPDX-License-Identifier: BSD-3-Clause
"""Debian's Open MPI, unmodified, over the libfabric provider: bytes and order are checked."""

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from system.conftest import ROOT, RunBeowire, assert_refused, wait_until
from system.mpi_jobs import (
    OPEN_MPI,
    Endless,
    Mpi,
    assert_goes_through_memory,
    assert_settings_reach_all_nodes,
    compiled_check,
)

#: What one-sided operations need besides. Not within one node: there Open MPI 4 crashes over
#: anything (see docs/UPSTREAM.md).
ONESIDED = {"OMPI_MCA_btl": "ofi,self"}

DIRECT = ROOT / "build" / "engine" / "fabric" / "direct"

CHECKS = ("pingpong", "matched", "persistent", "ordering", "collectives")

MakeLab = Callable[..., Mpi]


@pytest.fixture(name="lab")
def make_lab(run_beowire: RunBeowire) -> Iterator[MakeLab]:
    """Makes a lab with these options, and removes it."""

    def make(*options: str) -> Mpi:
        done = run_beowire("lab", "up", *options)
        assert done.returncode == 0, done.stderr
        return Mpi(run_beowire, OPEN_MPI)

    yield make
    run_beowire("lab", "down", "--all")


def test_two_nodes(lab: MakeLab) -> None:
    said = lab().check(*CHECKS)
    assert "rank 0 of 2 is on node0" in said
    assert "rank 1 of 2 is on node1" in said


def test_four_ranks_on_two_nodes(lab: MakeLab) -> None:
    said = lab().check(*CHECKS, ranks=4)
    assert "rank 1 of 4 is on node0" in said
    assert "rank 2 of 4 is on node1" in said


def test_three_nodes(lab: MakeLab) -> None:
    said = lab("--link", "switch", "--nodes", "3").check(*CHECKS, ranks=3)
    for rank in range(3):
        assert f"rank {rank} of 3 is on node{rank}" in said


def test_the_same_over_tcp_and_over_beowire(lab: MakeLab, run_beowire: RunBeowire) -> None:
    mpi = lab()
    before = tcp_segments(run_beowire)
    mpi.check(*CHECKS, over="tcp")
    between = tcp_segments(run_beowire)
    mpi.check(*CHECKS, over="beowire")
    after = tcp_segments(run_beowire)
    # Over Beowire there are the launcher's, a few hundred: the messages are no segments.
    assert between - before > 10 * (after - between)


def test_libfabric__ours_over_beowire_alone(lab: MakeLab, tmp_path: Path) -> None:
    mpi = lab()
    job = Endless(mpi, tmp_path / "said")
    try:
        for pid in job.processes().values():
            mapped = Path(f"/proc/{pid}/maps").read_text(encoding="utf-8")
            assert str(DIRECT / "libfabric.so.1") in mapped
            assert mapped.count("libfabric.so") == mapped.count(str(DIRECT))
        assert wait_until(lambda: min(map(job.sent, (0, 1))) > 0), job.said()
    finally:
        job.end()
    # Whatever is left of it in the environment.
    show = ("sh", "-c", 'echo "searched: $LD_LIBRARY_PATH"; exec "$0" "$@"')
    left = {"LD_LIBRARY_PATH": f"{DIRECT}:/mine"}
    done = mpi.run("pingpong", over="tcp", before=show, environment=left)
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert "/mine" in done.stdout  # on the first node: Open MPI hands it to no other
    assert str(DIRECT) not in done.stdout


def test_the_same_in_turns_over_both(lab: MakeLab, run_beowire: RunBeowire) -> None:
    lab()
    words = ("--over", "tcp,beowire", "--repeat", "1", "--check-output", "--json")
    program = (str(compiled_check(OPEN_MPI)), "pingpong")
    done = run_beowire("lab", "mpirun", "--mpi", OPEN_MPI, *words, "--", *program)
    assert (done.returncode, done.stderr) == (0, "")
    said = json.loads(done.stdout)
    assert set(said["seconds"]) == {"tcp", "beowire"}
    assert (said["ranks"], said["different_outputs"], said["failures"]) == (2, [], [])
    (ratio,) = said["speedup"]
    assert (ratio["over"], ratio["to"]) == ("beowire", "tcp")
    assert ratio["median"] == said["seconds"]["tcp"][0] / said["seconds"]["beowire"][0]


def tcp_segments(run_beowire: RunBeowire) -> int:
    """How many TCP segments node1 has sent (RFC 1213)."""
    read = ("grep", "^Tcp:", "/proc/net/snmp")
    done = run_beowire("lab", "exec", "node1", "--", *read)
    assert done.returncode == 0, done.stderr
    names, values = done.stdout.splitlines()
    return int(dict(zip(names.split(), values.split(), strict=True))["OutSegs"])


def test_within_one_node(lab: MakeLab) -> None:
    assert "rank 1 of 2 is on node0" in lab().check(*CHECKS, on=("node0",))


def test_within_one_node__through_memory(lab: MakeLab, tmp_path: Path) -> None:
    assert_goes_through_memory(lab(), tmp_path / "output")


def test_little_address_space(lab: MakeLab) -> None:
    """Open MPI has half of it; what is reserved and never used counts, too (setrlimit(2))."""
    mpi = lab()
    for ranks in (2, 4):
        limited = ("sh", "-c", 'ulimit -v 400000; exec "$0" "$@"')
        done = mpi.run("matched", "collectives", ranks=ranks, before=limited)
        assert done.returncode == 0, (done.stdout, done.stderr)
        assert f"mpi_check: collectives is right on {ranks} ranks" in done.stdout


def test_lost_frames(lab: MakeLab) -> None:
    lab("--loss", "0.1%").check(*CHECKS, ranks=4)


def test_onesided(lab: MakeLab) -> None:
    mpi = lab()
    mpi.check("onesided")
    # Over TCP, version 5.0.7 computes MPI_BAND by btl/tcp, wrongly (see docs/UPSTREAM.md).
    mpi.check("onesided", over="tcp", environment={"OMPI_MCA_osc_rdma_acc_use_amo": "0"})
    mpi.check("onesided", environment=ONESIDED)
    mpi.check("onesided", ranks=4, environment=ONESIDED)


def test_onesided__with_lost_frames(lab: MakeLab) -> None:
    lab("--loss", "0.1%").check("onesided", ranks=4, environment=ONESIDED)


def test_libfabrics_variables_reach_all_nodes(lab: MakeLab) -> None:
    """So it is Beowire that carries the messages: nothing else knows what that means."""
    done = lab().run(environment={"FI_BEOWIRE_ETHERTYPE": "5"})
    assert done.returncode != 0
    for node in ("node0", "node1"):
        line = f"beowire: {node}: FI_BEOWIRE_ETHERTYPE must be a number from 1536 to 65535"
        assert done.stderr.count(line) == 1, done.stderr


def test_a_choice_that_is_overruled_is_named(lab: MakeLab) -> None:
    """And what the line says to type does what the user wanted."""
    mpi = lab()
    tell = ("sh", "-c", 'echo "it is $OMPI_MCA_pml"; exec "$0" "$@"')
    done = mpi.run(before=tell, environment={"OMPI_MCA_pml": "ob1"})
    assert (done.returncode, done.stdout.count("it is ")) == (0, 2), done.stdout
    assert "it is ob1" not in done.stdout
    assert "-- env OMPI_MCA_pml=ob1 PROGRAM" in done.stderr
    done = mpi.run(before=("env", "OMPI_MCA_pml=ob1", *tell))
    assert (done.returncode, done.stdout.count("it is ob1\n")) == (0, 2), done.stdout


def test_settings_reach_all_nodes(lab: MakeLab) -> None:
    assert_settings_reach_all_nodes(lab())


def test_exit_status_is_the_programs(lab: MakeLab) -> None:
    done = lab().run("no-such-check")
    assert done.returncode == 1
    assert "no check is named no-such-check" in done.stderr


def test_refusals(run_beowire: RunBeowire, tmp_path: Path) -> None:
    program = str(compiled_check(OPEN_MPI))

    def mpirun(*options: str) -> "subprocess.CompletedProcess[str]":
        return run_beowire("lab", "mpirun", *options, "--", program)

    assert_refused(mpirun("--mpi", OPEN_MPI), "no lab named lab", "beowire lab up", code=2)
    assert_refused(mpirun("--mpi", "lam"), "'lam'", "openmpi4, openmpi5, mpich, intel")
    assert_refused(mpirun("--mpi", "mpich", "--prefix", str(tmp_path)), "no MPICH in")
    assert run_beowire("lab", "up").returncode == 0
    try:
        assert_refused(mpirun("--mpi", OPEN_MPI, "--over", "gamma"), "'gamma'", "beowire, tcp")
        assert_refused(mpirun("--mpi", OPEN_MPI, "-n", "0"), "at least one rank")
        assert_refused(mpirun("--mpi", OPEN_MPI, "--on", "node7"), "no node 'node7'")
    finally:
        run_beowire("lab", "down")
