# SPDX-License-Identifier: BSD-3-Clause
"""Beowire's evaluator: measures every protocol between nodes on the same work."""

__version__ = "0.1.0"
