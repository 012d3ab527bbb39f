# SPDX-License-Identifier: BSD-3-Clause
"""What a program would gain on another cluster: SimGrid's SMPI, calibrated by a record."""
