# SPDX-License-Identifier: BSD-3-Clause
"""Runs steps that need one another, side by side: as many at once as there are cores, and one more,
since some wait for a time rather than work.

Each step is a command. What it says goes into a log of its own, and is printed whole when it fails;
of one that passes there is a line with its time, and what it says to have left out. A step that
fails does not keep others from running but those that need it, so one run shows all that is wrong.
When this is interrupted, or ended by SIGTERM, every step is told to end, and has ended before this
does.
"""

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

#: How long a step may take to tidy up when it was told to end.
ENDING_S = 30.0

PASSED, FAILED, NOT_RUN = "passed", "failed", "not run"


@dataclass(frozen=True)
class Step:
    """Something to run, and when it can be."""

    name: str
    command: tuple[str, ...]
    after: tuple[str, ...] = ()
    """Names of steps that have to have passed before."""
    wide: bool = False
    """It can use several cores: it gets half of them. BEOWIRE_JOBS tells each step how many."""
    both_cores: bool = False
    """It measures between two processes that take a core each, all the time: it counts twice."""
    results: str = ""
    """The file of results that it leaves, without .xml; "" for none."""


@dataclass(frozen=True)
class Outcome:
    """How a step has ended."""

    name: str
    state: str
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    """What it and all that it has waited for took of the processors."""
    status: int = 0
    """With what it exited; negative: the signal that ended it."""


class Interrupted(BaseException):
    """A signal has come that ends this program."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@dataclass
class _Running:
    step: Step
    process: "subprocess.Popen[bytes]"
    log: Path
    since: float


class Runner:
    """Runs steps once. Those that come first in the list come first."""

    def __init__(self, steps: Sequence[Step], cores: int, logs: Path) -> None:
        """`logs`: a directory for a file from each step; it is made."""
        known: set[str] = set()
        for step in steps:
            unknown = set(step.after) - known
            if unknown or step.name in known:
                raise ValueError(f"step {step.name}: {unknown or 'its name'} is not as it must be")
            known.add(step.name)
        self._waiting = list(steps)
        self._cores = cores
        self._lanes_there = cores + 1
        self._logs = logs
        self._running: dict[int, _Running] = {}
        self._outcomes: dict[str, Outcome] = {}

    def run(self) -> list[Outcome]:
        """Runs them all; how each ended, in the order in which they did."""
        self._logs.mkdir(parents=True, exist_ok=True)
        numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        before = {number: signal.signal(number, _interrupt) for number in numbers}
        try:
            while self._waiting or self._running:
                self._drop_hopeless()
                self._start_next()
                if self._running:
                    self._await_one()
        except BaseException:
            for number in numbers:  # once is enough
                signal.signal(number, signal.SIG_IGN)
            self._end_all()
            raise
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        return list(self._outcomes.values())

    def _drop_hopeless(self) -> None:
        """Gives up the steps whose need has failed; and in turn those that need them."""
        for step in list(self._waiting):
            for name in step.after:
                outcome = self._outcomes.get(name)
                if outcome is not None and outcome.state != PASSED:
                    self._waiting.remove(step)
                    self._outcomes[step.name] = Outcome(step.name, NOT_RUN)
                    print(f"not run   {'':8}  {step.name}: it needs {name}", flush=True)
                    break

    def _start_next(self) -> None:
        """Starts what can be. A step for which there is no room keeps back those after it, for
        they would take the room for ever."""
        for step in list(self._waiting):
            if any(name not in self._outcomes for name in step.after):
                continue
            used = sum(self._lanes(other.step) for other in self._running.values())
            if self._running and used + self._lanes(step) > self._lanes_there:
                break
            self._waiting.remove(step)
            self._start(step)

    def _lanes(self, step: Step) -> int:
        """How many cores a step is taken to keep busy."""
        return max(self._jobs(step), 2 if step.both_cores else 1)

    def _jobs(self, step: Step) -> int:
        """How many processes a step may run at once."""
        return max(1, self._cores // 2) if step.wide else 1

    def _start(self, step: Step) -> None:
        log = self._logs / f"{step.name.replace(' ', '-').replace('/', '-')}.log"
        with log.open("wb") as stream:
            process = subprocess.Popen(
                # However this ends, its steps do too.
                ["setpriv", "--pdeathsig", "TERM", *step.command],
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                env={**os.environ, "BEOWIRE_JOBS": str(self._jobs(step))},
                # Ctrl-C in a terminal comes here only: a second signal would disturb tidying up.
                start_new_session=True,
                # The lock of the checkout (scripts/with-lock) is held until the last has ended.
                close_fds=False,
            )
        self._running[process.pid] = _Running(step, process, log, time.monotonic())

    def _await_one(self) -> None:
        """Sleeps until a step ends."""
        found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
        assert found is not None
        ended = self._running.pop(found.si_pid)
        _, waited, usage = os.wait4(found.si_pid, 0)
        status = ended.process.returncode = os.waitstatus_to_exitcode(waited)
        seconds = time.monotonic() - ended.since
        name = ended.step.name
        self._outcomes[name] = Outcome(
            name, FAILED if status else PASSED, seconds, usage.ru_utime + usage.ru_stime, status
        )
        if status:
            print(f"---- {name}:", flush=True)
            print(ended.log.read_text(encoding="utf-8", errors="replace"), end="", flush=True)
            how = f"status {status}" if status > 0 else signal.Signals(-status).name
            print(f"---- {name} ended with {how}; this is in {ended.log}", flush=True)
        state = FAILED if status else PASSED
        print(f"{state:8}  {seconds:6.1f} s  {name}", flush=True)
        if not status:
            for line in _left_out(ended.log):
                print(f"{'':20}{line}", flush=True)

    def _end_all(self) -> None:
        for one in self._running.values():
            one.process.terminate()
        deadline = time.monotonic() + ENDING_S
        for one in self._running.values():
            try:
                one.process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                with suppress(ProcessLookupError):
                    os.killpg(one.process.pid, signal.SIGKILL)
                one.process.wait()


def _left_out(log: Path) -> list[str]:
    """What a step that passed has not done, by its own word: its lines that begin so."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return [line for line in lines if line.startswith("left out: ")]


def _interrupt(number: int, _frame: object) -> None:
    raise Interrupted(number)
