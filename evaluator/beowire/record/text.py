# SPDX-License-Identifier: BSD-3-Clause
"""Parses the text of a record line by line, and reports errors."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from pydantic import ValidationError

from beowire import files
from beowire.errors import BeowireError
from beowire.record import strict_json
from beowire.record.parts import RecordLine

#: Longest accepted line. A run with hundreds of nodes has lines of some MB.
LINE_BYTES = 64 << 20

#: The model of each type of line.
Lines = Mapping[str, type[RecordLine]]


def read_lines(path: Path, models: Lines, newest: int) -> Iterator[tuple[int, RecordLine | None]]:
    """Yields (line number, line) of a record: the `meta` line first; None for a last line that was
    cut short. BeowireError, as read_record(), also for a schema after the `newest`."""
    try:
        with files.open_regular(path, "a record") as file:
            if _is_blank(file):
                raise BeowireError(f"{path} is empty: it is no Beowire record")
            file.seek(0)
            yield from _parse(path, file, models, newest)
    except OSError as error:
        raise BeowireError(f"cannot read {path}: {error.strerror}") from None


@contextmanager
def made_sense_of(paths: Sequence[Path]) -> Iterator[None]:
    """Converts errors in computations on records, whose valid values may contradict one another, to
    BeowireError. Records are untrusted input."""
    try:
        yield
    except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as error:
        what = f"{type(error).__name__}: {' '.join(str(error).split())[:120]}"
        named = ", ".join(map(str, paths))
        raise BeowireError(f"{named}: its values contradict one another ({what})") from error


def _is_blank(file: BinaryIO) -> bool:
    # After a power failure some file systems leave zero bytes in place of the last lines. A file
    # that begins with this many blank bytes is no record.
    for _ in range(LINE_BYTES >> 16):
        chunk = file.read(1 << 16)
        if not chunk or chunk.strip(b"\0 \t\r\n\v\f"):
            return not chunk
    return True


def _parse(
    path: Path, file: BinaryIO, models: Lines, newest: int
) -> Iterator[tuple[int, RecordLine | None]]:
    """Reads one line at a time, because a record may be larger than the memory."""
    for number, raw in enumerate(iter(lambda: file.readline(LINE_BYTES + 1), b""), start=1):
        if len(raw) > LINE_BYTES:
            raise BeowireError(f"{path} line {number} is longer than {LINE_BYTES >> 20} MiB")
        last = not raw.endswith(b"\n")  # it may be cut short
        text = raw.rstrip(b"\0") if last else raw[:-1]
        if not text.strip() and number > 1:
            continue
        try:
            line = _parse_line(path, number, text, models, newest)
        except _NotJson as error:
            if number == 1:
                raise BeowireError(
                    f"{path} is no Beowire record: line 1 is not JSON ({error})"
                ) from None
            if not last:
                raise BeowireError(f"{path} line {number} is broken: {error}") from None
            yield number, None
        else:
            yield number, line


class _NotJson(Exception):
    """The text is not one JSON value."""


def _parse_line(path: Path, number: int, text: bytes, models: Lines, newest: int) -> RecordLine:
    try:
        value, no_numbers = strict_json.loads(text)
    except (ValueError, RecursionError) as error:  # also covers bytes that are not UTF-8
        raise _NotJson(str(error).split("\n")[0]) from None
    kind = value.get("type") if isinstance(value, dict) else None
    if number == 1:
        _check_header(path, kind, value, newest)
    model = models.get(kind) if isinstance(kind, str) else None
    if model is None:
        raise BeowireError(f"{path} line {number}: unknown type of line: {str(kind)[:40]!r}")
    try:
        line = model.model_validate_json(text)
    except ValidationError as error:
        raise BeowireError(f"{path} line {number}: {_first(error)}") from None
    if no_numbers:
        raise BeowireError(f"{path} line {number}: {no_numbers[0]} is no number")
    return line


def _check_header(path: Path, kind: object, value: object, newest: int) -> None:
    if kind != "meta" or not isinstance(value, dict):
        raise BeowireError(f"{path} is no Beowire record: line 1 is not a `meta` line")
    schema = value.get("schema")
    if isinstance(schema, int) and schema > newest:
        raise BeowireError(
            f"{path} has schema {schema}, and this beowire reads up to {newest}: update beowire"
        )
    # A record without a schema must not pass for the current one.
    if not isinstance(schema, int):
        raise BeowireError(f"{path} line 1: `schema` must be a whole number")


def _first(error: ValidationError) -> str:
    """The first complaint, in one line."""
    first = error.errors(include_url=False, include_context=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    message = " ".join(first["msg"].split())
    return f"{where}: {message}" if where else message
