# SPDX-License-Identifier: BSD-3-Clause
"""Warnings about figures: messages were lost, a figure exceeds the limit of the link, other
programs used the processors.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

from beowire.analysis import wire
from beowire.analysis.curves import Cell, Curve, all_sizes
from beowire.record.lines import BUSY_SHARE, End, NodeEnd
from beowire.record.parts import Link
from beowire.record.reader import Record
from beowire.units import significant, size_text

#: Shares of the time of a run. If others used much of the processors (others.py) for the first, the
#: run was disturbed, however low the mean; for the second, all of the time.
_BURST_SHARE, _WHOLE_SHARE = 0.1, 0.8

#: Assumed if the number of CPUs is unknown.
_FEW_CPUS = 2

#: Load per processor at the beginning that disturbs. It is a mean of a minute, so the limit is
#: higher.
_BUSY_LOAD = 0.5

#: Exceeds the limit of the link by more than rounding.
_BEYOND = 1.01

#: Maximum number of drivers named in a line.
_MOST_NAMED = 4


def loss_share(cell: Cell) -> float:
    """The share of messages that were lost, 0 to 1."""
    return cell.lost / (cell.messages + cell.lost) if cell.lost else 0.0


def percent_text(share: float) -> str:
    """`67 %`; `<0.01 %` for tiny shares."""
    return "<0.01 %" if 0 < share < 1e-4 else f"{significant(100 * share, 2)} %"


def worst_losses(found: Sequence[Curve]) -> list[tuple[Curve, Cell]]:
    """Of each curve with lost messages the cell that lost most, the worst curve first."""
    worst = [
        (curve, max(lossy, key=loss_share))
        for curve in found
        if (lossy := [cell for cell in curve.cells if cell.lost])
    ]
    return sorted(worst, key=lambda one: -loss_share(one[1]))


def loss_text(found: Sequence[Curve]) -> str:
    """Which drivers lost messages, and how many at worst; empty: none."""
    worst = worst_losses(found)
    if not worst:
        return ""
    named = [
        f"{curve.label or curve.name} up to {percent_text(loss_share(cell))}"
        f" (at {size_text(cell.size)})"
        for curve, cell in worst[:_MOST_NAMED]
    ]
    more = len(worst) - _MOST_NAMED
    if more > 0:
        named.append(f"{more} others")
    return f"messages were lost; rates count those that arrived: {', '.join(named)}"


def is_beyond_wire(record: Record, cell: Cell, curve: Curve) -> bool:
    """Whether a figure exceeds the limit of the link, because the lab's rate limit lets a burst
    pass after each pause. Such a figure says nothing about the driver."""
    limit = record.meta.wire
    if limit is None or not record.meta.link.burst_bytes or not meets_wire(record, curve):
        return False
    if curve.kind.is_times:
        return cell.time is not None and 0 < cell.time.median * _BEYOND < wire.time_ns(
            record, cell.size
        )
    return cell.rate_bytes_per_s.median > _BEYOND * curve.kind.ways * limit.payload_bytes_per_s


def within_wire(record: Record, found: Sequence[Curve]) -> list[Curve]:
    """The curves without the sizes at which one of them exceeds the limit of the link. If only that
    curve's cell were left out, another would seem the fastest."""
    beyond = {cell.size for one in found for cell in one.cells if is_beyond_wire(record, cell, one)}
    left = [
        replace(one, cells=tuple(cell for cell in one.cells if cell.size not in beyond))
        for one in found
    ]
    return [one for one in left if one.cells]


def beyond_text(record: Record, found: Sequence[Curve]) -> str:
    """Which sizes within_wire() leaves out, and why; empty: none."""
    left = set(all_sizes(within_wire(record, found)))
    out = [size_text(size) for size in all_sizes(found) if size not in left]
    if not out:
        return ""
    more = len(out) - _MOST_NAMED
    named = ", ".join(out[:_MOST_NAMED]) + (f" and {more} others" if more > 0 else "")
    return f"left out: {named}, where a figure exceeds the limit of the link"


def of_wire(record: Record, cell: Cell, curve: Curve) -> float | None:
    """Throughput as a share of the link's limit; None: unknown, or not limited by the link."""
    limit = record.meta.wire
    if limit is None or not meets_wire(record, curve) or is_beyond_wire(record, cell, curve):
        return None
    return cell.rate_bytes_per_s.median / (curve.kind.ways * limit.payload_bytes_per_s)


