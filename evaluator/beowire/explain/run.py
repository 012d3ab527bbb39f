# SPDX-License-Identifier: BSD-3-Clause
"""Carries out `beowire explain`: the layers measured side by side, then one of them under perf."""

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from beowire import files
from beowire.analysis.layer_tax import Layer, chain, taxes
from beowire.compare.run import Request, run
from beowire.conduct.session import Round, RoundShape, Session, session_of
from beowire.conduct.survey import Survey, survey
from beowire.errors import BeowireError
from beowire.explain import perf
from beowire.explain.split import Split, split
from beowire.explain.timeline import TimeLine, read_trace, time_line
from beowire.interrupts import Interrupts
from beowire.mpi import drivers as mpi_drivers
from beowire.places.engine import EngineError
from beowire.places.launch.base import Launcher
from beowire.plan.patterns import DEFAULT
from beowire.plan.selection import choose_drivers
from beowire.record.lines import DriverInfo, Explained, Line, Result
from beowire.record.reader import Record, read_record
from beowire.record.writer import RecordWriter

#: How long messages go back and forth under perf.
_PROFILED_NS = 2.5e9
_LOSS_TIMEOUT_MS = 100
_DEADLINE_S = 10.0
_LONGEST_S = 4.0
_TRACED_MESSAGES = 2000
_MOST_MESSAGES = 1_000_000


@dataclass(frozen=True)
class Asked:
    """What is to be explained."""

    driver: str
    size: int
    seconds: float
    """For measuring the layers."""
    directory: Path
    """Gets record.jsonl."""
    own_directory: bool
    """It has a name that the user has not given: none may be there yet."""
    interface: str = ""
    trace: bool = False
    """Has Beowire's endpoints note which places of the code messages pass."""


@dataclass(frozen=True)
class Explanation:
    """All of it."""

    driver: str
    size: int
    layers: list[Layer]
    """The driver first."""
    split: Split | None
    why_not: str
    """Why there is no split, in a line; empty if there is one."""
    record: Record
    time_line: TimeLine | None = None


def explain(launcher: Launcher, asked: Asked, interrupts: Interrupts) -> Explanation:
    """Measures, and writes the record. BeowireError for what cannot be."""
    target = asked.directory / "record.jsonl"
    if target.exists():
        raise BeowireError(
            f"{target} exists already and is not overwritten: name another directory"
        )
    if asked.trace and "beowire" not in asked.driver:
        raise BeowireError(
            f"--trace works with Beowire's own drivers only, not with {asked.driver}"
        )
    if asked.trace and launcher.kind == "hosts":
        raise BeowireError("--trace needs both ends on this machine: use --lab")
    if asked.trace and _has_machines(launcher):
        raise BeowireError("--trace needs one clock: leave out --backend")
    with _room(asked), launcher:
        try:
            return _explain(launcher, asked, interrupts, target)
        finally:
            interrupts.hold()


@contextmanager
def _room(asked: Asked) -> Iterator[None]:
    """Makes the directory before anything is measured; one of ours in which nothing came to be is
    taken away again. BeowireError if nothing can be written there."""
    there = asked.directory.is_dir()
    files.make_directory(asked.directory, new=asked.own_directory)
    try:
        if not os.access(asked.directory, os.W_OK | os.X_OK):
            raise BeowireError(
                f"nothing can be written to {asked.directory}: name another by --out"
            )
        yield
    finally:
        if not there:
            with suppress(OSError):
                asked.directory.rmdir()


def _explain(launcher: Launcher, asked: Asked, interrupts: Interrupts, target: Path) -> Explanation:
    found = survey(launcher, interrupts, interface=asked.interface)
    named, of_mpis = mpi_drivers.expanded(asked.driver)
    found = replace(found, drivers=[*found.drivers, *of_mpis])
    (info, *more), _ = choose_drivers(found.drivers, named)
    if more:
        raise BeowireError(f"{asked.driver} is several drivers: name one, as {info.name}")
    names = chain(info.name, {one.name for one in found.drivers if one.ready})
    with tempfile.TemporaryDirectory(prefix="beowire-explain-") as directory:
        request = Request(
            patterns=[DEFAULT.name],
            sizes=[asked.size],
            directory=Path(directory),
            drivers=",".join(names),
            seconds=asked.seconds,
            interface=asked.interface,
        )
        outcome = run(launcher, request, interrupts, entered=True)
        if outcome.interrupted:
            raise KeyboardInterrupt
        record = read_record(request.record)
    times = {
        result.driver: half
        for result in record.results
        if (half := result.half_rtt_ns) is not None and result.status == "ok"
    }
    if info.name not in times:
        reasons = [*outcome.failures, *(f"{one.driver}: {one.reason}" for one in record.skipped)]
        raise BeowireError(f"{info.name} could not be measured: {'; '.join(reasons)}", 1)
    stage = _Stage(launcher, interrupts, found, info)
    line = stage.time_line(asked.size) if asked.trace else None
    split_, why_not = stage.split(asked.size, times[info.name].median)
    return Explanation(
        info.name,
        asked.size,
        taxes(names, times),
        split_,
        why_not,
        _keep(record, target, info.name, split_),
        line,
    )


