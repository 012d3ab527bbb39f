# SPDX-License-Identifier: BSD-3-Clause
"""What is run for a paper: commands of Beowire, one after the other, each with a record that is
kept. What is whole is not measured again, so a run that was cut short goes on where it was."""

import json
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from beowire import files, isolated
from beowire.apps.record import AppsRecord, read_apps_record
from beowire.errors import BeowireError
from beowire.interrupts import Interrupts
from beowire.record.reader import Record, read_record
from beowire.reproduce.comparison import Comparison

#: What a step may take beyond what was said: booting, compiling, a machine that is busy.
_PATIENCE = 3.0
_LEAST_PATIENCE_S = 60.0
_END_S = 60.0

_PLAN = "plan.json"
_PLAN_BYTES = 1 << 20


@dataclass(frozen=True)
class Step:
    """A command of Beowire that leaves a record."""

    name: str
    """Of its directory."""

    what: str
    """What it measures, in a few words."""

    words: tuple[str, ...]
    """The command and its arguments, without `beowire` and `--out`."""

    seconds: float
    """About how long it takes, with all that is around it."""

    absent: str = ""
    """Why it cannot be run here, in a line; empty: it can."""

    @property
    def command(self) -> str:
        """What a person types."""
        return shlex.join(["beowire", *self.words])


@dataclass(frozen=True)
class Found:
    """What the steps have left."""

    steps: tuple[Step, ...]
    comparisons: Mapping[str, Comparison] = field(default_factory=dict)
    """Of `compare` and `explain`, by the step's name."""

    programs: Mapping[str, AppsRecord] = field(default_factory=dict)
    """Of `apps run`."""

    reasons: Mapping[str, str] = field(default_factory=dict)
    """Why a step has left nothing."""

    def why(self, name: str) -> str:
        """Why there is no record of this step."""
        return self.reasons.get(name, "it has not been run")

    @property
    def records(self) -> list[Record]:
        """Those of comparisons."""
        return [one.record for one in self.comparisons.values()]

    @property
    def commands(self) -> tuple[str, ...]:
        """Those that have left a record."""
        return tuple(
            step.command
            for step in self.steps
            if step.name in self.comparisons or step.name in self.programs
        )


def announced(number: str, steps: Sequence[Step], directory: Path) -> str:
    """What will be run, and how long it takes: before anything is."""
    able = [step for step in steps if not step.absent]
    lines = [
        f"paper {number}: {len(able)} measurements, about"
        f" {_duration(sum(step.seconds for step in able))}; records are kept in {directory}"
    ]
    for step in steps:
        how = f"absent: {step.absent}" if step.absent else f"about {_duration(step.seconds)}"
        lines.append(f"  {step.name}: {step.what} ({how})")
    return "\n".join(lines)


def _duration(seconds: float) -> str:
    whole = round(seconds)
    return f"{whole} s" if whole < 120 else f"{whole // 60} min {whole % 60} s"


def chosen(steps: Sequence[Step], only: str | None) -> list[Step]:
    """Those that are to be run. BeowireError for a name that none has, and where none can be."""
    if only is not None:
        names = [name.strip() for name in only.split(",")]
        for name in names:
            if name not in [step.name for step in steps]:
                listed = ", ".join(step.name for step in steps)
                raise BeowireError(f"--only {name}: there is no such step; steps: {listed}")
        steps = [step for step in steps if step.name in names]
    if all(step.absent for step in steps):
        reasons = dict.fromkeys(step.absent for step in steps)
        raise BeowireError(f"absent: {'; '.join(reasons)}", exit_code=1)
    return list(steps)


def prepare(number: str, steps: Sequence[Step], directory: Path) -> None:
    """Makes the directory, or takes one in which the same was begun. BeowireError."""
    plan = {"paper": number, "steps": {step.name: list(step.words) for step in steps}}
    path = directory / _PLAN
    if directory.is_dir() and path.is_file():
        with suppress(BeowireError, ValueError, RecursionError):
            if json.loads(files.read_regular(path, "a plan", _PLAN_BYTES)) == plan:
                return
        raise BeowireError(
            f"{directory} has records of another command: choose another directory with --out"
        )
    files.make_directory(directory, new=True)
    files.write_whole(path, json.dumps(plan, indent=1, allow_nan=False) + "\n")


def run_steps(
    steps: Sequence[Step], directory: Path, interrupts: Interrupts, say: Callable[[str], None]
) -> Found:
    """Runs those whose record is not whole yet; their output goes to standard error. A step that
    fails is one that is missing. KeyboardInterrupt when the user has had enough."""
    comparisons: dict[str, Comparison] = {}
    programs: dict[str, AppsRecord] = {}
    reasons: dict[str, str] = {}
    for number, step in enumerate(steps, start=1):
        if step.absent:
            reasons[step.name] = step.absent
            continue
        place = directory / step.name
        if _is_whole(step, place):
            say(f"{step.name}: measured before, in {place}")
        else:
            say(f"{number} of {len(steps)}, {step.name}: {step.command}")
            shutil.rmtree(place, ignore_errors=True)
            reasons[step.name] = _run(step, place, interrupts)
        _read(step, place, comparisons, programs, reasons)
    return Found(tuple(steps), comparisons, programs, reasons)


def _read(
    step: Step,
    place: Path,
    comparisons: dict[str, Comparison],
    programs: dict[str, AppsRecord],
    reasons: dict[str, str],
) -> None:
    """Puts what it left where it belongs; else there is a reason."""
    try:
        found = _record(step, place)
    except BeowireError as error:
        reasons[step.name] = reasons.get(step.name) or str(error)
        return
    if isinstance(found, AppsRecord):
        if any(one.figure is not None for one in found.launches):
            programs[step.name] = found
            return
    elif found.results:
        comparisons[step.name] = Comparison(found, step.command)
        return
    left = dict.fromkeys(one.reason for one in found.skipped)
    reasons[step.name] = reasons.get(step.name) or "; ".join(left) or "nothing was measured"


def _record(step: Step, place: Path) -> Record | AppsRecord:
    path = place / "record.jsonl"
    return read_apps_record(path) if step.words[0] == "apps" else read_record(path)


def _is_whole(step: Step, place: Path) -> bool:
    with suppress(BeowireError):
        end = _record(step, place).end
        return end is not None and end.status == "ok"
    return False


def _run(step: Step, place: Path, interrupts: Interrupts) -> str:
    """Runs it to its end, or to the end of our patience. Returns why it failed, or nothing."""
    sys.stdout.flush()
    limit_s = max(_LEAST_PATIENCE_S, _PATIENCE * step.seconds)
    with interrupts.held():
        child = subprocess.Popen(
            [*isolated.command("beowire"), *step.words, "--out", str(place)],
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr,
        )
    try:
        status = child.wait(timeout=limit_s)
    except subprocess.TimeoutExpired:
        _end(child)
        return f"it did not end within {limit_s:.0f} s"
    except KeyboardInterrupt:
        _end(child)
        raise
    return "" if status == 0 else f"`{step.command}` failed (status {status})"


def _end(child: subprocess.Popen[bytes]) -> None:
    """It keeps what it has, and removes its lab."""
    child.send_signal(signal.SIGINT)
    try:
        child.wait(timeout=_END_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
