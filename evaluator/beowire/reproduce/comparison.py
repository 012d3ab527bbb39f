# SPDX-License-Identifier: BSD-3-Clause
"""Measures by `beowire compare`, as a user would, and finds values in its record."""

import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from beowire import isolated
from beowire.errors import BeowireError
from beowire.record import Record, Summary, read_record


@dataclass(frozen=True)
class Comparison:
    """One comparison: its record, and the command that made it."""

    record: Record
    command: str

    def half_rtt(self, driver: str, size: int) -> Summary | None:
        """Half a round trip of a driver, in ns; None if it was not measured."""
        return self._value(driver, "pingpong", size, "half_rtt_ns")

    def stream(self, driver: str, size: int) -> Summary | None:
        """The rate of a stream, in bytes per second."""
        return self._value(driver, "stream", size, "rate_bytes_per_s")

    def best_stream(self, driver: str, sizes: Sequence[int]) -> float | None:
        """The highest median rate of these sizes."""
        found = [self.stream(driver, size) for size in sizes]
        return max((one.median for one in found if one is not None), default=None)

    def missing(self, drivers: Sequence[str]) -> dict[str, str]:
        """Why drivers were not measured."""
        return {one.driver: one.reason for one in self.record.skipped if one.driver in drivers}

    def _value(self, driver: str, pattern: str, size: int, field: str) -> Summary | None:
        for one in self.record.results:
            if (one.driver, one.pattern, one.size) == (driver, pattern, size):
                value: Summary | None = getattr(one, field)
                return value
        return None


def compare(directory: Path, arguments: Sequence[str]) -> Comparison:
    """Runs `beowire compare` with these arguments, its output on ours; what it measures is in
    `directory`. BeowireError if it measures nothing; a driver that fails is one that is missing."""
    sys.stdout.flush()
    done = subprocess.run(
        [*isolated.command("beowire"), "compare", *arguments, "--out", str(directory)],
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr,
        check=False,
    )
    path = directory / "record.jsonl"
    record = read_record(path) if path.exists() else None
    if record is None or not record.results:
        raise BeowireError(
            "`beowire compare` has failed; what it says is above", exit_code=done.returncode or 1
        )
    return Comparison(record, shlex.join(["beowire", "compare", *arguments]))
