# SPDX-License-Identifier: BSD-3-Clause
"""Programs of this folder, which `scripts/build bench` makes: where they are, and their runs."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from beowire import files, isolated, paths
from beowire.errors import BeowireError
from beowire.plan import call_cost

ROOT = Path(__file__).resolve().parent.parent


def program(name: str, needs: str = "") -> Path:
    """Where it is. BeowireError if it is not built, `needs` being a package that it takes."""
    path = ROOT / "build" / "release" / "benchmarks" / name
    if path.is_file():
        return path
    first = f"install {needs}, " if needs else ""
    raise BeowireError(f"{relative(path)} is not built: {first}run `scripts/build bench`")


def slowed(cost: str | None) -> tuple[str, ...]:
    """The words in front of a command line which make each system call of what it starts cost so
    much more; none for None. BeowireError."""
    if cost is None:
        return ()
    engine = paths.engine_directory() / "beowire-engine"
    return str(engine), call_cost.OPTION, str(call_cost.parse(cost))


def relative(path: Path) -> str:
    """As it is typed in the checkout."""
    return os.path.relpath(path, ROOT)


def run(
    words: Sequence[str],
    kept: Path,
    timeout_s: float,
    environment: Mapping[str, str] | None = None,
) -> tuple[str, str]:
    """What a program printed, which is kept in a file as well; and what went wrong, in a line, or
    nothing."""
    kept.parent.mkdir(parents=True, exist_ok=True)
    try:
        done = subprocess.run(
            words,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout_s,
        )
    except subprocess.TimeoutExpired:
        return "", f"{kept.stem} does not end"
    files.write_whole(kept, done.stdout)
    if done.returncode == 0:
        return done.stdout, ""
    said = done.stderr.strip().splitlines()
    return done.stdout, said[-1] if said else f"{kept.stem} ended with {done.returncode}"


def recorded(
    words: Sequence[str],
    directory: Path,
    timeout_s: float,
    shown: str,
    before: Sequence[str] = (),
) -> Path:
    """Runs the command `beowire` with these words, and with others before it, and returns the
    record that it has written below the directory. What it printed is kept there as well.
    BeowireError with what it said last if there is no record. `shown`: the command as it is typed.
    """
    directory.mkdir(parents=True)
    name = words[0]
    record = directory / name / "record.jsonl"
    try:
        done = subprocess.run(
            [*before, *isolated.command("beowire"), *words, "--out", str(record.parent)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout_s,
        )
    except subprocess.TimeoutExpired:
        raise BeowireError(f"`{shown}` does not end", exit_code=1) from None
    files.write_whole(directory / f"{name}.txt", done.stdout + done.stderr)
    said = [line for line in done.stderr.splitlines() if line.strip()]
    last = said[-1] if said else f"{name} ended with {done.returncode}"
    if not record.exists():
        raise BeowireError(last, exit_code=1)
    if done.returncode != 0:
        print(f"{name}: {last}", file=sys.stderr)
    return record
