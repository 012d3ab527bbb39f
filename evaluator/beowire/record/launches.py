# SPDX-License-Identifier: BSD-3-Clause
"""Keeps the results of one cell in memory while a record is read, launch by launch.

A result takes about 0.1 MB, nearly all of it for its histogram, and a record may have a thousand
launches of a thousand cells. So the histograms of launches are added up as they are read, and of
the rounds only the extremes are kept. Above WHOLE launches, single results are not kept: their
figures go to columns of numbers, 0.6 KB a launch, and one result with their medians represents
all. LaunchFigures keeps what `beowire diff` needs of each launch.
"""

import math
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import median, median_low
from typing import Any, NamedTuple

from beowire.record.lines import Result

#: The most launches of a cell that are kept singly.
WHOLE = 20

_Path = tuple[str | int, ...]

#: Members of a result that are sums of those of launches; other numbers are medians.
_SUMS = ("n", "rounds", "lost", "probed_rounds", "elapsed_ns")

#: Members that are combined in other ways.
_APART = {"histogram", "round_medians", "status", "stopped_by", "launch"}


class LaunchFigures(NamedTuple):
    """The results of one launch for a cell."""

    launch: int
    ok: bool
    """The cell is complete."""
    is_rate: bool
    median: float | None
    """Of its time in ns, or its rate; None: neither."""
    p99: float | None
    """Of its time."""


def figures_of(result: Result) -> LaunchFigures:
    """The figures of one launch's result."""
    time = result.time()
    quantity = time or result.rate_bytes_per_s
    return LaunchFigures(
        result.launch,
        result.status == "ok",
        time is None,
        None if quantity is None else quantity.median,
        None if time is None else time.p99,
    )


class CellLaunches:
    """Collects the results of one cell; a single launch is not changed."""

    def __init__(self) -> None:
        """Makes an empty collection."""
        self._results: list[Result] = []
        self._pool: dict[int, int] = {}
        self._folded: _Folded | None = None

    def add(self, result: Result) -> None:
        """Adds a result."""
        if self._folded is not None:
            self._gather(result)
            self._folded.add(result)
            return
        self._results.append(result)
        many = len(self._results) > WHOLE
        if many or len({one.launch for one in self._results}) > 1:
            for one in self._results:
                self._gather(one)
            self._results = [_lightened(one) for one in self._results]
        if many:
            self._folded = _Folded()
            for one in self._results:
                self._folded.add(one)
            self._results = []

    def results(self) -> list[Result]:
        """All results; for many launches, one that represents all."""
        found = [self._folded.merged()] if self._folded is not None else list(self._results)
        if self._pool:
            found[0] = _with(found[0], {"histogram": {"buckets": sorted(self._pool.items())}})
        return found

    def figures(self) -> list[LaunchFigures]:
        """Of each launch, if one result represents all; else none."""
        return [] if self._folded is None else self._folded.figures

    def _gather(self, result: Result) -> None:
        """Adds the result's histogram to that of all launches."""
        for lower, count in result.histogram.buckets if result.histogram else ():
            self._pool[lower] = self._pool.get(lower, 0) + count


class _Folded:
    """Many launches: a column for each number of their results."""

    def __init__(self) -> None:
        self.figures: list[LaunchFigures] = []
        self._columns: dict[_Path, array[float]] = {}
        self._template: Result | None = None
        self._status = "ok"
        self._stops: Counter[str] = Counter()
        self._rounds: list[float] = []

    def add(self, result: Result) -> None:
        self.figures.append(figures_of(result))
        for path, value in _leaves(result.model_dump(exclude=_APART)):
            if value is None or isinstance(value, int | float):
                number = math.nan if value is None else float(value)
                self._columns.setdefault(path, array("d")).append(number)
        if self._template is None or result.status == "ok" or self._template.status != "ok":
            self._template = _lightened(result)
        if result.status != "ok":
            self._status = result.status
        self._stops[result.stopped_by] += 1
        self._rounds = _extremes([*self._rounds, *result.round_medians])

    def merged(self) -> Result:
        """One result for all: the last complete one, with the combined numbers of all."""
        assert self._template is not None
        values = self._filled(self._template.model_dump(exclude=_APART), ())
        values |= {
            "launch": self.figures[-1].launch,
            "status": self._status,
            "stopped_by": self._stops.most_common(1)[0][0],
            "round_medians": self._rounds,
        }
        found = type(self._template).model_validate(values)
        found.stands_for(len(self.figures))
        return found

    def _filled(self, value: Any, path: _Path) -> Any:
        column = self._columns.get(path)
        if isinstance(value, dict | list | tuple):
            # If one launch lacks an interval, there is none for all.
            if column is not None and _is_interval(path):
                return None
            if isinstance(value, dict):
                return {name: self._filled(one, (*path, name)) for name, one in value.items()}
            return [self._filled(one, (*path, at)) for at, one in enumerate(value)]
        if column is None or isinstance(value, str):
            return value
        return _of_all(column, value, path)


def _of_all(column: "array[float]", like: Any, path: _Path) -> Any:
    """Combines the numbers of all launches into one of the type of `like`."""
    if any(map(math.isnan, column)):
        return None
    name = path[-1]
    if len(path) == 1 and name in _SUMS:
        found = sum(column)
    elif isinstance(like, bool):
        return all(column) if name == "settled" else any(column)
    elif name == "min" or (name == 0 and _is_interval(path[:-1])):
        found = min(column)
    elif name == "max" or (name == 1 and _is_interval(path[:-1])):
        found = max(column)
    else:
        found = median_low(column) if isinstance(like, int) else median(column)
    return int(found) if isinstance(like, int) else found


def _is_interval(path: _Path) -> bool:
    return bool(path) and (str(path[-1]).endswith("ci95") or path[0] == "probes_ci95")


def _leaves(value: Any, path: _Path = ()) -> Iterator[tuple[_Path, Any]]:
    if isinstance(value, dict):
        for name, one in value.items():
            yield from _leaves(one, (*path, name))
    elif isinstance(value, list | tuple):
        for at, one in enumerate(value):
            yield from _leaves(one, (*path, at))
    else:
        yield path, value


def _lightened(result: Result) -> Result:
    """Without its histogram, and with only the extremes of its rounds."""
    if result.histogram is None and len(result.round_medians) <= 2:
        return result
    return result.model_copy(
        update={"histogram": None, "round_medians": _extremes(result.round_medians)}
    )


def _extremes(values: Sequence[float]) -> list[float]:
    known = [value for value in values if value > 0]
    return [min(known), max(known)] if known else []


def _with(result: Result, changes: dict[str, Any]) -> Result:
    """The result with changed members, validated."""
    changed = type(result).model_validate({**result.model_dump(), **changes})
    changed.stands_for(result.launches)
    return changed
