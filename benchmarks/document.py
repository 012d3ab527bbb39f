# SPDX-License-Identifier: BSD-3-Clause
"""The figures of a run as Markdown: a summary of what was asked for, then each figure that was.

`scripts/bench` leaves it in its directory as `figures.md`. `build/venv/bin/python -I
evaluator/beowire/isolated.py benchmarks.document DIR...` makes it of what several runs have left;
where a benchmark is in more than one, of the last.
"""

import itertools
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from beowire.units import significant

#: What a benchmark's JSON says, and a figure of it.
_Json = dict[str, Any]

_TITLE = """\
# The transport's figures, as measured

From `scripts/bench all`; `scripts/bench NAME` measures one again and prints its commands
([what each measures](../benchmarks/README.md)). In brackets are 95 % intervals; `met?` and
`missed?`: they contain the asked value, or there is none. No remark: met.
"""

_SUMMARY_HEAD = ("| `scripts/bench` | asked | measured | met |", "|---|---|---|---|")

#: What follows in brackets behind a value, which the interval of the ratio makes needless.
_RANGE = re.compile(r" \([^()]* to [^()]*\)")

#: What values end with that are not of all turns.
_FIRST = " in the first turn"

#: The first unit of `9 µs / 10 µs` and `9 µs of 10 µs`.
_SAME_UNIT = re.compile(r" (\S+)(?= (?:/|of) [\d.]+ \1(?:\s|$))")

#: `tcp-spin 4.18 µs`
_VALUE = re.compile(r"(.+) ([\d.]+ \S+)")


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
        lines += ["", f"## {one['benchmark']}"]
        for asked, figures in _groups(one["figures"]).items():
            lines += ["", *_table(asked, figures, one["figures"])]
        missing = [f"Not measured: {problem}" for problem in one["problems"]]
        lines += [*([""] if missing else []), *missing]
    return "\n".join(lines) + "\n"


def _groups(figures: Sequence[_Json]) -> dict[str, list[_Json]]:
    """By what was asked: bulk asks less of 64 KiB than of 1 MiB. Of some nothing was asked; those
    that are there to compare an asked one with are in its row."""
    asked_of = {_case(figure) for figure in figures if _asked(figure)}
    groups: dict[str, list[_Json]] = {}
    for figure in figures:
        if _asked(figure) or _case(figure) not in asked_of:
            groups.setdefault(_asked(figure), []).append(figure)
    return groups


def _summary(benchmark: _Json) -> list[str]:
    """A row for each thing asked."""
    name = f"`{benchmark['benchmark']}`"
    groups = _groups([figure for figure in benchmark["figures"] if _asked(figure)])
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


def _table(asked: str, figures: Sequence[_Json], all_figures: Sequence[_Json]) -> list[str]:
    """Figures of which the same was asked. What they have in common is in the head."""
    ratios = {_ratio(one) for one in figures}
    what = ratios.pop() if len(ratios) == 1 else ""
    names, common = _without_common_end([_case(one) if what else one["figure"] for one in figures])
    head, values = _values(figures)
    columns = [
        [", ".join(filter(None, (common, what))), *names],
        [
            f"asked: {asked}" if asked else "measured",
            *(_compared(one, all_figures) for one in figures),
        ],
        *([[head, *values]] if any(values) else []),
    ]
    lines = [
        f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"
        for cells in zip(*columns, strict=True)
    ]
    return [lines[0], "|" + "---|" * len(columns), *lines[1:]]


def _without_common_end(names: Sequence[str]) -> tuple[list[str], str]:
    """Names without the words with which all of them end, and these words."""
    words = [name.split(" ") for name in names]
    count = 0
    while len(names) > 1 and all(len(one) > count + 1 for one in words):
        if len({one[-count - 1] for one in words}) > 1:
            break
        count += 1
    keep = [" ".join(one[: len(one) - count]).removesuffix(",") for one in words]
    return keep, " ".join(words[0][len(words[0]) - count :])


def _compared(figure: _Json, all_figures: Sequence[_Json]) -> str:
    """What was measured of a figure, whether that is met, and what is there to compare with."""
    measured = _measured(figure)
    if figure["verdict"] not in ("met", None):
        measured += f" {figure['verdict']}"
    for other in all_figures:
        if _asked(figure) and _is_beside(other, figure):
            measured += f"; {_ratio(other).partition(' / ')[0]} {_measured(other)}"
    return measured


def _values(figures: Sequence[_Json]) -> tuple[str, list[str]]:
    """The values behind figures, and of what they are: once, if all have those of the same."""
    texts = []
    for figure in figures:
        text = figure["detail"]
        while ": " in text and _says(figure["figure"], text.partition(": ")[0]):
            text = text.partition(": ")[2]
        texts.append(_RANGE.sub("", text).removesuffix(_FIRST))
    first = "".join({_FIRST for one in figures if one["detail"].endswith(_FIRST)})
    found = [[_VALUE.fullmatch(part) for part in text.split(", ")] for text in texts]
    if all(one is not None for row in found for one in row):
        pairs = [[one.groups() for one in row if one is not None] for row in found]
        heads = {", ".join(name for name, _ in row) for row in pairs}
        if len(heads) == 1:
            return heads.pop() + first, [_listed([value for _, value in row]) for row in pairs]
    return "values" + first, [_SAME_UNIT.sub("", text) for text in texts]


def _listed(values: Sequence[str]) -> str:
    """`2.40 µs; 1.52, 1.61 ms` of `2.40 µs`, `1.52 ms` and `1.61 ms`."""
    runs = [
        (unit, [value.partition(" ")[0] for value in run])
        for unit, run in itertools.groupby(values, lambda value: value.partition(" ")[2])
    ]
    return "; ".join(f"{', '.join(numbers)} {unit}" for unit, numbers in runs)


def _says(name: str, start: str) -> bool:
    """Whether a figure's name has what its values begin with, or the size in it."""
    return start in name or " ".join(start.split()[-2:]) in name


def _is_beside(other: _Json, figure: _Json) -> bool:
    """Of which nothing was asked: it is there to compare with, and no value of the figure's row
    says it."""
    known = other["detail"] != "" and other["detail"] == figure["detail"]
    return not _asked(other) and not known and _case(other) == _case(figure)


def _case(figure: _Json) -> str:
    """Of what it is a ratio: `64 KiB at 1g` of `64 KiB at 1g: tcp / payload of the wire`."""
    return str(figure["figure"].partition(": ")[0])


def _ratio(figure: _Json) -> str:
    return str(figure["figure"].partition(": ")[2])


def _measured(figure: _Json) -> str:
    unit = _unit(figure)
    measured = _number(figure["value"], unit)
    if figure["ci95"] is None:
        measured += " (±?)"
    elif figure["ci95"][0] != figure["ci95"][1]:
        measured += " ({}-{})".format(*(_number(end, unit) for end in figure["ci95"]))
    return measured + unit


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
