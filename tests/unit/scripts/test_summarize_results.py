# SPDX-License-Identifier: BSD-3-Clause
"""The summary of `make test`: where the time went, and no when anything failed or nothing ran."""

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[3] / "scripts" / "summarize_results.py"
PASSED = "<testsuites><testsuite><testcase name='a' time='1.5'/></testsuite></testsuites>"


def summarize(directory: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT), str(directory), "unit"],
        capture_output=True,
        text=True,
        check=False,
    )


def write_steps(directory: Path, *steps: tuple[str, str, float]) -> None:
    found = [
        {"name": name, "state": state, "seconds": seconds, "cpu_seconds": seconds / 2}
        for name, state, seconds in steps
    ]
    (directory / "steps.json").write_text(json.dumps({"seconds": 7.0, "steps": found}))


def test_all_passed(tmp_path: Path) -> None:
    (tmp_path / "unit.xml").write_text(PASSED)
    done = summarize(tmp_path)
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[-3].split() == ["unit", "1", "0", "0", "1.5"]
    assert lines[-2:] == ["1 passed, 0 failed, 0 skipped", "make test: everything passed"]


def test_a_step_that_did_not_pass_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "unit.xml").write_text(PASSED)
    write_steps(tmp_path, ("build", "failed", 2.5), ("fuzz", "not run", 0.0))
    done = summarize(tmp_path)
    assert done.returncode == 1
    assert "steps that did not pass: build (failed), fuzz (not run)" in done.stdout
    assert "NOT everything passed" in done.stdout


def test_a_failure_in_one_run_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "unit.xml").write_text(PASSED)
    for outcome in ("failure", "error"):
        (tmp_path / "other.xml").write_text(
            f"<testsuite><testcase name='a'><{outcome}/></testcase></testsuite>"
        )
        done = summarize(tmp_path)
        assert done.returncode == 1
        lines = done.stdout.splitlines()
        assert lines[-2:] == ["failed: other: a", "make test: NOT everything passed"]


def test_nothing_ran_is_a_failure(tmp_path: Path) -> None:
    assert summarize(tmp_path).returncode == 1
    (tmp_path / "other.xml").write_text(PASSED)
    assert "no test ran in unit" in summarize(tmp_path).stdout
    (tmp_path / "unit.xml").write_text("<testsuites/>")
    assert summarize(tmp_path).returncode == 1
