# SPDX-License-Identifier: BSD-3-Clause
"""The JSON Schema of a record's lines, made from the models that read them.

`python -m beowire.record_schema > docs/record.schema.json` renews the copy that is published.
"""

import json
from typing import Annotated, Any

from pydantic import Field, TypeAdapter

from beowire.record import SCHEMA, End, Meta, Result, Skipped

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema() -> dict[str, Any]:
    """Of one line, of any type."""
    line: TypeAdapter[Any] = TypeAdapter(
        Annotated[Meta | Result | Skipped | End, Field(discriminator="type")]
    )
    return {
        "$schema": _DIALECT,
        "title": f"A line of a record of beowire compare, schema {SCHEMA}",
        "description": "Times in nanoseconds, rates in bytes per second, sizes in bytes:"
        " docs/RECORD.md. Members that are not named here may be there.",
        **line.json_schema(by_alias=True),
    }


def text() -> str:
    """As it is published."""
    return json.dumps(schema(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


if __name__ == "__main__":
    print(text(), end="")
