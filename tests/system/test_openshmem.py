# SPDX-License-Identifier: BSD-3-Clause
"""`beowire compare` with the OpenSHMEM of Debian's Open MPI: its PEs are the engines."""

import os
import shutil
from functools import partial
from pathlib import Path

from system.conftest import RunBeowire
from system.mpi_jobs import OPEN_MPI
from system.time_enough import compare_in_time

PUT, GET = f"shmem-put:{OPEN_MPI}/tcp", f"shmem-get:{OPEN_MPI}/tcp"
SHM = f"shmem-put:{OPEN_MPI}/shm"


def test_puts_and_gets_between_nodes(run_beowire: RunBeowire, tmp_path: Path) -> None:
    words = ["--drivers", f"{PUT},{GET}", "--sizes", "8,100000"]
    words += ["--pattern", "stream,alignment,integrity,bidirectional,cold", "--offset", "3,65"]
    compare = partial(run_beowire, "compare", "--lab", *words)
    done, record = compare_in_time(compare, tmp_path / "out", 4)
    assert done.returncode == 0, done.stderr
    measured = {(one.driver, one.pattern, one.size): one.status for one in record.results}
    assert len(measured) == 2 * 3 * 2
    assert set(measured.values()) == {"ok"}
    assert {(one.driver, one.pattern) for one in record.skipped} == {
        (driver, pattern) for driver in (PUT, GET) for pattern in ("bidirectional", "cold")
    }


def test_within_this_host__they_end_by_themselves(run_beowire: RunBeowire, tmp_path: Path) -> None:
    """The launcher says how its PEs have ended: shmem_finalize() of some versions crashes."""
    folder, ended = tmp_path / "bin", tmp_path / "ended"
    folder.mkdir()
    ended.mkdir()
    for name in ("mpirun.openmpi", "oshrun", "oshcc"):
        script = f'{shutil.which(name)} "$@"\nstatus=$?\n'
        if name == "oshrun":
            script += f"[ $# -eq 1 ] || echo $status >{ended}/$$\n"
        (folder / name).write_text(f"#!/bin/sh\n{script}exit $status\n")
        (folder / name).chmod(0o755)
    words = ["--drivers", f"{SHM},{PUT}", "--sizes", "1000"]
    path = {"PATH": f"{folder}:{os.environ['PATH']}"}
    compare = partial(run_beowire, "compare", *words, environment=path)
    done, record = compare_in_time(compare, tmp_path / "out", 1)
    assert done.returncode == 0, done.stderr
    assert {(one.driver, one.status) for one in record.results} == {(SHM, "ok"), (PUT, "ok")}
    assert {one.read_text() for one in ended.iterdir()} == {"0\n"}