def meets_wire(record: Record, curve: Curve) -> bool:
    """The driver works between two nodes; the others do not use the link."""
    placements = {info.name: info.placement for info in record.meta.drivers}
    return placements.get(curve.driver, "pair") == "pair"


def busy_text(record: Record) -> str:
    """A note that other programs used the processors during the run; empty: not known."""
    return busy_during(record.meta.link, record.meta.ends, record.end)


def busy_during(link: Link, ends: Sequence[NodeEnd], end: End | None) -> str:
    """The same for any run between these ends."""
    return ": ".join(_disturbance(link, ends, end))


def used_by_others(record: Record) -> str:
    """busy_text() without the consequence."""
    return next(iter(_disturbance(record.meta.link, record.meta.ends, record.end)), "")


def _disturbance(link: Link, ends: Sequence[NodeEnd], end: End | None) -> tuple[str, ...]:
    """What others used, and the consequence; empty: not known."""
    # A virtual machine has other CPUs than its host.
    cpus = None if link.accelerator else _cpus(ends[0])
    if end is not None and end.other_cpus is not None:
        of = f" of {cpus}" if cpus else ""
        used = _used_text(end, BUSY_SHARE * (cpus or _FEW_CPUS), f"{of} CPUs of this machine")
        if not used:
            return ()
        return used, "expect wider intervals and longer tails than on an idle machine"
    busy = [
        f"{one.node} had a load of {significant(load, 2)} on {count} CPUs"
        for one in (ends if link.kind == "hosts" else ends[:1])
        if (load := _load(one)) is not None
        and (count := _cpus(one)) is not None
        and load > _BUSY_LOAD * count
    ]
    if not busy:
        return ()
    return (
        f"when this began, {' and '.join(busy)}",
        "if that went on, expect wider intervals and longer tails than on an idle machine",
    )


def _used_text(end: End, much: float, whose: str) -> str:
    """How much others used, and how long; empty: too little to disturb."""
    used, share = end.other_cpus or 0.0, (end.busy_s or 0.0) / max(end.elapsed_s, 1e-9)
    if end.busy_cpus and _BURST_SHARE <= share < _WHOLE_SHARE:
        return (
            f"for {end.busy_s:.0f} of {end.elapsed_s:.0f} s other programs used"
            f" {significant(end.busy_cpus, 2)}{whose}"
        )
    if used < much and share < _WHOLE_SHARE:
        return ""
    return f"other programs used {significant(used, 2)}{whose} during the run"


def _load(end: NodeEnd) -> float | None:
    value = end.environment.get("load_1min")
    return float(value) if isinstance(value, int | float) else None


def _cpus(end: NodeEnd) -> int | None:
    value = end.environment.get("cpus_online")
    return value if isinstance(value, int) and value > 0 else None


def schedule_text(record: Record) -> str:
    """How many sizes were left out because the time was short; empty: none."""
    whole, seconds = (record.meta.options.get(f"schedule_{name}") for name in ("sizes", "s"))
    sizes = record.meta.options.get("sizes")
    if not isinstance(whole, int) or not isinstance(seconds, int | float):
        return ""
    if not isinstance(sizes, list) or len(sizes) >= whole:
        return ""
    return (
        f"{len(sizes)} of the {whole} sizes of the schedule were measured, because the time was"
        f" short: --time {math.ceil(seconds)} measures all."
    )


def walk_text(found: Sequence[Curve]) -> str:
    """How much memory messages with cold caches walked through; empty: none were."""
    walks = [
        (one.walk_bytes, one.cache_bytes or 0)
        for curve in found
        for cell in curve.cells
        for one in cell.launches
        if one.walk_bytes
    ]
    if not walks:
        return ""
    least, cache = min(walks)
    text = f"Messages walked through {size_text(least)} of memory at each end"
    if not cache:
        return f"{text}; the kernel does not say how large the last-level cache is."
    if least >= 2 * cache:
        return f"{text}, twice the last-level cache ({size_text(cache)}) or more."
    return (
        f"{text}: less than twice the last-level cache ({size_text(cache)}), because memory was"
        " short, so part of it may have been in the cache."
    )
