# SPDX-License-Identifier: BSD-3-Clause
"""Whole programs over every way that an MPI has, in turns: what `beowire apps` does."""
