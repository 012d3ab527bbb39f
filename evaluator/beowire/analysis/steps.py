# SPDX-License-Identifier: BSD-3-Clause
"""What a curve of times over sizes is made of: straight pieces, `start + bytes x slope`, and steps
between them. Pure.

In LogGP's terms (Alexandrov and others, SPAA'95) the start of the first piece is L + 2o, what a
message of no length takes; the slope of the last is G, the gap of a byte of long messages. A step
is what begins to be paid at a size: another frame, another copy, a rendezvous.

The pieces are those of the least Bayesian information criterion among all divisions (by dynamic
programming; Bai and Perron, Econometrica 66 (1998)), with errors relative to the time, since that
is how far medians scatter.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from beowire.analysis.curves import Curve
from beowire.analysis.sheets import Sheet
from beowire.units import rate_text, size_text, time_text

#: Of each piece. Two points are always on a line.
FEWEST = 3
MOST_PIECES = 8

#: How far medians scatter at least, to their value: what fits better says nothing.
_SCATTER = 0.003

#: A jump that is shown, to the time at that size; and a slope that is another one.
_JUMP = 0.03
_BEND = 0.1

_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Piece:
    """Sizes of which the time is a straight line."""

    first: int
    last: int
    start_ns: float
    """The line, at no byte."""
    per_byte_ns: float

    def at(self, size: int) -> float:
        """Its time at a size."""
        return self.start_ns + self.per_byte_ns * size


@dataclass(frozen=True)
class Step:
    """Between two pieces."""

    below: int
    """The last size before it."""
    above: int
    jump_ns: float
    """How much longer the next piece says a message takes there; negative: shorter."""
    relative: float
    """The same, to what the piece before says."""


def pieces(sizes: Sequence[int], times_ns: Sequence[float]) -> list[Piece]:
    """The pieces of a curve, by rising sizes; none if it has too few points for one."""
    count = len(sizes)
    if count < FEWEST:
        return []
    x, y = np.array(sizes, dtype=np.float64), np.array(times_ns, dtype=np.float64)
    errors = _errors(x, y)
    most = min(MOST_PIECES, count // FEWEST)
    # best[k][end]: the least error of the first `end` points in k pieces, and where the last begins
    best = [np.full(count + 1, math.inf) for _ in range(most + 1)]
    begin = [np.zeros(count + 1, dtype=np.int64) for _ in range(most + 1)]
    best[0][0] = 0.0
    for number in range(1, most + 1):
        for end in range(FEWEST * number, count + 1):
            sums = best[number - 1][: end - FEWEST + 1] + errors[: end - FEWEST + 1, end]
            at = int(np.argmin(sums))
            best[number][end], begin[number][end] = sums[at], at
    # A piece has a start, a slope and a place where it begins.
    criteria = [
        count * math.log(max(best[number][count] / count, _SCATTER**2))
        + 3 * number * math.log(count)
        for number in range(1, most + 1)
    ]
    number = int(np.argmin(criteria)) + 1
    found: list[Piece] = []
    end = count
    for left in range(number, 0, -1):
        start = int(begin[left][end])
        offset, slope = _line(x[start:end], y[start:end])
        found.insert(0, Piece(sizes[start], sizes[end - 1], offset, slope))
        end = start
    return found


def steps(found: Sequence[Piece]) -> list[Step]:
    """Where the pieces do not continue one another."""
    every = []
    for one, other in pairwise(found):
        before, after = one.at(other.first), other.at(other.first)
        jump = after - before
        every.append(Step(one.last, other.first, jump, jump / before if before > 0 else math.inf))
    return every


def shape(curves: Sequence[Curve]) -> list[Sheet]:
    """Start, steps and slope of each curve that has enough sizes, as a table."""
    rows = []
    for curve in curves:
        cells = [cell for cell in curve.cells if cell.time is not None and cell.time.median > 0]
        times = [cell.time.median for cell in cells if cell.time is not None]
        found = pieces([cell.size for cell in cells], times)
        if len(cells) >= 2 * FEWEST and found:
            rows.append([curve.label, *_row(found)])
    if not rows:
        return []
    heads = ["driver", "an empty message", "steps", "each further byte of a long message"]
    notes = [
        "Half a round trip against the size, as straight lines: where the first begins (L + 2o of"
        " LogGP), where lines do not meet, and the slope of the last (G)."
    ]
    return [Sheet("Half a round trip as straight lines", heads, rows, notes)]


def _row(found: Sequence[Piece]) -> list[str]:
    said = [
        f"{size_text(step.below)} to {size_text(step.above)}: {_change(step, *two)}"
        for step, two in zip(steps(found), pairwise(found), strict=True)
        if abs(step.relative) >= _JUMP or _bends(*two)
    ]
    slope = found[-1].per_byte_ns
    last = f"{slope:.3g} ns ({rate_text(1e9 / slope)})" if slope > 0 else "nothing"
    return [time_text(max(0.0, found[0].start_ns)), "; ".join(said) or "none", last]


def _change(step: Step, before: Piece, after: Piece) -> str:
    if abs(step.relative) < _JUMP:
        return f"{before.per_byte_ns:.3g} to {after.per_byte_ns:.3g} ns a byte"
    sign = "+" if step.jump_ns > 0 else "−"
    return f"{sign}{time_text(abs(step.jump_ns))}"


def _bends(before: Piece, after: Piece) -> bool:
    return abs(after.per_byte_ns - before.per_byte_ns) > _BEND * abs(before.per_byte_ns)


def _line(x: _Floats, y: _Floats) -> tuple[float, float]:
    """Of the least squares of errors relative to y."""
    weights = 1 / y**2
    total = weights.sum()
    middle_x, middle_y = (weights @ x) / total, (weights @ y) / total
    spread = weights @ (x - middle_x) ** 2
    slope = float(weights @ ((x - middle_x) * (y - middle_y)) / spread) if spread > 0 else 0.0
    return float(middle_y - slope * middle_x), slope


def _errors(x: _Floats, y: _Floats) -> _Floats:
    """[first, end]: the squared relative errors of the line through these points, of _line()."""
    count = len(x)
    errors = np.full((count + 1, count + 1), math.inf)
    for first in range(count - FEWEST + 1):
        # Sums up to each end. From the first point on, so that sizes which are close stay apart.
        part = x[first:] - x[first]
        weights = 1 / y[first:] ** 2
        total, sum_x, sum_y, sum_xx, sum_xy = (
            np.cumsum(weights * term)[FEWEST - 1 :]
            for term in (1, part, y[first:], part**2, part * y[first:])
        )
        number = np.arange(FEWEST, count - first + 1)  # the sum of weights times y squared
        spread = sum_xx - sum_x**2 / total
        common = sum_xy - sum_x * sum_y / total
        slope = np.divide(common, spread, out=np.zeros_like(common), where=spread > 0)
        errors[first, first + FEWEST :] = np.maximum(0, number - sum_y**2 / total - slope * common)
    return errors
