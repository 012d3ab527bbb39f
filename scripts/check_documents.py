# SPDX-License-Identifier: BSD-3-Clause
"""What documents say of the code is there, and their lines are short: check_house.py calls this.

- Each file of sources that ARCHITECTURE.md or docs/TOUR.md names is there: `core/post.c` is any
  file whose path ends so. Names with capitals stand for many (`pattern_NAME.c`).
- Each function that an item or a paragraph of docs/TOUR.md names (`core_post()`) is defined in a
  file that is named in the same.
- Under the headings of CALLS in docs/TOUR.md, each function is called by one that is named before
  it, by its name or as a member of a table of functions (`lane->operations->send()`). libfabric
  calls the tables of fabric/.
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
CALLS = ("### Down\n", "### Up\n")

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
            for heading in CALLS:
                yield from _uncalled_functions(root, text.partition(heading)[2].partition("\n#")[0])


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
    for function, path, _ in _functions(root, _blanked(text)):
        if path is None:
            yield f"{TOUR}: {function}() is in none of the files that are named with it"


def _uncalled_functions(root: Path, text: str) -> Iterator[str]:
    before = ""
    for function, path, body in _functions(root, text):
        tables = "" if path is None else path.read_text(encoding="utf-8")
        members = "|".join(re.findall(rf"\.(\w+) = {function}\b", tables))
        calls = rf"\b{function}\(" + (rf"|->({members})\(" if members else "")
        by_libfabric = members and path is not None and path.parent.name == "fabric"
        if not by_libfabric and re.search(calls, before) is None:
            yield f"{TOUR}: {function}() is not called by one that is named before it"
        before += body


def _functions(root: Path, text: str) -> Iterator[tuple[str, Path | None, str]]:
    """Each function that is named; the file where it is defined, of those named with it, and its
    body. Without a file: there is none."""
    for item in _items(text):
        paths = [root / name for name in _FILE.findall(item)]
        for function in _FUNCTION.findall(item):
            for path in filter(Path.is_file, paths):
                body = _body(path.suffix, path.read_text(encoding="utf-8"), function)
                if body is not None:
                    yield function, path, body
                    break
            else:
                yield function, None, ""


def _items(text: str) -> Iterator[str]:
    """Paragraphs, items of lists and rows of tables."""
    item: list[str] = []
    for line in [*text.splitlines(), ""]:
        if not line.strip() or _ITEM.match(line):
            yield "\n".join(item)
            item = []
        item.append(line)


def _body(suffix: str, text: str, function: str) -> str | None:
    """The definition of a function; None: there is none."""
    if suffix == ".py":
        return "" if re.search(rf"^\s*def {function}\(", text, re.MULTILINE) else None
    # Not what is only declared, and no call or comment: those are indented, or begin otherwise.
    for found in re.finditer(rf"^(?:[A-Za-z_].*\W)?{function}\(", text, re.MULTILINE):
        end = re.compile(r"[;{]").search(text, found.end())
        if end is not None and end[0] == "{":
            return text[end.end() :].partition("\n}")[0]
    return None
