# SPDX-License-Identifier: BSD-3-Clause
"""What a place of the trace costs where a trace is written, and where none is."""

import json
import os
import shlex
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.context import Context
from benchmarks.figure import Figure, Results
from beowire import files
from beowire.errors import BeowireError
from beowire.statistics import Estimate, order_interval

SUMMARY = "what a place of the trace adds to the code that passes it, on and off"
SECONDS = 5.0

#: ns. Off, "nothing" is what a loop cannot tell.
_ON_AT_MOST = 20.0
_OFF_AT_MOST = 1.0
_ROOT = Path(__file__).resolve().parent.parent


def run(context: Context) -> Results:
    """Runs `trace-points-benchmark`; it takes a second, whatever there is of time."""
    program = _ROOT / "build" / "release" / "benchmarks" / "trace-points-benchmark"
    if not program.is_file():
        relative = os.path.relpath(program, _ROOT)
        raise BeowireError(f"{relative} is not built: run `scripts/build bench`")
    context.directory.mkdir(parents=True, exist_ok=True)
    try:
        with tempfile.TemporaryDirectory(prefix="beowire-trace-") as scratch:
            done = subprocess.run(
                [str(program), scratch],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
                timeout=max(context.seconds, SECONDS) + 60,
            )
    except subprocess.TimeoutExpired:
        return Results(problems=["trace-points-benchmark does not end"])
    files.write_whole(context.directory / "trace_points.jsonl", done.stdout)
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()
        return Results(problems=[said[-1] if said else f"it ended with {done.returncode}"])
    command = shlex.join([os.path.relpath(program, _ROOT), "/tmp"])
    return Results(figures([json.loads(line) for line in done.stdout.splitlines()], command))


def figures(cases: Sequence[Mapping[str, Any]], command: str) -> list[Figure]:
    """On and off, without what the loop itself takes in the same repetition."""
    took = {case["case"]: case["ns"] for case in cases}
    return [
        Figure(
            f"a place of the trace, {name}",
            _beyond(took[name], took["loop"]),
            command,
            at_most=at_most,
            unit=" ns",
        )
        for name, at_most in (("on", _ON_AT_MOST), ("off", _OFF_AT_MOST))
    ]


def _beyond(with_places: Sequence[float], loop: Sequence[float]) -> Estimate:
    return order_interval([one - other for one, other in zip(with_places, loop, strict=True)])
