# SPDX-License-Identifier: BSD-3-Clause
"""Closes `make test`: where the time went, and how the tests of each run ended, from the JUnit
files and the times of the steps (steps.json, by run_tests.py) in a directory.

A run may have several files: RUN.xml, or RUN.PART.xml for each part.

Usage: summarize_results.py DIRECTORY RUN...
"""

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

#: How many of the slowest tests are named.
SLOWEST = 20


@dataclass
class Run:
    """How the tests of one run ended, and how long each took."""

    tests: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0
    times: list[tuple[float, str]] = field(default_factory=list)
    """Seconds and name of each test."""
    failures: list[str] = field(default_factory=list)
    """Names of those that failed."""

    def read(self, path: Path) -> None:
        """Adds the test cases of one JUnit file, whichever program wrote it."""
        for case in ElementTree.parse(path).iter("testcase"):
            seconds = float(case.get("time") or 0)
            self.tests += 1
            failed = case.find("failure") is not None or case.find("error") is not None
            self.failed += failed
            self.skipped += case.find("skipped") is not None
            self.seconds += seconds
            module = (case.get("classname") or "").rpartition(".")[2]
            name = " ".join(filter(None, (module, case.get("name"))))
            self.times.append((seconds, name))
            self.failures += [name] if failed else []


def read_runs(directory: Path, names: list[str]) -> dict[str, Run]:
    """What there is of each run: of those named, and of others that have left a result."""
    runs = {name: Run() for name in names}
    for path in sorted(directory.glob("*.xml")):
        runs.setdefault(path.stem.partition(".")[0], Run()).read(path)
    return runs


@dataclass(frozen=True)
class Steps:
    """The steps of a run, slowest first."""

    seconds: float
    steps: list[tuple[str, str, float, float]]
    """Name, state, seconds, and seconds of the processors of each."""

    @staticmethod
    def read(directory: Path) -> "Steps | None":
        """None: nobody has left any."""
        path = directory / "steps.json"
        if not path.exists():
            return None
        found = json.loads(path.read_text(encoding="utf-8"))
        steps = [
            (step["name"], step["state"], step["seconds"], step["cpu_seconds"])
            for step in found["steps"]
        ]
        return Steps(found["seconds"], sorted(steps, key=lambda step: -step[2]))

    def times(self) -> list[str]:
        """The lines about how long each took."""
        lines = [f"{'step':40}{'seconds':>9}{'of CPU':>9}"]
        lines += [f"{name:40}{seconds:9.1f}{cpu:9.1f}" for name, _, seconds, cpu in self.steps]
        cpu = sum(cpu for *_, cpu in self.steps)
        return [*lines, f"{'all, side by side':40}{self.seconds:9.1f}{cpu:9.1f}", ""]

    def bad(self) -> list[str]:
        """Those that did not pass, and what became of them."""
        return [f"{name} ({state})" for name, state, *_ in self.steps if state != "passed"]


def times_of_tests(runs: dict[str, Run]) -> list[str]:
    """The lines about the slowest tests."""
    every = [(*time, name) for name, run in runs.items() for time in run.times]
    lines = [f"{'slowest tests of':24}{'seconds':>9}"]
    for seconds, test, run in sorted(every, key=lambda one: -one[0])[:SLOWEST]:
        lines.append(f"{run:24}{seconds:9.1f}  {test}")
    return [*lines, ""]


def summarize(directory: Path, names: list[str]) -> tuple[list[str], bool]:
    """The lines to print, those about failures last, and whether all is well: no step failed,
    there are tests in each of these runs, and none of them failed."""
    runs = read_runs(directory, names)
    steps = Steps.read(directory)
    lines = steps.times() if steps else []
    bad = steps.bad() if steps else []
    lines += times_of_tests(runs)
    lines.append(f"{'tests':24}{'run':>7}{'failed':>8}{'skipped':>9}{'seconds':>9}")
    for name, run in sorted(runs.items(), key=lambda item: -item[1].seconds):
        lines.append(f"{name:24}{run.tests:7}{run.failed:8}{run.skipped:9}{run.seconds:9.1f}")
    tests, failed, skipped = (
        sum(getattr(run, name) for run in runs.values()) for name in ("tests", "failed", "skipped")
    )
    lines.append(f"{tests - failed - skipped} passed, {failed} failed, {skipped} skipped")
    empty = [name for name, run in runs.items() if not run.tests]
    well = not bad and not empty and not failed
    lines += [f"no test ran in {name}: there is no result in {directory}" for name in empty]
    # Last, so that whoever sees but the end of it knows what to look at.
    lines += [f"steps that did not pass: {', '.join(bad)}"] if bad else []
    lines += [f"failed: {name}: {test}" for name, run in runs.items() for test in run.failures]
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
