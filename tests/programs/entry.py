# SPDX-License-Identifier: BSD-3-Clause
"""What is known of a program before it runs: a file of `entries/`, checked. Pure but for reading.

An entry holds no text of others: input files are written for this suite, and what comes with a
package is used where the package has it.
"""

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from beowire.errors import BeowireError

ENTRIES = Path(__file__).parent / "entries"


def _pattern(text: str) -> str:
    try:
        re.compile(text, re.MULTILINE)
    except re.error as error:
        raise ValueError(f"{text!r} is no pattern: {error}") from None
    return text


def _group(text: str) -> str:
    if re.compile(_pattern(text)).groups != 1:
        raise ValueError(f"{text!r} finds a number: it has one group")
    return text


Pattern = Annotated[str, AfterValidator(_pattern)]
NumberPattern = Annotated[str, AfterValidator(_group)]


class _Strict(BaseModel):
    """No key is misspelt."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Number(_Strict):
    """Numbers of the output that have to be the same in each run, within a tolerance."""

    pattern: NumberPattern
    """Each match counts, in its order; there has to be one."""
    file: str = ""
    """Where it is looked for; empty: what the program prints."""
    relative: float = 0.0
    """Of the larger one. Sums in another order differ in their last digits."""
    absolute: float = 0.0


class Compare(_Strict):
    """How it is seen that a run is right; each part that is given has to hold."""

    numbers: list[Number] = []
    files: list[str] = []
    """Files that have to be the same, byte by byte, in each run."""
    says: list[Pattern] = []
    """The program's own verdict: what it has to print."""
    never: list[Pattern] = []
    """What it may not print."""
    verdict_file: str = ""
    """Where the verdict is, if it is not printed."""
    status: bool = True
    """Its exit status has to be 0."""
    same_lines: Pattern | None = None
    """The lines in which this is found are the same in each run, in whatever order."""


class Entry(_Strict):
    """A program and what it is given."""

    name: str
    """That of its file."""
    title: str
    exercises: str
    """What of an MPI it uses, for the table."""
    packages: list[str]
    """Debian's names of what it needs besides an MPI."""
    source: str = ""
    """Debian's source package that `prepare` takes something from, or `sh: COMMAND` that prints its
    name: $SOURCE is where its files are, as they were fetched."""
    version: str
    """A package whose version is the program's, or `sh: COMMAND` that prints it."""
    ranks: Annotated[int, Field(ge=1, le=16)] = 2
    timeout_s: Annotated[float, Field(gt=0, le=600)] = 120.0
    files: dict[str, str] = {}
    """Input files, by their name in the directory of a run."""
    prepare: str = ""
    """A shell script, run once, in a directory `input` beside those of runs, which get copies of
    it. What it builds elsewhere stays in `..`."""
    run: list[str]
    """Jobs, one after the other: what each rank starts, words for a shell."""
    variables: dict[str, str] = {}
    """Of its environment, over TCP and Beowire."""
    over: dict[Literal["tcp", "beowire"], dict[str, str]] = {}
    """Variables without which it does not work over one of the two; the table names them."""
    seconds: NumberPattern | None = None
    """Its run time by its own clock; else that of the job, launcher and all."""
    compare: Compare
    note: str = ""
    """For the table: a cause, a way around."""


def load(names: Sequence[str] = ()) -> list[Entry]:
    """The entries of these names, in the order of the alphabet; all if none is named.
    BeowireError: there is none of this name, or one cannot be read."""
    found = {path.stem: path for path in sorted(ENTRIES.glob("*.toml"))}
    for name in names:
        if name not in found:
            raise BeowireError(f"no program is called {name!r}: {', '.join(found)}")
    return [_read(path) for name, path in found.items() if not names or name in names]


def _read(path: Path) -> Entry:
    try:
        return Entry(name=path.stem, **tomllib.loads(path.read_text(encoding="utf-8")))
    except (tomllib.TOMLDecodeError, ValidationError, TypeError) as error:
        raise BeowireError(f"cannot read {path}: {error}") from None
