# SPDX-License-Identifier: BSD-3-Clause
"""Streams on a link that loses frames, against the same without loss.

What counts is all bytes over all time: the median of rounds would hide the time-outs. A lab loses
each frame on its own, none larger than the MTU: where frames get lost, segmentation offload is off.
The labs differ, so they cannot take turns round by round: they are made again and again, in turns.
Each driver has a lab to itself: a message of TCP's that waits for its timeouts takes a hundred
times as long as one of ours, and would leave us no time.
"""

from benchmarks import compare
from benchmarks.compare import Comparison
from benchmarks.context import Context
from benchmarks.figure import Figure, Results, of_launches
from beowire.record.reader import Record
from beowire.units import rate_text, size_text

SUMMARY = "64 KiB to 4 MiB streaming at 1 Gbit/s with 1 and 5 % frame loss, against no loss"
SECONDS = 300.0

_KIB = 1024
_SIZES = (64 * _KIB, 1024 * _KIB, 4096 * _KIB)
#: And which part of the time of a turn each has.
_DRIVERS = {"beowire": 0.6, "tcp": 0.4}
_AT_LEAST = {"1%": 0.90, "5%": 0.70}
_LOSSES = ("0", *_AT_LEAST)

#: Turns of all labs: from six on the order of their ratios gives an interval.
_TURNS = 6
_LEAST_S = 6.0


def run(context: Context) -> Results:
    """Turns of two labs for each loss."""
    turns = max(1, min(_TURNS, int(context.seconds / (_LEAST_S * len(_LOSSES)))))
    seconds = context.seconds / (turns * len(_LOSSES))
    labs = [(loss, driver) for loss in _LOSSES for driver in _DRIVERS]
    records: dict[tuple[str, str], list[Record]] = {lab: [] for lab in labs}
    commands: dict[tuple[str, str], str] = {}
    for turn in range(turns):
        for loss, driver in labs:
            comparison = Comparison.of(
                context.part(f"{driver}-loss{loss.strip('%')}-{turn + 1}"),
                call_cost=context.call_cost,
                where=("--lab", "--rate", "1g", "--loss", loss),
                drivers=[driver],
                sizes=_SIZES,
                seconds=seconds * _DRIVERS[driver],
                pattern="stream",
                launches=1,
            )
            commands[loss, driver] = comparison.command
            records[loss, driver].append(comparison.run())
    return _figures(records, commands)


def _figures(
    records: dict[tuple[str, str], list[Record]], commands: dict[tuple[str, str], str]
) -> Results:
    results = Results()
    for loss, at_least in _AT_LEAST.items():
        for size in _SIZES:
            for driver in _DRIVERS:
                at = f"{size_text(size)} with {loss} loss: {driver}"
                lossy = _rates(records[loss, driver], driver, size)
                free = _rates(records["0", driver], driver, size)
                pairs = [(a, b) for a, b in zip(lossy, free, strict=True) if a and b]
                if not pairs or len(pairs) < len(lossy):
                    reason = compare.missing(records[loss, driver][0], driver)
                    results.problems.append(f"{at}, {len(lossy) - len(pairs)} turns: {reason}")
                if not pairs:
                    continue
                results.figures.append(
                    Figure(
                        f"{at} / without loss",
                        of_launches([a / b for a, b in pairs]),
                        f"{commands[loss, driver]}; {commands['0', driver]}",
                        at_least=at_least if driver == "beowire" else None,
                        detail=f"{at}: {rate_text(pairs[0][0])} of {rate_text(pairs[0][1])}"
                        + (" in the first turn" if len(pairs) > 1 else ""),
                    )
                )
    return results


def _rates(records: list[Record], driver: str, size: int) -> list[float]:
    """The mean rate in each turn; 0 where there is none."""
    found = [compare.typical(record, driver, size, compare.mean_rate) for record in records]
    return [0.0 if one is None else one.value for one in found]
