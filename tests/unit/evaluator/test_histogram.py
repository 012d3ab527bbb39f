# SPDX-License-Identifier: BSD-3-Clause
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beowire.record.histogram import BUCKETS, Histogram, bucket_index, bucket_lower, bucket_width
from unit.evaluator import fake_engine

times = st.integers(0, (1 << 63) - 1)
short_times = st.lists(st.integers(0, 10**7), min_size=1, max_size=200)


@given(times)
def test_bucket_index__holds_the_value_within_its_resolution(value: int) -> None:
    index = bucket_index(value)
    assert 0 <= index < BUCKETS
    lower, width = bucket_lower(index), bucket_width(index)
    assert lower <= value < lower + width
    assert width == 1 or width * 128 <= lower


@given(times)
def test_bucket_index__agrees_with_the_protocol(value: int) -> None:
    assert bucket_index(value) == fake_engine.index_of(value)
    assert bucket_lower(bucket_index(value)) == fake_engine.lower_of(fake_engine.index_of(value))


def test_bucket_lower__leaves_no_gap() -> None:
    for index in range(BUCKETS - 1):
        assert bucket_lower(index) + bucket_width(index) == bucket_lower(index + 1)


@pytest.mark.parametrize("value", [-1, 1 << 63])
def test_bucket_index__refuses_what_has_no_bucket(value: int) -> None:
    with pytest.raises(ValueError, match="not between"):
        bucket_index(value)


@given(st.lists(times, max_size=50))
def test_of_values__is_as_if_added_one_by_one(values: list[int]) -> None:
    one_by_one = Histogram()
    for value in values:
        one_by_one.add(value)
    for together in (Histogram.of_values(values), Histogram.of_values(np.array(values, np.int64))):
        assert together.buckets() == one_by_one.buckets()
        assert together.total == one_by_one.total
        assert together.minimum_ns == one_by_one.minimum_ns
        assert together.maximum_ns == one_by_one.maximum_ns


def test_of_values__refuses_what_has_no_bucket() -> None:
    with pytest.raises(ValueError, match="not between"):
        Histogram.of_values([5, -1])


@given(short_times, short_times)
def test_merge__is_as_if_counted_together(first: list[int], second: list[int]) -> None:
    merged = Histogram.of_values(first)
    merged.merge(Histogram.of_values(second))
    together = Histogram.of_values(first + second)
    assert merged.buckets() == together.buckets()
    assert merged.total == len(first) + len(second)
    assert (merged.minimum_ns, merged.maximum_ns) == (min(first + second), max(first + second))


@given(short_times)
def test_merge__takes_an_empty_one_either_way(values: list[int]) -> None:
    histogram = Histogram()
    histogram.merge(Histogram.of_values(values))
    histogram.merge(Histogram())
    assert histogram.buckets() == Histogram.of_values(values).buckets()
    assert histogram.minimum_ns == min(values)


@given(short_times)
def test_of_buckets__reads_back_what_buckets_wrote(values: list[int]) -> None:
    histogram = Histogram.of_values(values)
    again = Histogram.of_buckets(histogram.buckets(), min(values), max(values))
    assert again.buckets() == histogram.buckets()
    assert again.quantile(0.5) == histogram.quantile(0.5)


@pytest.mark.parametrize(
    "buckets",
    [
        [[257, 1]],  # 256 and 257 share a bucket, whose lower bound is 256
        [[10, 1], [10, 1]],
        [[11, 1], [10, 1]],
        [[10, 0]],
        [[10, -1]],
        [[-1, 1]],
        [[10.5, 1]],
        [["10", 1]],
        [[10]],
        [[1 << 63, 1]],
    ],
)
def test_of_buckets__refuses_what_is_no_histogram(buckets: list[list[int]]) -> None:
    with pytest.raises(ValueError, match=r".+"):
        Histogram.of_buckets(buckets)


def test_of_buckets__refuses_extremes_outside_the_outer_buckets() -> None:
    with pytest.raises(ValueError, match="outermost"):
        Histogram.of_buckets([[10, 1], [20, 1]], 9, 20)
    with pytest.raises(ValueError, match="outermost"):
        Histogram.of_buckets([[10, 1], [20, 1]], 10, 21)


@given(short_times, st.floats(0, 1))
def test_quantile__is_numpys_within_the_resolution(values: list[int], probability: float) -> None:
    exact = float(np.quantile(values, probability))
    assert Histogram.of_values(values).quantile(probability) == pytest.approx(
        exact, rel=1 / 128, abs=1e-6
    )


@given(st.lists(st.integers(0, 255), min_size=1, max_size=100), st.floats(0, 1))
def test_quantile__is_exact_for_short_times(values: list[int], probability: float) -> None:
    exact = float(np.quantile(values, probability))
    assert Histogram.of_values(values).quantile(probability) == pytest.approx(exact, abs=1e-6)


@given(short_times)
def test_quantile__rises_between_the_extremes(values: list[int]) -> None:
    histogram = Histogram.of_values(values)
    quantiles = [histogram.quantile(step / 20) for step in range(21)]
    assert quantiles == sorted(quantiles)
    assert quantiles[0] >= min(values)
    assert quantiles[-1] <= max(values)


def test_value_at__refuses_ranks_that_are_not_there() -> None:
    histogram = Histogram.of_values([1, 2, 3])
    for rank in (0.5, 3.5):
        with pytest.raises(ValueError, match="rank"):
            histogram.value_at(rank)


@given(st.lists(st.integers(0, 255), min_size=1, max_size=100), st.integers(0, 255))
def test_share_up_to__counts_exactly_below_256(values: list[int], value: int) -> None:
    share = sum(one <= value for one in values) / len(values)
    assert Histogram.of_values(values).share_up_to(value) == pytest.approx(share)


@given(short_times)
def test_share_up_to__reaches_one_at_the_end_of_the_last_bucket(values: list[int]) -> None:
    histogram = Histogram.of_values(values)
    top = bucket_index(max(values))
    assert histogram.share_up_to(bucket_lower(top) + bucket_width(top)) == 1.0
    assert histogram.share_up_to(-1) == 0.0


@given(short_times, st.lists(st.integers(0, 10**7), max_size=20))
def test_of_buckets__answers_as_what_it_is_of(values: list[int], asked: list[int]) -> None:
    whole = Histogram.of_values(values)
    read = Histogram.of_buckets(whole.buckets(), whole.minimum_ns, whole.maximum_ns)
    assert read.buckets() == whole.buckets()
    assert [read.share_up_to(one) for one in asked] == [whole.share_up_to(one) for one in asked]
    for probability in (0.0, 0.25, 0.5, 0.99, 1.0):
        assert read.quantile(probability) == whole.quantile(probability)
    for one in asked:
        read.add(one)
        whole.add(one)
    assert read.buckets() == whole.buckets()
    assert (read.total, read.minimum_ns) == (whole.total, whole.minimum_ns)


def test_of_buckets__takes_memory_by_the_buckets_it_has() -> None:
    def bytes_of_a_thousand(values: range) -> int:
        buckets = Histogram.of_values(values).buckets()
        tracemalloc.start()
        kept = [Histogram.of_buckets(buckets) for _ in range(1000)]
        for one in kept:
            one.quantile(0.5)
        taken = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        return taken

    assert bytes_of_a_thousand(range(1000, 1100)) < 2_000_000
