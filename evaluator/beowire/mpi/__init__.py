# SPDX-License-Identifier: BSD-3-Clause
"""Drivers over an MPI. Whoever imports one of these modules can measure such a driver."""

import beowire.mpi.session  # noqa: F401  # enters its sessions
