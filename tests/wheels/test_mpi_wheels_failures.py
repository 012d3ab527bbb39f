# SPDX-License-Identifier: BSD-3-Clause
"""Open MPI 5, MPICH 4 and 5, and Intel MPI when something goes wrong, as in tests/system."""

from system.test_mpi_failures import (
    make_lab,
    make_mpi,
    start_job,
    test_launcher_ended__no_rank_stays,
    test_link_cut__mpi_reports_an_error_and_a_line_names_the_peer,
    test_no_privilege__udp_is_used_and_one_line_a_node_says_so,
    test_rank_killed__the_job_ends_and_nothing_stays,
    test_two_jobs_on_the_same_nodes__do_not_meet,
    test_wrong_interface__says_which_there_are,
)

__all__ = [
    "make_lab",
    "make_mpi",
    "start_job",
    "test_launcher_ended__no_rank_stays",
    "test_link_cut__mpi_reports_an_error_and_a_line_names_the_peer",
    "test_no_privilege__udp_is_used_and_one_line_a_node_says_so",
    "test_rank_killed__the_job_ends_and_nothing_stays",
    "test_two_jobs_on_the_same_nodes__do_not_meet",
    "test_wrong_interface__says_which_there_are",
]
