# SPDX-License-Identifier: BSD-3-Clause
"""Carries out a plan: opens a session for every driver, lets them take turns, reports results.

A driver that fails is left out from then on, with the reason; the others continue. Every group of
cells is visited several times during the run, so that a disturbance of some seconds does not
determine the figure of one size. Each group has its share of the time; time that precise cells do
not need goes to the others.
"""

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from beowire.conduct import Conductor, How, Stage, Turn, conductor_of
from beowire.conduct.cell import Cell, StoppedBy
from beowire.conduct.session import Round, RoundShape, Session, session_of
from beowire.conduct.survey import Survey
from beowire.errors import BeowireError
from beowire.interrupts import Interrupts
from beowire.places.engine import EngineError
from beowire.places.launch.base import Launcher, one_machine
from beowire.plan import plan as planning
from beowire.plan.plan import Plan
from beowire.record.lines import DriverInfo, Result, Skipped

#: Warm-up ends when a round takes the first time, or the whole warm-up the second.
_WARM_ROUND_NS = 5e6
_WARM_TOTAL_S = 0.020

#: Factor between the messages of warm-up rounds. Requesting a round takes longer than most of these
#: rounds, so they are few.
_WARM_GROWTH = 4

#: Messages that a warm-up round needs to tell how long one takes.
_WARM_MESSAGES = 4

#: Messages before the measured ones, in every round.
_SKIP = 8

_RATE_DEADLINE_S = 10.0

#: How much of a run may be lost if it is killed, about.
_KEEP_S = 2.0

#: A round is cut short if it exceeds the time of the run by this share.
_OVERRUN_SHARE = 0.05

#: A cell has one round for probes that disturb after its second round, and one more after each so
#: many.
_PROBED_AFTER = 2
_PROBED_EVERY = 10

#: Rounds of a cell in which nothing arrived, before it is given up.
_MAXIMUM_EMPTY_ROUNDS = 5


@dataclass(frozen=True)
class Progress:
    """The progress of a launch, for the display."""

    cell: Cell
    done: int
    """Cells that need no more time."""
    cells: int
    elapsed_s: float
    remaining_s: float
    """Time that the rest of the launch may take."""


