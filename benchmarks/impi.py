# SPDX-License-Identifier: BSD-3-Clause
"""Intel MPI's own measurement of its shared memory: IMB-MPI1 PingPong, from the wheel `impi-rt`.

The wheel brings library and benchmark, and goes into a virtual environment of its own under
build/mpi/intel, for several MPIs overwrite one another's `mpiexec`.
"""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from beowire import files
from beowire.errors import BeowireError

_WHEEL = "impi-rt==2021.18.1"
_ROOT = Path(__file__).resolve().parent.parent
_HOME = _ROOT / "build" / "mpi" / "intel"
_INSTALL_S = 600.0

#: Repetitions of a size: about a tenth of a second each.
_REPETITIONS = ((1024, 200_000), (65536, 8_000), (1 << 30, 60))
_RUN_S = 60.0


@dataclass(frozen=True)
class PingPong:
    """A line of IMB's table."""

    size: int
    half_rtt_ns: float
    rate_bytes_per_s: float


def install() -> Path:
    """Where Intel MPI is, installed if it is not yet. BeowireError with the reason if it cannot."""
    if not (_HOME / "bin" / "IMB-MPI1").is_file():
        _HOME.parent.mkdir(parents=True, exist_ok=True)
        for command in (
            [sys.executable, "-I", "-m", "venv", str(_HOME)],
            [
                *(str(_HOME / "bin" / "python"), "-I", "-m", "pip", "--disable-pip-version-check"),
                *("--no-input", "install", _WHEEL),
            ],
        ):
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
                timeout=_INSTALL_S,
            )
            if done.returncode != 0:
                said = (done.stderr or done.stdout).strip().splitlines()
                raise BeowireError(f"Intel MPI cannot be installed: {said[-1] if said else '?'}")
    return _HOME


def command_line(home: Path, cores: Sequence[int], size: int, lengths: Path) -> list[str]:
    """Two ranks, each on a core of its own, that only have shared memory."""
    repetitions = next(count for limit, count in _REPETITIONS if size <= limit)
    return [
        *(str(home / "bin" / "mpiexec"), "-n", "2"),
        *("-genv", "I_MPI_FABRICS", "shm"),
        *("-genv", "I_MPI_PIN_PROCESSOR_LIST", ",".join(map(str, cores))),
        *(str(home / "bin" / "IMB-MPI1"), "PingPong", "-msglen", str(lengths)),
        *("-iter", str(repetitions), "-iter_policy", "off"),
    ]


def environment(home: Path) -> dict[str, str]:
    """What Intel MPI needs to find itself."""
    library = str(home / "lib")
    return {
        **os.environ,
        "I_MPI_ROOT": str(home),
        "FI_PROVIDER_PATH": library,
        "LD_LIBRARY_PATH": library,
    }


def measure(home: Path, cores: Sequence[int], size: int, directory: Path) -> PingPong:
    """One run of IMB for one size. BeowireError with what it said if it fails."""
    lengths = directory / f"length-{size}.txt"
    files.write_whole(lengths, f"{size}\n")
    try:
        done = subprocess.run(
            command_line(home, cores, size, lengths),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            env=environment(home),
            timeout=_RUN_S,
        )
    except subprocess.TimeoutExpired:
        raise BeowireError("IMB-MPI1 does not end", exit_code=1) from None
    found = parse(done.stdout)
    if done.returncode != 0 or size not in found:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise BeowireError(f"IMB-MPI1 failed: {said[-1] if said else done.returncode}", exit_code=1)
    return found[size]


def parse(text: str) -> Mapping[int, PingPong]:
    """The table of `IMB-MPI1 PingPong`: bytes, repetitions, half round trip in us, MB/s."""
    found: dict[int, PingPong] = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) != 4 or not (words[0].isdecimal() and words[1].isdecimal()):
            continue
        try:
            half_us, mbytes = float(words[2]), float(words[3])
        except ValueError:
            continue
        found[int(words[0])] = PingPong(int(words[0]), half_us * 1e3, mbytes * 1e6)
    return found
