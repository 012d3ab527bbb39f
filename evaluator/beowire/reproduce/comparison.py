# SPDX-License-Identifier: BSD-3-Clause
"""Finds values in the record of a comparison: of a driver, a pattern and a size. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from beowire.record import Record, Result, Summary


@dataclass(frozen=True)
class Comparison:
    """One comparison: its record, and the command that made it."""

    record: Record
    command: str

    def half_rtt(self, driver: str, size: int) -> Summary | None:
        """Half a round trip of a driver, in ns; None if it was not measured."""
        found = self.cell(driver, "pingpong", size)
        return None if found is None else found.half_rtt_ns

    def stream(self, driver: str, size: int) -> Summary | None:
        """The rate of a stream, in bytes per second."""
        return self.rate(driver, "stream", size)

    def best_stream(self, driver: str, sizes: Sequence[int]) -> float | None:
        """The highest median rate of these sizes."""
        found = [self.stream(driver, size) for size in sizes]
        return max((one.median for one in found if one is not None), default=None)

    def rate(self, driver: str, pattern: str, size: int, load: str | None = None) -> Summary | None:
        """Bytes per second of any pattern."""
        found = self.cell(driver, pattern, size, load)
        return None if found is None else found.rate_bytes_per_s

    def time(self, driver: str, pattern: str, size: int, load: str | None = None) -> Summary | None:
        """What a pattern of times reports, in ns."""
        found = self.cell(driver, pattern, size, load)
        return None if found is None else found.time()

    def cell(self, driver: str, pattern: str, size: int, load: str | None = None) -> Result | None:
        """All that is known of it; of several launches the first."""
        wanted = (driver, pattern, size, load)
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

    def missing(self, drivers: Sequence[str]) -> dict[str, str]:
        """Why drivers were not measured."""
        return {one.driver: one.reason for one in self.record.skipped if one.driver in drivers}
