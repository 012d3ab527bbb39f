# SPDX-License-Identifier: BSD-3-Clause
"""Strict JSON (RFC 8259): without NaN and infinity, which Python's parser accepts."""

import json


def loads(text: bytes | str) -> tuple[object, list[str]]:
    """The value, and its invalid numbers: `NaN`, `Infinity`, `-Infinity`. ValueError if it is not
    one value; RecursionError."""
    found: list[str] = []

    def note(word: str) -> None:
        found.append(word)

    return json.loads(text, parse_constant=note), found
