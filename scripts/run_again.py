# SPDX-License-Identifier: BSD-3-Clause
"""Runs a test that failed beside many others again, by itself.

One that then passes each time is *unsteady*: it fails now and then, which is a fault of it or of
what it tests, and is to be found by what it said. A few such do not hold up a change that has
nothing to do with them, on a machine that others use, too; more, or one that fails again, do.
scripts/run_tests.py asks for this when all else has ended.
"""

import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from scripts.summarize_results import Failure

#: How often a test has to pass by itself.
TIMES = 3

#: So many are run again; more that fail in one run are no accident.
MOST = 2

#: Longest that one may take, in seconds.
PATIENCE_S = 400.0


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


def _passes(words: list[str], results: Path) -> bool:
    results.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "BEOWIRE_RESULTS": str(results)}
    try:
        done = subprocess.run(
            words,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=PATIENCE_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def unsteady(
    failures: Sequence[Failure],
    results: Path,
    passes: Callable[[list[str], Path], bool] = _passes,
) -> list[Failure]:
    """Those of these tests that pass TIMES times by themselves; none if there are more than MOST.
    `results`: a directory for what they leave."""
    if len(failures) > MOST:
        return []
    found = []
    for failure in failures:
        words = command(failure)
        if words is not None and all(passes(words, results) for _ in range(TIMES)):
            found.append(failure)
    return found
