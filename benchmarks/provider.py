# SPDX-License-Identifier: BSD-3-Clause
"""What the libfabric provider adds to the transport's own half round trip of a short message.

`provider_path.c` bounces messages between two pinned processes on the ends of a cable, in turns
with the transport's own calls and with libfabric's. The difference is taken pair by pair: the same
processes, the same moment.
"""

import json
import os
import shlex
import statistics
import subprocess
from collections.abc import Sequence
from pathlib import Path

from benchmarks.context import Context
from benchmarks.figure import Figure, Results
from beowire import files, paths
from beowire.errors import BeowireError
from beowire.statistics import order_interval
from beowire.units import time_text

SUMMARY = "what the libfabric provider adds to the half round trip of 8 B"
SECONDS = 30.0

_SIZE = 8
_AT_MOST_NS = 150.0

#: About what a pair of rounds takes.
_PAIR_S = 0.1
_LEAST_PAIRS = 6
_ROOT = Path(__file__).resolve().parent.parent


def run(context: Context) -> Results:
    """Runs the program once, for as many pairs of rounds as there is time for."""
    program = _ROOT / "build" / "release" / "benchmarks" / "provider-path-benchmark"
    if not program.is_file():
        raise BeowireError(
            f"{os.path.relpath(program, _ROOT)} is not built: install libfabric-dev,"
            " run `scripts/build bench`"
        )
    pairs = max(_LEAST_PAIRS, int(context.seconds / _PAIR_S))
    words = [os.path.relpath(program, _ROOT), str(_SIZE), str(pairs)]
    provider = {"FI_PROVIDER_PATH": str(paths.provider_directory())}
    context.directory.mkdir(parents=True, exist_ok=True)
    try:
        done = subprocess.run(
            [str(program), *words[1:]],
            env={**os.environ, **provider},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=4 * context.seconds + 60,
        )
    except subprocess.TimeoutExpired:
        return Results(problems=["provider-path-benchmark does not end"])
    files.write_whole(context.directory / "provider_path.json", done.stdout)
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()
        return Results(problems=[said[-1] if said else f"it ended with {done.returncode}"])
    command = shlex.join(
        ["env", f"FI_PROVIDER_PATH={os.path.relpath(paths.provider_directory(), _ROOT)}", *words]
    )
    return figures(json.loads(done.stdout)["pairs"], command)


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
