# SPDX-License-Identifier: BSD-3-Clause
"""A figure: a ratio that was asked for, what was measured of it, and what that means."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Literal

from beowire.analysis.statistics import Estimate, order_interval
from beowire.record.lines import Summary
from beowire.units import significant

#: An interval that reaches farther than this from its value says little.
WIDE = 0.05

Verdict = Literal["met", "missed", "met?", "missed?", "-"]


@dataclass(frozen=True)
class Figure:
    """One line of the table."""

    name: str
    """What it is a ratio of: `8 B half round trip, direct: beowire / packet`."""
    ratio: Estimate
    command: str
    """Measures it again."""
    at_most: float | None = None
    at_least: float | None = None
    """What was asked: at most one of the two. Neither: the figure is there to compare with."""
    within: float | None = None
    """What was asked instead: that the ratio is so near to 1, on either side."""
    detail: str = ""
    """The measured values behind the ratio."""
    unit: str = ""
    """Empty for a ratio."""
    reaching: bool = False
    """It is enough that the interval reaches what was asked."""

    @property
    def asked(self) -> str:
        """`≤ 1.25`, `≥ 2`, `1 ± 3 %`, or nothing."""
        if self.within is not None:
            return f"1 ± {self.within * 100:.3g} %"
        if self.at_most is not None:
            return f"≤ {self.at_most:.4g}{self.unit}"
        return "" if self.at_least is None else f"≥ {self.at_least:.4g}{self.unit}"

    @property
    def measured(self) -> str:
        """The ratio with its 95 % interval, where there is one."""
        digits = 4 if self.unit else 3
        value = significant(self.ratio.value, digits)
        if self.ratio.low is None or self.ratio.high is None:
            return f"{value}{self.unit} (±?)"
        if self.ratio.low == self.ratio.high:
            return f"{value}{self.unit}"
        low, high = significant(self.ratio.low, digits), significant(self.ratio.high, digits)
        return f"{value}{self.unit} ({low}-{high})"

    @property
    def imprecise(self) -> bool:
        """No interval, or a wide one."""
        return self.ratio.half_width() > WIDE

    @property
    def verdict(self) -> Verdict:
        """`met` or `missed`; with a question mark where the interval has both, or is not known."""
        if self.at_most is None and self.at_least is None and self.within is None:
            return "-"
        ends = (self.ratio.low, self.ratio.high)
        if self.reaching and None not in ends:
            return "met" if any(end is not None and self._meets(end) for end in ends) else "missed"
        met = self._meets(self.ratio.value)
        sure = all(end is not None and self._meets(end) == met for end in ends)
        if self.within is not None and not met:  # ends on both sides have what was asked inside
            sure = sure and not (self.ratio.low or 0) < 1 < (self.ratio.high or 0)
        if met:
            return "met" if sure else "met?"
        return "missed" if sure else "missed?"

    def to_json(self) -> dict[str, Any]:
        """All of it, for programs."""
        return {
            "figure": self.name,
            "at_most": self.at_most,
            "at_least": self.at_least,
            "within": self.within,
            "unit": self.unit or "ratio",
            "value": self.ratio.value,
            "ci95": None
            if self.ratio.low is None or self.ratio.high is None
            else [self.ratio.low, self.ratio.high],
            "imprecise": self.imprecise,
            "verdict": self.verdict.strip("-") or None,
            "detail": self.detail,
            "command": self.command,
        }

    def _meets(self, value: float) -> bool:
        if self.within is not None:
            return abs(value - 1) <= self.within
        if self.at_most is not None:
            return value <= self.at_most
        return self.at_least is not None and value >= self.at_least


@dataclass
class Results:
    """What a benchmark gives."""

    figures: list[Figure] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    """What could not be measured, and why: one line each."""


def exactly(value: float) -> Estimate:
    """A value that was counted, not sampled."""
    return Estimate(value, value, value)


def of_summary(summary: Summary) -> Estimate:
    """The median of a record's quantity."""
    low, high = summary.ci95 or (None, None)
    return Estimate(summary.median, low, high)


def ratio(one: Estimate, other: Estimate) -> Estimate:
    """one / other of two independent estimates.

    The interval is made of the distances of theirs, added as squares in logarithms (the method of
    variance estimates recovery: Donner and Zou, Statistical Methods in Medical Research 21 (2012)).
    """
    if other.value <= 0:
        return Estimate(math.inf, None, None)
    value = one.value / other.value
    ends = (one.low, one.high, other.low, other.high)
    if value <= 0 or any(end is None or end <= 0 for end in ends):
        return Estimate(value, None, None)
    below = math.hypot(_distance(one.value, one.low), _distance(other.value, other.high))
    above = math.hypot(_distance(one.value, one.high), _distance(other.value, other.low))
    return Estimate(value, value * math.exp(-below), value * math.exp(above))


def _distance(value: float, end: float | None) -> float:
    return abs(math.log((end or value) / value))


def scaled(estimate: Estimate, factor: float) -> Estimate:
    """The estimate of so many times the quantity; `factor` is positive."""
    low = None if estimate.low is None else estimate.low * factor
    high = None if estimate.high is None else estimate.high * factor
    return Estimate(estimate.value * factor, low, high)


def hull(estimates: Sequence[Estimate]) -> Estimate:
    """The median of several launches' ratios, with all that their intervals enclose: so never a
    claim that no launch made."""
    value = median(one.value for one in estimates)
    lows = [one.low for one in estimates if one.low is not None]
    highs = [one.high for one in estimates if one.high is not None]
    if len(lows) < len(estimates) or len(highs) < len(estimates):
        return Estimate(value, None, None)
    return Estimate(value, min(lows), max(highs))


def of_launches(values: Sequence[float]) -> Estimate:
    """The median of values that have no interval of their own: by order, from six on."""
    return order_interval(values)
