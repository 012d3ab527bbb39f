# SPDX-License-Identifier: BSD-3-Clause
"""Simulated protocols: delays of a distribution that is known, one after the other as a machine has
them, so that what the evaluator says of them can be compared with the truth."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import optimize, signal, special

from beowire.record.histogram import Histogram

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Law:
    """A distribution: the delay in ns that a share `u` of messages takes at most, at a moment of
    the run (0 to 1)."""

    delay: Callable[[Floats, Floats], Floats]
    share: Callable[[float, Floats], Floats] | None = None
    """Of one that drifts: which share takes at most so long, at these moments."""

    def truth(self, probability: float) -> float:
        """The quantile over the whole run."""
        share = self.share
        if share is None:
            return float(self.delay(np.array([probability]), np.zeros(1))[0])
        moments = np.linspace(0, 1, 1001)
        return float(
            optimize.brentq(lambda at: float(np.mean(share(at, moments))) - probability, 1e3, 2e4)
        )


def _two_humps(u: Floats, at: Floats) -> Floats:
    first = 2000 * np.exp(0.05 * special.ndtri(np.clip(u / 0.7, 1e-12, 1 - 1e-12)))
    second = 9000 * np.exp(0.05 * special.ndtri(np.clip((u - 0.7) / 0.3, 1e-12, 1 - 1e-12)))
    return np.where(u < 0.7, first, second)


LAWS = {
    "constant": Law(lambda u, at: np.full(u.shape, 1537.0)),
    "normal": Law(lambda u, at: 5000 + 200 * special.ndtri(u)),
    "exponential tail": Law(lambda u, at: 2000 - 500 * np.log1p(-u)),
    "two humps": Law(_two_humps),
    "heavy tail": Law(lambda u, at: 1500 * (1 - u) ** (-1 / 3)),
    "slow drift": Law(
        lambda u, at: (5000 + 100 * special.ndtri(u)) * (1 + 0.03 * at),
        lambda delay, at: special.ndtr((delay / (1 + 0.03 * at) - 5000) / 100),
    ),
}

#: Closer together than the histogram's buckets are wide.
NARROW = Law(lambda u, at: 5003 + 4 * special.ndtri(u))

CORRELATIONS = (0.0, 0.5, 0.9)


def delays(
    law: Law, random: np.random.Generator, runs: int, messages: int, correlation: float
) -> npt.NDArray[np.int64]:
    """[run, message]: whole nanoseconds, as an engine has them. Neighbours are correlated as those
    of a first-order autoregressive series, which is bent into the distribution."""
    normal = random.normal(size=(runs, messages))
    if correlation:
        normal[:, 1:] *= math.sqrt(1 - correlation**2)
        normal = np.asarray(signal.lfilter([1.0], [1.0, -correlation], normal, axis=1))
    at = np.linspace(0, 1, messages) if law.share else np.zeros(1)
    shares = np.clip(special.ndtr(normal), 1e-15, 1 - 1e-15)
    return np.rint(law.delay(shares, at)).astype(np.int64)


def in_rounds(run: npt.NDArray[np.int64], rounds: int) -> list[Histogram]:
    """A run as an engine reports it."""
    return [Histogram.of_values(part) for part in np.split(run, rounds)]
