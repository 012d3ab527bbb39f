# SPDX-License-Identifier: BSD-3-Clause
"""Background loads: what a user can write, and what it means. conduct/load.py makes them. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from beowire.errors import BeowireError

#: Nice values that need no privilege.
_NICEST = 19

#: What a user can write, with what it means.
KINDS: Mapping[str, str] = {
    "hog:NICE": "computes and never waits, NICE from 0 (an equal, the default) to 19",
    "idle": "the same at the lowest priority (SCHED_IDLE)",
    "duty:PERCENT": "computes for PERCENT of the time, in periods of 10 ms",
    "memory:NICE": "copies memory that no cache holds, NICE as above",
}

#: Beside which everything is measured in one run.
MOST_LOADS = 8

_FORM = "write hog:NICE, idle, duty:PERCENT or memory:NICE, NICE from 0 (an equal) to 19"


@dataclass(frozen=True)
class Load:
    """What runs beside the measurement."""

    nice: int = 0
    """0 is an equal, 19 gives way. Of `hog` and `memory`."""
    kind: Literal["hog", "idle", "duty", "memory"] = "hog"
    percent: int = 0
    """Of `duty`."""

    @property
    def text(self) -> str:
        """As `--load` takes it."""
        match self.kind:
            case "idle":
                return "idle"
            case "duty":
                return f"duty:{self.percent}"
            case _:
                return f"{self.kind}:{self.nice}"

    @property
    def words(self) -> dict[str, object]:
        """Of the engine's command."""
        found: dict[str, object] = {"kind": self.kind}
        if self.kind == "duty":
            return found | {"percent": self.percent}
        return found if self.kind == "idle" else found | {"nice": self.nice}

    @property
    def described(self) -> str:
        """What is there with it, as a part of a sentence."""
        match self.kind:
            case "idle":
                return "a hog of the lowest priority (SCHED_IDLE) on every CPU"
            case "duty":
                return f"{self.percent} % of every CPU computing"
            case "memory":
                return f"memory copied on every CPU, at nice {self.nice}"
            case _:
                return f"a hog at nice {self.nice} on every CPU"


def parse_load(text: str, option: str = "--load") -> Load:
    """A load as in KINDS. Raises BeowireError, which names the `option`."""
    word = text.strip()
    if word == "idle":
        return Load(kind="idle")
    if found := re.fullmatch(r"(hog|memory)(?::(\d{1,2}))?", word):
        nice = int(found[2] or 0)
        if nice <= _NICEST:
            return Load(nice, "hog" if found[1] == "hog" else "memory")
    if (found := re.fullmatch(r"duty:(\d{1,3})", word)) and 1 <= int(found[1]) <= 100:
        return Load(kind="duty", percent=int(found[1]))
    raise BeowireError(f"cannot read {option} {text!r}: {_FORM}")


def parse_loads(text: str) -> tuple[Load, ...]:
    """Loads as in KINDS, separated by commas. Raises BeowireError."""
    found = tuple(parse_load(word) for word in text.split(","))
    if len(set(found)) < len(found) or len(found) > MOST_LOADS:
        raise BeowireError(f"--load {text!r}: write up to {MOST_LOADS} different loads")
    return found


def described(text: str) -> str:
    """What a `load` of the record was, in words; the text itself if this version does not know."""
    try:
        return parse_load(text).described
    except BeowireError:
        return text
