# SPDX-License-Identifier: BSD-3-Clause
"""The published JSON Schema of the record, against the models and against records."""

import ast
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import beowire
from beowire.compare.run import Request, run
from beowire.errors import BeowireError
from beowire.interrupts import Interrupts
from beowire.plan.patterns import PATTERNS
from beowire.record import schema as record_schema
from beowire.record.reader import read_record
from unit.evaluator import synthetic_record
from unit.evaluator.fake_launcher import FakeLauncher

PUBLISHED = Path(__file__).resolve().parents[3] / "docs" / "record.schema.json"

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
_NOTES = {"title", "description", "default", "format", "discriminator", "$defs", "$schema"}


@dataclass(frozen=True)
class _Checker:
    """The part of JSON Schema that the record's has; an error for anything else in it."""

    root: Any

    def faults(self, schema: Any, value: Any, at: str = "") -> list[str]:
        """What of the value the schema does not allow."""
        wanted = schema.get("type")
        if wanted is not None and not _is(value, wanted):
            return [f"{at} is no {wanted}"]
        found: list[str] = []
        for word, of in schema.items():
            if word not in _NOTES and word != "type":
                check = getattr(self, f"_{word.lstrip('$')}", None)
                assert check is not None, f"the schema has {word}, which nothing here checks"
                found += check(of, value, at, schema)
        return found

    def _ref(self, of: str, value: Any, at: str, _: Any) -> list[str]:
        return self.faults(self.root["$defs"][of.rpartition("/")[2]], value, at)

    def _const(self, of: Any, value: Any, at: str, _: Any) -> list[str]:
        return [] if value == of else [f"{at} is {value!r}"]

    def _enum(self, of: Any, value: Any, at: str, _: Any) -> list[str]:
        return [] if value in of else [f"{at} is {value!r}"]

    def _anyOf(self, of: Any, value: Any, at: str, _: Any) -> list[str]:
        return [] if any(not self.faults(one, value, at) for one in of) else [f"{at} is none"]

    def _oneOf(self, of: Any, value: Any, at: str, _: Any) -> list[str]:
        tried = [self.faults(one, value, at) for one in of]
        return [] if tried.count([]) == 1 else min(tried, key=len) or [f"{at} is several"]

    def _required(self, of: Any, value: Any, at: str, _: Any) -> list[str]:
        return [f"{at}.{name} is missing" for name in of if name not in value]

    def _properties(self, of: Any, value: Any, at: str, _: Any) -> list[str]:
        names = of.keys() & value.keys()
        return [one for name in names for one in self.faults(of[name], value[name], f"{at}.{name}")]

    def _additionalProperties(self, of: Any, value: Any, at: str, schema: Any) -> list[str]:
        names = value.keys() - schema.get("properties", {}).keys() if of is not True else ()
        return [one for name in names for one in self.faults(of, value[name], f"{at}.{name}")]

    def _items(self, of: Any, value: Any, at: str, _: Any) -> list[str]:
        return [fault for one in value for fault in self.faults(of, one, f"{at}[]")]

    def _prefixItems(self, of: Any, value: Any, at: str, _: Any) -> list[str]:
        pairs = zip(of, value, strict=False)
        return [fault for part, one in pairs for fault in self.faults(part, one, f"{at}[]")]

    def _minItems(self, of: int, value: Any, at: str, _: Any) -> list[str]:
        return [] if len(value) >= of else [f"{at} is short"]

    def _maxItems(self, of: int, value: Any, at: str, _: Any) -> list[str]:
        return [] if len(value) <= of else [f"{at} is long"]

    def _minimum(self, of: float, value: Any, at: str, _: Any) -> list[str]:
        return [] if value >= of else [f"{at} is {value}"]

    def _exclusiveMinimum(self, of: float, value: Any, at: str, _: Any) -> list[str]:
        return [] if value > of else [f"{at} is {value}"]


def _is(value: Any, name: str) -> bool:
    return isinstance(value, _TYPES[name]) and (name == "boolean" or not isinstance(value, bool))


def faults(schema: Any, value: Any) -> list[str]:
    """What of a line the published schema does not allow."""
    return _Checker(schema).faults(schema, value)


