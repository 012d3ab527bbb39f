# SPDX-License-Identifier: BSD-3-Clause
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beowire.errors import BeowireError
from beowire.sizes import format_size, parse_size, parse_sizes, schedule


def test_schedule__without_perturbation_is_netpipes() -> None:
    assert schedule(1, 100, 0) == [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96]


def test_schedule__perturbs_each_size_by_three() -> None:
    sizes = schedule(100, 200)
    assert sizes == [125, 128, 131, 189, 192, 195]


def test_schedule__keeps_to_the_range_at_its_end() -> None:
    assert max(schedule()) == 4 << 20
    assert min(schedule()) == 1


def test_schedule__takes_a_perturbed_size_whose_base_is_outside() -> None:
    assert schedule(120, 127) == [125]


@given(st.integers(1, 1 << 22), st.integers(1, 1 << 22))
def test_schedule__rises_within_its_range(low: int, high: int) -> None:
    sizes = schedule(low, high)
    assert sizes == sorted(set(sizes))
    assert all(low <= size <= high for size in sizes)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("8", 8),
        ("64K", 65536),
        ("64KiB", 65536),
        ("64kb", 64000),
        (" 1M ", 1 << 20),
        ("1 GiB", 1 << 30),
    ],
)
def test_parse_size__reads_units(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "x", "8x", "-1", "0", "1.5K", "2GiB", "9" * 30, "8 8"])
def test_parse_size__refuses_in_one_line(text: str) -> None:
    with pytest.raises(BeowireError) as caught:
        parse_size(text)
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)


def test_parse_sizes__sorts_a_list_and_drops_doubles() -> None:
    assert parse_sizes("1K,8,1024") == [8, 1024]


def test_parse_sizes__takes_ranges_of_the_schedule_in_a_list() -> None:
    assert parse_sizes("1-4,100") == [1, 2, 3, 4, 100]


def test_parse_sizes__is_the_whole_schedule_by_default() -> None:
    assert parse_sizes(None, 64) == schedule(1, 64)


@pytest.mark.parametrize("text", ["", "8,,9", "8-", "-8", "9-8", "110-120", "8,x", "2M"])
def test_parse_sizes__refuses_in_one_line(text: str) -> None:
    with pytest.raises(BeowireError) as caught:
        parse_sizes(text, 1 << 20)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("size", "text"),
    [(8, "8"), (1023, "1023"), (1024, "1 KiB"), (1536, "1.5 KiB"), (1 << 20, "1 MiB")],
)
def test_format_size__never_rounds(size: int, text: str) -> None:
    assert format_size(size) == text


@pytest.mark.parametrize("text", ["-1", "8-", "1,-64KiB"])
def test_parse_sizes__half_a_range_is_named(text: str) -> None:
    with pytest.raises(BeowireError) as refused:
        parse_sizes(text)
    word = text.rpartition(",")[2]
    assert str(refused.value).startswith(f"{word!r} is neither a size nor a range LOW-HIGH")
