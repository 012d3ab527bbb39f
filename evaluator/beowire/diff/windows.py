# SPDX-License-Identifier: BSD-3-Clause
"""Ranges of sizes tested together, and all ranges at once. Pure.

Within each size launches are ranked; the ranks of a range add up to one score a launch (O'Brien,
Biometrics 40 (1984), 1079-1087), so a range of one size is Mann-Whitney's test. How far the scores
of the two sides are apart, in standard deviations, is the range's strength.

Whether that is more than chance is asked of all ranges of all drivers and patterns together: the
launches are dealt out to the two sides anew, thousands of times, and each time the strongest range
of all is noted (Westfall and Young, Resampling-Based Multiple Testing, 1993). A range counts whose
strength only 5 % of these reach: so, if nothing differs, any range at all is called different in at
most 5 % of comparisons, however many there are, and however sizes of one launch go together.
"""

import itertools
import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

#: All ways to deal launches out are tried up to so many, else as many by chance.
_EVERY_DEAL_UP_TO = 4000
_DEALS = 1999
_SEED = 1

_ROUNDING = 1e-9


class Scan:
    """The ranges of one driver and pattern: all that are without a gap.

    `values` has a row a launch, those of the first side first, and a column a size; NaN where a
    launch has no result, which then says nothing either way.
    """

    def __init__(self, values: Floats, first: int) -> None:
        """`first`: how many of the launches are the first side's."""
        self.sizes = values.shape[1]
        launches = len(values)
        self._sums = np.zeros((launches, self.sizes + 1))
        np.cumsum(centred_ranks(values), axis=1, out=self._sums[:, 1:])
        # The scores add up to nothing, so this is the variance of a difference of means.
        share = 1 / first + 1 / (launches - first)
        self._deviations = [
            np.sqrt(np.sum(self._scores(start) ** 2, axis=0) * share / (launches - 1))
            for start in range(self.sizes)
        ]

    def _scores(self, start: int) -> Floats:
        """Of all ranges that begin here, from the shortest."""
        return self._sums[:, start + 1 :] - self._sums[:, start, None]

    def strengths(self, deal: Floats) -> Floats:
        """[first size, last size]: how far the second side is above, as launches are dealt out."""
        found = np.zeros((self.sizes, self.sizes))
        apart = deal @ self._sums
        for start in range(self.sizes):
            found[start, start:] = self._standardised(apart[None, :], start)[0]
        return found

    def strongest(self, deals: Floats) -> Floats:
        """How strong the strongest range is, either way, for each deal."""
        apart = deals @ self._sums
        best = np.zeros(len(deals))
        for start in range(self.sizes):
            here = np.abs(self._standardised(apart, start)).max(axis=1)
            np.maximum(best, here, out=best)
        return best

    def _standardised(self, apart: Floats, start: int) -> Floats:
        differences = apart[:, start + 1 :] - apart[:, start, None]
        deviations = self._deviations[start]
        # Where all launches are equal nothing can be told.
        return np.where(deviations > _ROUNDING, differences / np.maximum(deviations, _ROUNDING), 0)


class Chance:
    """How strong the strongest of all ranges is if nothing differs."""

    def __init__(self, scans: Sequence[Scan], first: int, second: int) -> None:
        """All scans are of the same launches, in the same order."""
        deals, self._every = _deals(first, second)
        best = np.zeros(len(deals))
        for scan in scans:
            np.maximum(best, scan.strongest(deals), out=best)
        self._best = np.sort(best)

    def p_value(self, strength: float) -> float:
        """How probable it is that any range of all is as strong, if nothing differs."""
        at_least = len(self._best) - int(
            np.searchsorted(self._best, abs(strength) - _ROUNDING, side="left")
        )
        # What was found is one of the deals: of all of them it is there already.
        return at_least / len(self._best) if self._every else (at_least + 1) / (len(self._best) + 1)


def as_measured(first: int, second: int) -> Floats:
    """The deal in which each launch is where it was: means of the second side less the first's."""
    return np.concatenate([np.full(first, -1 / first), np.full(second, 1 / second)])


def centred_ranks(values: Floats) -> Floats:
    """Ranks in each column, less their mean; equal values share theirs, NaN has the mean (0)."""
    ranks = np.zeros(values.shape)
    for at in range(values.shape[1]):
        known = ~np.isnan(values[:, at])
        column = values[known, at]
        below = np.sum(column[:, None] > column[None, :], axis=1)
        equal = np.sum(column[:, None] == column[None, :], axis=1)
        ranks[known, at] = below + (equal - 1) / 2 - (len(column) - 1) / 2
    return ranks


@lru_cache(maxsize=8)
def _deals(first: int, second: int) -> tuple[Floats, bool]:
    """Ways to deal launches out, a row each, and whether these are all."""
    launches = first + second
    if math.comb(launches, second) <= _EVERY_DEAL_UP_TO:
        chosen = np.array(list(itertools.combinations(range(launches), second)))
        deals = np.full((len(chosen), launches), -1 / first)
        np.put_along_axis(deals, chosen, 1 / second, axis=1)
        return deals, True
    random = np.random.default_rng(_SEED)
    rows = np.tile(as_measured(first, second), (_DEALS, 1))
    return random.permuted(rows, axis=1), False
