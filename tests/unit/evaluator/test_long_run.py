# SPDX-License-Identifier: BSD-3-Clause
"""A day's comparison in seconds: protocols are simulated, and so is the time that they take."""

import gc
import tracemalloc
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from beowire.compare import run
from beowire.conduct import cell
from beowire.conduct.session import Round, RoundShape
from beowire.interrupts import Interrupts
from beowire.plan.patterns import Pattern
from beowire.record.histogram import Histogram
from beowire.record.launches import WHOLE
from beowire.record.lines import DriverInfo
from beowire.record.reader import read_record
from unit.evaluator.fake_launcher import FakeLauncher
from unit.evaluator.laws import LAWS, delays, in_rounds

DAY_S = 24 * 3600.0
LAUNCHES = WHOLE + 4
ROUNDS = 30
MESSAGES = 200
LAW = LAWS["exponential tail"]


class Clock:
    """Moves only as far as rounds take."""

    now = 1000.0

    def monotonic(self) -> float:
        return self.now


class SimulatedSession:
    """Rounds of a known distribution, of which each takes its share of the day."""

    pids = ()

    def __init__(
        self, info: DriverInfo, clock: Clock, rounds: list[list[list[int]]], round_s: float
    ) -> None:
        self.info = info
        self._clock = clock
        self._rounds = rounds
        self._round_s = round_s
        self._at = 0

    def start(self, *_: object) -> None:
        """There is nothing to start."""

    def request_end(self) -> None:
        """Nor to end."""

    end = request_end

    def run(
        self,
        pattern: Pattern,
        size: int,
        shape: RoundShape,
        deadline_s: float,
        stop_at: float,
        *,
        words: Mapping[str, object] | None = None,
    ) -> Round:
        del pattern, size, shape, deadline_s, stop_at, words
        found = Histogram.of_buckets(self._rounds[self._at % len(self._rounds)])
        self._at += 1
        self._clock.now += self._round_s
        elapsed_ns = round(found.quantile(0.5) * MESSAGES)
        return Round(MESSAGES, MESSAGES, 0, elapsed_ns, 0, found)


def test_day__memory_does_not_grow_and_the_figures_do_not_drift(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    (values,) = delays(LAW, np.random.default_rng(30), 1, 20 * ROUNDS * MESSAGES, 0.5)
    rounds = [one.buckets() for one in in_rounds(values, 20 * ROUNDS)]
    drivers = ("steady", "slow")
    # Each cell of a launch has all its rounds, whatever they find: the day is used up by them.
    round_s = DAY_S / LAUNCHES / len(drivers) / (ROUNDS + 3)
    sessions: dict[str, SimulatedSession] = {}

    def session_of(info: DriverInfo, *_: object) -> SimulatedSession:
        start = len(sessions) * 7
        return sessions.setdefault(
            info.name, SimulatedSession(info, clock, rounds[start:] + rounds[:start], round_s)
        )

    for module in ("conduct.measure", "conduct.base", "compare.run"):
        monkeypatch.setattr(f"beowire.{module}.time", SimpleNamespace(monotonic=clock.monotonic))
    monkeypatch.setattr("beowire.conduct.measure.session_of", session_of)
    monkeypatch.setattr(cell, "MAXIMUM_ROUNDS", ROUNDS)
    monkeypatch.setattr("beowire.analysis.statistics.PRECISE_MEDIAN", 0.0)
    held: list[int] = []

    def after(launch: int) -> bool:
        del launch
        gc.collect()
        held.append(tracemalloc.get_traced_memory()[0])
        return False

    launcher = FakeLauncher()
    request = run.Request(
        patterns=["pingpong"],
        sizes=[8],
        directory=tmp_path,
        drivers=",".join(drivers),
        seconds=DAY_S,
        launches=LAUNCHES,
        decided=after,
    )
    tracemalloc.start()
    try:
        outcome = run.run(launcher, request, Interrupts())
    finally:
        tracemalloc.stop()
    assert (outcome.failures, outcome.interrupted) == ([], False)
    assert len(held) == LAUNCHES
    # What is one launch's is given back; a launch of two cells leaves 2 KB behind at most.
    assert max(held[4:]) - max(held[:4]) < 2000 * (LAUNCHES - 4), held

    record = read_record(tmp_path / "record.jsonl")
    assert record.end is not None
    assert record.end.elapsed_s == pytest.approx(DAY_S, rel=0.07)
    truth = LAW.truth(0.5) / 2
    for result in record.results:
        assert result.launches == LAUNCHES
        assert result.rounds == ROUNDS * LAUNCHES
        found = [one.median for one in record.launches_of(result)]
        assert found == pytest.approx([truth] * LAUNCHES, rel=0.02)
        hours = np.arange(LAUNCHES)
        slope = np.polyfit(hours, np.array(found) / truth, 1)[0]
        assert abs(slope) * LAUNCHES < 0.01
        assert result.half_rtt_ns is not None
        assert result.half_rtt_ns.median == pytest.approx(truth, rel=0.005)
        assert result.half_rtt_ns.p99 == pytest.approx(LAW.truth(0.99) / 2, rel=0.05)
