# SPDX-License-Identifier: BSD-3-Clause
"""What to use for which sizes, which settings of the nodes cost time and what to type, and what one
link costs compared with another measured one.

The record has the settings that cost time in the words of `beowire doctor`.
"""

from collections.abc import Sequence
from itertools import combinations

from beowire.analysis import advice, marks
from beowire.analysis.curves import Curve, record_labels
from beowire.analysis.finding import COSTLY
from beowire.plan.patterns import Pattern
from beowire.record.lines import Summary
from beowire.record.parts import Found, Link
from beowire.record.reader import Record
from beowire.units import interval_text, size_text, time_text

#: Drivers by which two links are compared, the lowest layer first.
_TOLD_BY = ("packet", "udp", "tcp-spin", "beowire", "tcp")


def rows(
    record: Record, found: Sequence[Curve], pattern: Pattern
) -> list[tuple[str, str, str, str]]:
    """advice.verdicts(), for sizes at which no contender exceeds the limit of the link."""
    return advice.verdicts(within(record, found), pattern, record.meta.drivers)


def within(record: Record, found: Sequence[Curve]) -> list[Curve]:
    """The curves at the sizes that can be judged."""
    able = advice.able(record.meta.drivers)
    contenders = marks.within_wire(record, [one for one in found if one.driver in able])
    return contenders + [one for one in found if one.driver not in able]


def left_out(record: Record, found: Sequence[Curve]) -> str:
    """The other sizes, and why; empty: none."""
    able = advice.able(record.meta.drivers)
    return marks.beyond_text(record, [one for one in found if one.driver in able])


def costly(record: Record) -> list[Found]:
    """Findings that cost time, the worst first."""
    return [one for one in record.meta.findings if one.state in COSTLY]


def where(record: Record, one: Found) -> str:
    """`node0`; empty: at all nodes."""
    nodes = [end.node for end in (*record.meta.ends, *record.meta.others)]
    return "" if set(nodes) <= set(one.nodes) else " and ".join(one.nodes)


def links(records: Sequence[Record], pingpong: Sequence[Curve]) -> list[str]:
    """What a switch or a longer frame costs or saves, from two records of labs that differ only in
    that: by one driver of both, at the smallest or largest size. Each is a difference of measured
    medians with a conservative interval."""
    found = []
    for one, other in combinations(range(len(records)), 2):
        a, b = records[one].meta.link, records[other].meta.link
        labels = record_labels(records)
        if _differ_in(a, b, "topology") and {a.topology, b.topology} == {"direct", "switch"}:
            direct, switch = (one, other) if a.topology == "direct" else (other, one)
            text = _added(records, pingpong, direct, switch, smallest=True)
            found += [f"The switch ({labels[switch]}) {text}"] if text else []
        elif _differ_in(a, b, "mtu") and a.mtu and b.mtu:
            long, short = (one, other) if a.mtu > b.mtu else (other, one)
            mtus = f"An MTU of {records[short].meta.link.mtu}, not {records[long].meta.link.mtu},"
            text = _added(records, pingpong, long, short, smallest=False)
            found += [f"{mtus} {text}"] if text else []
    return found


def _differ_in(one: Link, other: Link, name: str) -> bool:
    """Both are labs that differ only in that."""
    if one.kind != "lab" or other.kind != "lab":
        return False
    a, b = one.model_dump(), other.model_dump()
    return [key for key in a.keys() | b.keys() if a.get(key) != b.get(key)] == [name]


def _added(
    records: Sequence[Record], pingpong: Sequence[Curve], base: int, other: int, *, smallest: bool
) -> str:
    """`adds 3.1 µs (2.9 to 3.3) to half a round trip of 8 B over packet`; empty: unknown."""
    for driver in _TOLD_BY:
        of_driver = [one for one in pingpong if one.driver == driver and one.load is None]
        times = [
            {
                cell.size: cell.time
                for one in of_driver
                if one.record == index
                for cell in one.cells
                if cell.time is not None
                and cell.time.ci95 is not None
                and not marks.is_beyond_wire(records[index], cell, one)
            }
            for index in (base, other)
        ]
        if sizes := times[0].keys() & times[1].keys():
            size = min(sizes) if smallest else max(sizes)
            told = f"half a round trip of {size_text(size)} over {driver}"
            return _difference(times[0][size], times[1][size], told)
    return ""


def _difference(a: Summary, b: Summary, told: str) -> str:
    assert a.ci95 is not None and b.ci95 is not None
    low, high = b.ci95[0] - a.ci95[1], b.ci95[1] - a.ci95[0]
    if low <= 0 <= high:
        return f"makes no significant difference to {told}"
    added = b.median - a.median
    near, far = (time_text(one) for one in sorted((abs(low), abs(high))))
    reach = f"{interval_text(near, far)}, {abs(added) / a.median:.0%}"
    if added < 0:
        return f"saves {time_text(-added)} ({reach}) of {told}"
    return f"adds {time_text(added)} ({reach}) to {told}"
