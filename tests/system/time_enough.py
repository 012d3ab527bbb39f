# SPDX-License-Identifier: BSD-3-Clause
"""Comparisons in tests get a time in which they are done on an idle machine; where others have the
cores, they are made again with more."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

from beowire.record.reader import Record, read_record

#: How many times the time the tries have.
_TIMES = (1, 8, 30)

#: More than a test may take is of no use.
_LONGEST_S = 60.0

#: What says of a run that the machine had no core for it.
_TOO_SLOW = re.compile("no time was left for it|every message was lost|nothing arrived in its last")


def _lacks_nothing(record: Record) -> bool:
    return True


def compare_in_time(
    compare: Callable[..., "subprocess.CompletedProcess[str]"],
    out: Path,
    seconds: float,
    is_enough: Callable[[Record], bool] = _lacks_nothing,
) -> tuple["subprocess.CompletedProcess[str]", Record]:
    """Calls `compare` with `--time SECONDS --out OUT`, again with more seconds while something was
    left out for want of time, or what was measured is not enough. The last run, and its record."""
    tries = sorted({min(seconds * times, max(seconds, _LONGEST_S)) for times in _TIMES})
    for number, tried in enumerate(tries):
        into = out.with_name(f"{out.name}{number}")
        done = compare("--time", f"{tried:g}", "--out", str(into))
        assert (into / "record.jsonl").exists(), (done.returncode, done.stderr)
        record = read_record(into / "record.jsonl")
        reasons = [done.stderr, *(one.reason for one in record.skipped)]
        if not any(_TOO_SLOW.search(reason) for reason in reasons) and is_enough(record):
            break
    return done, record
