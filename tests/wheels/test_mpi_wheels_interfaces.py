# SPDX-License-Identifier: BSD-3-Clause
"""Open MPI 5, MPICH 4 and 5, and Intel MPI on hosts with bridges of containers and the like, as in
tests/system."""

from system.test_mpi_interfaces import (
    mpi_of_hosts_with_containers,
    test_interfaces_are_named__some_are_of_no_use,
    test_no_interface_is_named,
    test_no_interface_leads_to_the_peer__a_line_says_which_were_tried,
    test_nodes_have_chosen_different_interfaces,
)

__all__ = [
    "mpi_of_hosts_with_containers",
    "test_interfaces_are_named__some_are_of_no_use",
    "test_no_interface_is_named",
    "test_no_interface_leads_to_the_peer__a_line_says_which_were_tried",
    "test_nodes_have_chosen_different_interfaces",
]
