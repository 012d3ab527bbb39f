# SPDX-License-Identifier: BSD-3-Clause
"""`beowire pvm-env`: what makes PVM programs use Beowire."""

import json
import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from beowire import paths

#: What tasks that are spawned get from whoever spawns them, wherever it is set.
EXPORTED = (
    "LD_PRELOAD",
    "BEOWIRE_INTERFACE",
    "BEOWIRE_LANES",
    "BEOWIRE_CONFIG",
    "BEOWIRE_SETTINGS",
)


def register(app: typer.Typer) -> None:
    """Adds the command to the command line."""
    app.command("pvm-env")(pvm_env)


def variables(library: Path, before: Mapping[str, str]) -> dict[str, str]:
    """The variables, with what they held before."""
    loaded = [name for name in before.get("LD_PRELOAD", "").replace(":", " ").split() if name]
    exported = [name for name in before.get("PVM_EXPORT", "").split(":") if name]
    preload = [str(library), *(name for name in loaded if name != str(library))]
    export = [*exported, *(name for name in EXPORTED if name not in exported)]
    return {"LD_PRELOAD": ":".join(preload), "PVM_EXPORT": ":".join(export)}


def pvm_env(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Prints the variables that make PVM programs use Beowire.

    For a shell: `eval "$(beowire pvm-env)"`, then start programs as ever.
    """
    found = variables(paths.pvm_library(), os.environ)
    if as_json:
        print(
            json.dumps({"library": str(paths.pvm_library()), "variables": found}, allow_nan=False)
        )
        return
    for name, value in found.items():
        print(f"export {name}={shlex.quote(value)}")
