# SPDX-License-Identifier: BSD-3-Clause
"""Text of others as people may see it: with nothing in it that a terminal obeys.

What an engine, a driver, a remote host, a record or another process says can have control
characters in it, by which a terminal is made to do things: hide lines, change its title, even type.
They are shown escaped instead, as `\\u001b`. The one place for that is the stream: `guard()` puts
itself between the program and its standard streams. Only what draws, in colours of its own, goes
past it (`unguarded()`), and has what it draws made visible first.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

#: Kept where a text may have several lines.
LINES = "\n\t"


def visible(text: str, keep: str = "") -> str:
    """The text, with all that cannot be seen (but a blank, and `keep`) escaped as in JSON, in
    which it then means the same: control characters, those that turn or hide text, and what is no
    character."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one in keep else _escaped(one) for one in text)


def _escaped(character: str) -> str:
    return json.dumps(character)[1:-1]


class _Guarded:
    """A text stream to which nothing goes that a terminal obeys. In all else it is the stream."""

    def __init__(self, stream: TextIO) -> None:
        self.unguarded = stream

    def write(self, text: str) -> int:
        # What is no text is the stream's to refuse.
        return self.unguarded.write(visible(text, LINES) if isinstance(text, str) else text)

    def writelines(self, lines: Iterator[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.unguarded, name)


@contextmanager
def guard() -> Iterator[None]:
    """Guards standard output and standard error."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast(TextIO, _Guarded(stream)) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def unguarded(stream: TextIO) -> TextIO:
    """The stream itself, for what draws: whatever is drawn there has to be visible() already."""
    return cast(TextIO, getattr(stream, "unguarded", stream))
