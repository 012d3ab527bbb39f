# SPDX-License-Identifier: BSD-3-Clause
"""What a place of the trace costs where a trace is written, and where none is."""

import json
import shlex
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks import built
from benchmarks.context import Context
from benchmarks.figure import Figure, Results
from beowire.analysis.statistics import Estimate, order_interval

SUMMARY = "what a place of the trace adds to the code that passes it, on and off"
SECONDS = 5.0

#: ns. Off, "nothing" is what a loop cannot tell.
_ON_AT_MOST = 20.0
_OFF_AT_MOST = 1.0


def run(context: Context) -> Results:
    """Runs `trace-points-benchmark`; it takes a second, whatever there is of time."""
    program = built.program("trace-points-benchmark")
    with tempfile.TemporaryDirectory(prefix="beowire-trace-") as scratch:
        words = [str(program), scratch]
        kept = context.directory / "trace_points.jsonl"
        said, problem = built.run(words, kept, max(context.seconds, SECONDS) + 60)
    if problem:
        return Results(problems=[problem])
    command = shlex.join([built.relative(program), "/tmp"])
    return Results(figures([json.loads(line) for line in said.splitlines()], command))


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
