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
from beowire.errors import BeowireError
from beowire.setup.pieces import PVM_EXPORTED

#: Directories for the loader; those of the file that comes first by name are searched first.
_LOADER_FILE = "/etc/ld.so.conf.d/00-beowire-pvm.conf"


def register(app: typer.Typer) -> None:
    """Adds the command to the command line."""
    app.command("pvm-env")(pvm_env)


def variables(library: Path, before: Mapping[str, str], *, by_path: bool = False) -> dict[str, str]:
    """The variables, with what they held before. `by_path`: the library is not loaded before all
    others, but its directory of libraries (`drop-in`) is searched before all others."""
    name = "LD_LIBRARY_PATH" if by_path else "LD_PRELOAD"
    held = before.get(name, "")
    loaded = (held if by_path else held.replace(" ", ":")).split(":")
    first = str(library.parent / "drop-in") if by_path else str(library)
    exported = [one for one in before.get("PVM_EXPORT", "").split(":") if one]
    value = [first, *(one for one in loaded if one not in ("", first))]
    export = [*exported, *(one for one in (name, *PVM_EXPORTED) if one not in exported)]
    return {name: ":".join(value), "PVM_EXPORT": ":".join(export)}


def everywhere(library: Path) -> list[str]:
    """Commands for root by which each PVM program of the host finds our libpvm3 first, and those
    that take it back, as comments."""
    folder = shlex.quote(str(library.parent / "drop-in"))
    return [
        f"echo {folder} >{_LOADER_FILE} && ldconfig",
        f"# Back: rm {_LOADER_FILE} && ldconfig",
    ]


def pvm_env(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    words: Annotated[
        bool, typer.Option("--words", help="Print one NAME=VALUE per line, for env(1).")
    ] = False,
    library_path: Annotated[
        bool,
        typer.Option(
            "--library-path", help="Use Beowire's own libpvm3 by LD_LIBRARY_PATH; preload nothing."
        ),
    ] = False,
    system: Annotated[
        bool,
        typer.Option(
            "--system",
            help="Print commands for root that make all PVM programs of this host use it.",
        ),
    ] = False,
) -> None:
    """Prints the variables with which PVM programs use Beowire.

    For a shell: `eval "$(beowire pvm-env)"`, then start programs as ever; for one program:
    `env $(beowire pvm-env --words) ./program`.
    """
    if system:
        if as_json or words or library_path:
            raise BeowireError("--system prints commands, not variables: name it alone")
        print("\n".join(everywhere(paths.pvm_library())))
        return
    found = variables(paths.pvm_library(), os.environ, by_path=library_path)
    if as_json:
        print(
            json.dumps({"library": str(paths.pvm_library()), "variables": found}, allow_nan=False)
        )
        return
    if words and any(len(value.split()) != 1 for value in found.values()):
        raise BeowireError(
            'a path has a space in it, which env(1) would take for two: eval "$(beowire pvm-env)"'
        )
    for name, value in found.items():
        print(f"{name}={value}" if words else f"export {name}={shlex.quote(value)}")
