# SPDX-License-Identifier: BSD-3-Clause
"""What the libfabric provider adds to the transport's own half round trip of a short message.

`provider_path.c` bounces messages between two pinned processes on the ends of a cable, in turns
with the transport's own calls and with libfabric's. The difference is taken pair by pair: the same
processes, the same moment.
"""

import json
import shlex
import statistics
from collections.abc import Sequence

from benchmarks import built
from benchmarks.context import Context
from benchmarks.figure import Figure, Results
from beowire import paths
from beowire.analysis.statistics import order_interval
from beowire.units import time_text

SUMMARY = "what the libfabric provider adds to the half round trip of 8 B"
SECONDS = 30.0

_SIZE = 8
_AT_MOST_NS = 150.0

#: About what a pair of rounds takes.
_PAIR_S = 0.1
_LEAST_PAIRS = 6


def run(context: Context) -> Results:
    """Runs the program once, for as many pairs of rounds as there is time for."""
    program = built.program("provider-path-benchmark", "libfabric-dev")
    pairs = max(_LEAST_PAIRS, int(context.seconds / _PAIR_S))
    words = [built.relative(program), str(_SIZE), str(pairs)]
    provider = {"FI_PROVIDER_PATH": str(paths.provider_directory())}
    kept = context.directory / "provider_path.json"
    limit_s = 4 * context.seconds + 60
    said, problem = built.run([str(program), *words[1:]], kept, limit_s, provider)
    if problem:
        return Results(problems=[problem])
    command = shlex.join(
        ["env", f"FI_PROVIDER_PATH={built.relative(paths.provider_directory())}", *words]
    )
    return figures(json.loads(said)["pairs"], command)


def figures(pairs: Sequence[Sequence[float]], command: str) -> Results:
    """The difference of pairs of nanoseconds, native and over the provider."""
    native = statistics.median(one[0] for one in pairs)
    provider = statistics.median(one[1] for one in pairs)
    figure = Figure(
        f"{_SIZE} B half round trip: provider - native",
        order_interval([over - alone for alone, over in pairs]),
        command,
        at_most=_AT_MOST_NS,
        detail=f"native {time_text(native)}, provider {time_text(provider)}",
        unit=" ns",
    )
    return Results(figures=[figure])
