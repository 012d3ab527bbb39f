# SPDX-License-Identifier: BSD-3-Clause
"""Copies the documents that a package has, with links that lead somewhere there.

    python3 -I packaging/documents.py TARGET

README.md, ARCHITECTURE.md, CHANGELOG.md and docs/. A link to anything else (sources,
what is for developers) becomes its words, and says where in the sources that is.
"""

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent
_ALONE = ("README.md", "ARCHITECTURE.md", "CHANGELOG.md")

_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)")
#: Code is no place for links.
_CODE = re.compile(r"^(?:```|~~~).*?^(?:```|~~~)|^(?:    ).*?$|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def documents() -> Iterator[Path]:
    """All of them, below the root."""
    for name in _ALONE:
        yield Path(name)
    for path in sorted((_ROOT / "docs").rglob("*")):
        if path.is_file():
            yield path.relative_to(_ROOT)


def mended(text: str, place: Path, known: set[Path]) -> str:
    """The text of a document at that place, of which links to what is not `known` are words."""
    code = [found.span() for found in _CODE.finditer(text)]

    def mend(link: re.Match[str]) -> str:
        words, target = link[1], link[2].partition("#")[0]
        in_code = any(begin <= link.start() < end for begin, end in code)
        if in_code or not target or re.match(r"[a-z][a-z0-9+.-]*:", target):
            return link[0]
        full = (_ROOT / place.parent / target).resolve()
        path = full.relative_to(_ROOT) if full.is_relative_to(_ROOT) else Path(target)
        if path in known or any(path in one.parents for one in known):
            return link[0]
        if path.as_posix() in words:
            return words
        return f"{words} (`{path.as_posix()}` of the sources)"

    return _LINK.sub(mend, text)


def main() -> None:
    """Copies them."""
    target = Path(sys.argv[1])
    known = set(documents())
    for path in sorted(known):
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            text = (_ROOT / path).read_text(encoding="utf-8")
            (target / path).write_text(mended(text, path, known), encoding="utf-8")
        else:
            shutil.copyfile(_ROOT / path, target / path)


if __name__ == "__main__":
    main()
