# SPDX-License-Identifier: BSD-3-Clause
"""What a benchmark is given, and whom it compares with."""

import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from benchmarks.figure import Results
from beowire import isolated

#: TCP in all the ways that programs use it; that of libfabric where it is built.
TCP = ("tcp", "tcp-spin", "fi-tcp")
_OPTIONAL = "fi-tcp"

_ASK_S = 60.0


@dataclass(frozen=True)
class Context:
    """Where it writes, and how long it may measure."""

    directory: Path
    seconds: float
    call_cost: str | None = None
    """What each system call of what is measured is to cost more: `300ns`."""

    def part(self, name: str) -> Path:
        """A directory for one of its runs; not made yet."""
        return self.directory / name


Benchmark = Callable[[Context], Results]


def drivers(*names: str) -> tuple[str, ...]:
    """`names` without libfabric's where this build does not have it."""
    return tuple(name for name in names if name != _OPTIONAL or _is_ready(name))


@cache
def _is_ready(name: str) -> bool:
    done = subprocess.run(
        [*isolated.command("beowire"), "drivers", "--json"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=_ASK_S,
    )
    known = json.loads(done.stdout)["drivers"] if done.returncode == 0 else []
    return any(one["name"] == name and one["ready"] for one in known)
