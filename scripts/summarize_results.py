# SPDX-License-Identifier: BSD-3-Clause
"""Closes `make test`: where the time went, and how the tests of each run ended, from the JUnit
files and the times of the steps (steps.json, by run_tests.py) in a directory.

A run may have several files: RUN.xml, or RUN.PART.xml for each part. unsteady.json there names the
tests that have failed, and passed when they were run again (run_again.py).

Usage: summarize_results.py DIRECTORY RUN...
"""

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

#: How many of the slowest tests are named.
SLOWEST = 20

#: So much of what a failed test said is shown at the end.
LAST_LINES = 12

UNSTEADY = "unsteady"


@dataclass(frozen=True)
class Failure:
    """A test that failed."""

    results: str
    """The file that says so, without .xml: the run, or the run and a part of it."""
    module: str
    """Where the test is, as its runner says: tests.system.test_ssh."""
    name: str
    said: tuple[str, ...] = field(compare=False)
    """The end of what it said."""

    @property
    def title(self) -> str:
        """As people know it."""
        return " ".join(filter(None, (self.module.rpartition(".")[2], self.name)))

    @property
    def key(self) -> list[str]:
        """As unsteady.json has it."""
        return [self.results, self.module, self.name]


def _said(case: ElementTree.Element) -> tuple[str, ...]:
    texts = [
        text
        for kind in ("system-out", "system-err", "error", "failure")
        for element in case.findall(kind)
        for text in (element.get("message"), element.text)
        if text
    ]
    lines = [line.rstrip() for text in texts for line in text.splitlines() if line.strip()]
    return tuple(lines[-LAST_LINES:])


@dataclass
class Run:
    """How the tests of one run ended, and how long each took."""

    tests: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0
    times: list[tuple[float, str]] = field(default_factory=list)
    """Seconds and name of each test."""
    failures: list[Failure] = field(default_factory=list)

    def read(self, path: Path) -> None:
        """Adds the test cases of one JUnit file, whichever program wrote it."""
        for case in ElementTree.parse(path).iter("testcase"):
            seconds = float(case.get("time") or 0)
            self.tests += 1
            failed = case.find("failure") is not None or case.find("error") is not None
            self.failed += failed
            self.skipped += case.find("skipped") is not None
            self.seconds += seconds
            module, name = case.get("classname") or "", case.get("name") or ""
            found = Failure(path.stem, module, name, _said(case) if failed else ())
            self.times.append((seconds, found.title))
            self.failures += [found] if failed else []


def read_unsteady(directory: Path) -> list[list[str]]:
    """The keys of the tests that passed when they were run again."""
    path = directory / "unsteady.json"
    found: list[list[str]] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    return found


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
        well = ("passed", UNSTEADY)
        return [f"{name} ({state})" for name, state, *_ in self.steps if state not in well]


def times_of_tests(runs: dict[str, Run]) -> list[str]:
    """The lines about the slowest tests."""
    every = [(*time, name) for name, run in runs.items() for time in run.times]
    lines = [f"{'slowest tests of':24}{'seconds':>9}"]
    for seconds, test, run in sorted(every, key=lambda one: -one[0])[:SLOWEST]:
        lines.append(f"{run:24}{seconds:9.1f}  {test}")
    return [*lines, ""]


def last_words(failures: list[tuple[str, Failure]]) -> list[str]:
    """The lines about tests that failed: what each said at the end, then their names."""
    lines = []
    for what, failure in failures:
        lines += [f"---- {what}: {failure.results}: {failure.title}", *failure.said]
    return [*lines, *(f"{what}: {one.results}: {one.title}" for what, one in failures)]


def summarize(directory: Path, names: list[str]) -> tuple[list[str], bool]:
    """The lines to print, those about failures last, and whether all is well: no step failed,
    there are tests in each of these runs, and none of them failed but unsteady ones."""
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
    again = read_unsteady(directory)
    failures = [
        (UNSTEADY if one.key in again else "failed", one)
        for run in runs.values()
        for one in run.failures
    ]
    unsteady = sum(what == UNSTEADY for what, _ in failures)
    ended = f"{tests - failed - skipped} passed, {failed - unsteady} failed, {skipped} skipped"
    lines.append(ended + (f", {unsteady} unsteady" if unsteady else ""))
    empty = [name for name, run in runs.items() if not run.tests]
    well = not bad and not empty and failed == unsteady
    lines += [f"no test ran in {name}: there is no result in {directory}" for name in empty]
    # Last, so that whoever sees but the end of it knows what to look at.
    lines += [f"steps that did not pass: {', '.join(bad)}"] if bad else []
    lines += last_words(failures)
    if not well:
        lines.append("make test: NOT everything passed")
    elif unsteady:
        lines.append(f"make test: passed, but {unsteady} of it only when run again by itself")
    else:
        lines.append("make test: everything passed")
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
