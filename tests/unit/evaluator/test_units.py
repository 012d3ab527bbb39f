# SPDX-License-Identifier: BSD-3-Clause
"""Quantities as text."""

import pytest

from beowire.units import (
    bit_rate_text,
    count_rate_text,
    interval_text,
    rate_text,
    reach_text,
    significant,
    size_text,
    time_text,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (1, "1.00"),
        (0.01234, "0.0123"),
        (9.999, "10.0"),
        (99.96, "100"),
        (123456, "123000"),
        (1.5e-7, "0.000000150"),
    ],
)
def test_significant__any_magnitude__has_three_digits_and_no_exponent(
    value: float, text: str
) -> None:
    assert significant(value) == text


@pytest.mark.parametrize(
    ("value_ns", "text"),
    [
        (0, "0 ns"),
        (0.4, "0.400 ns"),
        (18.06, "18.1 ns"),
        (999.4, "999 ns"),
        (999.6, "1.00 µs"),
        (1523, "1.52 µs"),
        (4.2e6, "4.20 ms"),
        (61e9, "61.0 s"),
    ],
)
def test_time_text__any_time__has_the_unit_that_reads_best(value_ns: float, text: str) -> None:
    assert time_text(value_ns) == text


def test_rate_text__powers_of_1000__are_used() -> None:
    assert rate_text(3.3e9) == "3.30 GB/s"
    assert rate_text(117e6) == "117 MB/s"
    assert rate_text(12.5) == "12.5 B/s"


def test_bit_rate_text__line_rates__have_no_needless_digits() -> None:
    assert bit_rate_text(1e9) == "1 Gbit/s"
    assert bit_rate_text(2.5e9) == "2.5 Gbit/s"
    assert bit_rate_text(1e8) == "100 Mbit/s"
    assert bit_rate_text(12) == "12 bit/s"


@pytest.mark.parametrize(
    ("size", "text"), [(1, "1 B"), (1024, "1 KiB"), (1027, "1027 B"), (1536, "1.5 KiB")]
)
def test_size_text__any_size__is_exact(size: int, text: str) -> None:
    assert size_text(size) == text


def test_interval_text__one_unit__is_said_once() -> None:
    assert interval_text("1.50 µs", "1.53 µs") == "1.50–1.53 µs"
    assert interval_text("999 ns", "1.00 µs") == "999 ns–1.00 µs"


def test_count_rate_text__has_a_unit_of_its_own() -> None:
    assert [count_rate_text(value) for value in (7, 2.83e6)] == ["7.00 /s", "2.83 M/s"]


@pytest.mark.parametrize(
    ("reach", "text"),
    [(0, "±<0.1%"), (0.0123, "±1.2%"), (1, "±100%"), (1.01, "±>100%"), (float("inf"), "±?")],
)
def test_reach_text__any_reach__is_a_share_or_that_there_is_none(reach: float, text: str) -> None:
    assert reach_text(reach) == text
