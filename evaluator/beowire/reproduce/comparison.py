# SPDX-License-Identifier: BSD-3-Clause
"""Finds results in the record of a comparison: of a driver, a pattern and a size. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from beowire.record.lines import Result
from beowire.record.reader import Record


@dataclass(frozen=True)
class Comparison:
    """One comparison: its record, and the command that made it."""

    record: Record
    command: str

    def cell(self, driver: str, pattern: str, size: int, load: str = "") -> Result | None:
        """All that is known of it; of several launches the first. No load is an idle node."""
        wanted = (driver, pattern, size, load or None)
        for one in self.record.results:
            if (one.driver, one.pattern, one.size, one.load) == wanted:
                return one
        return None

    def sizes(self, pattern: str, drivers: Sequence[str] = ()) -> list[int]:
        """Sizes that were measured, rising: by any driver, or by any of these."""
        return sorted(
            {
                one.size
                for one in self.record.results
                if one.pattern == pattern and (not drivers or one.driver in drivers)
            }
        )

    def drivers(self, pattern: str) -> list[str]:
        """Those that have a result, in the record's order."""
        return list(
            dict.fromkeys(one.driver for one in self.record.results if one.pattern == pattern)
        )
