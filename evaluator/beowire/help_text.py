# SPDX-License-Identifier: BSD-3-Clause
"""What `--help` prints: options in groups, what they take by name (`--out DIR`), and lines that are
broken between words only, never at the hyphen of a name.

What an option takes, and to which group it belongs, goes by its name: the same words mean the same
in every command. An option that says its own metavar keeps it.
"""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from beowire import examples

#: Groups, in the order in which they are shown: what is in none is in the first.
_FIRST = "Options"
_LAB = "The lab"
_GROUPS: Mapping[str, tuple[str, ...]] = {
    "Where": ("--lab", "--hosts", "--lab-name", "--interface", "--ssh-option", "--pin"),
    _LAB: (
        "--nodes",
        "--link",
        "--mtu",
        "--rate",
        "--delay",
        "--loss",
        "--congestion",
        "--backend",
        "--nic",
        "--module",
    ),
    "Results": (
        "--out",
        "--json",
        "--csv",
        "--netpipe-columns",
        "--junit",
        "--prometheus",
        "--help",
    ),
}
#: Fewer options than this are one list.
_FEW = 9

#: What options take.
_METAVARS: Mapping[str, str] = {
    "--hosts": "A,B",
    "--lab-name": "NAME",
    "--interface": "NAME",
    "--ssh-option": "OPTION",
    "--pin": "CPUS",
    "--link": "KIND",
    "--mtu": "BYTES",
    "--rate": "RATE",
    "--delay": "TIME",
    "--loss": "SHARE",
    "--reorder": "SHARE",
    "--duplicate": "SHARE",
    "--corrupt": "SHARE",
    "--undetected": "SHARE",
    "--scenario": "NAME",
    "--congestion": "NAME",
    "--backend": "KIND",
    "--nic": "CARD",
    "--module": "NAME",
    "--out": "DIR",
    "--csv": "FILE",
    "--against": "RECORD",
    "--rules": "FILE",
    "--junit": "FILE",
    "--prometheus": "FILE",
    "--time": "SECONDS",
    "--timeout": "SECONDS",
    "--interval": "SECONDS",
    "--drivers": "NAMES",
    "--driver": "FILE.c",
    "--driver-command": "NAME=COMMAND",
    "--pattern": "NAMES",
    "--sizes": "SIZES",
    "--max-size": "SIZE",
    "--socket-buffer": "SIZE",
    "--message-rate": "RATE",
    "--system-call-cost": "TIME",
    "--offset": "BYTES",
    "--load": "LOAD",
    "--probes": "NAMES",
    "--mpi": "NAME",
    "--over": "WAY",
    "--prefix": "DIR",
    "--group": "NAME",
    "--npb": "DIR",
    "--class": "LETTER",
    "--launcher": "NAME",
    "--name": "NAME",
    "--on": "NODE",
    "--cpus": "LIST",
    "--threshold": "SHARE",
    "--output": "FILE",
    "--check": "FILE",
    "--trace": "FILE",
}
#: What an option takes that no name tells, by its type in typer's words.
_TYPES: Mapping[str, str] = {"<int>": "N", "<float>": "NUMBER", "<path>": "PATH"}

_GAP = 2
_WIDEST_NAME = 24


class Command(TyperCommand):
    """A command whose help is as this module says."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Writes all of it."""
        formatter.write("\n".join(_lines(self, ctx, formatter.width)) + "\n")


class Group(TyperGroup):
    """A group of commands, likewise."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Writes all of it."""
        lines = _lines(self, ctx, formatter.width)
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = {name: first_sentence(one) for name, one in found if one and not one.hidden}
        for title, names in _below(ctx, list(rows)):
            lines += [
                "",
                f"{title}:",
                *_table([(one, rows[one]) for one in names], formatter.width),
            ]
        formatter.write("\n".join(lines) + "\n")


