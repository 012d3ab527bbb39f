# SPDX-License-Identifier: BSD-3-Clause
"""Whether a program prints the same in each launch, whichever way its messages went. Pure.

Lines count, and not their order: ranks that print at the same time come in between each other. What
changes from run to run anyway, such as times, is left out by a pattern of the user's.
"""

import re
from collections import Counter

from beowire.errors import BeowireError

_SHOWN = 60


class Agreement:
    """What the first launch printed, and how others differ."""

    def __init__(self, ignored: str | None = None) -> None:
        """Lines in which the regular expression `ignored` is found do not count. BeowireError: it
        is none."""
        try:
            self._ignored = None if ignored is None else re.compile(ignored)
        except re.error as error:
            raise BeowireError(f"cannot read --ignore {ignored!r}: {error}") from None
        self._first: Counter[str] | None = None
        self._whose = ""

    def difference(self, whose: str, output: str) -> str:
        """How this differs from what the first launch printed, in a few words; empty: it does not,
        or it is the first. `whose`: which launch it is, for later ones."""
        lines = Counter(
            line.rstrip()
            for line in output.splitlines()
            if line.strip() and not (self._ignored and self._ignored.search(line))
        )
        if self._first is None:
            self._first, self._whose = lines, whose
            return ""
        more, less = lines - self._first, self._first - lines
        if not more and not less:
            return ""
        if not more:
            return f"{_quoted(less)} is missing, which it prints {self._whose}"
        instead = f", {_quoted(less)} {self._whose}" if less else f", not so {self._whose}"
        return f"it prints {_quoted(more)}{instead}"


def _quoted(lines: Counter[str]) -> str:
    line = min(lines)
    return repr(line if len(line) <= _SHOWN else f"{line[:_SHOWN]}...")
