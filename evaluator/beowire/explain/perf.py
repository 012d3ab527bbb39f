# SPDX-License-Identifier: BSD-3-Clause
"""Samples of what CPUs do, taken by `perf`: recorded while something runs, and read.

perf is asked for the time of the CPU's clock, not for cycles: virtual machines often have no
counter of them, and what is to be divided is time. While recording it costs a few per cent.
"""

import os
import re
import select
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from beowire.errors import BeowireError

#: Between two samples of a CPU: ten times as many make a message of a microsecond take twice as
#: long. No round part of a timer's period, which would meet always the same.
PERIOD_NS = 499_000

#: How long perf may take to begin, and to end.
_PATIENCE_S = 20.0

#: How long it may take to turn some ten thousand samples into text.
_READING_S = 120.0

#: Addresses of the kernel begin here.
_KERNEL_FROM = 1 << 63

#: Columns of a CPU in /proc/stat.
_IDLE, _WAITING_FOR_DISKS = 3, 4

_HEADER = re.compile(
    r"^(?P<comm>\S.*?)\s+(?P<pid>-?\d+)\s+\[(?P<cpu>\d+)\]\s+(?P<period>\d+)\s*:?\s*$"
)
_FRAME = re.compile(r"^\s+(?P<address>[0-9a-f]+)\s+(?P<symbol>.+?)(?:\+0x[0-9a-f]+)?\s*$")


@dataclass(frozen=True)
class Sample:
    """Where a CPU was at a moment, which stands for some time."""

    comm: str
    """The program's name, as the kernel has it: at most 15 characters."""
    pid: int
    cpu: int
    period_ns: int
    kernel: tuple[str, ...]
    """Functions in the kernel, the innermost first."""
    user: tuple[str, ...]


class NoPerf(BeowireError):
    """Why there are no samples, in a line."""


def idle_ns(cpus: Sequence[int], stat: Path = Path("/proc/stat")) -> int | None:
    """How long these CPUs have been idle since the machine began, together, by the kernel's own
    account; None: it does not say. `stat` is for tests."""
    found = 0
    try:
        lines = dict(line.split(" ", 1) for line in stat.read_text("ascii").splitlines())
        for cpu in cpus:
            words = lines[f"cpu{cpu}"].split()
            found += int(words[_IDLE]) + int(words[_WAITING_FOR_DISKS])
    except (OSError, ValueError, KeyError, IndexError):
        return None
    return found * 1_000_000_000 // os.sysconf("SC_CLK_TCK")


@contextmanager
def recording(cpus: Sequence[int]) -> Iterator[list[Sample]]:
    """Records what these CPUs do inside; the samples are in the list afterwards. NoPerf if perf
    is not there, or may not."""
    program = shutil.which("perf")
    if program is None:
        raise NoPerf("perf is not installed (Debian: linux-perf)")
    samples: list[Sample] = []
    with tempfile.TemporaryDirectory(prefix="beowire-perf-") as directory:
        data = Path(directory) / "perf.data"
        with _Recorder(program, cpus, data) as recorder:
            recorder.say("enable")
            yield samples
            recorder.say("disable")
        samples += parse(_script(program, data))


class _Recorder:
    """A `perf record` that waits until it is told to begin."""

    def __init__(self, program: str, cpus: Sequence[int], data: Path) -> None:
        self._orders = os.pipe()
        self._answers = os.pipe()
        self._log = tempfile.TemporaryFile()  # noqa: SIM115
        control = f"--control=fd:{self._orders[0]},{self._answers[1]}"
        listed = ",".join(map(str, sorted(set(cpus))))
        words = ["-a", "-C", listed, "-e", "cpu-clock", "-c", str(PERIOD_NS), "-g", "-D", "-1"]
        self._process = subprocess.Popen(
            [program, "record", *words, control, "-o", str(data)],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            pass_fds=(self._orders[0], self._answers[1]),
        )
        os.close(self._orders[0])
        os.close(self._answers[1])

    def __enter__(self) -> "_Recorder":
        return self

    def say(self, order: str) -> None:
        """Until it has answered. NoPerf if it has gone, or does not answer."""
        with suppress(BrokenPipeError):
            os.write(self._orders[1], f"{order}\n".encode())
        if not select.select([self._answers[0]], [], [], _PATIENCE_S)[0]:
            raise NoPerf(f"perf record does not answer in {_PATIENCE_S:g} s: {order}")
        # When perf ends, so does its end of the pipe.
        if not os.read(self._answers[0], 64):
            raise NoPerf(f"perf record does not work here: {self._reason()}")

    def _reason(self) -> str:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_PATIENCE_S)
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").splitlines()
        said = [line.strip() for line in lines if line.strip().strip("-")]
        if not said:
            return f"it ended with {self._process.returncode}"
        return " ".join(said[:2]) if said[0].endswith(":") else said[0]

    def __exit__(self, *exc: object) -> None:
        """Ends it, with what it has recorded written."""
        with suppress(BrokenPipeError, OSError):
            os.write(self._orders[1], b"stop\n")
        try:
            self._process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        finally:
            os.close(self._orders[1])
            os.close(self._answers[0])
            self._log.close()


def _script(program: str, data: Path) -> list[str]:
    """perf's own text of what it has recorded."""
    try:
        found = subprocess.run(
            [program, "script", "-i", str(data), "-F", "comm,pid,cpu,period,ip,sym"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=_READING_S,
        )
    except subprocess.TimeoutExpired:
        raise NoPerf(f"perf script does not end in {_READING_S:g} s") from None
    if found.returncode:
        lines = found.stderr.decode(errors="replace").strip().splitlines() or ["no reason given"]
        raise NoPerf(f"perf script does not work here: {lines[-1]}")
    return found.stdout.decode(errors="replace").splitlines()


def parse(lines: Iterable[str]) -> list[Sample]:
    """The samples of `perf script -F comm,pid,cpu,period,ip,sym`: a line each, then its stack, then
    an empty one. Lines that are neither are left out."""
    found: list[Sample] = []
    head: re.Match[str] | None = None
    kernel: list[str] = []
    user: list[str] = []

    def finish() -> None:
        if head is not None:
            found.append(
                Sample(
                    head["comm"],
                    int(head["pid"]),
                    int(head["cpu"]),
                    int(head["period"]),
                    tuple(kernel),
                    tuple(user),
                )
            )

    for line in lines:
        if (begins := _HEADER.match(line)) is not None:
            finish()
            head, kernel, user = begins, [], []
        elif (frame := _FRAME.match(line)) is not None:
            inside = int(frame["address"], 16) >= _KERNEL_FROM
            (kernel if inside else user).append(frame["symbol"])
    finish()
    return found