def _below(ctx: Any, names: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """The commands of a group under their titles."""
    left = list(names)
    if ctx.parent is None:
        for title, members in examples.GROUPS.items():
            shown = [one for one in members if one in left]
            left = [one for one in left if one not in shown]
            if shown:
                yield title, shown
    if left:
        yield "Commands", left


def adopt(app: typer.Typer) -> None:
    """Gives all commands of an application, and those of its groups, this help."""
    for info in app.registered_commands:
        if info.cls is TyperCommand or info.cls is None:
            info.cls = Command
    for group in app.registered_groups:
        if group.typer_instance is not None:
            group.typer_instance.info.cls = Group
            adopt(group.typer_instance)


def _lines(command: Any, ctx: Any, width: int) -> list[str]:
    shown = [one for one in command.get_params(ctx) if not getattr(one, "hidden", False)]
    arguments = [one for one in shown if one.param_type_name == "argument"]
    options = [one for one in shown if one.param_type_name == "option"]
    words = ["[OPTIONS]", *(_usage(one) for one in arguments)]
    if isinstance(command, TyperGroup):
        words.append(command.subcommand_metavar)
    usage = f"Usage: {ctx.command_path} "
    lines = _wrapped(f"{usage}{' '.join(words)}", width, " " * len(usage))
    for paragraph in (command.help or "").split("\n\n"):
        if text := " ".join(paragraph.split()):
            lines += ["", *_wrapped(f"  {text}", width, "  ")]
    if rows := [(_usage(one), _told(one, ctx)) for one in arguments if _told(one, ctx)]:
        lines += ["", "Arguments:", *_table(rows, width)]
    for title, members in _grouped(options):
        rows = [(_name(one, ctx), _told(one, ctx)) for one in members]
        lines += ["", f"{title}:", *_table(rows, width)]
    if shown := examples.lines(_command(ctx)):
        lines += ["", "Examples:"]
        for typed, what in shown:
            lines += [f"  {typed}", *_wrapped(f"      {what}", width, "      ")]
    return lines


def _command(ctx: Any) -> str:
    """What is typed after `beowire`; of beowire itself, nothing."""
    return str(ctx.command_path).partition(" ")[2]


def _grouped(options: Sequence[Any]) -> Iterator[tuple[str, list[Any]]]:
    """The groups that have something in them."""
    if len(options) < _FEW:
        yield _FIRST, list(options)
        return
    of_option = {name: title for title, names in _GROUPS.items() for name in names}
    if not {"--lab", "--link"} & {_long(one) for one in options}:
        # Nodes and losses of something else.
        of_option = {name: title for name, title in of_option.items() if title != _LAB}
    for title in (_FIRST, *_GROUPS):
        members = [one for one in options if of_option.get(_long(one), _FIRST) == title]
        if members:
            yield title, members


def _long(option: Any) -> str:
    return str(max(option.opts, key=len))


def _name(option: Any, ctx: Any) -> str:
    """`-o, --output FILE`; `--profile / --no-profile`."""
    names = ", ".join(sorted(option.opts, key=len))
    if option.secondary_opts:
        return f"{names} / {', '.join(option.secondary_opts)}"
    return names if option.is_flag or option.count else f"{names} {metavar(option, ctx)}"


def metavar(option: Any, ctx: Any) -> str:
    """What an option takes, in a word."""
    if option.metavar:
        return str(option.metavar)
    known = next((_METAVARS[name] for name in option.opts if name in _METAVARS), None)
    return known or _TYPES.get(str(option.display_type_rich(ctx=ctx)), "TEXT")


def _usage(argument: Any) -> str:
    if argument.metavar:
        return str(argument.metavar)
    name = str(argument.name).upper()
    return f"{name}..." if argument.nargs == -1 else name


def _told(parameter: Any, ctx: Any) -> str:
    """Its help, with its default."""
    record = parameter.get_help_record(ctx)
    text = "" if record is None else " ".join(str(record[1]).split())
    return text.removesuffix("[required]") if parameter.param_type_name == "argument" else text


def first_sentence(command: Any) -> str:
    """What a command does, in short."""
    text = " ".join((command.help or "").split("\n\n")[0].split())
    return text.split(". ")[0].rstrip(".")


def _table(rows: Sequence[tuple[str, str]], width: int) -> list[str]:
    wide = min(_WIDEST_NAME, max(len(name) for name, _ in rows))
    indent = " " * (2 + wide + _GAP)
    lines = []
    for name, text in rows:
        first = f"  {name:<{wide}}{' ' * _GAP}"
        if len(name) > wide:
            lines.append(f"  {name}")
            first = indent
        lines += _wrapped(f"{first}{text}", width, indent)
    return lines


def _wrapped(text: str, width: int, indent: str) -> list[str]:
    return textwrap.wrap(
        text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    ) or [""]
