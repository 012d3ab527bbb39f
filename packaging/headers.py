# SPDX-License-Identifier: BSD-3-Clause
"""The manual pages beowire(3), of the headers, and fi_beowire(7), of what the provider says of its
parameters. packaging/manual.py prints them."""

import re
from collections.abc import Iterator
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent
_HEADERS = ("beowire.h", "beowire_job.h")

#: A comment for readers of the interface, and what it is of: up to a line that is empty.
_DOCUMENTED = re.compile(r"^/\*\*(.*?)\*/\n(.*?)(?=\n\n|\Z)", re.MULTILINE | re.DOTALL)
_PARAMETER = re.compile(
    r'param_define\(&fabric_provider, "(\w+)", \w+,\s*((?:"[^"]*"\s*)+)((?:,\s*\w+)*)\)'
)


def roff(text: str) -> str:
    """Text in which nothing is taken for a request or an escape."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join(
        f"\\&{line}" if line.startswith((".", "'")) else line for line in escaped.splitlines()
    )


def library() -> Iterator[str]:
    """The page beowire(3)."""
    yield from _begin("BEOWIRE 3", "Library Functions")
    yield r"beowire \- reliable tagged messages between processes of an Ethernet cluster"
    yield ".SH SYNOPSIS\n.nf"
    yield from (roff(f"#include <{name}>") for name in _HEADERS)
    yield ".PP"
    yield roff("cc program.c $(pkg-config --cflags --libs beowire)")
    yield ".fi"
    for name in _HEADERS:
        text = (_ROOT / "transport" / "include" / name).read_text(encoding="utf-8")
        about = text.split("/*", 2)[2].split("*/", 1)[0]
        yield f".SH {name.upper()}"
        yield from _paragraphs(about.split("\n *\n", 1)[1])
        for comment, declared in _DOCUMENTED.findall(text):
            names = re.findall(r"BEOWIRE_API [^(;]*?\b(\w+)\(", declared)
            if names:
                yield f".SS {', '.join(f'{one}()' for one in names)}"
            yield f".PP\n.nf\n.B\n{roff(declared.replace('BEOWIRE_API ', ''))}\n.fi"
            yield from _paragraphs(comment)
    yield ".SH SEE ALSO\n.BR beowire (1),\n.BR fi_beowire (7)"


def provider() -> Iterator[str]:
    """The page fi_beowire(7)."""
    text = (_ROOT / "fabric" / "parameters.c").read_text(encoding="utf-8")
    values = dict(re.findall(r"^#define (\w+) (\w+)", text, re.MULTILINE))
    yield from _begin("FI_BEOWIRE 7", "Libfabric")
    yield r"fi_beowire \- libfabric's provider for messages over Ethernet frames"
    yield ".SH DESCRIPTION"
    yield (
        "With this provider every MPI that uses libfabric runs over Beowire: short messages as\n"
        "bare Ethernet frames, past TCP/IP and beside it on the same network card, long ones over\n"
        "UDP with segmentation offload, or cut by the card, within a host through memory."
    )
    yield ".PP\n.B beowire mpi\\-env\nprints the variables that make an MPI choose it."
    yield ".SH ENVIRONMENT"
    for name, strings, arguments in _PARAMETER.findall(text):
        said = "".join(re.findall(r'"([^"]*)"', strings))
        for argument in re.findall(r"\w+", arguments):
            said = said.replace("%d", values[argument], 1)
        yield f".TP\n.B FI_BEOWIRE_{name.upper()}\n{roff(said)}."
    yield ".SH SEE ALSO\n.BR beowire (1),\n.BR beowire (3)"


def _begin(title: str, section: str) -> Iterator[str]:
    yield '.\\" Made by packaging/manual.py from the sources.'
    yield f'.TH {title} "" "Beowire" "{section}"\n.SH NAME'


def _paragraphs(comment: str) -> Iterator[str]:
    """A comment's text: paragraphs are filled, drawings and lists stay as they are."""
    lines = [re.sub(r"^ \* ?", "", line).rstrip() for line in comment.strip().splitlines()]
    lines = [line.removeprefix("* ").strip("\n") for line in lines]
    for part in "\n".join(lines).split("\n\n"):
        if not part.strip():
            continue
        if re.search(r"^ {4,}", part, re.MULTILINE) and not part.startswith("@"):
            yield f".PP\n.nf\n{roff(part)}\n.fi"
            continue
        filled = re.sub(r"\s+", " ", part.strip())
        # What is said of one argument, or of what is returned, begins a line.
        yield ".PP\n" + roff(re.sub(r" @", "\n.br\n@", filled)).replace("\\&.br", ".br")
