# SPDX-License-Identifier: BSD-3-Clause
"""Runs a test that failed beside many others again, by itself.

One that then passes each time is *unsteady*: it fails now and then, or beside certain others, which
is a fault of it or of what it tests, and is to be found by what it said. A few such do not hold up
a change that has nothing to do with them, on a machine that others use, too; more, or one that
fails again, do. scripts/run_tests.py asks for this when all else has ended.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from scripts.steps import PASSED, Runner, Step
from scripts.summarize_results import Failure, read_runs

#: How often a test has to pass by itself.
TIMES = 3

#: So many are run again; more that fail in one run are no accident.
MOST = 2


def command(failure: Failure) -> list[str] | None:
    """What runs this test alone; None: nothing does."""
    run, _, _ = failure.results.partition(".")
    if run in ("unit-c-asan", "unit-c-release", "unit-c-tsan"):
        name = failure.name.rpartition(" / ")[2]
        return ["scripts/run-meson-tests", run.removeprefix("unit-c-"), name]
    if run in ("unit-python", "system-python", "wheels-python"):
        path = failure.module.replace(".", "/") + ".py"
        return ["scripts/run-pytest", "again", f"{path}::{failure.name}"]
    return None


def accounts_for(step: Step, status: int, failures: int) -> bool:
    """Whether a step that ended with this status failed for so many tests and for nothing else.
    Meson's status is how many have failed, of which its results do not name those that hung."""
    return status == (failures if step.command[0] == "scripts/run-meson-tests" else 1)


def passes(words: Sequence[str], results: Path) -> bool:
    """Runs a test, as a step: whether it passed, and was not only skipped."""
    name = f"again {results.name}"
    alone = Step(name, ("env", f"BEOWIRE_RESULTS={results}", *words))
    (outcome,) = Runner([alone], 1, results).run()
    left = read_runs(results, []).values()
    passed = sum(run.tests - run.failed - run.skipped for run in left)
    return outcome.state == PASSED and passed > 0


def unsteady(
    failures: Sequence[Failure],
    results: Path,
    passes: Callable[[Sequence[str], Path], bool] = passes,
) -> list[Failure]:
    """Those of these tests that pass TIMES times by themselves; none if there are more than MOST.
    `results`: a directory for what they leave, which is made."""
    if len(failures) > MOST:
        return []
    found = []
    for number, failure in enumerate(failures, 1):
        words = command(failure)
        if words is None:
            continue
        print(f"again, by itself: {failure.title}", flush=True)
        if all(passes(words, results / f"{number}.{time}") for time in range(1, TIMES + 1)):
            found.append(failure)
    return found
