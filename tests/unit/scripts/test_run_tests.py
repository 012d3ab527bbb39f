# SPDX-License-Identifier: BSD-3-Clause
"""Nothing is missing in the plan of `make test`, and nothing of it in that of `make test-long`."""

from pathlib import Path

from scripts import run_tests

ROOT = Path(__file__).resolve().parents[3]


def words_of(*, long: bool) -> list[str]:
    return [" ".join(step.command) for step in run_tests.plan(long=long)]


def test_plan__each_module_of_tests_once() -> None:
    for long, folders in ((False, ["system"]), (True, ["system", "wheels"])):
        words = words_of(long=long)
        for folder in folders:
            for path in (ROOT / "tests" / folder).glob("test_*.py"):
                assert sum(f"tests/{folder}/{path.name}" in word for word in words) == 1
    assert words_of(long=False).count("scripts/run-pytest unit-python tests/unit") == 1


def test_plan__each_fuzz_target_and_each_part_of_lint() -> None:
    words = words_of(long=False)
    for source in (ROOT / "tests" / "fuzz").glob("*_fuzz.c"):
        assert f"scripts/fuzz {run_tests.FUZZ_S} {source.stem}" in words
    assert {f"scripts/lint {part}" for part in run_tests.lint_parts()} <= set(words)
    assert "clang-tidy" in run_tests.lint_parts()


def test_plan__the_long_one_has_all_of_the_short_one() -> None:
    short, long = ({step.name for step in run_tests.plan(long=which)} for which in (False, True))
    assert short < long
    assert f"scripts/fuzz {run_tests.FUZZ_LONG_S} frame_fuzz" in words_of(long=True)
