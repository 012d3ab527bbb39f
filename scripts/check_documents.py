# SPDX-License-Identifier: BSD-3-Clause
"""What documents say of the code is there, and their lines are short: check_house.py calls this.

- Each file of sources that ARCHITECTURE.md or docs/TOUR.md names is there: `core/post.c` is any
  file whose path ends so. Names with capitals stand for many (`pattern_NAME.c`).
- Each function that an item or a paragraph of docs/TOUR.md names (`core_post()`) is defined in a
  file that is named in the same.
- Lines of README.md, ARCHITECTURE.md and docs/TOUR.md end at 100 characters, but for rows of
  tables, code, and what has nowhere to break.
"""

import re
from collections.abc import Iterator
from pathlib import Path

MAX_COLUMNS = 100
NARROW = ("README.md", "ARCHITECTURE.md", "docs/TOUR.md")
NAMING = ("ARCHITECTURE.md", "docs/TOUR.md")
TOUR = "docs/TOUR.md"

_FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"`([a-z0-9_./-]+\.(?:c|h|py|lua))`")
_FUNCTION = re.compile(r"`(\w+)\(\)`")
_ITEM = re.compile(r"(?:\d+\.|[-*]|\|) ")


def check(root: Path, sources: Iterator[Path]) -> Iterator[str]:
    """All findings. `sources`: all files of the project."""
    names = [path.relative_to(root).as_posix() for path in sources]
    for document in sorted({*NARROW, *NAMING}):
        path = root / document
        if not path.is_file():
            continue
        text = path.read_text(encoding="utf-8")
        if document in NARROW:
            yield from _long_lines(document, text)
        if document in NAMING:
            yield from _missing_files(document, text, names)
        if document == TOUR:
            yield from _missing_functions(root, text)


def _long_lines(document: str, text: str) -> Iterator[str]:
    in_item = False
    for number, line in enumerate(_blanked(text).splitlines(), 1):
        in_item = bool(_ITEM.match(line)) or (in_item and line.strip() != "")
        free = line.startswith(("|", "![")) or (line.startswith("    ") and not in_item)
        if len(line) > MAX_COLUMNS and not free and " " in line.strip():
            yield f"{document}:{number}: {len(line)} characters (at most {MAX_COLUMNS})"


def _blanked(text: str) -> str:
    """Without the lines of fences, which keep their numbers."""
    return _FENCE.sub(lambda found: "\n" * found[0].count("\n"), text)


def _missing_files(document: str, text: str, names: list[str]) -> Iterator[str]:
    for name in sorted(set(_FILE.findall(_blanked(text)))):
        if not any(one == name or one.endswith(f"/{name}") for one in names):
            yield f"{document}: there is no {name}"


def _missing_functions(root: Path, text: str) -> Iterator[str]:
    for item in _items(_blanked(text)):
        files = [root / name for name in _FILE.findall(item)]
        texts = {path: path.read_text(encoding="utf-8") for path in files if path.is_file()}
        for function in _FUNCTION.findall(item):
            if not any(_defines(path.suffix, one, function) for path, one in texts.items()):
                yield f"{TOUR}: {function}() is in none of the files that are named with it"


def _items(text: str) -> Iterator[str]:
    """Paragraphs, items of lists and rows of tables."""
    item: list[str] = []
    for line in [*text.splitlines(), ""]:
        if not line.strip() or _ITEM.match(line):
            yield "\n".join(item)
            item = []
        item.append(line)


def _defines(suffix: str, text: str, function: str) -> bool:
    if suffix == ".py":
        return re.search(rf"^\s*def {function}\(", text, re.MULTILINE) is not None
    # Not what is only declared, and no call: those are indented.
    for found in re.finditer(rf"^(?:\S.*\W)?{function}\(", text, re.MULTILINE):
        end = re.compile(r"[;{]").search(text, found.end())
        if end is not None and end[0] == "{":
            return True
    return False
