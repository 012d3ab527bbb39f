# SPDX-License-Identifier: BSD-3-Clause
"""What a shell needs to complete words of the command line, made from the commands themselves.

The scripts are text that knows all commands and options, so that completing starts no Python.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from beowire import help_text

SHELLS = ("bash", "zsh", "fish")

#: Options whose values are known, whichever command they are of.
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "--link": ("direct", "switch"),
    "--backend": ("namespaces", "vm", "uml"),
    "--over": ("beowire", "tcp"),
    "--mpi": ("openmpi4", "openmpi5", "mpich", "intel"),
    "--congestion": ("cubic", "reno", "bbr"),
    "--probes": ("all", "none", "syscalls", "hardware", "soaker"),
}
#: What stands for files and directories in the help.
_FILES = ("DIR", "FILE", "FILE.c", "PATH", "RECORD")


@dataclass(frozen=True)
class Option:
    """An option, with all of its spellings."""

    names: tuple[str, ...]
    help: str
    takes: tuple[str, ...] | None
    """Its values; none: they are files, or anything. None: it takes no value."""
    files: bool


@dataclass(frozen=True)
class Place:
    """A command, or a group of them, by its words after `beowire`."""

    words: tuple[str, ...]
    commands: tuple[tuple[str, str], ...]
    """With a sentence each."""
    options: tuple[Option, ...]


def places(command: Any, words: tuple[str, ...] = (), parent: Any = None) -> Iterator[Place]:
    """A command and all that are below it."""
    context = command.context_class(command, info_name=command.name, parent=parent)
    below = getattr(command, "commands", {})
    yield Place(
        words,
        tuple((name, help_text.first_sentence(one)) for name, one in below.items()),
        tuple(_option(one, context) for one in command.get_params(context) if _is_option(one)),
    )
    for name, one in below.items():
        yield from places(one, (*words, name), context)


def script(shell: str, found: Sequence[Place]) -> str:
    """The script for one of SHELLS."""
    make = {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell]
    return "\n".join(["# Made by `beowire completion`.", *make(found)]) + "\n"


def _is_option(parameter: Any) -> bool:
    return parameter.param_type_name == "option" and not getattr(parameter, "hidden", False)


def _option(option: Any, context: Any) -> Option:
    name = max(option.opts, key=len)
    names = tuple([*sorted(option.opts, key=len), *option.secondary_opts])
    takes = None
    files = False
    if not (option.is_flag or option.count):
        takes = _CHOICES.get(name, ())
        files = help_text.metavar(option, context) in _FILES
    record = option.get_help_record(context)
    text = "" if record is None else " ".join(str(record[1]).split())
    return Option(names, text.split(". ")[0].rstrip("."), takes, files)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _bash(found: Sequence[Place]) -> Iterator[str]:
    yield "_beowire() {"
    yield '    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} place="" i'
    yield "    local names=() values=()"
    yield "    COMPREPLY=()"
    # The words of the command come first, with options of the groups perhaps between them.
    yield "    for ((i = 1; i < COMP_CWORD; i++)); do"
    yield '        case "$place/${COMP_WORDS[i]}" in'
    known = " | ".join(_quoted("/" + "/".join(place.words)) for place in found if place.words)
    yield f'        {known}) place="$place/${{COMP_WORDS[i]}}" ;;'
    yield "        esac"
    yield "    done"
    yield '    case "$place" in'
    for place in found:
        yield f"    {_quoted(''.join('/' + word for word in place.words))})"
        yield f"        names=({' '.join([*(n for n, _ in place.commands), *_names(place)])})"
        yield '        case "$before" in'
        for option in place.options:
            if option.takes is not None:
                how = "values=(-f)" if option.files else f"values=({' '.join(option.takes)})"
                yield f"        {' | '.join(option.names)}) {how}; names=() ;;"
        yield "        esac ;;"
    yield "    esac"
    yield '    if [ "${values[0]-}" = -f ]; then'
    yield "        compopt -o filenames"
    yield '        mapfile -t COMPREPLY < <(compgen -f -- "$word")'
    yield "    else"
    yield '        mapfile -t COMPREPLY < <(compgen -W "${names[*]} ${values[*]}" -- "$word")'
    yield '        [ ${#COMPREPLY[@]} -gt 0 ] || mapfile -t COMPREPLY < <(compgen -f -- "$word")'
    yield "    fi"
    yield "}"
    yield "complete -F _beowire beowire"


def _names(place: Place) -> Iterator[str]:
    for option in place.options:
        yield from option.names


def _zsh(found: Sequence[Place]) -> Iterator[str]:
    yield "#compdef beowire"
    yield "_beowire() {"
    yield '    local place="" i before=${words[CURRENT-1]}'
    yield "    local -a names"
    yield "    for ((i = 2; i < CURRENT; i++)); do"
    yield '        case "$place/${words[i]}" in'
    known = "|".join(_quoted("/" + "/".join(place.words)) for place in found if place.words)
    yield f'        {known}) place="$place/${{words[i]}}" ;;'
    yield "        esac"
    yield "    done"
    yield '    case "$place" in'
    for place in found:
        yield f"    {_quoted(''.join('/' + word for word in place.words))})"
        yield '        case "$before" in'
        for option in place.options:
            if option.takes is not None:
                values = f"compadd -- {' '.join(option.takes)}" if option.takes else "_files"
                yield f"        {'|'.join(option.names)}) {values}; return ;;"
        yield "        esac"
        rows = [*place.commands, *((n, one.help) for one in place.options for n in one.names)]
        yield "        names=("
        for name, text in rows:
            yield f"            {_quoted(name + ':' + text.replace(':', ' '))}"
        yield "        ) ;;"
    yield "    esac"
    yield "    _describe 'beowire' names || _files"
    yield "}"
    # Loaded by zsh itself as a function of this name, or by eval.
    yield 'if [ "$funcstack[1]" = "_beowire" ]; then _beowire "$@"; else'
    yield "    compdef _beowire beowire"
    yield "fi"


def _fish(found: Sequence[Place]) -> Iterator[str]:
    # Where one is: the words that are no options, as far as they are commands.
    yield "function __beowire_at"
    yield "    set -l place"
    yield "    for word in (commandline -opc)[2..]"
    yield '        switch "$place/$word"'
    known = " ".join(_quoted("/" + "/".join(place.words)) for place in found if place.words)
    yield f"            case {known}"
    yield '                set place "$place/$word"'
    yield "        end"
    yield "    end"
    yield '    test "$place" = "$argv[1]"'
    yield "end"
    for place in found:
        at = "".join("/" + word for word in place.words)
        where = f"complete -c beowire -n {_quoted(f'__beowire_at {_quoted(at)}')}"
        for name, text in place.commands:
            yield f"{where} -f -a {name} -d {_quoted(text)}"
        for option in place.options:
            words = [where]
            words += [f"-l {one[2:]}" for one in option.names if one.startswith("--")]
            words += [f"-s {one[1:]}" for one in option.names if not one.startswith("--")]
            if option.takes is not None:
                words.append("-r" if option.files else "-x")
                words += [f"-a {_quoted(' '.join(option.takes))}"] if option.takes else []
            yield f"{' '.join(words)} -d {_quoted(option.help)}"
