# SPDX-License-Identifier: BSD-3-Clause
"""The command of a checkout that is not built, or whose build is not for this user."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
NOBODY = 65534


@pytest.fixture(name="checkout")
def make_checkout() -> Iterator[Path]:
    """A checkout that every user can enter, with nothing built in it."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        root.chmod(0o755)
        shutil.copy(ROOT / "beowire", root / "beowire")
        (root / "evaluator" / "beowire").mkdir(parents=True)
        yield root


def run(checkout: Path) -> "subprocess.CompletedProcess[str]":
    """`beowire` as somebody who is not root."""
    user = ["setpriv", "--reuid", str(NOBODY), "--clear-groups"] if os.geteuid() == 0 else []
    return subprocess.run(
        [*user, str(checkout / "beowire")], capture_output=True, text=True, check=False, timeout=60
    )


def test_beowire__not_built(checkout: Path) -> None:
    done = run(checkout)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (f"beowire: this checkout is not built yet: run `make` in {checkout}\n")


@pytest.mark.parametrize("closed", ["build", "build/venv", "build/venv/bin"])
def test_beowire__built_where_this_user_may_not_enter(checkout: Path, closed: str) -> None:
    (checkout / "build/venv/bin").mkdir(parents=True)
    (checkout / "build/venv/bin/python").symlink_to("/bin/true")
    (checkout / closed).chmod(0)
    try:
        done = run(checkout)
    finally:
        (checkout / closed).chmod(0o755)
    assert done.returncode == 2
    assert done.stderr.startswith(f"beowire: you may not enter {checkout}/{closed}: ")
    assert len(done.stderr.splitlines()) == 1


def test_beowire__its_python_is_out_of_reach(checkout: Path) -> None:
    (checkout / "build/venv/bin").mkdir(parents=True)
    (checkout / "build/venv/bin/python").symlink_to("/nowhere/python3")
    done = run(checkout)
    assert done.returncode == 2
    assert "/build/venv/bin/python leads to /nowhere/python3, which is not there" in done.stderr
    assert len(done.stderr.splitlines()) == 1
