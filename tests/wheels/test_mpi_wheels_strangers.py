# SPDX-License-Identifier: BSD-3-Clause
"""Open MPI 5, MPICH 4 and 5, and Intel MPI beside strangers, as in tests/system."""

from system.test_mpi_strangers import (
    make_lab,
    test_ranks_fork__children_end_as_they_like,
    test_strangers_attack_one_after_the_other__a_sealed_job_goes_on_until_a_rank_ends,
    test_the_provider_is_replaced_while_a_job_runs__it_goes_on,
)

__all__ = [
    "make_lab",
    "test_ranks_fork__children_end_as_they_like",
    "test_strangers_attack_one_after_the_other__a_sealed_job_goes_on_until_a_rank_ends",
    "test_the_provider_is_replaced_while_a_job_runs__it_goes_on",
]
