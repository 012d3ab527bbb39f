# SPDX-License-Identifier: BSD-3-Clause
"""The log-linear histogram of times: bounded memory, exact merging, 0.8 % resolution.

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


_Integers = npt.NDArray[np.int64]

_LOWERS: _Integers = np.array([bucket_lower(index) for index in range(BUCKETS)], dtype=np.int64)


class Histogram:
    """Counts of whole nanoseconds in log-linear buckets, with the exact smallest and largest.

    A histogram of an engine or a record, of which a run has hundreds of thousands, keeps only its
    non-empty buckets, about 1 KB; one that is added to has all buckets, 57 KB.

    Not thread-safe. `minimum_ns` and `maximum_ns` are meaningful only when `total` is not 0.
    """

    def __init__(self) -> None:
        """Makes an empty histogram."""
        self._indices: _Integers | None = None  # of the buckets in _counts; None: of all
        self._counts: _Integers = np.zeros(BUCKETS, dtype=np.int64)
        self._cumulative: _Integers | None = None
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
        rise, or extremes outside their buckets, so that wrong input gives no result.
        """
        histogram = cls.__new__(cls)
        histogram._cumulative = None
        histogram.total = histogram.minimum_ns = histogram.maximum_ns = 0
        indices, counts, previous = [], [], -1
        for pair in buckets:
            lower, count = pair
            if not isinstance(lower, int) or not isinstance(count, int) or count < 1:
                raise ValueError(f"not a bucket and a count: {pair!r}")
            index = bucket_index(lower)
            if bucket_lower(index) != lower or index <= previous:
                raise ValueError(f"{lower} is not the lower bound of a bucket, in rising order")
            indices.append(index)
            counts.append(count)
            previous = index
        histogram._indices = np.array(indices, dtype=np.int64)
        histogram._counts = np.array(counts, dtype=np.int64)
        histogram.total = sum(counts)
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
        self._spread()
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
        self._spread()
        if other._indices is None:
            self._counts += other._counts
        else:
            self._counts[other._indices] += other._counts
        self.total += other.total
        self._cumulative = None

    def buckets(self) -> list[list[int]]:
        """`[[lower bound, count], ...]` of the non-empty buckets, rising."""
        places = np.flatnonzero(self._counts)
        indices = places if self._indices is None else self._indices[places]
        lowers, counts = _LOWERS[indices].tolist(), self._counts[places].tolist()
        return [[lower, count] for lower, count in zip(lowers, counts, strict=True)]

    def value_at(self, rank: float) -> float:
        """The value of the `rank`-th smallest sample, 1 to `total`; between whole ranks, linear.

        Assumes that samples are spread evenly over their bucket.
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
        below, count = self._up_to(index)
        part = (int(value_ns) - bucket_lower(index) + 1) / bucket_width(index)
        return (below + part * count) / self.total

    def _up_to(self, index: int) -> tuple[int, int]:
        """How many samples are in the buckets below, and how many in this one."""
        place = index
        if self._indices is not None:
            place = int(np.searchsorted(self._indices, index))
            if place == len(self._indices) or self._indices[place] != index:
                return (int(self._cumulated()[place - 1]) if place > 0 else 0), 0
        count = int(self._counts[place])
        return int(self._cumulated()[place]) - count, count

    def _spread(self) -> None:
        """Makes room for any value."""
        if self._indices is not None:
            counts = np.zeros(BUCKETS, dtype=np.int64)
            counts[self._indices] = self._counts
            self._indices, self._counts = None, counts
            self._cumulative = None

    def _cumulated(self) -> _Integers:
        if self._cumulative is None:
            self._cumulative = np.cumsum(self._counts)
        return self._cumulative

    def _value_at_whole(self, rank: int) -> float:
        cumulative = self._cumulated()
        place = int(np.searchsorted(cumulative, rank))
        count = int(self._counts[place])
        before = int(cumulative[place]) - count
        index = place if self._indices is None else int(self._indices[place])
        width = bucket_width(index)
        value = bucket_lower(index) + (width * (rank - before - 0.5) / count - 0.5) * (width > 1)
        return float(min(max(value, self.minimum_ns), self.maximum_ns))
