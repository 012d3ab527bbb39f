# SPDX-License-Identifier: BSD-3-Clause
"""The lab's options: how they are written, and what is refused."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beowire.errors import BeowireError
from beowire.places.lab.options import (
    LabOptions,
    parse_delay,
    parse_loss,
    parse_rate,
    read_lab_options,
)


@pytest.mark.parametrize(
    ("text", "bits_per_s"),
    [
        ("1g", 10**9),
        ("10G", 10**10),
        ("100mbit", 10**8),
        ("2.5Gbit/s", 2_500_000_000),
        ("64 kbps", 64_000),
        ("123456", 123_456),
        (" .5g ", 500_000_000),
    ],
)
def test_parse_rate(text: str, bits_per_s: int) -> None:
    assert parse_rate(text) == bits_per_s


@pytest.mark.parametrize("text", ["", "g", "-1g", "1gb", "1e9", "1.2.3g", "1 g g", "١g"])
def test_parse_rate__refused(text: str) -> None:
    with pytest.raises(BeowireError, match="as 100M or 1g"):
        parse_rate(text)


@pytest.mark.parametrize(
    ("text", "delay_ns"),
    [
        ("50us", 50_000),
        ("1.5ms", 1_500_000),
        ("200NS", 200),
        ("1 s", 10**9),
        ("3µs", 3000),
        ("0", 0),
    ],
)
def test_parse_delay(text: str, delay_ns: int) -> None:
    assert parse_delay(text) == delay_ns


@pytest.mark.parametrize("text", ["", "5", "us", "-1us", "1m", "1 h"])
def test_parse_delay__refused(text: str) -> None:
    with pytest.raises(BeowireError, match="with its unit"):
        parse_delay(text)


@pytest.mark.parametrize(
    ("text", "loss"), [("1%", 0.01), ("0.01", 0.01), ("0.001 %", 1e-5), ("0", 0.0), ("100%", 1.0)]
)
def test_parse_loss(text: str, loss: float) -> None:
    assert parse_loss(text) == pytest.approx(loss, rel=1e-12)


@pytest.mark.parametrize("text", ["", "%", "2", "101%", "-1%", "nan", "1‰"])
def test_parse_loss__refused(text: str) -> None:
    with pytest.raises(BeowireError, match=r"as 1% or 0\.01"):
        parse_loss(text)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"nodes": 1}, "2 to 250 nodes, not 1"),
        ({"nodes": 251, "link": "switch"}, "not 251"),
        ({"nodes": 3}, "use --link switch"),
        ({"link": "ring"}, "no link 'ring'"),
        ({"mtu": 67}, "not 67"),
        ({"mtu": 65522}, "not 65522"),
        ({"rate_bits_per_s": 63_999}, "the rate is"),
        ({"rate_bits_per_s": 25 * 10**9 + 1}, "the rate is 64k to 25g"),
        ({"rate_bits_per_s": 25 * 10**8, "delay_ns": 1}, "the rate is at most 1g"),
        ({"rate_bits_per_s": 25 * 10**8, "loss": 0.01}, "the rate is at most 1g"),
        ({"delay_ns": -1}, "the delay is"),
        ({"delay_ns": 10_000_000_001}, "the delay is"),
        ({"loss": 1.1}, "the loss is"),
        ({"loss": 1e-9}, "the loss is"),
        ({"loss": float("nan")}, "the loss is"),
    ],
)
def test_lab_options__refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(BeowireError, match=words):
        LabOptions(**options)


@pytest.mark.parametrize(
    ("rate_bits_per_s", "cut"),
    [(None, False), (10**9, False), (10**9 + 1, True), (25 * 10**9, True)],
)
def test_cards_cut__where_frames_are_too_many(rate_bits_per_s: int | None, cut: bool) -> None:
    assert LabOptions(rate_bits_per_s=rate_bits_per_s).cards_cut is cut


def test_read_lab_options__all_of_them() -> None:
    options = read_lab_options(
        nodes=4,
        link="switch",
        mtu=9000,
        rate="1g",
        delay="10us",
        loss="0.5%",
        congestion="bbr",
    )
    assert options == LabOptions(4, "switch", 9000, 10**9, 10_000, 0.005, "bbr")
    assert options.impaired
    assert options.describe() == {
        "kind": "lab",
        "topology": "switch",
        "nodes": 4,
        "mtu": 9000,
        "rate_bits_per_s": 10**9,
        "delay_ns": 10_000,
        "loss": 0.005,
    }


def test_read_lab_options__defaults_are_a_plain_cable() -> None:
    options = read_lab_options()
    assert options == LabOptions()
    assert not options.impaired


@given(st.text(max_size=12))
def test_parsers__answer_or_refuse(text: str) -> None:
    for parse in (parse_rate, parse_delay, parse_loss):
        try:
            assert parse(text) >= 0
        except BeowireError as error:
            assert "\n" not in str(error)
