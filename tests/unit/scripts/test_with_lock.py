# SPDX-License-Identifier: BSD-3-Clause
"""One make at a time in a checkout."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(name="with_lock")
def copy_with_lock(tmp_path: Path) -> str:
    (tmp_path / "scripts").mkdir()
    return str(shutil.copy(ROOT / "scripts" / "with-lock", str(tmp_path / "scripts")))


def test_second_waits_and_says_so(with_lock: str) -> None:
    with subprocess.Popen(
        [with_lock, "sh", "-c", "echo started; read line; echo ended"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as first:
        assert first.stdout is not None
        assert first.stdin is not None
        assert first.stdout.readline() == "started\n"
        with subprocess.Popen(
            [with_lock, "echo", "mine"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as second:
            assert second.stderr is not None
            assert second.stderr.readline() == (
                "make: another make is at work in this checkout; waiting until it is done\n"
            )
            assert second.poll() is None
            output, _ = first.communicate("\n")
            assert output == "ended\n"
            output, errors = second.communicate()
            assert (second.returncode, output, errors) == (0, "mine\n", "")


def test_killed_holder__lock_is_free_when_its_children_are_gone(with_lock: str) -> None:
    with subprocess.Popen(
        [with_lock, "sh", "-c", "echo started; read line"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as first:
        assert first.stdout is not None
        first.stdout.readline()
        first.kill()
    done = subprocess.run([with_lock, "true"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_status_is_passed_on(with_lock: str) -> None:
    assert subprocess.run([with_lock, "sh", "-c", "exit 7"], check=False).returncode == 7
