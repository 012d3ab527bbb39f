# SPDX-License-Identifier: BSD-3-Clause
"""Open MPI 5, MPICH 4 and 5, and Intel MPI when the MTU changes, as in tests/system."""

from system.test_mpi_mtu import make_mpi, test_mtu_changes_and_changes_back__the_job_goes_on

__all__ = ["make_mpi", "test_mtu_changes_and_changes_back__the_job_goes_on"]
