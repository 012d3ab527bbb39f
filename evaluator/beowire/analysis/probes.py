# SPDX-License-Identifier: BSD-3-Clause
"""What the figures of probes are called, in which order they tell most, and which are missing."""

from collections.abc import Sequence

from beowire.record.lines import ProbeInfo
from beowire.record.reader import Record


def in_order(infos: Sequence[ProbeInfo]) -> list[ProbeInfo]:
    """What tells most first, for tables that are too wide: what was asked for, what is of a second,
    the rest."""
    return sorted(infos, key=lambda info: (not info.disturbs, info.per != "second"))


def heading_words(info: ProbeInfo) -> tuple[str, str]:
    """What a figure is called, and its unit, which is empty if it has none."""
    words = info.name.removesuffix("_ns").replace("_", " ")
    return words, "/s" if info.per == "second" else "µs" if info.unit == "ns" else ""


def reasons(record: Record) -> list[str]:
    """Why figures could not be had: a line a reason, with the figures and the nodes."""
    found: dict[str, tuple[list[str], list[str]]] = {}
    for info in record.meta.probes:
        for end, reason in zip(record.meta.ends, info.reasons, strict=False):
            if reason:
                names, nodes = found.setdefault(reason, ([], []))
                names.append(info.name)
                nodes.append(end.node)
    return [
        f"{', '.join(dict.fromkeys(names))} ({', '.join(dict.fromkeys(nodes))}): {reason}"
        for reason, (names, nodes) in found.items()
    ]
