# SPDX-License-Identifier: BSD-3-Clause
"""The JSON Schema of a record's lines, made from the models that read them.

`python -m beowire.record.schema > docs/record.schema.json` updates the published copy.
"""

import json
from typing import Annotated, Any

from pydantic import Field, TypeAdapter

from beowire.record.lines import SCHEMA, End, Meta, Result, Skipped

_WIDTH = 100
_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema() -> dict[str, Any]:
    """The schema of one line of any type."""
    line: TypeAdapter[Any] = TypeAdapter(
        Annotated[Meta | Result | Skipped | End, Field(discriminator="type")]
    )
    made: dict[str, Any] = _without_noise(line.json_schema(by_alias=True))
    return {
        "$schema": _DIALECT,
        "title": f"A line of a record of beowire compare, schema {SCHEMA}",
        "description": "Times in nanoseconds, rates in bytes per second, sizes in bytes:"
        " docs/RECORD.md. There may be other members.",
        **made,
    }


def _without_noise(value: Any) -> Any:
    """Without the titles that pydantic makes of names, and without saying that other members may be
    there, which holds if nothing is said."""
    if isinstance(value, list):
        return [_without_noise(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        name: _without_noise(one)
        for name, one in value.items()
        if not (name == "title" and isinstance(one, str))
        and not (name == "additionalProperties" and one is True)
    }


def text() -> str:
    """The published text."""
    return _lines(schema(), "") + "\n"


def _lines(value: Any, begin: str, indent: str = "") -> str:
    """JSON after `begin`; values that fit into a line are on one line."""
    line = begin + json.dumps(value, ensure_ascii=False, allow_nan=False)
    if len(line) <= _WIDTH or not isinstance(value, dict):
        return line
    inner = indent + " "
    members = [_lines(one, f'{inner}"{name}": ', inner) for name, one in value.items()]
    return f"{begin}{{\n" + ",\n".join(members) + f"\n{indent}}}"


if __name__ == "__main__":
    print(text(), end="")
