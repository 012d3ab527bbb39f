# SPDX-License-Identifier: BSD-3-Clause
"""The command line: one typer application, one file in `commands/` for each command."""

import contextlib
import errno
import importlib
import io
import os
import re
import sys
from pathlib import Path
from typing import Annotated

import typer

from beowire import __version__, help_text, plain, text_table
from beowire.errors import BeowireError
from beowire.visible import guard, visible

app = typer.Typer(
    name="beowire",
    cls=help_text.Group,
    help="Message passing for Ethernet clusters, and a tool that measures it against TCP, UDP and "
    "MPI.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

#: Commands, each a module of `beowire.commands` (with `_` for `-`) that has `register(app)`, which
#: adds the command or group.
COMMANDS = (
    "compare",
    "drivers",
    "report",
    "diff",
    "explain",
    "netpipe",
    "run",
    "tune",
    "load",
    "lab",
    "mpi-env",
    "pvm-env",
    "reproduce",
    "top",
    "simulate",
    "apps",
    "doctor",
    "setup",
    "speedup",
    "predict",
    "info",
    "completion",
)

#: What typer raises for words that it cannot read. It lives in another module from version to
#: version; `BadParameter` is the one of its family that typer itself hands out.
_NOT_UNDERSTOOD = typer.BadParameter.__mro__[2]

_INTERRUPTED = 130


#: How typer says that a value is no number, and how we do.
_NO_NUMBER = re.compile(r"Input should be a valid (integer|number), unable to parse\b[^:]*$")
_NUMBERS = {"integer": "it takes a whole number", "number": "it takes a number"}


def _say_version(wanted: bool) -> None:
    if wanted:
        print(f"beowire {__version__}")
        raise typer.Exit


@app.callback()
def group(
    version: Annotated[
        bool,
        typer.Option(
            "--version", is_eager=True, callback=_say_version, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """What stands before a command."""
    # Without a callback typer would make a single command the whole application.


def _register() -> None:
    # Only the command that is asked for: others import scipy, which takes half a second.
    asked = [name for name in COMMANDS if sys.argv[1:2] == [name]]
    if sys.argv[1:2] == ["--version"]:
        return
    for name in asked or COMMANDS:
        importlib.import_module(f"beowire.commands.{name.replace('-', '_')}").register(app)
    help_text.adopt(app)


def main() -> None:
    """Runs the command line; exits 0 only on success, and says each error in one line."""
    _prepare_streams()
    try:
        with guard():
            status = _run()
    finally:
        _let_go_of_output()
    if status:
        raise SystemExit(status)


def _run() -> int:
    status = 0
    try:
        _register()
        status = app(prog_name="beowire", standalone_mode=False) or 0
        sys.stdout.flush()
        if status == _INTERRUPTED:
            _say("interrupted")
    except BeowireError as error:
        status = error.exit_code
        _say(str(error))
    except KeyboardInterrupt:
        status = _INTERRUPTED
        _say("interrupted")
    except BrokenPipeError:
        status = 1  # whoever read has gone, and wants to hear no more
    except OSError as error:
        status = 1
        if _nowhere():
            _say("the working directory has been removed: change to another one")
        elif error.errno == errno.EBADF:
            _say("standard output is closed, so the output is lost")
        else:
            _say(f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror))
    except Exception as error:
        if not isinstance(error, _NOT_UNDERSTOOD):
            raise
        status = 2
        _explain(error)
    return status


def _nowhere() -> bool:
    """Whether the working directory has been removed."""
    try:
        Path.cwd()
    except FileNotFoundError:
        return True
    return False


def _explain(error: Exception) -> None:
    """What typer did not understand, in one line; or the help, where no words were given."""
    text = str(getattr(error, "message", error))
    command = getattr(getattr(error, "ctx", None), "command_path", "beowire")
    if "\n" in text.strip():
        print(text, file=sys.stderr)
        return
    if (format_message := getattr(error, "format_message", None)) is not None:
        text = " ".join(str(format_message()).split())
        text = _NO_NUMBER.sub(lambda found: _NUMBERS[found[1]], text)
    _say(f"{text.rstrip('.')}: see `{command} --help`")


def _say(message: str) -> None:
    with contextlib.suppress(OSError):
        line = text_table.for_stream(f"beowire: {visible(message)}", sys.stderr)
        print(line, file=sys.stderr, flush=True)


def _prepare_streams() -> None:
    """Standard input or error that is closed leads nowhere, what is written to standard output that
    is closed fails, and no character is too much for the others.

    Otherwise the next file that is opened would become standard error.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            way = os.O_RDONLY if name in ("stdin", "stdout") else os.O_WRONLY
            setattr(sys, name, os.fdopen(os.open(os.devnull, way), mode, encoding="utf-8"))
        elif mode == "w" and isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
            plain.prepare(stream)


def _let_go_of_output() -> None:
    """What cannot be written by now never will be; the interpreter would complain at its exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
