# SPDX-License-Identifier: BSD-3-Clause
"""For the tests of MPI libraries from PyPI (`make mpi-test`): as for the system tests."""

from system.conftest import leftovers, run_beowire

__all__ = ["leftovers", "run_beowire"]
