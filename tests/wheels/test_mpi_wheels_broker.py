# SPDX-License-Identifier: BSD-3-Clause
"""Open MPI 5, MPICH 4 and 5, and Intel MPI of a user without privileges, as in tests/system."""

from system.broker_hosts import make_place
from system.test_broker_service import test_mpi__of_a_plain_user_over_frames

__all__ = ["make_place", "test_mpi__of_a_plain_user_over_frames"]
