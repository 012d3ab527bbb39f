# SPDX-License-Identifier: BSD-3-Clause
"""JSON as its standard has it (RFC 8259): without NaN and infinity, which Python's reads."""

import json


def loads(text: bytes | str) -> tuple[object, list[str]]:
    """The value, and what stands in it for a number and is none: `NaN`, `Infinity`, `-Infinity`.
    ValueError if it is not one value; RecursionError."""
    found: list[str] = []

    def note(word: str) -> None:
        found.append(word)

    return json.loads(text, parse_constant=note), found