class Measurement:
    """One launch. `run()` once; `flush()` and `end()` afterwards, whatever happened."""

    def __init__(
        self,
        launcher: Launcher,
        survey: Survey,
        interrupts: Interrupts,
        report: Callable[[Result | Skipped], None],
        progress: Callable[[Progress], None],
    ) -> None:
        """`report` is called with every result as soon as it is known, and with partial ones of
        cells that take long; it may raise BeowireError.
        """
        self.failures: list[str] = []
        """One line for each driver that failed: its name, the node, and what happened."""
        self._launcher = launcher
        self._survey = survey
        self._interrupts = interrupts
        self._report = report
        self._progress = progress
        self._sessions: dict[str, Session] = {}
        self._conductors: dict[tuple[str, str], Conductor] = {}
        self._largest = 1
        self._reasons: dict[str, str] = {}
        self._groups: list[list[Cell]] = []
        self._begun = self._deadline = 0.0
        self._seconds = 0.0
        self._cells = self._done = 0
        self._cell_seconds = 0.0
        self._random = random.Random()
        self._how = How()

    def run(self, plan: Plan, drivers: Sequence[DriverInfo], launch: int, how: How) -> None:
        """Measures the whole plan within its time; reports cells as they are finished."""
        self._how = how
        self._random.seed(how.seed + launch)
        one_way = {info.name for info in drivers if info.placement == "process"}
        self._groups = [
            [
                Cell(
                    driver,
                    group.pattern,
                    group.size,
                    launch,
                    driver in one_way,
                    one_machine(self._launcher),
                    load,
                    self._survey.probes,
                )
                for load in self._loads()
                for driver in group.drivers
            ]
            for group in plan.groups
        ]
        largest = max((group.size for group in plan.groups), default=1)
        self._largest = largest
        for info in drivers:
            self._start(info, largest)
        self._begun = time.monotonic()
        self._seconds = plan.seconds
        self._deadline = self._begun + plan.seconds
        self._cells = plan.cells * len(self._loads())
        self._cell_seconds = plan.seconds / max(1, self._cells)
        visit = 1
        while (pending := [g for g in self._groups if self._active(g)]) and self._time_left() > 0:
            # The last planned visit takes all remaining time; what it does not need is shared
            # again.
            part = self._time_left() / max(1, planning.VISITS + 1 - visit)
            ends = time.monotonic() + part
            for number, group in enumerate(pending):
                left = (ends - time.monotonic()) / (len(pending) - number)
                self._visit(group, time.monotonic() + min(left, part / len(pending)))
            self._random.shuffle(self._groups)
            visit += 1

    def flush(self, status: str = "ok") -> None:
        """Reports the remaining cells: what was measured, or why nothing was.

        `status` other than `ok` says why the run was cut short.
        """
        for group in self._groups:
            for cell in group:
                if not cell.written:
                    self._write(cell, "time" if status == "ok" else "error", status)

    @property
    def pids(self) -> list[int]:
        """The sessions' engines, as this machine numbers them; none on others."""
        sessions = self._sessions.values() if one_machine(self._launcher) else ()
        return [pid for session in sessions for pid in session.pids]

    def end(self) -> None:
        """Ends all engines, bounded in time."""
        open_ones: list[Session | Conductor] = [*self._sessions.values()]
        open_ones += self._conductors.values()
        self._sessions.clear()
        self._conductors.clear()
        for one in open_ones:
            one.request_end()
        for one in open_ones:
            one.end()

    def _start(self, info: DriverInfo, largest: int) -> None:
        session = session_of(info, self._launcher, self._interrupts, self._how.offsets)
        self._sessions[info.name] = session
        try:
            session.start(
                self._survey,
                self._how.pins,
                largest,
                self._how.loss_timeout_ms,
                self._how.settings,
            )
        except EngineError as error:
            self._fail(info.name, f"{error.node}: {error}")
        except BeowireError as error:
            self._fail(info.name, str(error))

    def _fail(self, driver: str, reason: str) -> None:
        """Leaves the driver out from now on, and ends its engines."""
        self._reasons[driver] = reason
        self.failures.append(f"{driver} failed on {reason}")
        with self._interrupts.held():
            self._sessions.pop(driver).end()
            for key in [key for key in self._conductors if key[0] == driver]:
                self._conductors.pop(key).end()
            for group in self._groups:
                for cell in group:
                    if cell.driver == driver and not cell.written:
                        self._write(cell, "error", reason)

    def _leave_load(self, reason: str) -> None:
        """The load has ended: cells with it are left out, the others continue."""
        self._how = replace(self._how, load=None)
        self.failures.append(reason)
        with self._interrupts.held():
            for group in self._groups:
                for cell in group:
                    if cell.load is not None and not cell.written:
                        self._write(cell, "error", reason)

    def _visit(self, group: list[Cell], until: float) -> None:
        """Measures rounds of the group's cells, in random order, until the time is over."""
        kept_at = time.monotonic()
        while (active := self._active(group)) and time.monotonic() < min(until, self._deadline):
            self._random.shuffle(active)
            # First the cells without load, then those of each load, which is started and stopped
            # between them.
            for cell in sorted(active, key=lambda one: self._loads().index(one.load)):
                if self._time_left() <= 0:
                    return
                if not cell.written and cell.driver in self._sessions:
                    self._turn(cell)
            if time.monotonic() - kept_at >= _KEEP_S:
                self._keep(group)
                kept_at = time.monotonic()
        self._keep(group)

    def _keep(self, group: list[Cell]) -> None:
        """Writes unfinished cells into the record, in case the run is killed."""
        for cell in self._active(group):
            with self._interrupts.held():
                line = cell.partial()
                if line is not None:
                    self._report(line)

    def _active(self, group: list[Cell]) -> list[Cell]:
        return [cell for cell in group if not cell.written]

    def _turn(self, cell: Cell) -> None:
        """One round of one cell, after its warm-up."""
        if self._how.load is not None:
            try:
                self._how.load.background.choose(cell.load)
            except BeowireError as error:
                self._leave_load(str(error))
                return
        try:
            if cell.shape is None:
                cell.shape = self._warm_up(cell)
            if cell.shape is not None:
                one = self._round(cell, cell.shape)
                if one is not None:
                    cell.add(one)
                    self._probe(cell, cell.shape)
                    self._reshape(cell, cell.shape)
        except EngineError as error:
            if error.fatal:
                self._fail(cell.driver, f"{error.node}: {error}")
            else:
                self._write(cell, "error", f"{error.node}: {error}")
            return
        except BeowireError as error:  # engines that a round was the first to need cannot start
            self._fail(cell.driver, str(error))
            return
        stopped_by = cell.finished()
        if stopped_by is not None:
            self._write(cell, stopped_by, "ok")
        elif cell.empty_rounds >= _MAXIMUM_EMPTY_ROUNDS + len(cell.rounds):
            self._write(cell, "error", "ok")
        self._show(cell)

    def _probe(self, cell: Cell, shape: RoundShape) -> None:
        """Measures a round for the probes that disturb, if one is due."""
        due = _PROBED_AFTER + _PROBED_EVERY * len(cell.probed)
        if self._how.probes and len(cell.rounds) >= due and self._time_left() > 0:
            one = self._round(cell, replace(shape, probes=self._how.probes))
            if one is not None:
                cell.probed.append(one)

    def _loads(self) -> list[str | None]:
        loading = self._how.load
        return [None] if loading is None else [None, *loading.loads]

    def _round_target_ns(self, cell: Cell) -> float:
        longest_ns = self._how.longest_round_ns
        if self._how.load is not None and cell.load is not None:
            longest_ns = self._how.load.longest_round_ns
        return planning.round_target_ns(self._cell_seconds, longest_ns)

    def _reshape(self, cell: Cell, shape: RoundShape) -> None:
        """Adapts the number of messages to the time of rounds."""
        target_ns = self._round_target_ns(cell)
        count = planning.next_count(shape.count, cell.message_ns(), target_ns, shape.batch)
        cell.shape = self._shape(count, shape.batch)

    def _shape(self, count: int, batch: int) -> RoundShape:
        return RoundShape(count, min(_SKIP, max(1, count // 4)), batch)

    def _warm_up(self, cell: Cell) -> RoundShape | None:
        """Measures rounds with more and more messages, until one shows how long a message takes.

        None if the time is over before anything arrived.
        """
        begun = time.monotonic()
        count, message_ns = 1, 0.0
        target_ns = self._round_target_ns(cell)
        while True:
            one = self._round(cell, RoundShape(count, 1))
            spent = time.monotonic() - begun
            if one is not None:
                message_ns = one.message_ns()
            elif cell.empty_rounds >= _MAXIMUM_EMPTY_ROUNDS or self._time_left() <= 0:
                return None
            if one is not None and (
                self._is_warm(cell, one, spent)
                or count >= planning.MAXIMUM_COUNT
                or self._time_left() <= 0
            ):
                break
            if one is not None:  # what gets lost takes its timeout, so more of it takes long
                count *= _WARM_GROWTH
        batch = 1
        if cell.kind.is_times and cell.kind.batch:
            batch = planning.batch_for(message_ns, self._survey.clock_overhead_ns)
            batch = max(batch, cell.kind.batch)
        count = planning.count_for(message_ns, target_ns, batch)
        return self._shape(count, batch)

    def _is_warm(self, cell: Cell, one: Round, spent_s: float) -> bool:
        """Whether this round shows how long a message takes, or the warm-up has taken its time."""
        # The first message may include a stall, so it ends the warm-up only with the cell's
        # time.
        if one.count < _WARM_MESSAGES:
            return spent_s >= self._cell_seconds
        target_ns = self._round_target_ns(cell)
        return _usual_ns(one) * one.count >= min(_WARM_ROUND_NS, target_ns) or spent_s >= min(
            _WARM_TOTAL_S, self._cell_seconds / 4
        )

    def _round(self, cell: Cell, shape: RoundShape) -> Round | None:
        """Measures one round of the cell; None: nothing arrived, which the cell counts."""
        deadline_s = self._how.deadline_s
        if self._how.load is not None and cell.load is not None:
            deadline_s = self._how.load.deadline_s
        if not cell.kind.is_times:
            # A round that is cut short has no figure, so a busy machine gets more time.
            deadline_s = max(deadline_s, min(_RATE_DEADLINE_S, 5 * deadline_s))
        one = self._conductor(cell).round(
            Turn(
                cell.kind,
                cell.size,
                shape,
                deadline_s,
                self._deadline + self._seconds * _OVERRUN_SHARE,
            )
        )
        if one is not None and one.messages:
            cell.empty_rounds = 0
            return one
        # Cut short by the end of the time, it has no meaning.
        if one is not None or self._time_left() > 0:
            cell.empty_rounds += 1
        cell.lost_alone += one.lost if one is not None else 0
        return None

    def _conductor(self, cell: Cell) -> Conductor:
        key = cell.driver, cell.pattern
        if key not in self._conductors:
            session = self._sessions[cell.driver]
            stage = Stage(
                session.info,
                session,
                self._launcher,
                self._survey,
                self._interrupts,
                self._how,
                self._largest,
            )
            self._conductors[key] = conductor_of(cell.pattern)(stage)
        return self._conductors[key]

    def _write(self, cell: Cell, stopped_by: StoppedBy, status: str) -> None:
        line: Result | Skipped
        if cell.rounds:
            if status == "ok" and cell.empty_rounds >= _MAXIMUM_EMPTY_ROUNDS:
                status = f"nothing arrived in its last {cell.empty_rounds} rounds"
                stopped_by = "error"
            line = cell.result(stopped_by, status)
        else:
            if status == "ok":
                status = "no time was left for it: raise --time, or choose fewer sizes or drivers"
                if cell.empty_rounds:
                    status = "every message was lost"
            if cell.load is not None:
                status = f"beside {cell.load}: {status}"
            line = Skipped(driver=cell.driver, pattern=cell.pattern, size=cell.size, reason=status)
        with self._interrupts.held():
            cell.close()
            self._done += 1
            self._report(line)

    def _time_left(self) -> float:
        return self._deadline - time.monotonic()

    def _show(self, cell: Cell) -> None:
        cells, done = self._cells, self._done
        elapsed = time.monotonic() - self._begun
        # A cell that does not become precise takes all remaining time.
        left = max(0.0, self._time_left()) if done < cells else 0.0
        self._progress(Progress(cell, done, cells, elapsed, left))


def _usual_ns(one: Round) -> float:
    """Time of a message, without stalls if these are known."""
    if one.histogram.total and one.consecutive:
        return one.histogram.quantile(0.5)
    return one.elapsed_ns / one.count
