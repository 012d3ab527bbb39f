# SPDX-License-Identifier: BSD-3-Clause
"""The figures of a run as Markdown: a summary of what was asked for, then each figure.

`scripts/bench` leaves it in its directory as `figures.md`. `build/venv/bin/python -I
evaluator/beowire/isolated.py benchmarks.document DIR...` makes it of what several runs have left;
where a benchmark is in more than one, of the last.
"""

import importlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from beowire.units import significant

#: What a benchmark's JSON says, and a figure of it.
_Json = dict[str, Any]

_TITLE = """\
# The transport's figures, as measured

From `scripts/bench all`; [what is measured, and how](../benchmarks/README.md). Each
benchmark is followed by the commands that measure it again. `met?` and `missed?`: the 95 % interval
has the asked value inside, or there is none. Rows without `asked` are there to compare with.
"""

_SUMMARY_HEAD = ("| `scripts/bench` | what | asked | measured | met |", "|---|---|---|---|---|")
_FIGURE_HEAD = ("| figure | asked | measured (95 %) | met | values |", "|---|---|---|---|---|")


def read(directories: Sequence[Path]) -> list[_Json]:
    """What the benchmarks under these directories have written, each once, in their order."""
    found: dict[str, _Json] = {}
    for directory in directories:
        for path in sorted(directory.glob("*/figures.json"), key=lambda one: one.stat().st_mtime):
            content = json.loads(path.read_text(encoding="utf-8"))
            found[content["benchmark"]] = content
    return list(found.values())


def render(benchmarks: Sequence[_Json]) -> str:
    """The document, ending with a newline."""
    lines = [_TITLE, *_SUMMARY_HEAD, *(row for one in benchmarks for row in _summary(one))]
    for one in benchmarks:
        figures = one["figures"]
        lines += ["", f"## {one['benchmark']}", ""]
        lines += [*_FIGURE_HEAD, *map(_row, figures)] if figures else []
        missing = [f"Not measured: {problem}" for problem in one["problems"]]
        lines += [*([""] if figures and missing else []), *missing]
        commands = dict.fromkeys(figure["command"] for figure in figures)
        lines += ["", *(f"    {command}" for command in commands)] if commands else []
    return "\n".join(lines) + "\n"


def _summary(benchmark: _Json) -> list[str]:
    """A row for each thing asked: bulk asks less of 64 KiB than of 1 MiB."""
    module = importlib.import_module(f"benchmarks.{benchmark['benchmark']}")
    name = f"`{benchmark['benchmark']}` | {module.SUMMARY}"
    groups: dict[str, list[_Json]] = {}
    for figure in benchmark["figures"]:
        if asked := _asked(figure):
            groups.setdefault(asked, []).append(figure)
    if not groups:
        return [f"| {name} |  | {'; '.join(benchmark['problems']) or 'nothing'} | not measured |"]
    rows = []
    for asked, figures in groups.items():
        values = sorted(figure["value"] for figure in figures)
        unit = _unit(figures[0])
        measured = _number(values[0], unit)
        if len(values) > 1:
            measured += f" to {_number(values[-1], unit)}"
        met = sum(figure["verdict"].startswith("met") for figure in figures)
        unsure = sum(figure["verdict"].endswith("?") for figure in figures)
        verdict = f"{met} of {len(figures)}" + (f" ({unsure} unsure)" if unsure else "")
        rows.append(f"| {name} | {asked} | {measured}{unit} | {verdict} |")
    return rows


def _row(figure: _Json) -> str:
    unit = _unit(figure)
    measured = _number(figure["value"], unit)
    if figure["ci95"] is None:
        measured += " (±?)"
    elif figure["ci95"][0] != figure["ci95"][1]:
        measured += " ({}-{})".format(*(_number(end, unit) for end in figure["ci95"]))
    cells = [figure["figure"], _asked(figure), measured + unit]
    cells += [figure["verdict"] or "", figure["detail"]]
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def _asked(figure: _Json) -> str:
    if figure.get("within") is not None:
        return f"1 ± {figure['within'] * 100:.3g} %"
    for key, sign in (("at_most", "≤"), ("at_least", "≥")):
        if figure[key] is not None:
            return f"{sign} {_number(figure[key], _unit(figure))}{_unit(figure)}"
    return ""


def _unit(figure: _Json) -> str:
    return "" if figure["unit"] == "ratio" else str(figure["unit"])


def _number(value: float, unit: str) -> str:
    return significant(value, 4 if unit else 3)


def main(arguments: Sequence[str]) -> int:
    """Prints the document of some directories."""
    found = read([Path(one) for one in arguments])
    if not found:
        print("usage: isolated.py benchmarks.document DIRECTORY-OF-A-RUN...", file=sys.stderr)
        return 2
    print(render(found), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
