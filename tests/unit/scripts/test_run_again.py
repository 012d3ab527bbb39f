# SPDX-License-Identifier: BSD-3-Clause
"""A test that failed is run again by itself: what excuses it, and what does not."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from scripts import run_again, run_tests, summarize_results
from scripts.steps import FAILED, NOT_RUN, Outcome, Step
from scripts.summarize_results import UNSTEADY, Failure

ROOT = Path(__file__).resolve().parents[3]
C_TEST = Failure("unit-c-release", "beowire", "drivers/conformance shm loopback", ())
SEEDS = Failure("unit-c-asan", "beowire", "beowire:simulation / seeds from 41", ())
PYTHON = Failure("system-python.test_ssh", "tests.system.test_ssh", "test_a[0-b]", ())
ARM = Failure("unit-c-arm64", "beowire", "transport/frame", ())


def test_command__one_test_and_no_other() -> None:
    assert run_again.command(C_TEST) == ["scripts/run-meson-tests", "release", C_TEST.name]
    assert run_again.command(SEEDS) == ["scripts/run-meson-tests", "asan", "seeds from 41"]
    assert run_again.command(PYTHON) == [
        *("scripts/run-pytest", "again"),
        "tests/system/test_ssh.py::test_a[0-b]",
    ]
    assert run_again.command(ARM) is None


@pytest.mark.parametrize(("fails_at", "found"), [(None, [C_TEST]), (0, []), (2, [])])
def test_unsteady__passes_each_time(
    tmp_path: Path, fails_at: int | None, found: list[Failure]
) -> None:
    calls: list[Path] = []

    def passes(words: Sequence[str], results: Path) -> bool:
        calls.append(results)
        return len(calls) - 1 != fails_at

    assert run_again.unsteady([C_TEST], tmp_path, passes) == found
    assert len(calls) == (run_again.TIMES if fails_at is None else fails_at + 1)
    assert len(set(calls)) == len(calls)


def test_unsteady__many_are_no_accident(tmp_path: Path) -> None:
    def passes(words: Sequence[str], results: Path) -> bool:
        return True

    assert run_again.unsteady([C_TEST, PYTHON], tmp_path, passes) == [C_TEST, PYTHON]
    assert run_again.unsteady([C_TEST, PYTHON, SEEDS], tmp_path, passes) == []
    assert run_again.unsteady([ARM], tmp_path, passes) == []


@pytest.mark.parametrize(
    ("body", "passes"),
    [("pass", True), ("assert False", False), ("pytest.skip('no')", False), ("no such", False)],
)
def test_passes__only_what_has_run(tmp_path: Path, body: str, passes: bool) -> None:
    test = tmp_path / "test_now_and_then.py"
    test.write_text(f"import pytest\ndef test_it():\n    {body}\n")
    before = sorted((ROOT / "build" / "results").glob("again*"))
    words = [str(ROOT / "scripts" / "run-pytest"), "again", f"{test}::test_it"]
    assert run_again.passes(words, tmp_path / "1.1") == passes
    assert sorted((ROOT / "build" / "results").glob("again*")) == before


def junit(path: Path, failure: Failure, said: str) -> None:
    path.write_text(
        f"<testsuite><testcase classname='{failure.module}' name='{failure.name}'>"
        f"<failure>{said}</failure></testcase></testsuite>"
    )


STEPS = [
    Step("unit-c release", ("scripts/run-meson-tests",), results="unit-c-release"),
    Step("system ssh", ("scripts/run-pytest",), results="system-python.test_ssh"),
    Step("lint ruff", ("true",)),
    Step("venv", ("true",)),
]


def hear_again(
    results: Path, monkeypatch: pytest.MonkeyPatch, statuses: tuple[int, int], *unsteady: Failure
) -> list[str]:
    """What becomes of two steps that failed with these statuses if these tests are unsteady; and of
    two others."""
    outcomes = [
        Outcome("unit-c release", FAILED, status=statuses[0]),
        Outcome("system ssh", FAILED, status=statuses[1]),
        Outcome("lint ruff", FAILED, status=1),
        Outcome("venv", NOT_RUN),
    ]
    monkeypatch.setattr(run_again, "unsteady", lambda failures, results: list(unsteady))
    return [one.state for one in run_tests.hear_again(STEPS, outcomes, results)]


def test_hear_again__a_step_is_excused_by_all_of_its_failures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    junit(tmp_path / "unit-c-release.xml", C_TEST, "x")
    junit(tmp_path / "system-python.test_ssh.xml", PYTHON, "y")
    heard = hear_again(tmp_path, monkeypatch, (1, 1), C_TEST)
    assert heard == [UNSTEADY, FAILED, FAILED, NOT_RUN]
    assert json.loads((tmp_path / "unsteady.json").read_text()) == [C_TEST.key]
    assert hear_again(tmp_path, monkeypatch, (1, 1), C_TEST, PYTHON)[:2] == [UNSTEADY, UNSTEADY]
    assert hear_again(tmp_path, monkeypatch, (1, 1)) == [FAILED, FAILED, FAILED, NOT_RUN]
    both = "<testcase name='other'><failure/></testcase></testsuite>"
    path = tmp_path / "unit-c-release.xml"
    path.write_text(path.read_text().replace("</testsuite>", both))
    assert hear_again(tmp_path, monkeypatch, (2, 1), C_TEST)[0] == FAILED


def test_hear_again__a_step_that_failed_for_more_than_its_results_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Meson does not write down that a test has hung, but counts it; pytest may end by itself."""
    junit(tmp_path / "unit-c-release.xml", C_TEST, "x")
    junit(tmp_path / "system-python.test_ssh.xml", PYTHON, "y")
    assert hear_again(tmp_path, monkeypatch, (2, 3), C_TEST, PYTHON)[:2] == [FAILED, FAILED]
    assert hear_again(tmp_path, monkeypatch, (-9, -9), C_TEST, PYTHON)[:2] == [FAILED, FAILED]


def test_summary__unsteady_tests_are_named_with_what_they_said(tmp_path: Path) -> None:
    junit(tmp_path / "unit-c-release.xml", C_TEST, "first\n\nlast words")
    steps = [{"name": "unit-c release", "state": UNSTEADY, "seconds": 1.0, "cpu_seconds": 1.0}]
    (tmp_path / "steps.json").write_text(json.dumps({"seconds": 1.0, "steps": steps}))
    (tmp_path / "unsteady.json").write_text(json.dumps([C_TEST.key]))
    lines, well = summarize_results.summarize(tmp_path, ["unit-c-release"])
    assert well
    assert lines[-6:] == [
        "0 passed, 0 failed, 0 skipped, 1 unsteady",
        "---- unsteady: unit-c-release: beowire drivers/conformance shm loopback",
        *("first", "last words"),
        "unsteady: unit-c-release: beowire drivers/conformance shm loopback",
        "make test: passed, but 1 of it only when run again by itself",
    ]
    (tmp_path / "unsteady.json").unlink()
    lines, well = summarize_results.summarize(tmp_path, ["unit-c-release"])
    assert not well
    assert lines[-2:] == [
        "failed: unit-c-release: beowire drivers/conformance shm loopback",
        "make test: NOT everything passed",
    ]


def test_steps_with_tests_name_their_results() -> None:
    for step in run_tests.plan(long=True):
        words = step.command
        if words[0] == "scripts/run-pytest":
            assert step.results == words[1]
        elif words[0] == "scripts/run-meson-tests":
            assert step.results == f"unit-c-{words[1]}"
