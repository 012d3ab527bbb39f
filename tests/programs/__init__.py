# SPDX-License-Identifier: BSD-3-Clause
"""MPI programs that others wrote, over TCP and over Beowire in turns: `scripts/test-programs`."""
