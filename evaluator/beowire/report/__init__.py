# SPDX-License-Identifier: BSD-3-Clause
"""The report: one HTML file that needs nothing else, made from records and from nothing else."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from beowire.record import Record
from beowire.report.page import write_report
from beowire.report.plotly_code import MISSING

__all__ = ["report_beside", "write_report"]


def report_beside(records: Sequence[Record], path: Path) -> str:
    """Writes the report that comes with a measurement, as write_report(), if what draws is here:
    the command works without. Where it is, or why there is none."""
    if find_spec("plotly") is None:
        return f"none: {MISSING}"
    write_report(records, path)
    return str(path)
