# SPDX-License-Identifier: BSD-3-Clause
"""Users' own measurements, `--driver-command NAME=COMMAND`: what a command prints becomes a row.

A line is `SIZE SECONDS`: bytes of a message, and half of its round trip, as NetPIPE prints it.
Several lines of a size are several measurements of it. Empty lines and those that begin with `#`
say nothing.

The command is run by /bin/sh, here, while no driver is measured; it finds in its environment where
the nodes are. What it has started ends with it, and with this process, should that be killed.
"""

import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO

from beowire.analysis import statistics
from beowire.errors import BeowireError
from beowire.interrupts import Interrupts
from beowire.places.launch.base import Launcher
from beowire.places.launch.lab import LabLauncher
from beowire.record.lines import DriverInfo, Result
from beowire.sizes import LARGEST_BYTES
from beowire.visible import visible

_NAME = re.compile(r"[a-z0-9][a-z0-9_:/-]*")
_LINE = re.compile(r"\s*(\d+)\s+([0-9.]+(?:[eE][+-]?\d+)?)\s*", re.ASCII)
_MOST_BYTES = 8 << 20

#: Runs the command that is its argument, and ends its session once nobody holds the other end of
#: its standard input any more.
_GUARDED = """exec 3<&0
{ read -r _ <&3; kill -KILL 0; } &
exec /bin/sh -c "$1" 3<&- </dev/null"""
_LONGEST_S = 3600.0


@dataclass(frozen=True)
class OwnCommand:
    """A command, and what its row is called."""

    name: str
    text: str

    def info(self) -> DriverInfo:
        """As the record lists it."""
        return DriverInfo(
            name=self.name,
            summary=f"what a command of the user prints: {visible(self.text)}"[:200],
            placement="pair",
            reliable=True,
            spins=False,
            min_size=1,
            max_size=LARGEST_BYTES,
            ready=True,
        )


def parse_commands(texts: Sequence[str]) -> list[OwnCommand]:
    """The commands of `--driver-command`. Raises BeowireError."""
    commands: list[OwnCommand] = []
    for text in texts:
        name, equals, command = text.partition("=")
        if not equals or not command.strip() or not _NAME.fullmatch(name):
            raise BeowireError(
                f"cannot read --driver-command {text!r}: write NAME=COMMAND, NAME in lower case"
            )
        if name in {one.name for one in commands}:
            raise BeowireError(f"--driver-command: there are two of the name {name}")
        commands.append(OwnCommand(name, command.strip()))
    return commands


def measure(
    command: OwnCommand,
    launcher: Launcher,
    sizes: Sequence[int],
    interrupts: Interrupts,
    *,
    launch: int,
    seconds: float,
) -> tuple[list[Result], str]:
    """Runs it. @return what it measured, and why that is not all: empty if it is."""
    output, fault = _run(command, _environment(launcher, sizes), seconds, interrupts)
    times, nonsense = _read(output)
    fault = nonsense or fault or ("" if times else "it printed no line `SIZE SECONDS`")
    if fault:
        fault = f"the command {command.name} failed on this host: {fault}"
    return [
        _result(command.name, size, launch, times[size], fault or "ok") for size in sorted(times)
    ], fault


def _environment(launcher: Launcher, sizes: Sequence[int]) -> dict[str, str]:
    nodes = list(launcher.nodes)[:2]
    found = {
        **os.environ,
        "BEOWIRE_NODES": ",".join(node.name for node in nodes),
        "BEOWIRE_ADDRESSES": ",".join(node.reach for node in nodes),
        "BEOWIRE_SIZES": " ".join(str(size) for size in sizes),
    }
    if isinstance(launcher, LabLauncher):
        found["BEOWIRE_LAB"] = launcher.lab.name
    return found


