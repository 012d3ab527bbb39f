# SPDX-License-Identifier: BSD-3-Clause
"""Writes the manual pages: beowire(1) from what the commands themselves say of their options,
beowire(3) from the headers, fi_beowire(7) from what the provider says of its parameters.

python3 -I packaging/manual.py command|library|provider >PAGE
"""

import importlib
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
import headers
from headers import roff

_BEFORE = r"""
.\" Made by packaging/manual.py from the commands' own help.
.TH BEOWIRE 1 "" "Beowire" "User Commands"
.SH NAME
beowire \- measure protocols between nodes of a cluster, and run MPI over Ethernet frames
.SH SYNOPSIS
.B beowire
[OPTIONS] COMMAND [ARGS]...
.SH DESCRIPTION
""".strip()

_AFTER = r"""
.SH EXIT STATUS
.TP
.B 0
All that was asked for was done.
.TP
.B 1
Something failed; one line says what.
.TP
.B 2
The words were not understood, or what they name is not there.
.TP
.B 130
It was interrupted.
.SH SEE ALSO
.BR beowire (3),
.BR fi_beowire (7)
.PP
The documents in /usr/share/doc/beowire.
""".strip()

_ROOT = Path(__file__).resolve().parent.parent


def paragraphs(text: str) -> Iterator[str]:
    """The paragraphs of a help text, each on one line."""
    for part in inspect.cleandoc(text or "").replace("\b", "").split("\n\n"):
        if words := " ".join(part.split()):
            yield words


def synopsis(path: str, command: Any, context: Any) -> str:
    """The line that shows how a command is called."""
    return f".B {roff(path)}\n{roff(' '.join(command.collect_usage_pieces(context)))}"


def options(command: Any, context: Any) -> Iterator[str]:
    """Each option, with what it is."""
    for parameter in command.params:
        record = parameter.get_help_record(context)
        if record is not None:
            yield f".TP\n.B {roff(record[0])}\n{roff(' '.join(record[1].split()))}"


def pages(path: str, command: Any) -> Iterator[str]:
    """A section for a command, and those of the commands below it."""
    context = command.context_class(command, info_name=path)
    below = getattr(command, "commands", {})
    if path != "beowire":
        yield f".SS {roff(path)}"
        yield synopsis(path, command, context)
        for text in paragraphs(command.help):
            yield f".PP\n{roff(text)}"
        yield from options(command, context)
    for name, one in below.items():
        yield from pages(f"{path} {name}", one)


def command() -> Iterator[str]:
    """The page beowire(1)."""
    sys.path.insert(0, str(_ROOT / "evaluator"))
    cli = importlib.import_module("beowire.cli")
    typer = importlib.import_module("typer")
    for name in cli.COMMANDS:
        importlib.import_module(f"beowire.commands.{name.replace('-', '_')}").register(cli.app)
    whole = typer.main.get_command(cli.app)
    yield _BEFORE
    yield "\n.PP\n".join(roff(text) for text in paragraphs(whole.help))
    yield ".SH COMMANDS"
    yield from pages("beowire", whole)
    yield _AFTER


#: The pages, by what they are asked for.
PAGES = {"command": command, "library": headers.library, "provider": headers.provider}


def main() -> None:
    """Prints the page."""
    print("\n".join(PAGES[sys.argv[1]]()))


if __name__ == "__main__":
    main()
