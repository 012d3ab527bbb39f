# SPDX-License-Identifier: BSD-3-Clause
"""What peers cost an endpoint: memory while they are idle, and time to open with many known."""

import json
import os
import shlex
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks import built
from benchmarks.context import Context
from benchmarks.figure import Figure, Results, exactly, ratio
from beowire.analysis.statistics import order_interval
from beowire.places.lab import cluster
from beowire.places.lab.options import LabOptions
from beowire.units import time_text

SUMMARY = "bytes of state of an idle peer, and time to open an endpoint with 60,000 known peers"
SECONDS = 60.0

_STATE_BYTES = 4096
#: "Does not grow": what a few repetitions cannot tell from noise.
_OPEN_AT_MOST = 1.25


def run(context: Context) -> Results:
    """Runs `peer_state` in a node of a lab, on its loopback interface."""
    program = built.program("peer_state")
    lab = cluster.up_ephemeral(LabOptions(), f"bench-{os.getpid()}")
    try:
        node = cluster.node_of(lab.state, "node0")
        inside = cluster.command_in(node, [str(program), "lo"], pin=True, die_with=os.getpid())
        kept = context.directory / "peer_state.jsonl"
        said, problem = built.run(inside, kept, max(context.seconds, SECONDS) + 60)
    finally:
        lab.close()
    command = (
        "./beowire lab up; "
        + shlex.join(["./beowire", "lab", "exec", "node0", "--", built.relative(program), "lo"])
        + "; ./beowire lab down"
    )
    results = figures([json.loads(line) for line in said.splitlines()], command)
    if problem:
        results.problems.append(problem)
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
