# SPDX-License-Identifier: BSD-3-Clause
"""What `beowire doctor` found, for people and for programs."""

import shutil
from collections.abc import Sequence

from beowire.analysis.finding import Finding, State, ordered
from beowire.doctor.look import Diagnosis
from beowire.doctor.pairs import Pair
from beowire.show.findings import lines_of, wrapped

#: Where there is no terminal to be as wide as; and what is no terminal's width.
_WIDTH, _NARROWEST = 100, 40


def width_here() -> int:
    """How wide lines may be: as the terminal, or as COLUMNS says."""
    return max(shutil.get_terminal_size((_WIDTH, 24)).columns, _NARROWEST)


def render(diagnoses: Sequence[Diagnosis], between: Sequence[Finding], width: int) -> list[str]:
    """All of it as lines of text. What is alike on several hosts is said once."""
    titles: dict[str, list[str]] = {}
    for one in diagnoses:
        titles.setdefault(_title(one), []).append(one.facts.host)
    lines = [
        line
        for title, hosts in titles.items()
        for line in wrapped(f"{', '.join(hosts)}: {title}", width, "", "  ")
    ]
    if len(diagnoses) > 1:
        lines += ["", "on all hosts, unless some are named"]
    found = together(diagnoses)
    lines += lines_of(found, width)
    if between:
        lines += ["", "between the hosts", *lines_of(between, width)]
    counts = [sum(finding.state is state for finding in (*found, *between)) for state in State]
    lines += [
        "",
        f"{counts[0]} bad, {counts[1]} that cost{'s' if counts[1] == 1 else ''} time,"
        f" {counts[2]} to note; nothing was changed",
    ]
    return lines


def _title(one: Diagnosis) -> str:
    name = one.facts.interface
    kernel = one.facts.text("kernel")
    model = one.facts.text("cpu_model")
    parts = [f"card {name}" if name else "no card", *([f"Linux {kernel}"] if kernel else [])]
    return ", ".join([*parts, *([model] if model else [])])


def together(diagnoses: Sequence[Diagnosis]) -> list[Finding]:
    """The findings of all hosts, the worst first; one of those that cost the same and have the same
    to type. It names its hosts, unless the same is so on all."""
    alike: dict[tuple[str, State, str, str], dict[str, list[str]]] = {}
    for one in diagnoses:
        for finding in one.findings:
            key = finding.check, finding.state, finding.costs, finding.do
            alike.setdefault(key, {}).setdefault(finding.text, []).append(one.facts.host)
    found = []
    for (check, state, costs, do), texts in alike.items():
        said = "; ".join(f"{', '.join(hosts)}: {text}" for text, hosts in texts.items())
        if len(texts) == 1:
            said, hosts = next(iter(texts.items()))
            if len(hosts) < len(diagnoses):
                check += f" at {', '.join(hosts)}"
        found.append(Finding(check, state, said, costs, do))
    return ordered(found)


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
