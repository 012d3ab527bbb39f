# SPDX-License-Identifier: BSD-3-Clause
"""The log-linear histogram of times: constant memory, exact merging, 0.8 % resolution.

The layout is that of docs/ENGINE.md: 128 sub-buckets to the octave, exact below 256 ns. Counts of
several histograms add, so the merge of any number of rounds is as exact as one long round. The
scheme is that of Tene's HdrHistogram.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

SUB_BUCKETS = 128
_SUB_BUCKET_BITS = 7
#: Index of the largest 63-bit value, plus one.
BUCKETS = (62 - _SUB_BUCKET_BITS) * SUB_BUCKETS + 2 * SUB_BUCKETS


def bucket_index(value_ns: int) -> int:
    """The bucket that holds `value_ns` (0 to 2**63 - 1)."""
    if not 0 <= value_ns < 1 << 63:
        raise ValueError(f"{value_ns} is not between 0 and 2**63 - 1")
    if value_ns < 2 * SUB_BUCKETS:
        return value_ns
    shift = value_ns.bit_length() - 1 - _SUB_BUCKET_BITS
    return shift * SUB_BUCKETS + (value_ns >> shift)


def bucket_lower(index: int) -> int:
    """The smallest value in bucket `index`."""
    if index < 2 * SUB_BUCKETS:
        return index
    shift = index // SUB_BUCKETS - 1
    return (SUB_BUCKETS + index % SUB_BUCKETS) << shift


def bucket_width(index: int) -> int:
    """How many different values bucket `index` holds."""
    return 1 if index < 2 * SUB_BUCKETS else 1 << (index // SUB_BUCKETS - 1)


_LOWERS: npt.NDArray[np.int64] = np.array(
    [bucket_lower(index) for index in range(BUCKETS)], dtype=np.int64
)


class Histogram:
    """Counts of whole nanoseconds in log-linear buckets, with the exact smallest and largest.

    Not thread-safe. `minimum_ns` and `maximum_ns` are meaningful only when `total` is not 0.
    """

    def __init__(self) -> None:
        """Makes an empty histogram."""
        self._counts: npt.NDArray[np.int64] = np.zeros(BUCKETS, dtype=np.int64)
        self._cumulative: npt.NDArray[np.int64] | None = None
        self.total = 0
        self.minimum_ns = 0
        self.maximum_ns = 0

    @classmethod
    def of_values(cls, values_ns: Iterable[int] | npt.NDArray[np.int64]) -> "Histogram":
        """The histogram of single values. ValueError for one below 0."""
        histogram = cls()
        if isinstance(values_ns, np.ndarray):
            values = values_ns
        else:
            values = np.fromiter(values_ns, dtype=np.int64)
        if len(values):
            histogram.minimum_ns, histogram.maximum_ns = int(values.min()), int(values.max())
            if histogram.minimum_ns < 0:
                raise ValueError(f"{histogram.minimum_ns} is not between 0 and 2**63 - 1")
            indices = np.searchsorted(_LOWERS, values, side="right") - 1
            histogram._counts = np.bincount(indices, minlength=BUCKETS).astype(np.int64)
            histogram.total = len(values)
        return histogram

    @classmethod
    def of_buckets(
        cls,
        buckets: Sequence[Sequence[int]],
        minimum_ns: int | None = None,
        maximum_ns: int | None = None,
    ) -> "Histogram":
        """From `[[lower bound of a bucket, count], ...]`, as engines and records write it.

        Raises ValueError for a bound that no bucket has, a count below 1, bounds that do not
        rise, or extremes outside their buckets: what is wrong must not become a figure.
        """
        histogram = cls()
        previous = -1
        for pair in buckets:
            lower, count = pair
            if not isinstance(lower, int) or not isinstance(count, int) or count < 1:
                raise ValueError(f"not a bucket and a count: {pair!r}")
            index = bucket_index(lower)
            if bucket_lower(index) != lower or index <= previous:
                raise ValueError(f"{lower} is not the lower bound of a bucket, in rising order")
            histogram._counts[index] = count
            histogram.total += count
            previous = index
        if histogram.total:
            first, last = bucket_index(buckets[0][0]), previous
            top = bucket_lower(last) + bucket_width(last) - 1
            histogram.minimum_ns = bucket_lower(first) if minimum_ns is None else minimum_ns
            histogram.maximum_ns = top if maximum_ns is None else maximum_ns
            if (
                bucket_index(histogram.minimum_ns) != first
                or bucket_index(histogram.maximum_ns) != last
            ):
                raise ValueError("the smallest or largest value is not in the outermost buckets")
        return histogram

    def add(self, value_ns: int, count: int = 1) -> None:
        """Counts `value_ns`, `count` times."""
        self._counts[bucket_index(value_ns)] += count
        self.minimum_ns = min(self.minimum_ns, value_ns) if self.total else value_ns
        self.maximum_ns = max(self.maximum_ns, value_ns) if self.total else value_ns
        self.total += count
        self._cumulative = None

    def merge(self, other: "Histogram") -> None:
        """Adds all counts of `other`."""
        if other.total == 0:
            return
        self.minimum_ns = min(self.minimum_ns, other.minimum_ns) if self.total else other.minimum_ns
        self.maximum_ns = max(self.maximum_ns, other.maximum_ns) if self.total else other.maximum_ns
        self._counts += other._counts
        self.total += other.total
        self._cumulative = None

    def buckets(self) -> list[list[int]]:
        """`[[lower bound, count], ...]` of the buckets that hold something, rising."""
        indices = np.flatnonzero(self._counts)
        return [[bucket_lower(int(index)), int(self._counts[index])] for index in indices]

    def value_at(self, rank: float) -> float:
        """The value of the `rank`-th smallest sample, 1 to `total`; between whole ranks, linear.

        Samples are taken to be spread evenly over their bucket.
        """
        if not 1 <= rank <= self.total:
            raise ValueError(f"rank {rank} of {self.total} samples")
        below = int(rank)
        value = self._value_at_whole(below)
        fraction = rank - below
        if fraction > 0:
            value += fraction * (self._value_at_whole(below + 1) - value)
        return value

    def quantile(self, probability: float) -> float:
        """The sample quantile (Hyndman and Fan's type 7, as numpy's default), in ns."""
        return self.value_at(1 + probability * (self.total - 1))

    def share_up_to(self, value_ns: float) -> float:
        """The share of samples that are at most `value_ns`, interpolated inside the bucket."""
        if self.total == 0:
            raise ValueError("an empty histogram")
        if value_ns < 0:
            return 0.0
        index = bucket_index(int(value_ns))
        below = int(self._cumulated()[index - 1]) if index > 0 else 0
        part = (int(value_ns) - bucket_lower(index) + 1) / bucket_width(index)
        return (below + part * int(self._counts[index])) / self.total

    def _cumulated(self) -> npt.NDArray[np.int64]:
        if self._cumulative is None:
            self._cumulative = np.cumsum(self._counts)
        return self._cumulative

    def _value_at_whole(self, rank: int) -> float:
        cumulative = self._cumulated()
        index = int(np.searchsorted(cumulative, rank))
        count = int(self._counts[index])
        before = int(cumulative[index]) - count
        width = bucket_width(index)
        value = bucket_lower(index) + (width * (rank - before - 0.5) / count - 0.5) * (width > 1)
        return float(min(max(value, self.minimum_ns), self.maximum_ns))
