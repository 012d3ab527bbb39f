# SPDX-License-Identifier: BSD-3-Clause
"""Plotly's code as a report holds it: what draws lines and points, packed.

The package has one file with everything that plotly can draw, maps and volumes among it: 4.8 MB.
A report draws lines and points, which are a part of plotly's core. The file is a list of modules,
each a function that runs when it is first asked for, `NAME=W(...=>{...});var `, and the last of
them registers what is drawn besides. So the last one is told to register nothing, and modules that
nobody can reach any more are left out. What a module reaches is every word in it that is the name
of another: too much rather than too little. Where the file does not look like that, it is taken
whole: a larger report, that is all.

The code is compressed (gzip) and written in 85 characters, none of which means anything in HTML;
the page's script unpacks it by what browsers have for that. All this takes some seconds, so what
came of it is kept under a name that is a digest of the package's file and of this one.
"""

import base64
import gzip
import hashlib
import re
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

from beowire import paths
from beowire.errors import BeowireError
from beowire.files import write_whole

#: What is said where plotly is not.
MISSING = "reports need plotly: pip install 'beowire[report]'"

#: Python's alphabet of base 85 has three characters that HTML could take for its own.
_FROM, _TO = "<>&", ",.:"
ALPHABET = (
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
).translate(str.maketrans(_FROM, _TO))

_WRAPPER = re.compile(r"var ([\w$]+)=\(e,t\)=>\(\)=>\{try\{return t\|\|e\(\(t=\{exports:\{\}\}\)")
_REGISTERED = re.compile(r"(\.register\()\[((?:[\w$]+\(\),?)+)\]")
#: What a report draws besides lines and points.
_DRAWN = ("bar",)
#: What may be a name of another module: no property, and no key.
_WORD = re.compile(r"(?:(?<=\.\.\.)|(?<![.\w$]))(?!(?<=[{,])[\w$]+:)[\w$]+")
#: Where a module ends before its text does: names of two letters and less are those of its inside.
_REST = re.compile(r"\}\);(?:var|let|const|class|function\*?|async function\*?) [\w$]{3,}")
_DECLARED = re.compile(
    r"\b(?:class|function\*?) ([A-Za-z_$][\w$]{2,})"
    r"|(?:\b(?:var|let|const) |[;,}])([A-Za-z_$][\w$]{2,})(?=[=,;])"
)
_KEYWORDS = {"break", "continue", "return", "this", "null", "true", "false", "extends"}


@dataclass
class _Part:
    """A module, and what stands behind it up to the next."""

    text: str
    names: set[str]
    words: set[str] = field(default_factory=set)


def packed(text: str) -> str:
    """Text in fewer characters; the same text gives the same."""
    data = gzip.compress(text.encode(), 9, mtime=0)
    return base64.b85encode(data).decode("ascii").translate(str.maketrans(_FROM, _TO))


@cache
def packed_plotly() -> str:
    """All of plotly that a report needs, packed."""
    code = whole()
    digest = hashlib.sha256(code.encode() + Path(__file__).read_bytes()).hexdigest()
    kept = paths.report_cache() / f"plotly-{digest}"
    with suppress(OSError, ValueError):
        return kept.read_text("ascii")
    text = packed(slim(code))
    with suppress(OSError):  # the next report takes as long again
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_whole(kept, text)
    return text


def whole() -> str:
    """The file of the package. BeowireError if that is not installed."""
    if find_spec("plotly") is None:
        raise BeowireError(MISSING, exit_code=1)
    return (resources.files("plotly") / "package_data" / "plotly.min.js").read_text("utf-8")


def slim(code: str) -> str:
    """The code without what lines and points do not need; all of it if it cannot be told."""
    wrapper = _WRAPPER.search(code)
    if wrapper is None or len(_REGISTERED.findall(code)) != 1:
        return code
    name = re.escape(wrapper[1])
    code = _REGISTERED.sub(lambda found: f"{found[1]}[{_drawn(code, found[2], name)}]", code)
    begins = [
        (one.start(), one[1])
        for one in re.finditer(rf"(?<=var )([\w$]+)={name}\((?:\([\w$,]*\)|[\w$]+)=>\{{", code)
    ]
    if len(begins) < 2:
        return code
    parts = []
    for (begin, module), (end, _) in pairwise(begins):
        text = code[begin:end]
        if not text.endswith("});var "):
            return code
        parts.append(_Part(text, {module, *_declared(text)}, set(_WORD.findall(text))))
    head, tail = code[: begins[0][0]], code[begins[-1][0] :]
    reached = set(_WORD.findall(head)) | set(_WORD.findall(tail))
    waiting, kept = list(range(len(parts))), set()
    while fresh := [at for at in waiting if parts[at].names & reached]:
        kept.update(fresh)
        waiting = [at for at in waiting if at not in kept]
        for at in fresh:
            reached |= parts[at].words
    return head + "".join(parts[at].text for at in sorted(kept)) + tail


def _drawn(code: str, registered: str, wrapper: str) -> str:
    """Of the calls that register what can be drawn, those of _DRAWN: each is of a module that hands
    on another, which says its name."""
    kept = []
    for call in registered.split(","):
        handed = re.search(
            rf"\b{re.escape(call[:-2])}={wrapper}\([^{{]*\{{[^}}]*exports=([\w$]+)\(\)\}}\)", code
        )
        if handed is None:
            continue
        module = re.search(rf"\b{re.escape(handed[1])}={wrapper}\([^{{]*\{{(.{{1,2000}})", code)
        named = re.search(r"moduleType:\"trace\",name:\"(\w+)\"", module[1]) if module else None
        if named and named[1] in _DRAWN:
            kept.append(call)
    return ",".join(kept)


def _declared(text: str) -> set[str]:
    """Names that what stands behind a module may give."""
    rest = _REST.search(text)
    if rest is None:
        return set()
    found = _DECLARED.finditer(text, rest.start())
    return {one[1] or one[2] for one in found} - _KEYWORDS
