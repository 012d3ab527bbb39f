# SPDX-License-Identifier: BSD-3-Clause
"""For tests under valgrind: how a program is started, and what has been found in it."""

import re
from pathlib import Path

#: Whose stacks count in an MPI program: others have findings of their own.
PROVIDER = "libbeowire-fi.so"

_EMPTY = re.compile(r"^==\d+== *$", re.MULTILINE)


def before(directory: Path) -> tuple[str, ...]:
    """Words that start a program under valgrind, which writes what it finds, and nothing else, into
    this directory."""
    return ("valgrind", "--quiet", "--num-callers=60", f"--log-file={directory}/memcheck.%p")


def found(directory: Path, processes: int, within: str = "") -> list[str]:
    """What was found in so many processes where this file is on the stack; all, if it is empty."""
    logs = list(directory.glob("memcheck.*"))
    assert len(logs) == processes, logs
    findings = [one for log in logs for one in _EMPTY.split(log.read_text(encoding="utf-8"))]
    return [one for one in findings if one.strip() and within in one]
