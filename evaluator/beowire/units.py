# SPDX-License-Identifier: BSD-3-Clause
"""Quantities as text for people: three significant digits, the unit that reads best."""

import math

from beowire.sizes import format_size

_TIMES = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))
_RATES = ((1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1.0, "B/s"))
_COUNT_RATES = ((1e9, "G/s"), (1e6, "M/s"), (1e3, "k/s"), (1.0, "/s"))
_BIT_RATES = ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s"))


def significant(value: float, digits: int = 3) -> str:
    """`value` with that many significant digits, never in exponent form: 0.0123, 1.20, 123456."""
    if value == 0:
        return "0"
    rounded = float(f"{value:.{digits - 1}e}")
    exponent = int(f"{rounded:e}".split("e")[1])
    return f"{rounded:.{max(0, digits - 1 - exponent)}f}"


def time_text(value_ns: float) -> str:
    """A time such as `1.52 µs`."""
    return _scaled(value_ns, _TIMES)


def rate_text(bytes_per_s: float) -> str:
    """A rate such as `3.30 GB/s` (powers of 1000, as networks count)."""
    return _scaled(bytes_per_s, _RATES)


def count_rate_text(per_s: float) -> str:
    """A rate of events such as `2.83 M/s`."""
    return _scaled(per_s, _COUNT_RATES)


def bit_rate_text(bits_per_s: float) -> str:
    """A line rate such as `1 Gbit/s`, without needless zeros."""
    for factor, unit in _BIT_RATES:
        if bits_per_s >= factor:
            return f"{bits_per_s / factor:g} {unit}"
    return f"{bits_per_s:g} bit/s"


def size_text(size_bytes: int) -> str:
    """A size such as `8 B`, `1 KiB`, `1027 B`: exact, a unit only where nothing is lost."""
    text = format_size(size_bytes)
    return f"{text} B" if text.isdigit() else text


def interval_text(low: str, high: str) -> str:
    """`1.50-1.53 µs` from `1.50 µs` and `1.53 µs`: the unit once where both share it."""
    low_number, _, low_unit = low.partition(" ")
    _, _, high_unit = high.partition(" ")
    return f"{low_number}–{high}" if low_unit == high_unit else f"{low}–{high}"


def reach_text(reach: float) -> str:
    """How far an interval reaches, relative to what it is of: `±1.2%`; infinite, for there is none:
    `±?`.
    """
    if math.isinf(reach):
        return "±?"
    if reach > 1:
        return "±>100%"
    shown = "<0.1" if reach < 0.001 else significant(100 * reach, 2)
    return f"±{shown}%"


def _scaled(value: float, units: tuple[tuple[float, str], ...]) -> str:
    for factor, unit in units:
        # Half a unit in the last digit below: 999.6 ns is 1.00 µs.
        if value >= factor * 0.9995:
            return f"{significant(value / factor)} {unit}"
    return f"{significant(value)} {units[-1][1]}"
