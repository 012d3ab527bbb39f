# SPDX-License-Identifier: BSD-3-Clause
"""`--help` of every command: groups, names for what options take, and whole words."""

import re
from pathlib import Path
from typing import Annotated

import typer
from typer.testing import CliRunner

from beowire import cli, help_text
from unit.evaluator.command_line import whole


def made() -> typer.Typer:
    app = typer.Typer(rich_markup_mode=None, add_completion=False)
    group = typer.Typer(rich_markup_mode=None)

    @app.command()
    def one(
        *,
        program: Annotated[list[str], typer.Argument(help="What is run.")],
        lab: Annotated[bool, typer.Option("--lab", help="Here.")] = False,
        rate: Annotated[str, typer.Option("--rate", help="Bits per second.")] = "1g",
        size: Annotated[str, typer.Option("-s", "--size", help="A very-long-word " * 9)] = "",
        count: Annotated[int, typer.Option("--count", help="How often.")] = 3,
        odd: Annotated[str, typer.Option("--odd", metavar="WHAT", help="Odd.")] = "",
        quiet: Annotated[bool, typer.Option("--quiet/--loud", help="Or not.")] = False,
        where: Annotated[Path, typer.Option("--where", help="A path.")] = Path(),
        json: Annotated[bool, typer.Option("--json", help="JSON.")] = False,
    ) -> None:
        """Does it. Well."""

    @group.command("two")
    def two() -> None:
        """Does the other thing. At length."""

    app.add_typer(group, name="group", help="Others.")
    help_text.adopt(app)
    return app


def test_help__nodes_of_something_else_are_no_lab() -> None:
    lines = CliRunner().invoke(whole(), ["simulate", "--help"]).stdout.splitlines()
    heads = [line for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert heads == ["Options:", "Results:", "Examples:", "Commands:"]
    assert any(line.startswith("  --nodes N ") for line in lines)


def test_help__groups_and_what_options_take() -> None:
    lines = CliRunner().invoke(made(), ["one", "--help"]).stdout.splitlines()
    assert lines[0] == "Usage: root one [OPTIONS] PROGRAM..."
    heads = [line for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert heads == ["Arguments:", "Options:", "Where:", "The lab:", "Results:"]
    text = "\n".join(lines)
    for name in ("--rate RATE ", "-s, --size TEXT ", "--count N ", "--odd WHAT ", "--where PATH "):
        assert name in text
    assert "--quiet / --loud " in text
    assert "[default: 3]" in text
    assert max(map(len, lines)) <= 78
    # No line ends within a word, at its hyphen.
    assert all(not line.endswith("-") for line in lines)


def test_help__few_options_are_one_list() -> None:
    text = CliRunner().invoke(made(), ["group", "two", "--help"]).stdout
    assert "Options:\n  --help  Show this message and exit.\n" in text
    text = CliRunner().invoke(made(), ["group", "--help"]).stdout
    assert "Commands:\n  two  Does the other thing\n" in text


def test_help__of_all_commands_has_no_types_and_no_broken_words() -> None:
    commands = [[], *([name] for name in cli.COMMANDS)]
    commands += (["lab", name] for name in ("up", "down", "status", "exec", "mpirun"))
    commands += (["apps", name] for name in ("list", "run"))
    for words in commands:
        text = CliRunner().invoke(whole(), [*words, "--help"]).stdout
        assert text.startswith("Usage: ")
        assert re.findall(r"<\w+(?:\[\w+\])?>|^  -.* TEXT  ", text, re.MULTILINE) == []
        assert [line for line in text.splitlines() if len(line) > 80] == []
        assert re.findall(r"\w-$", text, re.MULTILINE) == []
