# SPDX-License-Identifier: BSD-3-Clause
"""Figures as text for people, as JSON for programs, and as an exit status for scripts."""

import json
from collections.abc import Sequence
from pathlib import Path

from benchmarks.figure import Figure, Results
from beowire import __version__, files

_GAP = "  "


def render(name: str, results: Results) -> str:
    """The table of one benchmark; then the values behind it, and how to repeat each."""
    rows = [("figure", "asked", "measured (95 %)", "")]
    rows += [(one.name, one.asked, one.measured, one.verdict) for one in results.figures]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = [name]
    lines += [
        _GAP.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    details = dict.fromkeys(one.detail for one in results.figures if one.detail)
    if details:
        lines += ["", *(f"  {detail}" for detail in details)]
    lines += [f"not measured: {problem}" for problem in dict.fromkeys(results.problems)]
    if remark := imprecision(results.figures):
        lines.append(remark)
    lines += [f"again: {command}" for command in dict.fromkeys(f.command for f in results.figures)]
    return "\n".join(lines)


def imprecision(figures: Sequence[Figure]) -> str:
    """Says how many figures are not to be trusted far; empty if all are precise."""
    count = sum(one.imprecise for one in figures)
    if not count:
        return ""
    return (
        f"imprecise: {count} of {len(figures)} figures have no 95 % interval, or one wider than"
        " ±5 %; a longer --time helps"
    )


def write(path: Path, name: str, seconds: float, results: Results) -> None:
    """The same as JSON."""
    content = {
        "benchmark": name,
        "beowire": __version__,
        "budget_s": seconds,
        "figures": [one.to_json() for one in results.figures],
        "problems": results.problems,
    }
    files.write_whole(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def exit_status(results: Sequence[Results]) -> int:
    """0: all is met; 1: something is missed or was not measured; 2: this run cannot tell."""
    verdicts = [figure.verdict for one in results for figure in one.figures]
    if "missed" in verdicts or any(one.problems for one in results):
        return 1
    return 2 if "met?" in verdicts or "missed?" in verdicts else 0
