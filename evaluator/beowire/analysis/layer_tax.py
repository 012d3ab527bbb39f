# SPDX-License-Identifier: BSD-3-Clause
"""The layer tax: what each layer adds to the one below it. Pure.

The interval of a difference comes from those of its two medians (the method of variance estimates
recovery: Zou and Donner, Statistics in Medicine 27 (2008), 1693-1702): no distribution is assumed
but what the two intervals already hold.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from beowire.analysis import layers
from beowire.analysis.statistics import Estimate
from beowire.record.lines import Summary

#: What is below where layers.py names something else, or nothing: the same without the sleep.
_BELOW = {"tcp": "tcp-spin"}

#: At the bottom of all: to have moved the bytes once.
_BOTTOM = "memcpy"


@dataclass(frozen=True)
class Layer:
    """A driver, and what it adds."""

    driver: str
    time: Summary
    """Half a round trip; of what has no other end a whole message."""
    below: str
    """Empty: it is the lowest that was measured."""
    tax: Estimate | None
    """What it takes longer than the one below."""


def chain(driver: str, ready: Collection[str]) -> list[str]:
    """The driver, then what it stands on, as far as that can run here."""
    return [driver, *(name for name in under(driver) if name in ready)]


def under(driver: str) -> list[str]:
    """What a driver stands on, down to a copy in memory."""
    found: list[str] = []
    name = _below(driver)
    while name is not None and name not in found:
        found.append(name)
        name = _below(name)
    return found if _BOTTOM in (driver, *found) else [*found, _BOTTOM]


def _below(driver: str) -> str | None:
    return _BELOW.get(driver) or layers.below(driver)


def difference(upper: Summary, lower: Summary) -> Estimate:
    """How much longer the upper one takes, with its 95 % interval if both have theirs."""
    value = upper.median - lower.median
    if upper.ci95 is None or lower.ci95 is None:
        return Estimate(value, None, None)
    return Estimate(
        value,
        value - math.hypot(upper.median - upper.ci95[0], lower.ci95[1] - lower.median),
        value + math.hypot(upper.ci95[1] - upper.median, lower.median - lower.ci95[0]),
    )


def taxes(names: Sequence[str], times: Mapping[str, Summary]) -> list[Layer]:
    """Of a chain from the top, as far as its drivers have times: each against the next that has."""
    known = [name for name in names if name in times]
    found = []
    for at, name in enumerate(known):
        below = known[at + 1] if at + 1 < len(known) else ""
        tax = difference(times[name], times[below]) if below else None
        found.append(Layer(name, times[name], below, tax))
    return found
