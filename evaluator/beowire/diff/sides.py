# SPDX-License-Identifier: BSD-3-Clause
"""The two sides of a comparison: which records each has, and what each launch of them found.

A launch is one opening of all sessions, with new processes: a record has as many as `compare
--launches` said, and several records of a side have theirs together.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path

from beowire.apps.record import is_apps_record
from beowire.errors import BeowireError
from beowire.record.launches import LaunchFigures
from beowire.record.lines import Result, Skipped
from beowire.record.reader import Record, read_record
from beowire.units import size_text

FILE = "record.jsonl"

#: Options of a run that make its figures others.
_OPTIONS = {
    "offset": "--offset",
    "socket_buffer": "--socket-buffer",
    "message_rate": "--message-rate",
    "call_cost_ns": "--system-call-cost in ns",
}


@dataclass(frozen=True, order=True)
class Key:
    """What is compared with its like."""

    pattern: str
    driver: str
    load: str
    """What ran besides; empty: nothing."""
    is_tail: bool = False
    """It is about the 99th percentile of the times, and not their median."""

    def text(self) -> str:
        """`tcp pingpong`, `tcp pingpong p99 beside hog:19`."""
        tail = " p99" if self.is_tail else ""
        return f"{self.driver} {self.pattern}{tail}{f' beside {self.load}' if self.load else ''}"


@dataclass(frozen=True)
class Side:
    """The records of one side."""

    name: str
    records: Sequence[Record]

    @cached_property
    def launches(self) -> list[tuple[int, int]]:
        """(record, launch) of all that gave a result."""
        return sorted(
            {
                (at, one.launch)
                for at, record in enumerate(self.records)
                for result in record.results
                for one in record.launches_of(result)
                if cost(one) is not None
            }
        )

    @cached_property
    def costs(self) -> dict[Key, dict[int, dict[tuple[int, int], float]]]:
        """By what was measured, size and launch: time, or what a byte takes of it; and the 99th
        percentile, where it is known."""
        found: dict[Key, dict[int, dict[tuple[int, int], float]]] = {}
        for at, record in enumerate(self.records):
            for result in record.results:
                for one in record.launches_of(result):
                    for key, value in _costs_of(key_of(result), one):
                        sizes = found.setdefault(key, {})
                        sizes.setdefault(result.size, {})[at, one.launch] = value
        return found

    def reports_rates(self, key: Key) -> bool:
        """More is better of what it measured there."""
        return any(
            one.is_rate
            for record in self.records
            for result in record.results
            if key_of(result) == key
            for one in record.launches_of(result)
            if cost(one) is not None
        )

    @cached_property
    def failed(self) -> dict[tuple[Key, int], str]:
        """Why a launch has no whole result, of the cells where one has not."""
        return {
            (key_of(result), result.size): result.status
            for record in self.records
            for result in record.results
            if result.status != "ok"
        }

    def failure(self, key: Key, size: int) -> str:
        """Why the cell has too few results here, in a line; empty: it was not asked for."""
        lines = [line for record in self.records for line in record.skipped]
        reasons = (line.reason for line in lines if _is_about(line, key, size))
        return self.failed.get((key, size)) or next(reasons, "")

    def count_text(self) -> str:
        """`A has 10 launches`."""
        count = len(self.launches)
        return f"{self.name} has {count} launch{'' if count == 1 else 'es'}"


def key_of(result: Result) -> Key:
    """What it is compared with."""
    return Key(result.pattern, result.driver, result.load or "")


def cost(one: LaunchFigures) -> float | None:
    """What the launch found, so that less is better: its median time in ns, or one over its median
    rate. None: it found nothing that counts."""
    if not one.ok or one.median is None or one.median <= 0:
        return None
    return 1 / one.median if one.is_rate else one.median


def _costs_of(key: Key, one: LaunchFigures) -> Iterator[tuple[Key, float]]:
    value = cost(one)
    if value is None:
        return
    yield key, value
    if one.p99 is not None and one.p99 > 0:
        yield replace(key, is_tail=True), one.p99


def read_side(name: str, text: str) -> Side:
    """What is named so; BeowireError, one line, for what cannot be read."""
    return Side(name, [_read(path) for path in paths_of(text)])


def read_sides(first: str, second: str) -> tuple[Side, Side]:
    """What `beowire diff FIRST SECOND` names. BeowireError, one line, for what cannot be read or
    compared."""
    sides = read_side("A", first), read_side("B", second)
    records = [record for side in sides for record in side.records]
    # The same run twice is one launch that counts as two. Copies of a record are found, too.
    records.sort(key=lambda record: record.meta.started)
    for one, other in pairwise(records):
        if one.meta.started == other.meta.started and one.meta.options == other.meta.options:
            raise BeowireError(f"{one.path} and {other.path} are the same run: name each once")
    return sides


def paths_of(text: str) -> list[Path]:
    """Records of `A`, `A1,A2,A3`, or a directory that has one, or one with several directories that
    do. BeowireError if there is none."""
    words = [text] if _is_there(text) else text.split(",")
    found: list[Path] = []
    for word in words:
        if not word.strip():
            raise BeowireError(f"an empty name in {text!r}: write records as A1,A2,A3")
        found += _records_in(Path(word.strip()))
    return found


def _is_there(name: str) -> bool:
    try:
        return Path(name).exists()
    except OSError:  # longer than a name may be: a list of many
        return False


def _records_in(path: Path) -> list[Path]:
    try:
        is_directory = path.is_dir()
    except OSError as error:
        raise BeowireError(f"cannot read {str(path)[:60]}...: {error.strerror}") from None
    if not is_directory:
        return [path]
    if (path / FILE).exists():
        return [path / FILE]
    inside = sorted(path.glob(f"*/{FILE}"))
    if not inside:
        raise BeowireError(
            f"no record in {path}: neither {FILE}, nor directories that have one"
            " (`beowire compare --out DIRECTORY` writes it)"
        )
    return inside


def _read(path: Path) -> Record:
    if is_apps_record(path):
        raise BeowireError(
            f"{path} is of `beowire apps`: diff compares records of `beowire compare`"
        )
    return read_record(path)


def _is_about(line: Skipped, key: Key, size: int) -> bool:
    return (
        line.driver == key.driver
        and line.pattern in (None, key.pattern)
        and line.size in (None, size)
    )


def differences(first: Side, second: Side) -> Iterator[str]:
    """What else differs between the two sides than what was measured, a line each."""
    ours, theirs = ([_described(one) for one in side.records] for side in (first, second))
    for name in dict.fromkeys(name for one in (*ours, *theirs) for name in one):
        here, there = ({one.get(name) for one in side} for side in (ours, theirs))
        if not here & there:
            yield f"{name}: {_either(here)} in A, {_either(there)} in B"
    starts = [[record.meta.started for record in side.records] for side in (first, second)]
    if max(starts[0]) < min(starts[1]) or max(starts[1]) < min(starts[0]):
        yield (
            "one side was measured after the other, so a change of the machine in between counts"
            " as a difference: measure in turns (A1, B1, A2, B2 ...)"
        )


def _described(record: Record) -> dict[str, str | None]:
    """What both sides should have alike, as text."""
    link = record.meta.link.model_dump(exclude_none=True)
    found: dict[str, str | None] = {f"link {name}": str(value) for name, value in link.items()}
    for name, option in _OPTIONS.items():
        if (value := record.meta.options.get(name)) is not None:
            found[option] = _option_text(value)
    found["beowire"] = record.meta.beowire
    for name in ("kernel", "cpu_model"):
        values = {str(end.environment.get(name)) for end in record.meta.ends}
        found[name] = ", ".join(sorted(values))
    return found


def _option_text(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _either(values: set[str | None]) -> str:
    return " or ".join(sorted("none" if value is None else value for value in values))


def range_text(sizes: Sequence[int]) -> str:
    """`8 B`, `8 B to 1 KiB`."""
    return " to ".join(size_text(size) for size in dict.fromkeys((sizes[0], sizes[-1])))
