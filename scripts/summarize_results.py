# SPDX-License-Identifier: BSD-3-Clause
"""Closes `make test`: one line a test run, from the JUnit files in a directory.

Usage: summarize_results.py DIRECTORY RUN...
"""

import sys
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree


@dataclass(frozen=True)
class Counts:
    """How the tests of one run ended."""

    tests: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0


def count(path: Path) -> Counts:
    """Counts the test cases of one JUnit file, whichever program wrote it."""
    tests = failed = skipped = 0
    seconds = 0.0
    for case in ElementTree.parse(path).iter("testcase"):
        tests += 1
        failed += case.find("failure") is not None or case.find("error") is not None
        skipped += case.find("skipped") is not None
        seconds += float(case.get("time") or 0)
    return Counts(tests, failed, skipped, seconds)


def summarize(directory: Path, names: list[str]) -> tuple[list[str], bool]:
    """The lines to print, and whether all is well: tests in each of these runs, and none failed."""
    runs = {name: Counts() for name in names}
    runs |= {path.stem: count(path) for path in sorted(directory.glob("*.xml"))}
    lines = [f"{'tests':24}{'run':>7}{'failed':>8}{'skipped':>9}{'seconds':>9}"]
    for name, run in runs.items():
        lines.append(f"{name:24}{run.tests:7}{run.failed:8}{run.skipped:9}{run.seconds:9.1f}")
    empty = [name for name, run in runs.items() if not run.tests]
    well = not empty and not any(run.failed for run in runs.values())
    lines += [f"no test ran in {name}: there is no result in {directory}" for name in empty]
    lines.append("make test: everything passed" if well else "make test: NOT everything passed")
    return lines, well


def main() -> int:
    """Prints the summary; 0 only when every run passed."""
    if len(sys.argv) < 3:
        print("usage: summarize_results.py DIRECTORY RUN...", file=sys.stderr)
        return 2
    lines, well = summarize(Path(sys.argv[1]), sys.argv[2:])
    print("\n".join(lines))
    return 0 if well else 1


if __name__ == "__main__":
    raise SystemExit(main())
