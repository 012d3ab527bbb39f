# SPDX-License-Identifier: BSD-3-Clause
"""MPI libraries: which there are here, and what makes them use Beowire."""
