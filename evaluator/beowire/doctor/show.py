# SPDX-License-Identifier: BSD-3-Clause
"""What `beowire doctor` found, for people and for programs."""

import textwrap
from collections.abc import Sequence

from beowire.doctor.finding import Finding, State
from beowire.doctor.look import Diagnosis
from beowire.doctor.pairs import Pair

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
        head = f"  {_MARKS[one.state]}  {one.check}: {one.text}"
        lines += textwrap.wrap(
            head, width, subsequent_indent=" " * 11, break_long_words=False, break_on_hyphens=False
        )
        if one.costs:
            lines += textwrap.wrap(
                one.costs,
                width,
                initial_indent=" " * 11,
                subsequent_indent=" " * 11,
                break_long_words=False,
                break_on_hyphens=False,
            )
        lines += [f"             {line}" for line in _typed(one.do, width - 13)]
    return lines


def _typed(text: str, width: int) -> list[str]:
    """What to type. Where that is wider, each of several commands has a line, and the remark about
    them another: whatever is shown can be copied, and typed as it is."""
    if len(text) <= width:
        return [text] if text else []
    commands, mark, remark = text.partition("   # ")
    whole = any(sign in commands for sign in "'\"") or "; do " in commands
    lines = [commands] if whole else commands.split("; ")
    if mark:
        lines += textwrap.wrap(
            f"# {remark}",
            max(width, 20),
            subsequent_indent="# ",
            break_long_words=False,
            break_on_hyphens=False,
        )
    return lines


def render(diagnoses: Sequence[Diagnosis], between: Sequence[Finding], width: int) -> list[str]:
    """All of it as lines of text."""
    lines: list[str] = []
    for one in diagnoses:
        lines += [*([""] if lines else []), _title(one)]
        lines += lines_of(one.findings, width)
    if between:
        lines += ["", "between the hosts", *lines_of(between, width)]
    counts = [
        sum(finding.state is state for finding in _all(diagnoses, between)) for state in State
    ]
    lines += [
        "",
        f"{counts[0]} bad, {counts[1]} that cost time, {counts[2]} to note; nothing was changed",
    ]
    return lines


def _title(one: Diagnosis) -> str:
    name = one.facts.interface
    kernel = one.facts.text("kernel")
    model = one.facts.text("cpu_model")
    parts = [f"card {name}" if name else "no card", *([f"Linux {kernel}"] if kernel else [])]
    return f"{one.facts.host}: {', '.join([*parts, *([model] if model else [])])}"


def _all(diagnoses: Sequence[Diagnosis], between: Sequence[Finding]) -> list[Finding]:
    return [finding for one in diagnoses for finding in one.findings] + list(between)


def is_bad(diagnoses: Sequence[Diagnosis], between: Sequence[Finding]) -> bool:
    """Is there anything that does not work?"""
    return any(finding.state is State.BAD for finding in _all(diagnoses, between))


def as_data(
    diagnoses: Sequence[Diagnosis], between: Sequence[Finding], pairs: Sequence[Pair]
) -> dict[str, object]:
    """For JSON."""
    return {
        "hosts": [
            {
                "host": one.facts.host,
                "interface": one.facts.interface,
                "checks": [finding.as_data() for finding in one.findings],
            }
            for one in diagnoses
        ],
        "between": [finding.as_data() for finding in between],
        "pairs": [
            {
                "hosts": list(pair.hosts),
                "ways": {
                    name: {
                        "half_rtt_ns": bounced.half_rtt_ns,
                        "lost": bounced.lost,
                        "tried": bounced.tried,
                        "why": bounced.why,
                    }
                    for name, bounced in pair.ways.items()
                },
            }
            for pair in pairs
        ],
    }