def _run(
    command: OwnCommand, environment: Mapping[str, str], seconds: float, interrupts: Interrupts
) -> tuple[str, str]:
    """What it printed, and what went wrong. It ends in time, with all that it started."""
    limit_s = min(seconds, _LONGEST_S)
    with (
        tempfile.TemporaryFile() as output,
        tempfile.TemporaryFile() as errors,
        _lifeline() as lifeline,
    ):
        process: subprocess.Popen[bytes] | None = None
        fault, status = "", 0
        try:
            with interrupts.held():
                process = subprocess.Popen(
                    ["/bin/sh", "-c", _GUARDED, "sh", command.text],
                    env=environment,
                    stdin=lifeline,
                    stdout=output,
                    stderr=errors,
                    start_new_session=True,
                )
            status = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            fault = f"it did not end within {limit_s:g} s: raise --time, or have it do less"
        finally:
            if process is not None:
                with interrupts.held():
                    _end(process)
        if status != 0:
            fault = _ending(status, _text(errors))
        return _text(output), fault


@contextmanager
def _lifeline() -> Iterator[int]:
    """A descriptor to read from, which ends with this context or this process."""
    reading, writing = os.pipe()
    try:
        yield reading
    finally:
        os.close(reading)
        os.close(writing)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Servers that it has left behind, too: they are of its session."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(_MOST_BYTES).decode(errors="replace")


def _ending(status: int, said: str) -> str:
    lines = [visible(line.strip()) for line in said.splitlines() if line.strip()]
    how = f"it ended with status {status}" if status > 0 else f"signal {-status} ended it"
    return how + (f": {lines[-1][:200]}" if lines else "")


def _read(output: str) -> tuple[dict[int, list[float]], str]:
    """Seconds by size, as far as the lines make sense; and why they do not."""
    times: dict[int, list[float]] = {}
    for number, line in enumerate(output.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        size, seconds = 0, 0.0
        if match:
            with suppress(ValueError):
                size, seconds = int(match[1]), float(match[2])
        if not 1 <= size <= LARGEST_BYTES or not 0 < seconds < _LONGEST_S:
            return times, (
                f"line {number} of what it printed is {visible(line.strip())[:60]!r},"
                " and not SIZE SECONDS, as in `1024 0.000012`"
            )
        times.setdefault(size, []).append(seconds)
    return times, ""


def _percentile(times_ns: Sequence[float], probability: float) -> float | None:
    """None where so few measurements say nothing of it."""
    found = statistics.order_interval(times_ns, probability)
    return None if found.high is None else found.value


def _result(name: str, size: int, launch: int, seconds: Sequence[float], status: str) -> Result:
    times_ns = [one * 1e9 for one in seconds]
    median = statistics.order_interval(times_ns)
    known = median.low is not None and median.high is not None
    p90, p99 = (_percentile(times_ns, probability) for probability in (0.90, 0.99))
    half = {
        "median": median.value,
        "ci95": [median.low, median.high] if known else None,
        "p90": p90,
        "p99": p99,
        "min": min(times_ns),
        "max": max(times_ns),
    }
    rate = {
        "median": size * 1e9 / median.value,
        "ci95": [size * 1e9 / one for one in (median.high, median.low) if one] if known else None,
        "p90": None if p90 is None else size * 1e9 / p90,
        "p99": None if p99 is None else size * 1e9 / p99,
        "min": size * 1e9 / max(times_ns),
        "max": size * 1e9 / min(times_ns),
    }
    return Result.model_validate(
        {
            "driver": name,
            "pattern": "pingpong",
            "size": size,
            "launch": launch,
            "n": len(times_ns),
            "rounds": len(times_ns),
            "batch": 1,
            "lost": 0,
            "status": status,
            "stopped_by": "rounds" if status == "ok" else "error",
            "half_rtt_ns": half,
            "rate_bytes_per_s": rate,
            "round_medians": times_ns,
            "cpu": [],
            "elapsed_ns": 2 * sum(times_ns),
        }
    )
