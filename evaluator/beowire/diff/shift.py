# SPDX-License-Identifier: BSD-3-Clause
"""Two samples of launches: Mann-Whitney's test, and the Hodges-Lehmann shift. Pure.

No distribution is assumed; one launch must not say anything of another. Sources:

- Mann and Whitney, Annals of Mathematical Statistics 18 (1947), 50-60: how often a launch of one
  side is above one of the other;
- Hodges and Lehmann, Annals of Mathematical Statistics 34 (1963), 598-611: the median of all
  differences between a launch of one side and one of the other, and the interval that belongs to
  the test.
"""

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy import special

from beowire.analysis.statistics import CONFIDENCE, Estimate

Floats = npt.NDArray[np.float64]

#: The exact distribution is taken up to so many launches of both sides, the normal one beyond: its
#: counts are whole numbers up to here.
_EXACT_UP_TO = 50


def p_value(first: Floats, second: Floats) -> float:
    """How probable launches as far apart as these, or farther, are if nothing differs (two-sided).
    Equal values count half; where that makes no whole number the larger p is taken."""
    m, n = len(first), len(second)
    above = np.sum(second[:, None] > first[None, :])
    equal = np.sum(second[:, None] == first[None, :])
    u = float(above) + float(equal) / 2
    u = min(u, m * n - u)
    if m + n <= _EXACT_UP_TO:
        return min(1.0, 2 * float(_at_most(m, n)[math.ceil(u)]))
    return min(1.0, 2 * float(special.ndtr((u - m * n / 2 + 0.5) / _deviation(m, n))))


def shift_estimate(first: Floats, second: Floats, confidence: float = CONFIDENCE) -> Estimate:
    """By how much the second side's launches are above the first side's, with its interval. A limit
    that so few launches do not have is None."""
    m, n = len(first), len(second)
    differences = np.sort((second[:, None] - first[None, :]).ravel())
    rank = _limit_rank(m, n, confidence)
    return Estimate(
        float(np.median(differences)),
        float(differences[rank - 1]) if rank else None,
        float(differences[-rank]) if rank else None,
    )


def enough(first: int, second: int, confidence: float = CONFIDENCE) -> bool:
    """Whether so many launches can tell anything: with 95 % confidence four of each, or 3 and 5."""
    return first > 0 and second > 0 and math.comb(first + second, first) * (1 - confidence) >= 2


@lru_cache(maxsize=64)
def _limit_rank(m: int, n: int, confidence: float) -> int:
    """Which difference, counted from either end, limits the interval; 0: none does."""
    tail = (1 - confidence) / 2
    if m + n <= _EXACT_UP_TO:
        return int(np.searchsorted(_at_most(m, n), tail, side="right"))
    reach = float(special.ndtri(1 - tail)) * _deviation(m, n)
    return max(0, math.floor(m * n / 2 - reach + 0.5))


@lru_cache(maxsize=64)
def _at_most(m: int, n: int) -> Floats:
    """P(U <= u) for u = 0 ... m n if nothing differs: the Gaussian binomial, factor by factor."""
    counts = np.ones(1)
    for i in range(1, m + 1):
        # Times (1 - q^(n+i)), then over (1 - q^i).
        grown = np.zeros(len(counts) + n + i)
        grown[: len(counts)] = counts
        grown[n + i :] -= counts
        for start in range(i):
            grown[start::i] = np.cumsum(grown[start::i])
        counts = grown[: i * n + 1]
    return np.asarray(np.cumsum(counts) / math.comb(m + n, m), dtype=np.float64)


def _deviation(m: int, n: int) -> float:
    """Of U, if nothing differs."""
    return math.sqrt(m * n * (m + n + 1) / 12)
