# SPDX-License-Identifier: BSD-3-Clause
"""`beowire completion`: a script that has a shell complete the words of this command."""

import importlib
from typing import Annotated

import typer

from beowire import cli, completion, help_text
from beowire.errors import BeowireError


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("completion")(completion_command)


def completion_command(
    shell: Annotated[str, typer.Argument(help=f"One of {', '.join(completion.SHELLS)}.")],
) -> None:
    """Prints a completion script for your shell.

    For bash: eval "$(beowire completion bash)", in ~/.bashrc. For zsh: the same with zsh, after
    compinit. For fish: beowire completion fish >~/.config/fish/completions/beowire.fish
    """
    if shell not in completion.SHELLS:
        raise BeowireError(f"no completion for {shell!r}: one of {', '.join(completion.SHELLS)}")
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.callback()(cli.group)
    for name in cli.COMMANDS:
        importlib.import_module(f"beowire.commands.{name.replace('-', '_')}").register(app)
    help_text.adopt(app)
    found = completion.places(typer.main.get_command(app))
    print(completion.script(shell, list(found)), end="")
