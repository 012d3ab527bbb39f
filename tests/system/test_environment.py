# SPDX-License-Identifier: BSD-3-Clause
"""A program that a command starts has the environment of the command's caller, byte for byte, and
what docs/LAB.md says is added: whatever stands between the two."""

import os
import subprocess
from pathlib import Path

import pytest

from system.conftest import PATIENCE_S, ROOT, RunBeowire
from system.mpi_jobs import OPEN_MPI

#: What a shell would drop or change: names that are none of its own, those that it uses itself, and
#: values that are no text or look like other variables.
ODD = {
    b"BASH_FUNC_module%%": b"() {  echo loaded\n PWD=elsewhere\n}",
    b"a blank": b"1",
    b"1st": b"2",
    b"\xc3(": b"\xff\xfe",
    b"lines": b"one\nPWD=elsewhere\n",
    b"PWD": b"/elsewhere",
    b"IFS": b":",
    b"root": b"/data",
    b"empty": b"",
}

#: Prints its own environment as the kernel gave it to it.
SHOWS = ["sh", "-c", 'cat "/proc/$$/environ"']

#: The same, into a file for each rank.
KEEPS = 'cat "/proc/$$/environ" >"$0.${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:-$PMI_RANK}}"'

#: What a launcher of an MPI says to its ranks, and what makes an MPI take a way (docs/MPI.md).
OF_LAUNCHERS = (
    *(b"OMPI_", b"PMIX_", b"PRTE_", b"PMI_", b"HYDI_", b"HYDRA_", b"MPI", b"MPIR_", b"GFORTRAN_"),
    *(b"FI_", b"UCX_", b"IPATH_", b"HFI_", b"OPAL_", b"ORTE_", b"HWLOC_", b"PSM", b"KMP_"),
    b"LD_LIBRARY_PATH",
)


def caller() -> dict[bytes, bytes]:
    """An environment without a locale, in which an interpreter sets one."""
    kept = {name: value for name, value in os.environb.items() if not name.startswith(b"LC_")}
    for name in (b"LD_LIBRARY_PATH", b"LANG", b"OLDPWD", b"SHLVL", b"_"):
        kept.pop(name, None)
    return kept | ODD


def beowire(*words: str) -> bytes:
    done = subprocess.run(
        [str(ROOT / "beowire"), *words],
        env=caller(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=2 * PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def read(data: bytes) -> dict[bytes, bytes]:
    entries = [one.partition(b"=") for one in data.split(b"\0") if one]
    return {name: value for name, _, value in entries}


def test_exec_and_run__exactly_that_of_the_caller(run_beowire: RunBeowire) -> None:
    run_beowire("lab", "up", "--name", "env")
    try:
        assert read(beowire("lab", "exec", "--name", "env", "node1", "--", *SHOWS)) == caller()
        found = read(beowire("run", "--lab-name", "env", "--", *SHOWS))
    finally:
        run_beowire("lab", "down", "--name", "env")
    added = {b"PMI_RANK", b"PMI_SIZE", b"PMI_FD"}
    assert found.keys() - caller().keys() <= added
    assert {name: value for name, value in found.items() if name not in added} == caller()


def ranks(path: Path) -> list[dict[bytes, bytes]]:
    return [read(path.with_name(f"{path.name}.{rank}").read_bytes()) for rank in range(2)]


def assert_handed_on(found: dict[bytes, bytes]) -> None:
    """All that the caller has is there, and nothing else but of launchers. Open MPI's puts its own
    directory in front of PATH, and sets PWD."""
    wanted = {name: value for name, value in caller().items() if name not in (b"PATH", b"PWD")}
    assert {name: found.get(name) for name in wanted} == wanted
    assert found[b"PATH"].endswith(caller()[b"PATH"])
    others = found.keys() - caller().keys()
    assert not [one for one in others if not one.startswith(OF_LAUNCHERS)]


@pytest.mark.parametrize("mpi", [OPEN_MPI, "mpich"])
def test_mpirun__on_the_launchers_node_all_that_the_caller_has(
    run_beowire: RunBeowire, tmp_path: Path, mpi: str
) -> None:
    """Open MPI hands nothing on to other nodes, as over ssh; MPICH all of it."""
    program = ["sh", "-c", KEEPS, str(tmp_path / "rank")]
    run_beowire("lab", "up", "--name", "env")
    try:
        words = ["--name", "env", "--mpi", mpi, "--over", "tcp", "-n", "2"]
        beowire("lab", "mpirun", *words, "--", *program)
    finally:
        run_beowire("lab", "down", "--name", "env")
    first, second = ranks(tmp_path / "rank")
    assert_handed_on(first)
    if mpi == "mpich":
        assert_handed_on(second)


def test_speedup__all_that_the_caller_has(tmp_path: Path) -> None:
    """Over memory all ranks are on the launcher's node, each pinned to its core. What takes the
    time of their parts is loaded into them."""
    program = ["sh", "-c", KEEPS, str(tmp_path / "rank")]
    ways = ["--over", "shm", "--repeat", "1"]
    beowire("speedup", "--lab", "--mpi", OPEN_MPI, *ways, "--", *program)
    for found in ranks(tmp_path / "rank"):
        assert found.pop(b"LD_PRELOAD").endswith(b"/libapps-phases.so")
        assert_handed_on(found)
