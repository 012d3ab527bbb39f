# SPDX-License-Identifier: BSD-3-Clause
"""Writes the manual pages: beowire(1) from what the commands themselves say of their options,
beowire(3) from the headers, fi_beowire(7) from what the provider says of its parameters; and
docs/COMMANDS.md.

python3 -I packaging/manual.py command|library|provider|document >PAGE
"""

import importlib
import inspect
import re
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
Everything was done.
.TP
.B 1
Something failed; one line on standard error says what.
.TP
.B 2
The command line was not understood, or something that it names does not exist.
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
        for typed, what in examples().lines(path.partition(" ")[2]):
            yield f".TP\n.B {roff(typed)}\n{roff(what)}"
    for name, one in below.items():
        yield from pages(f"{path} {name}", one)


def examples() -> Any:
    """The module of that name."""
    return importlib.import_module("beowire.examples")


def application() -> Any:
    """The command with all that are below it."""
    sys.path.insert(0, str(_ROOT / "evaluator"))
    cli = importlib.import_module("beowire.cli")
    typer = importlib.import_module("typer")
    for name in cli.COMMANDS:
        importlib.import_module(f"beowire.commands.{name.replace('-', '_')}").register(cli.app)
    return typer.main.get_command(cli.app)


def command() -> Iterator[str]:
    """The page beowire(1)."""
    whole = application()
    yield _BEFORE
    yield "\n.PP\n".join(roff(text) for text in paragraphs(whole.help))
    yield ".SH COMMANDS"
    yield from pages("beowire", whole)
    yield _AFTER


def document() -> Iterator[str]:
    """docs/COMMANDS.md."""
    whole = application()
    help_text = importlib.import_module("beowire.help_text")
    yield "<!-- Made by packaging/manual.py document. -->\n# Commands\n"
    yield "`beowire COMMAND -h` shows the options of each. In a checkout, type `./beowire`.\n"
    for title, names in examples().GROUPS.items():
        yield f"## {title}\n"
        yield "| | |\n|---|---|"
        for name in names:
            yield f"| **`{name}`** | **{help_text.first_sentence(whole.commands[name])}** |"
            for typed, what in examples().lines(name):
                yield f"| `{typed}` | {what} |"
        yield ""
    yield "## Exit status\n"
    yield "| | |\n|---|---|"
    for status, meaning in re.findall(r"^\.B (\d+)\n(.*)$", _AFTER, re.MULTILINE):
        yield f"| {status} | {meaning} |"


#: The pages, by what they are asked for.
PAGES = {
    "command": command,
    "library": headers.library,
    "provider": headers.provider,
    "document": document,
}


def main() -> None:
    """Prints the page."""
    print("\n".join(PAGES[sys.argv[1]]()))


if __name__ == "__main__":
    main()
