# SPDX-License-Identifier: BSD-3-Clause
"""Open MPI 5, MPICH 4 and 5, and Intel MPI when the MTU changes, as in tests/system."""

from system.test_mpi_mtu import make_jumbo_lab, test_mtu_is_lowered_and_raised__the_job_goes_on

__all__ = ["make_jumbo_lab", "test_mtu_is_lowered_and_raised__the_job_goes_on"]
