# SPDX-License-Identifier: BSD-3-Clause
"""Whether a run of a program is right, and the same as the first one over TCP. Pure but for reading
what the run has left."""

import hashlib
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from .entry import Compare, Number


@dataclass(frozen=True)
class Seen:
    """What a run has said, as far as it is compared."""

    numbers: list[list[float]] = field(default_factory=list)
    digests: list[str] = field(default_factory=list)
    lines: Counter[str] = field(default_factory=Counter)


class Wrong(Exception):
    """A run is wrong by itself; the message says why."""


def look(how: Compare, directory: Path, output: str, status: int) -> Seen:
    """Reads what a run has printed, errors included, and left in its directory. Wrong."""
    if how.status and status != 0:
        raise Wrong(f"it ended with status {status}")
    _look_at_verdict(how, _text(directory, how.verdict_file, output))
    lines = Counter(
        one.strip()
        for one in output.splitlines()
        if how.same_lines is not None and re.search(how.same_lines, one)
    )
    if how.same_lines is not None and not lines:
        raise Wrong(f"it prints no line with {how.same_lines!r}")
    numbers = [_numbers(one, _text(directory, one.file, output)) for one in how.numbers]
    return Seen(numbers, [_digest(directory / name) for name in how.files], lines)


def _look_at_verdict(how: Compare, verdict: str) -> None:
    for pattern in how.says:
        if not re.search(pattern, verdict, re.MULTILINE):
            raise Wrong(f"it does not say {pattern!r}")
    for pattern in how.never:
        if found := re.search(pattern, verdict, re.MULTILINE):
            raise Wrong(f"it says {_whole_line(verdict, found)!r}")


def _numbers(number: Number, text: str) -> list[float]:
    found = re.findall(number.pattern, text, re.MULTILINE)
    if not found:
        raise Wrong(f"it gives no number for {number.pattern!r}")
    # Fortran writes exponents with D.
    return [float(re.sub("[dD]", "e", one)) for one in found]


def _digest(path: Path) -> str:
    if not path.is_file():
        raise Wrong(f"it wrote no {path.name}")
    return hashlib.sha256(path.read_bytes()).hexdigest()


def difference(how: Compare, first: Seen, other: Seen) -> str:
    """How a run differs from the first, in a few words; empty: it does not, as far as asked."""
    for number, ours, others in zip(how.numbers, first.numbers, other.numbers, strict=True):
        if len(ours) != len(others):
            return f"{len(others)} numbers for {number.pattern!r}, not {len(ours)}"
        for one, two in zip(ours, others, strict=True):
            if not _near(number, one, two):
                return f"{two:.12g} for {number.pattern!r}, not {one:.12g}"
    for name, digest, others_digest in zip(how.files, first.digests, other.digests, strict=True):
        if digest != others_digest:
            return f"another {name}"
    for line in sorted((other.lines - first.lines) | (first.lines - other.lines)):
        return f"{line!r} {'only here' if other.lines[line] > first.lines[line] else 'not here'}"
    return ""


def how_text(how: Compare) -> str:
    """For the table."""
    parts = []
    if how.says or how.never:
        parts.append("its own verdict")
    for number in how.numbers:
        limits = [f"{number.relative:g}"] if number.relative else []
        limits += [f"{number.absolute:g} absolute"] if number.absolute else []
        parts.append(f"numbers within {' or '.join(limits)}" if limits else "numbers, exactly")
    if how.files:
        parts.append("files, byte by byte")
    if how.same_lines is not None:
        parts.append("lines, exactly")
    return "; ".join(dict.fromkeys(parts)) or "its exit status"


def _near(number: Number, one: float, two: float) -> bool:
    return abs(one - two) <= max(number.absolute, number.relative * max(abs(one), abs(two)))


def _text(directory: Path, name: str, output: str) -> str:
    if not name:
        return output
    path = directory / name
    if not path.is_file():
        raise Wrong(f"it wrote no {name}")
    return path.read_text(encoding="utf-8", errors="replace")


def _whole_line(text: str, found: "re.Match[str]") -> str:
    begin = text.rfind("\n", 0, found.start()) + 1
    return text[begin:].partition("\n")[0].strip()[:120]
