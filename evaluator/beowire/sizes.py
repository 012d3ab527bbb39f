# SPDX-License-Identifier: BSD-3-Clause
"""Message sizes: NetPIPE's schedule, and the sizes that a user writes."""

import re

from beowire.errors import BeowireError

#: Where the schedule ends unless the user says otherwise.
DEFAULT_MAXIMUM_BYTES = 4 << 20

#: No message is longer: the largest that a record or a driver is asked for.
LARGEST_BYTES = 1 << 30

#: How far NetPIPE moves each size to find what depends on alignment.
PERTURBATION_BYTES = 3

_UNITS = {
    "": 1,
    "b": 1,
    "k": 1 << 10,
    "m": 1 << 20,
    "g": 1 << 30,
    "kib": 1 << 10,
    "mib": 1 << 20,
    "gib": 1 << 30,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
}

_SIZE = re.compile(r"\s*(\d{1,12})\s*([a-zA-Z]*)\s*")


def schedule(
    low: int = 1, high: int = DEFAULT_MAXIMUM_BYTES, perturbation: int = PERTURBATION_BYTES
) -> list[int]:
    """NetPIPE's sizes from `low` to `high` bytes: 1, 2, 3, 4, 6, 8, 12, 16, 24, ..., each also
    `perturbation` bytes less and more where that is in the range and new. Rising.

    Source: Turner, Oline, Chen, Benjegerdes: Integrating new capabilities into NetPIPE (2003).
    """
    sizes: set[int] = set()
    power = 1
    while power <= high + perturbation:
        for base in (power, power + power // 2):
            for size in (base - perturbation, base, base + perturbation):
                if low <= size <= high:
                    sizes.add(size)
        power *= 2
    return sorted(sizes)


def parse_size(text: str) -> int:
    """Bytes of `8`, `64K`, `64KiB` (1024), `64kB` (1000), `1M`. Raises BeowireError."""
    match = _SIZE.fullmatch(text)
    unit = _UNITS.get(match.group(2).lower()) if match else None
    if match is None or unit is None:
        raise BeowireError(f"{text.strip()!r} is not a size: write bytes, or 64KiB, 1M")
    size = int(match.group(1)) * unit
    if not 1 <= size <= LARGEST_BYTES:
        raise BeowireError(f"{text.strip()!r} is not a size from 1 byte to 1 GiB")
    return size


def parse_sizes(text: str | None, maximum: int = DEFAULT_MAXIMUM_BYTES) -> list[int]:
    """The sizes of `--sizes`: None (the whole schedule up to `maximum`), or a list of sizes and of
    ranges `LOW-HIGH` of the schedule. Rising, each once. Raises BeowireError.
    """
    if text is None:
        return schedule(1, maximum)
    sizes: set[int] = set()
    for word in text.split(","):
        if not word.strip():
            raise BeowireError(f"an empty size in {text!r}: write a list such as 8,1024,64KiB")
        low_text, dash, high_text = word.partition("-")
        if not dash:
            sizes.add(parse_size(word))
            continue
        if not low_text.strip() or not high_text.strip():
            raise BeowireError(
                f"{word.strip()!r} is neither a size nor a range LOW-HIGH: write 8, or 8-64KiB"
            )
        low, high = parse_size(low_text), parse_size(high_text)
        chosen = schedule(low, high)
        if not chosen:
            raise BeowireError(f"no size of the schedule is in {word.strip()!r}: LOW-HIGH, rising")
        sizes.update(chosen)
    largest = max(sizes)
    if largest > maximum:
        raise BeowireError(
            f"{largest} bytes is above the largest size, {maximum}: raise --max-size"
        )
    return sorted(sizes)


def format_size(size: int) -> str:
    """For people: `8`, `1 KiB`, `1.5 MiB`; exact bytes where a unit would round."""
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit and size * 2 % unit == 0:
            return f"{size / unit:g} {name}"
    return str(size)