def _has_machines(launcher: Launcher) -> bool:
    return launcher.describe_link().get("backend") is not None


@dataclass(frozen=True)
class _Stage:
    """What it takes to run the driver once more."""

    launcher: Launcher
    interrupts: Interrupts
    found: Survey
    info: DriverInfo

    def split(self, size: int, half_ns: float) -> tuple[Split | None, str]:
        """Where the time goes, or why that is not known."""
        if self.launcher.kind == "hosts":
            return None, "perf needs both ends on this machine: use --lab"
        if _has_machines(self.launcher):
            return None, "perf reads this machine's kernel, and the nodes have their own"
        try:
            return self._profiled(size, half_ns), ""
        except perf.NoPerf as error:
            return None, str(error)
        except EngineError as error:
            return None, f"{self.info.name} failed under perf: {error.node}: {error}"

    def time_line(self, size: int) -> TimeLine:
        """Of the latest messages. BeowireError if there is none."""
        with tempfile.TemporaryDirectory(prefix="beowire-trace-") as directory:
            with _variable("BEOWIRE_TRACE", f"{directory}/trace"), self.session(size) as session:
                _run(session, size, RoundShape(_TRACED_MESSAGES, _TRACED_MESSAGES))
            traces = [read_trace(path) for path in sorted(Path(directory).iterdir())]
            return time_line(traces)

    def _profiled(self, size: int, half_ns: float) -> Split:
        halves = 1 if self.info.placement == "process" else 2
        count = round(min(_MOST_MESSAGES, max(20, _PROFILED_NS / (halves * half_ns))))
        shape = RoundShape(count, max(1, count // 10))
        with self.session(size) as session:
            cpus = [cpu for cpu in session.cpus if cpu is not None]
            if len(set(cpus)) < len(session.cpus):
                raise perf.NoPerf("perf needs a processor for each end")
            with perf.recording(cpus) as samples:
                begun, rested = time.monotonic_ns(), perf.idle_ns(cpus)
                one = _run(session, size, shape)
                window_ns, idle = time.monotonic_ns() - begun, perf.idle_ns(cpus)
        if one is None or one.lost:
            raise perf.NoPerf(f"{self.info.name} lost messages under perf")
        return split(
            samples,
            window_ns=window_ns,
            cpus=len(cpus),
            pids=session.pids,
            halves=halves * (one.count + shape.skip),
            half_ns=one.elapsed_ns / one.count / halves,
            spins=self.info.spins,
            idle_ns=None if idle is None or rested is None else idle - rested,
        )

    @contextmanager
    def session(self, size: int) -> Iterator[Session]:
        """New engines of the driver; they have ended when it is left."""
        session = session_of(self.info, self.launcher, self.interrupts, (0, 0))
        try:
            session.start(self.found, (None, None), size, _LOSS_TIMEOUT_MS)
            yield session
        finally:
            with self.interrupts.held():
                session.request_end()
                session.end()


@contextmanager
def _variable(name: str, value: str) -> Iterator[None]:
    """What engines inherit."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def _run(session: Session, size: int, shape: RoundShape) -> Round | None:
    """A round, or as much of it as there is time for."""
    return session.run(DEFAULT, size, shape, _DEADLINE_S, time.monotonic() + _LONGEST_S)


def _keep(record: Record, target: Path, driver: str, found: Split | None) -> Record:
    """Writes what was measured where the user wants it, with the split."""
    lines: list[Line] = [record.meta]
    for result in record.results:
        lines.append(_with(result, found) if result.driver == driver and found else result)
    lines += record.skipped
    if record.end is not None:
        lines.append(record.end)
    with RecordWriter(target) as writer:
        for line in lines:
            writer.write(line)
        writer.finish()
    return read_record(target)


def _with(result: Result, found: Split) -> Result:
    explained = Explained(
        half_rtt_ns=found.half_ns,
        parts_ns=dict(found.parts),
        rest_ns=found.rest_ns,
        spins=found.spins,
        seen=found.seen,
        samples=found.samples,
    )
    return result.model_copy(update={"explained": explained})
