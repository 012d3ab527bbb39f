# SPDX-License-Identifier: BSD-3-Clause
"""Native programs under the launchers of PyPI's MPIs; those of Debian's are in tests/system."""

import pytest

from system.conftest import ROOT, RunBeowire

HEAT = ROOT / "build" / "release" / "examples" / "heat"
MPIS = ROOT / "build" / "mpi"

LAUNCHERS = (
    "openmpi5/bin/mpiexec",
    "openmpi5/bin/prterun",
    "mpich/bin/mpiexec",
    "mpich4/bin/mpiexec",
    "intel/bin/mpiexec",
)

#: Root may use Open MPI and PRRTE; and Open MPI 5 meets a PMIx library of its own version.
ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_ALLOW_RUN_AS_ROOT": "1",
    "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "BEOWIRE_PMIX": str(MPIS / "openmpi5" / "lib" / "openmpi" / "libpmix.so.2"),
}


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_run__with_the_launcher_of_an_mpi(run_beowire: RunBeowire, launcher: str) -> None:
    words = ("run", "-n", "4", "--launcher", str(MPIS / launcher), str(HEAT))
    done = run_beowire(*words, environment=ENVIRONMENT)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("4 processes, 4000 cells, 500 steps: largest error ")
