# SPDX-License-Identifier: BSD-3-Clause
"""Rules that a run has to meet, from a file of TOML, and what came of them, as text and as JUnit's
XML. Pure, but for reading the file.

    [[rule]]
    name = "small messages are quick"
    driver = "beowire"
    pattern = "pingpong"
    sizes = "8-1024"
    at_most = "12us"

A rule is about every cell of its driver, pattern and sizes that was measured, and has one limit:
`at_most` or `at_least`, a time, a rate, or so many times (`"1.5x"`) what the driver `than` has
there. `of` is `median`, or `p99` of times. It is met where the whole interval of the median is
within the limit, broken where the whole interval is beyond; between the two it cannot be told.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree

from beowire import files
from beowire.analysis import marks
from beowire.analysis.curves import Cell, Curve, curves
from beowire.errors import BeowireError
from beowire.plan.patterns import DEFAULT, PATTERNS
from beowire.record.lines import Summary
from beowire.record.reader import Record
from beowire.sizes import parse_size
from beowire.units import rate_text, significant, size_text, time_text
from beowire.visible import LINES, visible

Status = Literal["met", "broken", "cannot tell", "not measured"]

_UNITS = {
    **{"ns": ("time", 1.0), "us": ("time", 1e3), "µs": ("time", 1e3), "ms": ("time", 1e6)},
    **{"s": ("time", 1e9), "B/s": ("rate", 1.0), "kB/s": ("rate", 1e3), "MB/s": ("rate", 1e6)},
    **{"GB/s": ("rate", 1e9), "x": ("times", 1.0)},
}
_BYTES_MAX = 1 << 20

_LIMIT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-zµA-Z/]+)\s*")
#: The end of what a rule is about that names no sizes.
_ANY_SIZE = 1 << 62
_MEMBERS = {"name", "driver", "pattern", "sizes", "load", "of", "than", "at_most", "at_least"}


@dataclass(frozen=True)
class Rule:
    """A rule as it was read."""

    name: str
    driver: str
    pattern: str
    low: int
    high: int
    """Sizes, both ends among them."""
    load: str | None
    of_tail: bool
    than: str
    """The driver whose figure counts as 1; empty: the limit is a time or a rate."""
    at_most: bool
    limit: float
    """ns, bytes per second, or times."""
    kind: str
    """`time`, `rate` or `times`."""


@dataclass(frozen=True)
class Outcome:
    """What came of a rule."""

    rule: Rule
    status: Status
    details: tuple[str, ...]
    """A line for each size at which it is not met."""


def read_rules(path: Path) -> list[Rule]:
    """BeowireError, one line with the file and the rule, for what is wrong in it."""
    text = files.read_regular(path, "a file of rules", _BYTES_MAX)
    try:
        content = tomllib.loads(text.decode())
    except (ValueError, RecursionError) as error:  # TOML, UTF-8, a number of too many digits
        raise BeowireError(f"{path} is no TOML: {' '.join(str(error).split())}") from None
    tables = content.pop("rule", [])
    if content:
        raise BeowireError(f"{path}: unknown {', '.join(content)}: a rule begins with [[rule]]")
    if not isinstance(tables, list) or not tables:
        raise BeowireError(f"{path} has no rule: one begins with [[rule]]")
    found = []
    for number, table in enumerate(tables, start=1):
        try:
            found.append(_rule(table, number))
        except (BeowireError, ValueError) as error:  # a number of too many digits
            raise BeowireError(f"{path}, rule {number}: {error}") from None
    return found


def _rule(table: object, number: int) -> Rule:
    if not isinstance(table, Mapping):
        raise BeowireError("it begins with [[rule]]")
    if unknown := sorted(set(table) - _MEMBERS):
        raise BeowireError(f"unknown {', '.join(unknown)}: there are {', '.join(sorted(_MEMBERS))}")
    words = {name: value for name, value in table.items() if isinstance(value, str)}
    if len(words) < len(table):
        wrong = next(name for name in table if name not in words)
        raise BeowireError(f'{wrong} is a text: {wrong} = "..."')
    if "driver" not in words:
        raise BeowireError("it has no driver")
    pattern = words.get("pattern", DEFAULT.name)
    if pattern not in PATTERNS:
        raise BeowireError(f"no pattern {pattern!r}: there are {', '.join(PATTERNS)}")
    if ("at_most" in words) == ("at_least" in words):
        raise BeowireError("it has one limit, at_most or at_least")
    if words.get("of", "median") not in ("median", "p99"):
        raise BeowireError("of is median or p99")
    at_most = "at_most" in words
    limit, kind = _limit(words["at_most" if at_most else "at_least"])
    if (kind == "times") != ("than" in words):
        raise BeowireError('"1.5x" goes with than = DRIVER, a time or a rate without')
    if kind == "time" and not PATTERNS[pattern].is_times:
        raise BeowireError(f"{pattern} has rates: write such as 900MB/s")
    if words.get("of") == "p99" and (kind == "rate" or not PATTERNS[pattern].is_times):
        raise BeowireError("p99 is of times")
    low, high = _sizes(words.get("sizes", ""))
    return Rule(
        name=words.get("name") or f"rule {number}",
        driver=words["driver"],
        pattern=pattern,
        low=low,
        high=high,
        load=words.get("load"),
        of_tail=words.get("of") == "p99",
        than=words.get("than", ""),
        at_most=at_most,
        limit=limit,
        kind=kind,
    )


def _limit(text: str) -> tuple[float, str]:
    found = _LIMIT.fullmatch(text)
    if found is None or found[2] not in _UNITS or not float(found[1]) > 0:
        raise BeowireError(f"cannot read the limit {text!r}: write such as 12us, 900MB/s or 1.5x")
    kind, factor = _UNITS[found[2]]
    return float(found[1]) * factor, kind


def _sizes(text: str) -> tuple[int, int]:
    if not text:
        return 0, _ANY_SIZE
    low, _, high = text.partition("-")
    first, last = parse_size(low.strip()), parse_size((high or low).strip())
    if first > last:
        raise BeowireError(f"sizes {text!r} end before they begin")
    return first, last


def judge(rules: Sequence[Rule], record: Record) -> list[Outcome]:
    """What came of each rule."""
    return [_judged(rule, record, curves([record], rule.pattern)) for rule in rules]


def _judged(rule: Rule, record: Record, found: Sequence[Curve]) -> Outcome:
    beside = [curve for curve in found if curve.load == rule.load]
    own = next((curve for curve in beside if curve.driver == rule.driver), None)
    base = next((curve for curve in beside if curve.driver == rule.than), None)
    cells = [cell for cell in own.cells if rule.low <= cell.size <= rule.high] if own else []
    missing = _missing(rule.driver, rule, record)
    if rule.than:
        known = {cell.size for cell in base.cells} if base else set()
        missing = _missing(rule.than, rule, record) | missing
        cells = [cell for cell in cells if cell.size in known]
    if not cells:
        reasons = tuple(f"{size_text(size)}: {missing[size]}" for size in sorted(missing))
        nothing = (f"nothing of {rule.driver} was measured there",)
        return Outcome(rule, "not measured", reasons or nothing)
    found_at: dict[int, tuple[Status, str]] = {}
    for cell in cells:
        at_base = base.at(cell.size) if base else None
        if own is not None and _beyond(record, cell, own, at_base, base):
            why = "beyond the wire: it is a burst of the lab's shaper, not the driver"
            found_at[cell.size] = "cannot tell", why
        else:
            found_at[cell.size] = _at(rule, cell, at_base)
    # Of a launch that has no figure nothing is known: what the others have is not all there is.
    for size, why in missing.items():
        if found_at.get(size, ("met", ""))[0] != "broken":
            found_at[size] = "cannot tell", why
    statuses = {status for status, _ in found_at.values()}
    worst: Status = "broken" if "broken" in statuses else "met"
    if worst == "met" and statuses != {"met"}:
        worst = "cannot tell"
    if worst == "met" and record.end is None:
        return Outcome(rule, "cannot tell", ("the run was cut short: cells may be missing",))
    details = [
        f"{size_text(size)}: {detail}"
        for size, (status, detail) in sorted(found_at.items())
        if status != "met"
    ]
    return Outcome(rule, worst, tuple(details))


def _missing(driver: str, rule: Rule, record: Record) -> dict[int, str]:
    """Sizes of the rule at which the driver has no figure, of one launch at least, and why. What it
    cannot have, for it has no message so long, is missing only where the rule names its sizes."""
    found = {
        one.size: one.status
        for one in record.results
        if (one.driver, one.pattern, one.load) == (driver, rule.pattern, rule.load)
        and one.time() is None
        and one.rate_bytes_per_s is None
    }
    of_driver = next((one for one in record.meta.drivers if one.name == driver), None)
    for one in record.skipped:
        if (one.driver, one.pattern) != (driver, rule.pattern) or one.size is None:
            continue
        beside = f"beside {rule.load}: " if rule.load else ""
        if one.reason.startswith("beside ") != bool(beside) or not one.reason.startswith(beside):
            continue
        can = of_driver is None or of_driver.min_size <= one.size <= of_driver.max_size
        if can or rule.high < _ANY_SIZE:
            found[one.size] = one.reason.removeprefix(beside)
    return {
        size: f"no figure of {driver}: {why}"
        for size, why in found.items()
        if rule.low <= size <= rule.high
    }


def _beyond(
    record: Record, cell: Cell, own: Curve, at_base: Cell | None, base: Curve | None
) -> bool:
    """One of the two is faster than the wire."""
    return marks.is_beyond_wire(record, cell, own) or (
        base is not None and at_base is not None and marks.is_beyond_wire(record, at_base, base)
    )


def _at(rule: Rule, cell: Cell, base: Cell | None) -> tuple[Status, str]:
    launches = [*cell.launches, *(base.launches if base is not None else ())]
    failed = next((result.status for result in launches if result.status != "ok"), "")
    low, value, high = _figure(rule, cell)
    if rule.than and base is not None:
        base_low, base_value, base_high = _figure(rule, base)
        if base_low <= 0:
            return "cannot tell", f"{rule.than} has no figure"
        low, value, high = low / base_high, value / base_value, high / base_low
    shown = f"{_text(rule, value)} ({_text(rule, low)} to {_text(rule, high)})"
    detail = f"{shown}, {'at most' if rule.at_most else 'at least'} {_text(rule, rule.limit)}"
    if failed:
        return "cannot tell", f"{detail}; {failed}"
    within, beyond = (high, low) if rule.at_most else (-low, -high)
    limit = rule.limit if rule.at_most else -rule.limit
    if within <= limit:
        return "met", detail
    return ("broken" if beyond > limit else "cannot tell"), detail


def _figure(rule: Rule, cell: Cell) -> tuple[float, float, float]:
    """Low end, figure and high end; without an interval nothing is known of where the ends are."""
    summary: Summary = cell.rate_bytes_per_s
    if rule.kind != "rate" and cell.time is not None:
        summary = cell.time
    if rule.of_tail:
        intervals = [getattr(one.time(), "p99_ci95", None) for one in cell.launches]
        value = summary.p99
        if value is None:
            return 0.0, summary.max, float("inf")
        known = [one for one in intervals if isinstance(one, list | tuple)]
        if len(known) < len(intervals):
            return 0.0, value, float("inf")
        return min(one[0] for one in known), value, max(one[1] for one in known)
    if summary.ci95 is None:
        return 0.0, summary.median, float("inf")
    return summary.ci95[0], summary.median, summary.ci95[1]


def _text(rule: Rule, value: float) -> str:
    if value == float("inf"):
        return "?"
    if rule.kind == "times":
        return f"{significant(value)}x"
    return time_text(value) if rule.kind == "time" else rate_text(value)


def render(outcomes: Sequence[Outcome]) -> str:
    """A line a rule, and one for each size at which it is not met."""
    lines = ["Rules"]
    for one in outcomes:
        lines.append(f"  {one.status:<13} {one.rule.name}")
        lines += [f"  {'':<13}   {detail}" for detail in one.details]
    return "\n".join(lines)


def status_of(outcomes: Sequence[Outcome]) -> int:
    """What a command ends with: 0 all are met, 1 one is broken, 2 of one it is not known."""
    found = {one.status for one in outcomes}
    return 1 if "broken" in found else 0 if found <= {"met"} else 2


def junit(outcomes: Sequence[Outcome], record: Record) -> str:
    """JUnit's XML: a broken rule is a failure, one of which it cannot be told an error."""
    suite = ElementTree.Element(
        "testsuite",
        {
            "name": "beowire",
            "timestamp": record.meta.started.strftime("%Y-%m-%dT%H:%M:%S"),
            "tests": str(len(outcomes)),
            "failures": str(sum(one.status == "broken" for one in outcomes)),
            "errors": str(sum(one.status in ("cannot tell", "not measured") for one in outcomes)),
        },
    )
    for one in outcomes:
        case = ElementTree.SubElement(
            suite,
            "testcase",
            {
                "classname": visible(f"{one.rule.driver}.{one.rule.pattern}"),
                "name": visible(one.rule.name),
            },
        )
        if one.status != "met":
            kind = "failure" if one.status == "broken" else "error"
            found = ElementTree.SubElement(case, kind, {"message": one.status})
            found.text = visible("\n".join(one.details), LINES)
    ElementTree.indent(suite)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        + ElementTree.tostring(suite, encoding="unicode")
        + "\n"
    )
