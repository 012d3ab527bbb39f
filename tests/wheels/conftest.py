# SPDX-License-Identifier: BSD-3-Clause
"""For the tests of MPI libraries from PyPI (`make mpi-test`): as for the system tests."""

from pathlib import Path

import pytest

from system.conftest import ROOT, RunBeowire, leftovers, run_beowire
from system.mpi_jobs import Mpi

__all__ = ["leftovers", "run_beowire"]

MPICH_4 = ROOT / "build" / "mpi" / "mpich4"

#: Names as in --mpi, and where another than the default one is.
MPIS: dict[str, tuple[str, Path | None]] = {
    "openmpi5": ("openmpi5", None),
    "mpich": ("mpich", None),
    "mpich4": ("mpich", MPICH_4),
    "intel": ("intel", None),
}


@pytest.fixture(name="library", params=MPIS)
def each_mpi(request: pytest.FixtureRequest, run_beowire: RunBeowire) -> Mpi:
    """Each MPI in turn."""
    name, prefix = MPIS[request.param]
    return Mpi(run_beowire, name, prefix)
