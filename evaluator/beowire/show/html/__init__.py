# SPDX-License-Identifier: BSD-3-Clause
"""The report: one HTML file that needs nothing else, made from records and from nothing else."""

from beowire.show.html.page import write_report

__all__ = ["write_report"]