def _schema() -> Any:
    return json.loads(PUBLISHED.read_text(encoding="utf-8"))


def _lines(path: Path) -> list[Any]:
    return [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines()]


def test_schema__is_that_of_the_models() -> None:
    assert PUBLISHED.read_text(encoding="utf-8") == record_schema.text(), (
        "renew it: python -m beowire.record.schema > docs/record.schema.json"
    )


def test_schema__fits_records_of_every_pattern(tmp_path: Path) -> None:
    lines = synthetic_record.lines(("tcp", "memcpy"), patterns=tuple(PATTERNS), sizes=(8, 64))
    path = synthetic_record.write(tmp_path / "record.jsonl", lines)
    schema = _schema()
    for number, line in enumerate(_lines(path)):
        assert faults(schema, line) == [], number


def test_schema__fits_what_a_run_writes(tmp_path: Path) -> None:
    request = Request(
        patterns=["pingpong", "stream", "open-loop", "overlap"],
        sizes=[8, 1024],
        directory=tmp_path,
        drivers="steady,lossy,tiny",
        seconds=2.0,
        probes="all",
    )
    run(FakeLauncher(), request, Interrupts())
    schema = _schema()
    lines = _lines(request.record)
    assert {"meta", "result", "skipped", "end"} <= {line["type"] for line in lines}
    for number, line in enumerate(lines):
        assert faults(schema, line) == [], number


@pytest.mark.parametrize(
    "change",
    [
        {"type": "news"},
        {"size": "8"},
        {"size": -1},
        {"size": True},
        {"launch": 0},
        {"stopped_by": "nobody"},
        {"half_rtt_ns": {"median": 1.0}},
        {"histogram": {"buckets": [[1]]}},
        {"cpu": None},
        {"driver": None},
    ],
)
def test_schema__refuses_what_no_record_has(tmp_path: Path, change: dict[str, object]) -> None:
    lines = synthetic_record.lines(("tcp",), patterns=("pingpong",), sizes=(8,), samples=40)
    (result,) = (
        line
        for line in _lines(synthetic_record.write(tmp_path / "record.jsonl", lines))
        if line["type"] == "result"
    )
    schema = _schema()
    assert faults(schema, result) == []
    assert faults(schema, {**result, **change})


# NaN and infinity


def test_json__no_part_of_the_package_writes_what_is_no_number() -> None:
    """Each call of json.dump and json.dumps refuses NaN and infinity."""
    package = Path(beowire.__file__).parent
    careless = [
        f"{path.relative_to(package)}:{node.lineno}"
        for path in sorted(package.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and (node.func.value.id, node.func.attr) in (("json", "dumps"), ("json", "dump"))
        and not any(word.arg == "allow_nan" for word in node.keywords)
        and path.name != "visible.py"  # a character
    ]
    assert careless == []


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_record__writes_no_nan_whatever_it_is_given(tmp_path: Path, value: float) -> None:
    lines = synthetic_record.lines(("tcp",), patterns=("pingpong",), sizes=(8,), samples=40)
    meta, result, *rest = lines
    options = {"of somebody": [value, {"else": value}]}
    changed = [
        meta.model_copy(update={"options": options}),
        result.model_copy(update={"round_medians": [value], "elapsed_ns": value}),
    ]
    path = synthetic_record.write(tmp_path / "record.jsonl", [*changed, *rest])

    def refuse(text: str) -> None:
        pytest.fail(f"{text} is in the record")

    for line in path.read_text(encoding="utf-8").splitlines():
        json.loads(line, parse_constant=refuse)


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_record__reads_no_nan(tmp_path: Path, word: str) -> None:
    lines = synthetic_record.lines(("tcp",), patterns=("pingpong",), sizes=(8,), samples=40)
    path = synthetic_record.write(tmp_path / "record.jsonl", lines)
    first, *rest = path.read_text(encoding="utf-8").splitlines()
    first = first.replace('"budget_s":120', f'"budget_s":{word}')
    assert word in first
    path.write_text("\n".join([first, *rest, ""]))
    with pytest.raises(BeowireError, match="is no number"):
        read_record(path)
