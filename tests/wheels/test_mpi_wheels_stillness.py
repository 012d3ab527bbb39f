# SPDX-License-Identifier: BSD-3-Clause
"""Open MPI 5, MPICH 4 and 5, and Intel MPI when ranks are stopped, as in tests/system."""

from system.test_mpi_stillness import (
    make_lab,
    start_job,
    test_all_ranks_are_stopped__they_go_on,
    test_one_rank_is_stopped__the_other_says_so_and_waits,
)

__all__ = [
    "make_lab",
    "start_job",
    "test_all_ranks_are_stopped__they_go_on",
    "test_one_rank_is_stopped__the_other_says_so_and_waits",
]
