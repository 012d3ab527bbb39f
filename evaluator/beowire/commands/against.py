# SPDX-License-Identifier: BSD-3-Clause
"""`beowire compare --against RECORD`: what it measures unless something else is asked for, and what
is said of it at the end."""

import json
import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Annotated

import typer

from beowire.compare.run import BUFFER_DRIVER, Request
from beowire.diff.sequential import Sequential
from beowire.diff.show import as_json, render
from beowire.diff.sides import Side, differences, read_side
from beowire.diff.verdict import DEFAULT_THRESHOLD
from beowire.errors import BeowireError
from beowire.plan.load import parse_load
from beowire.plan.patterns import parse_patterns
from beowire.record.text import made_sense_of

#: What the command ends with. What cannot be compared at all ends with 2, too.
STATUS = {"no worse": 0, "worse": 1, "cannot tell": 2}

#: New launches at most, unless a number is given.
MOST_LAUNCHES = 20

_LARGEST_PERCENT = 1000.0

AgainstOption = Annotated[
    str | None,
    typer.Option(
        "--against",
        help="Repeat the measurements of this record (or A1,A2, or a directory of records),"
        " launch by launch, until it is clear whether anything is worse. Exit status: 0 no, 1"
        " yes, 2 inconclusive.",
    ),
]
ThresholdOption = Annotated[
    str, typer.Option("--threshold", help="Ignore differences below this: 3%, 0.5%.")
]
USUAL_THRESHOLD = f"{DEFAULT_THRESHOLD * 100:g}%"


@dataclass(frozen=True)
class Against:
    """What is compared with what."""

    request: Request
    """What is measured."""
    sequential: Sequential

    def finish(self) -> int:
        """Prints the comparison, and returns what the command ends with. BeowireError if there is
        none."""
        found = self.sequential.comparison
        if found is None:
            reason = self.sequential.refusal or "it ended before the first comparison"
            raise BeowireError(f"inconclusive: {reason}", 2)
        found = replace(found, notes=list(differences(*found.sides)))
        launches = len(found.sides[1].launches)
        if self.request.json:
            line = {"type": "comparison", "launches": launches, **as_json(found)}
            print(json.dumps(line, allow_nan=False), flush=True)
        else:
            words = self.sequential.in_words(launches)
            print(f"\n{render(found)}\n\n{words}.", flush=True)
        return STATUS[found.verdict]


def prepare(text: str, threshold: str, request: Request, named: Collection[str]) -> Against:
    """The request with A's drivers, patterns, sizes, load, offsets, buffers, message rate, cost of
    system calls and time to a launch, as far as no option has `named` others. BeowireError if A
    cannot be compared with.
    """
    first = read_side("A", text)
    with made_sense_of([record.path for record in first.records]):
        return _prepared(first, text, threshold, request, named)


def _prepared(
    first: Side, text: str, threshold: str, request: Request, named: Collection[str]
) -> Against:
    if not first.launches:
        raise BeowireError(f"{first.records[0].path} has no result to compare with")
    launches = request.launches if "launches" in named else MOST_LAUNCHES
    changes: dict[str, object] = {"launches": launches, "against": text}
    results = [result for record in first.records for result in record.results]
    if "drivers" not in named:
        changes["drivers"] = ",".join(_drivers(first))
    if "pattern" not in named:
        changes["patterns"] = parse_patterns(",".join(dict.fromkeys(r.pattern for r in results)))
    if not {"sizes", "max_size"} & set(named):
        changes |= {"sizes": sorted({result.size for result in results}), "scheduled": False}
    if "load" not in named:
        loads = dict.fromkeys(result.load for result in results if result.load)
        changes["loads"] = tuple(parse_load(load) for load in loads)
    changes |= {
        name: value for name, value in _settings(first).items() if _OPTIONS[name] not in named
    }
    if BUFFER_DRIVER not in str(changes.get("drivers", request.drivers)).split(","):
        changes.pop("socket_buffer", None)  # which would add that driver
    if "seconds" not in named:
        changes["seconds"] = _launch_seconds(first) * launches
    request = replace(request, **changes)  # type: ignore[arg-type]
    sequential = Sequential(first, str(request.record), launches, share_of(threshold))
    return Against(replace(request, decided=sequential), sequential)


def share_of(text: str) -> float:
    """Of `3%`: 0.03. BeowireError."""
    found = re.fullmatch(r"\s*(\d{1,4}(?:\.\d{1,6})?)\s*%\s*", text)
    if not found or not 0 <= float(found[1]) <= _LARGEST_PERCENT:
        raise BeowireError(f"cannot read --threshold {text!r}: write per cent, as 3% or 0.5%")
    return float(found[1]) / 100


def _drivers(side: Side) -> list[str]:
    """Those that were measured, in their order."""
    order = [info.name for record in side.records for info in record.meta.drivers]
    measured = {result.driver for record in side.records for result in record.results}
    return [name for name in dict.fromkeys(order) if name in measured]


#: What a request has of a record's options, by what typer calls the option.
_OPTIONS = {
    "offsets": "offset",
    "socket_buffer": "socket_buffer",
    "message_rate": "message_rate",
    "call_cost_ns": "system_call_cost",
}


def _settings(side: Side) -> dict[str, object]:
    """What was measured there in another way than usual: where messages began, how large TCP's
    buffers were, how many messages a second were sent."""
    options = side.records[0].meta.options
    found: dict[str, object] = {}
    match options.get("offset"):
        case [int() as sent, int() as received]:
            found["offsets"] = sent, received
    match options.get("socket_buffer"):
        case str() as text if text.isascii() and text.isdecimal():
            found["socket_buffer"] = int(text)
    match options.get("call_cost_ns"):
        case int() as cost_ns:
            found["call_cost_ns"] = cost_ns
    match options.get("message_rate"):
        case int() | float() as rate:
            found["message_rate"] = float(rate)
    return found


def _launch_seconds(side: Side) -> float:
    """What a launch took there."""
    options = side.records[0].meta.options
    budget, launches = options.get("budget_s"), options.get("launches")
    if not isinstance(budget, int | float) or not isinstance(launches, int) or launches < 1:
        raise BeowireError(f"{side.records[0].path} does not say how long it took: add --time")
    return float(budget) / launches
