# SPDX-License-Identifier: BSD-3-Clause
"""In the locale C a terminal gets ASCII; files, and terminals of any other locale, get all."""

import os
import pty
import subprocess
from pathlib import Path

import pytest

from beowire import plain

SCRIPT = "import sys; from beowire import plain; plain.prepare(sys.stdout); print('1 µs ± 2 %│⇄ ж')"
EVALUATOR = Path(__file__).resolve().parents[3] / "evaluator"


def printed(environment: dict[str, str]) -> str:
    """What a terminal is sent."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        ["python3", "-X", "utf8", "-c", SCRIPT],
        stdout=theirs,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(EVALUATOR)} | environment,
    ) as process:
        os.close(theirs)
        said = b""
        try:
            while piece := os.read(ours, 4096):
                said += piece
        except OSError:
            pass  # the other end is closed
    os.close(ours)
    assert process.returncode == 0
    return said.decode().strip()


def test_prepare__terminal_in_the_locale_c__ascii() -> None:
    assert printed({"LC_ALL": "C"}) == "1 us +- 2 %|<-> ?"


def test_prepare__terminal_in_another_locale__all() -> None:
    assert printed({"LC_ALL": "C.UTF-8"}) == printed({}) == "1 µs ± 2 %│⇄ ж"


def test_prepare__a_file__all(tmp_path: Path) -> None:
    with (tmp_path / "file").open("w") as file:
        subprocess.run(
            ["python3", "-X", "utf8", "-c", SCRIPT],
            stdout=file,
            check=True,
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(EVALUATOR), "LC_ALL": "C"},
        )
    assert (tmp_path / "file").read_text("utf-8") == "1 µs ± 2 %│⇄ ж\n"


@pytest.mark.parametrize(
    ("environment", "asked"),
    [
        ({}, False),
        ({"LANG": "C"}, True),
        ({"LANG": "C", "LC_ALL": "en_GB.UTF-8"}, False),
        ({"LANG": "en_GB.UTF-8", "LC_CTYPE": "POSIX"}, True),
        ({"LC_ALL": "", "LANG": "C.UTF-8"}, False),
    ],
)
def test_is_asked_for(environment: dict[str, str], asked: bool) -> None:
    assert plain.is_asked_for(environment) is asked
