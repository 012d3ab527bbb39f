# SPDX-License-Identifier: BSD-3-Clause
"""What peers cost an endpoint: memory while they are idle, and time to open with many known."""

import json
import os
import shlex
import statistics
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.context import Context
from benchmarks.figure import Figure, Results, exactly, ratio
from beowire import files
from beowire.errors import BeowireError
from beowire.lab import cluster
from beowire.lab.options import LabOptions
from beowire.statistics import order_interval
from beowire.units import time_text

SUMMARY = "bytes of state of an idle peer, and time to open an endpoint with 60,000 known peers"
SECONDS = 60.0

_STATE_BYTES = 4096
#: "Does not grow": what a few repetitions cannot tell from noise.
_OPEN_AT_MOST = 1.25
_ROOT = Path(__file__).resolve().parent.parent


def run(context: Context) -> Results:
    """Runs `peer_state` in a node of a lab, on its loopback interface."""
    program = _program()
    context.directory.mkdir(parents=True, exist_ok=True)
    lab = cluster.up_ephemeral(LabOptions(), f"bench-{os.getpid()}")
    try:
        node = cluster.node_of(lab.state, "node0")
        inside = cluster.command_in(node, [str(program), "lo"], pin=True, die_with=os.getpid())
        done = subprocess.run(
            inside,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=max(context.seconds, SECONDS) + 60,
        )
    except subprocess.TimeoutExpired:
        return Results(problems=["peer_state does not end"])
    finally:
        lab.close()
    files.write_whole(context.directory / "peer_state.jsonl", done.stdout)
    relative = os.path.relpath(program, _ROOT)
    command = (
        "./beowire lab up; "
        + shlex.join(["./beowire", "lab", "exec", "node0", "--", str(relative), "lo"])
        + "; ./beowire lab down"
    )
    results = figures([json.loads(line) for line in done.stdout.splitlines()], command)
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()
        results.problems.append(said[-1] if said else f"peer_state ended with {done.returncode}")
    return results


def figures(cases: Sequence[Mapping[str, Any]], command: str) -> Results:
    """The figures of what `peer_state` printed."""
    results = Results()
    opens = {case["known"]: case for case in cases if case["case"] == "open"}
    for case in cases:
        connected = case["case"] == "connected"
        if case["known"] > 0:
            what = "connected and idle" if connected else "known, never met"
            results.figures.append(
                Figure(
                    f"state of a peer, {case['known']} {what}",
                    exactly(case["bytes_per_peer"]),
                    command,
                    at_most=_STATE_BYTES,
                    unit=" B",
                )
            )
    for known, case in opens.items():
        if known == 0 or 0 not in opens:
            continue
        none = opens[0]["open_ns"]
        add_ns = statistics.median(case["add_ns"]) / known
        results.figures.append(
            Figure(
                f"opening with room for {known} peers / for one",
                ratio(order_interval(case["open_ns"]), order_interval(none)),
                command,
                at_most=_OPEN_AT_MOST,
                detail=f"opening: {time_text(statistics.median(none))} with no peer,"
                f" {time_text(statistics.median(case['open_ns']))} with {known};"
                f" making one known: {time_text(add_ns)}",
            )
        )
    return results


def _program() -> Path:
    program = _ROOT / "build" / "release" / "benchmarks" / "peer_state"
    if program.is_file():
        return program
    raise BeowireError(
        "build/release/benchmarks/peer_state is not built: run `scripts/build bench`"
    )
