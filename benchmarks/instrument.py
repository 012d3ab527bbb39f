# SPDX-License-Identifier: BSD-3-Clause
"""The evaluator itself: what its engine adds to a message, and what a third of NetPIPE's time buys.

What a message costs is taken from a driver that does nothing (nothing.c): timed one by one, and a
thousand at a time. NetPIPE 5 takes some seven minutes a driver for 124 sizes, of which
seven trials count; here a size gets a third of that, shared with all drivers of the comparison, and
the interval of our median is set beside that of the mean of seven runs of NPtcp, each of one size.
"""

import shlex
import statistics
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from scipy.stats import t as student

from benchmarks import anchors
from benchmarks.compare import Comparison, missing
from benchmarks.context import Context, drivers
from benchmarks.figure import Figure, Results, exactly, of_launches
from beowire import isolated
from beowire.analysis.curves import reach
from beowire.conduct import own_drivers
from beowire.conduct.session import RoundShape, Session
from beowire.conduct.survey import Survey, survey
from beowire.errors import BeowireError
from beowire.interrupts import Interrupts
from beowire.places.engine import EngineError
from beowire.places.launch.local import LocalLauncher
from beowire.plan.patterns import DEFAULT
from beowire.record.reader import Record
from beowire.units import size_text

SUMMARY = "what the engine adds to a message; precision in a third of NetPIPE's seven minutes"

_SIX = ("tcp", "tcp-spin", "udp", "packet", "beowire", "fi-tcp")
_SIZES = (1, 64, 1024, 4096, 16384, 65000)
_NETPIPE_S = 7 * 60.0
_NETPIPE_SIZES = 124
_NETPIPE_TRIALS = 7
_CELL_S = _NETPIPE_S / _NETPIPE_SIZES / 3
SECONDS = _CELL_S * len(_SIX) * len(_SIZES)

_TURNS = 9
_MESSAGES = 200_000
_WARM = 1_000
_BATCH = 1_000
_DEADLINE_S = 10.0
_COMMAND = "scripts/bench instrument"


def run(context: Context) -> Results:
    """Both parts."""
    results = Results()
    try:
        results.figures += cost()
    except (BeowireError, EngineError) as error:
        results.problems.append(f"the engine's cost: {error}")
    anchor = anchors.ANCHORS["nptcp"]
    if obstacle := anchor.obstacle():
        results.problems.append(obstacle)
        return results
    ours = Comparison.of(
        context.part("third"),
        drivers=drivers(*_SIX),
        sizes=_SIZES,
        seconds=context.seconds,
        launches=1,
    )
    words = [*isolated.command("benchmarks.anchors"), "nptcp"]
    theirs = Comparison.of(
        context.part("netpipe"),
        where=("--lab", "--driver-command", f"nptcp={shlex.join(words)}"),
        drivers=("memcpy",),
        sizes=_SIZES,
        seconds=_NETPIPE_TRIALS * 10.0,
        launches=_NETPIPE_TRIALS,
    )
    more = precision(ours.run(), theirs.run())
    return Results(results.figures + more.figures, results.problems + more.problems)


def precision(ours: Record, theirs: Record) -> Results:
    """How far intervals reach, ours of a third of the time over NetPIPE's of all of it."""
    results = Results()
    ratios, details = [], []
    for size in _SIZES:
        mine = [one for one in ours.results if (one.driver, one.size) == ("tcp", size)]
        halves = [
            one.half_rtt_ns.median
            for one in theirs.results
            if (one.driver, one.size) == ("nptcp", size) and one.half_rtt_ns
        ]
        if len(halves) < _NETPIPE_TRIALS or not mine or mine[0].half_rtt_ns is None:
            absent = "tcp" if not mine else "nptcp"
            results.problems.append(
                f"{size_text(size)}: {missing(ours if absent == 'tcp' else theirs, absent)}"
            )
            continue
        here, there = reach(mine[0].half_rtt_ns), reach_of_mean(halves)
        ratios.append(here / there)
        details.append(f"{size_text(size)} {here:.2%} / {there:.2%}")
    if ratios:
        results.figures.append(
            Figure(
                "tcp, how far the 95 % interval reaches: ours in a third of the time / NetPIPE's",
                of_launches(ratios),
                _COMMAND,
                at_most=1.0,
                detail=f"by size: {', '.join(details)}",
            )
        )
    reaches = [
        reach(one.half_rtt_ns) for one in ours.results if one.half_rtt_ns and one.status == "ok"
    ]
    if reaches:
        results.figures.append(
            Figure(
                f"all {len(reaches)} cells of six drivers, {_CELL_S:.2f} s each: how far, median",
                exactly(100 * statistics.median(reaches)),
                _COMMAND,
                unit=" %",
                detail=f"within 5 %: {sum(one <= 0.05 for one in reaches)} of {len(reaches)} cells;"
                f" within 1 %: {sum(one <= 0.01 for one in reaches)}",
            )
        )
    return results


def reach_of_mean(values: Sequence[float]) -> float:
    """How far the 95 % interval of the mean of a few runs reaches, over that mean."""
    quantile = float(student.ppf(0.975, len(values) - 1))
    deviation = statistics.stdev(values) / len(values) ** 0.5
    return float(quantile * deviation / statistics.fmean(values))


def cost() -> list[Figure]:
    """Of a sample, and of a message that shares one with others."""
    folder = own_drivers.compiled(Path(__file__).with_name("nothing.c")).parent
    with Interrupts() as interrupts, LocalLauncher([folder]) as launcher:
        found = survey(launcher, interrupts, (None, None), "")
        info = next(one for one in found.drivers if one.name == "nothing")
        session = Session(info, launcher, interrupts)
        try:
            session.start(found, (None, None), 1, 1000)
            turns = [(_took(session, 1), _took(session, _BATCH)) for _ in range(_TURNS)]
        finally:
            with suppress(EngineError):
                session.end()
    return [
        Figure(
            "what the engine adds to a message that is timed by itself",
            of_launches([alone - shared for alone, shared in turns]),
            _COMMAND,
            unit=" ns",
            detail=f"of which reading the clock takes {_clock_ns(found):.1f} ns",
        ),
        Figure(
            f"a message of {_BATCH} that are timed together: the engine's loop alone",
            of_launches([shared for _, shared in turns]),
            _COMMAND,
            unit=" ns",
        ),
    ]


def _took(session: Session, batch: int) -> float:
    """Nanoseconds a message."""
    shape = RoundShape(count=_MESSAGES, skip=_WARM, batch=batch)
    one = session.run(DEFAULT, 1, shape, _DEADLINE_S, float("inf"))
    if one is None:
        raise BeowireError("the driver that does nothing was not measured", exit_code=1)
    return one.elapsed_ns / one.messages


def _clock_ns(found: Survey) -> float:
    clock = found.ends[0].clock
    return clock.overhead_ns if clock is not None else 0.0
