# SPDX-License-Identifier: BSD-3-Clause
"""Examples in help texts: they name every command, and its own parser accepts each of them."""

import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from beowire import cli, examples
from unit.evaluator.command_line import whole

ROOT = Path(__file__).resolve().parents[3]
LINES = [(name, typed) for name in examples.EXAMPLES for typed, _ in examples.lines(name)]


@pytest.fixture(name="parser", scope="module")
def make_parser() -> Any:
    return typer.main.get_command(whole())


def test_examples__each_command_is_in_one_group_and_has_some() -> None:
    grouped = [name for names in examples.GROUPS.values() for name in names]
    assert sorted(grouped) == sorted(cli.COMMANDS) == sorted(examples.EXAMPLES)


@pytest.mark.parametrize(("name", "typed"), LINES)
def test_examples__are_accepted_by_the_parser(parser: Any, name: str, typed: str) -> None:
    words = shlex.split(typed.removeprefix('eval "$(').removesuffix(')"'))
    assert words[:2] == ["beowire", name]
    command, arguments = parser, words[1:]
    # Parses without running; what is below a group is parsed by that.
    while arguments and arguments[0] in getattr(command, "commands", {}):
        command = command.commands[arguments.pop(0)]
    command.make_context(name, arguments)


def test_document__is_what_the_commands_say() -> None:
    made = subprocess.run(
        [sys.executable, "-I", str(ROOT / "packaging/manual.py"), "document"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert (ROOT / "docs/COMMANDS.md").read_text() == made.stdout, (
        "after a change of help texts: build/venv/bin/python -I packaging/manual.py document"
        " >docs/COMMANDS.md"
    )
