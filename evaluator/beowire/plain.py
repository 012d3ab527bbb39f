# SPDX-License-Identifier: BSD-3-Clause
"""ASCII for terminals whose user has chosen the locale C: other characters are written as they
would be typed, `µs` as `us`."""

import codecs
import os
from collections.abc import Mapping
from typing import TextIO

_ERRORS = "beowire-plain"

_TYPED = {
    **dict.fromkeys("─━═", "-"),
    **dict.fromkeys("│┃║", "|"),
    **dict.fromkeys("┌┐└┘├┤┬┴┼╭╮╯╰", "+"),
    **dict.fromkeys("µμ", "u"),
    **dict.fromkeys("–—−", "-"),
    **dict.fromkeys("‘’", "'"),
    **dict.fromkeys("“”", '"'),
    "±": "+-",
    "×": "x",
    "÷": "/",
    "⇄": "<->",
    "→": "->",
    "≤": "<=",
    "≥": ">=",
    "·": "-",
    "…": "...",
    "▲": "^",
    "▼": "v",
}


def _replaced(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    text = error.object[error.start : error.end]
    return "".join(_TYPED.get(one, "?") for one in text), error.end


def is_asked_for(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether the locale is C because somebody has said so. If nobody has said anything, as in most
    containers, the terminal can usually do more."""
    chosen = next((v for n in ("LC_ALL", "LC_CTYPE", "LANG") if (v := environment.get(n))), "")
    return chosen in ("C", "POSIX")


def columns(text: str) -> int:
    """How many columns a line takes on the terminal."""
    return sum(len(_TYPED.get(one, one)) for one in text) if is_asked_for() else len(text)


def prepare(stream: TextIO) -> None:
    """Has a stream to a terminal write ASCII, if that is asked for. Files get what they always
    get."""
    if is_asked_for() and stream.isatty() and hasattr(stream, "reconfigure"):
        codecs.register_error(_ERRORS, _replaced)
        stream.reconfigure(encoding="ascii", errors=_ERRORS)
