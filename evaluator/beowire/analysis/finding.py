# SPDX-License-Identifier: BSD-3-Clause
"""What a check has found."""

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """How much it matters; the worst first."""

    BAD = "bad"
    """Something does not work, or most of the speed is lost."""
    WORSE = "worse"
    """It costs time that can be named."""
    NOTE = "note"
    """It costs little, or only some programs."""
    UNKNOWN = "unknown"
    """It cannot be seen from here."""
    OK = "ok"


#: What costs something, the worst first.
COSTLY = (State.BAD, State.WORSE, State.NOTE)


@dataclass(frozen=True)
class Finding:
    """One line of what `beowire doctor` says."""

    check: str
    """Which check: a word or two, the same on all hosts."""
    state: State
    text: str
    """What is so."""
    costs: str = ""
    """By how much it matters, and how that is known."""
    do: str = ""
    """The line to type, and `   # ` before a remark; only `# ` and words: what to do elsewhere than
    at a shell. Empty: nothing can be done, or need be."""

    def as_data(self) -> dict[str, str]:
        """For JSON."""
        return {
            "check": self.check,
            "state": str(self.state),
            "text": self.text,
            "costs": self.costs,
            "do": self.do,
        }


def ok(check: str, text: str) -> Finding:
    """All is well."""
    return Finding(check, State.OK, text)


def unknown(check: str, text: str, do: str = "") -> Finding:
    """It cannot be seen."""
    return Finding(check, State.UNKNOWN, text, "", do)


def ordered(findings: list[Finding]) -> list[Finding]:
    """The worst first; as the checks are, among those that are alike."""
    rank = {state: number for number, state in enumerate(State)}
    return sorted(findings, key=lambda finding: rank[finding.state])
