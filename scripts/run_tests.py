# SPDX-License-Identifier: BSD-3-Clause
"""The steps of `make test` and, with --long, of `make test-long`: which there are, what each needs,
and which come first. scripts/test starts this.

Usage: scripts/test [--long] [--packages SECONDS] [--only WORD]
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path

from scripts import run_again, summarize_results
from scripts.steps import FAILED, PASSED, Interrupted, Outcome, Runner, Step

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "build" / "results"

#: What each fuzz target gets, in seconds: always, and in `make test-long`.
FUZZ_S = 10
FUZZ_LONG_S = 300

#: Modules of tests/system that take longest, first: what starts last should be short. The others
#: come after them.
LONGEST = (
    "test_ssh",
    "test_compare",
    "test_machines",
    "test_two_commands",
    "test_compare_nodes",
    "test_mpi_interfaces",
    "test_mpi_openmpi",
    "test_mpi_mtu",
    "test_lab_link",
)

#: Modules that measure between two busy processes nearly all the time. They come last, since such a
#: step keeps back those after it until there is room.
BOTH_CORES = ("test_tune",)

#: Test runs without which `make test` has not tested.
RUNS = ("unit-c-release", "unit-c-asan", "unit-c-tsan", "unit-python", "system-python")


def modules(folder: str) -> list[str]:
    """The modules of tests in a folder of tests/: those that take longest first, those that take
    both cores last."""
    found = [path.stem for path in sorted((ROOT / "tests" / folder).glob("test_*.py"))]
    order = {name: number for number, name in enumerate(LONGEST)}
    return sorted(found, key=lambda name: (name in BOTH_CORES, order.get(name, len(order))))


def fuzz_targets() -> list[str]:
    """Names of the fuzz targets."""
    return [path.stem for path in sorted((ROOT / "tests" / "fuzz").glob("*_fuzz.c"))]


def lint_parts() -> list[str]:
    """What scripts/lint checks."""
    listed = subprocess.run(
        [ROOT / "scripts" / "lint", "--list"], check=True, capture_output=True, text=True
    )
    return listed.stdout.split()


def meson_step(tree: str) -> Step:
    """The C tests of a build tree."""
    return Step(
        f"unit-c {tree}",
        ("scripts/run-meson-tests", tree),
        (f"build {tree}",),
        wide=True,
        results=f"unit-c-{tree}",
    )


def pytest_steps(run: str, folder: str, after: tuple[str, ...]) -> list[Step]:
    """A step for each module: they run side by side, each in labs of its own."""
    return [
        Step(
            f"{folder} {module.removeprefix('test_')}",
            ("scripts/run-pytest", f"{run}.{module}", f"tests/{folder}/{module}.py"),
            after,
            results=f"{run}.{module}",
            both_cores=module in BOTH_CORES,
        )
        for module in modules(folder)
    ]


def compile_again(which: str) -> tuple[str, ...]:
    """What compiles a part of build/release once more."""
    python = ("build/venv/bin/python", "-I", "-X", "pycache_prefix=build/pycache")
    return (*python, "scripts/compile_again.py", which)


def plan(*, long: bool) -> list[Step]:
    """All steps; the first that can be run is."""
    tools = ("venv", "build release")
    seconds = FUZZ_LONG_S if long else FUZZ_S
    steps = [
        Step("build asan", ("scripts/build", "asan"), wide=True),
        Step("venv", ("scripts/make-venv", "test")),
        Step("build release", ("scripts/build", "release"), wide=True),
    ]
    if long:
        steps.append(Step("install MPIs", ("scripts/install-mpi", "all"), ("venv",)))
    steps += [
        meson_step("asan"),
        Step("lint clang-tidy", ("scripts/lint", "clang-tidy"), ("venv", "build asan"), wide=True),
        meson_step("release"),
        Step(
            "unit-python",
            ("scripts/run-pytest", "unit-python", "tests/unit"),
            tools,
            results="unit-python",
        ),
        *pytest_steps("system-python", "system", tools),
    ]
    if long:
        steps += pytest_steps("wheels-python", "wheels", (*tools, "install MPIs"))
    steps += [
        Step("arm64", ("scripts/arm64-test",), wide=True),
        *(
            Step(f"compile {which}", compile_again(which), (*tools, "build asan"), wide=True)
            for which in ("unbuilt", "libfabric")
        ),
        Step("build tsan", ("scripts/build", "tsan"), wide=True),
        meson_step("tsan"),
        *(
            Step(f"fuzz {target}", ("scripts/fuzz", str(seconds), target), ("build asan",))
            for target in fuzz_targets()
        ),
        *(
            Step(f"lint {part}", ("scripts/lint", part), ("venv",))
            for part in lint_parts()
            if part != "clang-tidy"
        ),
    ]
    return steps


def chosen(steps: list[Step], word: str) -> list[Step]:
    """Those whose name begins with this word. What they need has to be there."""
    names = {step.name for step in steps if step.name.split()[0] == word}
    return [
        replace(step, after=tuple(name for name in step.after if name in names))
        for step in steps
        if step.name in names
    ]


def hear_again(steps: list[Step], outcomes: list[Outcome], results: Path) -> list[Outcome]:
    """What has become of the steps when tests that failed have been run again; what was unsteady
    is left in `results`. A step that failed for anything else stays as it is."""
    failures = [
        failure
        for run in summarize_results.read_runs(results, []).values()
        for failure in run.failures
    ]
    unsteady = run_again.unsteady(failures, results / "again") if failures else []
    left = [failure.key for failure in unsteady]
    (results / "unsteady.json").write_text(json.dumps(left), encoding="utf-8")
    known = {step.name: step for step in steps}
    heard = []
    for outcome in outcomes:
        step = known[outcome.name]
        own = [failure for failure in failures if failure.results == step.results]
        if (
            outcome.state == FAILED
            and own
            and all(failure in unsteady for failure in own)
            and run_again.accounts_for(step, outcome.status, len(own))
        ):
            outcome = replace(outcome, state=summarize_results.UNSTEADY)
        heard.append(outcome)
    return heard


def main() -> int:
    """Runs them, prints where the time went; 0 if all is well."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--packages", type=float, default=0.0, metavar="SECONDS")
    parser.add_argument("--only", metavar="WORD", help="steps whose name begins with it")
    options = parser.parse_args()
    os.chdir(ROOT)
    if options.long:
        os.environ["BEOWIRE_TEST_LONG"] = "1"
    logs = ROOT / "build" / "logs" / "steps"
    for directory in (RESULTS, logs):
        shutil.rmtree(directory, ignore_errors=True)
    RESULTS.mkdir(parents=True)
    steps = plan(long=options.long)
    runs = [*RUNS, "wheels-python"] if options.long else list(RUNS)
    if options.only is not None:
        steps, runs = chosen(steps, options.only), []
    cores = len(os.sched_getaffinity(0))
    print(f"make test: {len(steps)} steps on {cores} cores; a line when each ends", flush=True)
    since = time.monotonic()
    try:
        outcomes = hear_again(steps, Runner(steps, cores, logs).run(), RESULTS)
    except Interrupted as interrupted:
        print("make test: interrupted; what it had started has ended", file=sys.stderr)
        return 128 + interrupted.number
    outcomes.insert(0, Outcome("packages", PASSED, options.packages))
    whole = time.monotonic() - since + options.packages
    (RESULTS / "steps.json").write_text(
        json.dumps({"seconds": whole, "steps": [asdict(one) for one in outcomes]}),
        encoding="utf-8",
    )
    lines, well = summarize_results.summarize(RESULTS, runs)
    print("\n".join(lines))
    return 0 if well else 1


if __name__ == "__main__":
    raise SystemExit(main())
