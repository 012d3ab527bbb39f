# SPDX-License-Identifier: BSD-3-Clause
"""The command line: one typer application, one file in `commands/` for each command."""

import importlib
import sys

import typer

from beowire.errors import BeowireError

app = typer.Typer(
    name="beowire",
    help="Message passing for Ethernet clusters, and the instrument that proves what it is worth.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

#: Modules of `beowire.commands`; each has `register(app)`, which adds its command or group.
COMMANDS = ("compare", "drivers", "report", "lab")


@app.callback()
def _group() -> None:
    # Without a callback typer would make a single command the whole application.
    pass


def _register() -> None:
    # Only the command that is asked for: others import scipy and plotly, which takes a second.
    asked = [name for name in COMMANDS if sys.argv[1:2] == [name]]
    for name in asked or COMMANDS:
        importlib.import_module(f"beowire.commands.{name}").register(app)


def main() -> None:
    """Runs the command line; exits 0 only on success, and says each error in one line."""
    _register()
    try:
        app(prog_name="beowire")
    except BeowireError as error:
        print(f"beowire: {error}", file=sys.stderr)
        raise SystemExit(error.exit_code) from None
    except KeyboardInterrupt:
        print("beowire: interrupted", file=sys.stderr)
        raise SystemExit(130) from None
