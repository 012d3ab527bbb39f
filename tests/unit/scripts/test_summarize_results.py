# SPDX-License-Identifier: BSD-3-Clause
"""The summary of `make test` says no when anything failed or nothing ran."""

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


def test_all_passed(tmp_path: Path) -> None:
    (tmp_path / "unit.xml").write_text(PASSED)
    done = summarize(tmp_path)
    assert done.returncode == 0
    assert done.stdout.splitlines()[1].split() == ["unit", "1", "0", "0", "1.5"]


def test_a_failure_in_one_run_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "unit.xml").write_text(PASSED)
    for outcome in ("failure", "error"):
        (tmp_path / "other.xml").write_text(
            f"<testsuite><testcase name='a'><{outcome}/></testcase></testsuite>"
        )
        done = summarize(tmp_path)
        assert done.returncode == 1
        assert "NOT everything passed" in done.stdout


def test_nothing_ran_is_a_failure(tmp_path: Path) -> None:
    assert summarize(tmp_path).returncode == 1
    (tmp_path / "other.xml").write_text(PASSED)
    assert "no test ran in unit" in summarize(tmp_path).stdout
    (tmp_path / "unit.xml").write_text("<testsuites/>")
    assert summarize(tmp_path).returncode == 1
