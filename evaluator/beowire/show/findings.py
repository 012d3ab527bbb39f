# SPDX-License-Identifier: BSD-3-Clause
"""Findings of `beowire doctor` as lines of text."""

import textwrap
from collections.abc import Sequence

from beowire.analysis.finding import Finding, State

_MARKS = {
    State.BAD: "BAD    ",
    State.WORSE: "slower ",
    State.NOTE: "note   ",
    State.UNKNOWN: "unknown",
    State.OK: "ok     ",
}


def lines_of(findings: Sequence[Finding], width: int) -> list[str]:
    """A line of what is so, then what it costs, then what to type. No command is broken: they are
    there to be copied."""
    lines = []
    for one in findings:
        head = f"{_MARKS[one.state]}  {one.check}: {one.text}"
        lines += wrapped(head, width, "  ", " " * 11)
        lines += wrapped(one.costs, width, " " * 11, " " * 11)
        lines += [f"             {line}" for line in _typed(one.do, width - 13)]
    return lines


def _typed(text: str, width: int) -> list[str]:
    """What to type. Where that is wider, each of several commands has a line, and the remark about
    them another: whatever is shown can be copied, and typed as it is."""
    if len(text) <= width:
        return [text] if text else []
    if text.startswith("# "):
        return wrapped(text, max(width, 20), "", "# ")
    commands, mark, remark = text.partition("   # ")
    whole = any(sign in commands for sign in "'\"") or "; do " in commands
    lines = [commands] if whole else commands.split("; ")
    return lines + (wrapped(f"# {remark}", max(width, 20), "", "# ") if mark else [])


def wrapped(text: str, width: int, first: str, further: str) -> list[str]:
    """Lines that end between words, with what stands before the first and the others."""
    return textwrap.wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=further,
        break_long_words=False,
        break_on_hyphens=False,
    )
