# SPDX-License-Identifier: BSD-3-Clause
"""Several records beside each other: of each driver that more than one has, at a few sizes, the
figure of each and how many times the first record's it is. Pure."""

from collections.abc import Callable, Sequence

from beowire.analysis.curves import Curve, all_sizes, curves, ratio, record_labels, telling_sizes
from beowire.analysis.sheets import Sheet
from beowire.plan.patterns import PATTERNS, Pattern
from beowire.record.lines import Summary
from beowire.record.reader import Record
from beowire.units import rate_text, significant, size_text, time_text

_NOTES = (
    "Ratios are to the first record, with conservative 95 % intervals; * marks a significant"
    " difference. `beowire diff A B` judges two runs with several launches each.",
)


def sheets(records: Sequence[Record]) -> list[Sheet]:
    """A table a pattern; none of one record, or where no driver is in two."""
    if len(records) < 2:
        return []
    made = []
    for name, pattern in PATTERNS.items():
        rows = _rows(records, curves(records, name), pattern)
        if rows:
            labels = record_labels(records)
            heads = ["driver", "size", labels[0]]
            for label in labels[1:]:
                heads += [label, f"÷ {labels[0]}"]
            made.append(Sheet(f"{pattern.title}, compared", heads, rows, list(_NOTES)))
    return made


def _rows(records: Sequence[Record], found: Sequence[Curve], pattern: Pattern) -> list[list[str]]:
    rows: list[list[str]] = []
    for driver in dict.fromkeys(curve.driver for curve in found):
        own = {
            curve.record: curve for curve in found if curve.driver == driver and curve.load is None
        }
        if 0 not in own or len(own) < 2:
            continue
        common = set.intersection(*({cell.size for cell in one.cells} for one in own.values()))
        sizes = [size for size in all_sizes(list(own.values())) if size in common]
        for size in telling_sizes(sizes) if sizes else []:
            rows.append([driver, size_text(size), *_figures(records, own, size, pattern)])
    return rows


def _figures(
    records: Sequence[Record], own: dict[int, Curve], size: int, pattern: Pattern
) -> list[str]:
    text: Callable[[float], str] = time_text if pattern.is_times else rate_text
    base = _quantity(own[0], size, pattern)
    words = [text(base.median) if base else "–"]
    for index in range(1, len(records)):
        one = _quantity(own[index], size, pattern) if index in own else None
        words.append(text(one.median) if one else "–")
        words.append(_ratio_text(one, base) if one and base and base.median > 0 else "–")
    return words


def _ratio_text(one: Summary, base: Summary) -> str:
    found = ratio(one, base)
    if found.low is None or found.high is None:
        return f"{significant(found.value)} (±?)"
    apart = "" if found.low <= 1 <= found.high else "*"
    span = f"{significant(found.low)}–{significant(found.high)}"
    return f"{significant(found.value)}{apart} ({span})"


def _quantity(curve: Curve, size: int, pattern: Pattern) -> Summary | None:
    cell = curve.at(size)
    if cell is None:
        return None
    return cell.time if pattern.is_times else cell.rate_bytes_per_s
