# SPDX-License-Identifier: BSD-3-Clause
"""The house's own rules, which no off-the-shelf linter knows. Prints each finding on one line.

- Each source file says `SPDX-License-Identifier: BSD-3-Clause` in its first three lines.
- No source file has more than 700 lines.
- Each C test is named in the `meson.build` of its folder, so that it is built and run.
- No source file or document has marks of a merge that was left half done.
- Links between documents lead somewhere, headings included.
- What documents say of the code is there (check_documents.py).
- C files know of others what they may (check_layers.py).
- No file has more than a mebibyte: what a run writes does not belong here.

Usage: evaluator/beowire/isolated.py scripts.check_house [ROOT]
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from scripts import check_documents, check_layers

MAX_LINES = 700
MAX_BYTES = 1 << 20
LICENCE = "SPDX-License-Identifier: BSD-3-Clause"
SOURCE_SUFFIXES = {".c", ".h", ".py", ".build", ".sh", ".js", ".css", ".toml", ".lua"}
SKIPPED_DIRECTORIES = {"build", ".git", "__pycache__", ".hypothesis", ".venv", "venv"}

_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)|!\[[^\]]*\]\(([^)\s]+)\)")
_MERGE = re.compile(r"^(?:<{7}|>{7}) ", re.MULTILINE)
#: Where `beowire compare` writes if it is not told where.
_RUN = re.compile(r"beowire-\d{8}-\d{6}")
_FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)


def files(root: Path) -> Iterator[Path]:
    """All files of the project, generated ones and those of runs left out, in a stable order."""
    for path in sorted(root.iterdir()):
        if path.is_symlink() or path.name in SKIPPED_DIRECTORIES or path.name.endswith("_cache"):
            continue
        if _RUN.fullmatch(path.name):
            continue  # .gitignore has these, too
        if path.is_dir():
            yield from files(path)
        elif path.is_file():
            yield path


def is_source(path: Path) -> bool:
    """Whether a person wrote this as a program: by its suffix, or because it starts with #!."""
    if path.suffix in SOURCE_SUFFIXES or path.name == "Makefile":
        return path.stat().st_size > 0
    if path.suffix:
        return False
    with path.open("rb") as stream:
        return stream.read(2) == b"#!"


def check_sources(root: Path) -> Iterator[str]:
    """Licence line and length."""
    for path in files(root):
        if not is_source(path):
            continue
        name = path.relative_to(root)
        lines = path.read_text(encoding="utf-8").splitlines()
        if not any(LICENCE in line for line in lines[:3]):
            yield f"{name}: no '{LICENCE}' in its first three lines"
        if len(lines) > MAX_LINES:
            yield f"{name}: {len(lines)} lines: split it (at most {MAX_LINES})"


def check_built(root: Path) -> Iterator[str]:
    """Each C test is named in the next meson.build above it, or, behind a prefix that this adds, in
    any other."""
    builds = [path for path in files(root) if path.name == "meson.build"]
    listed = set(re.findall(r"'(\w+)'", "".join(path.read_text("utf-8") for path in builds)))
    for path in files(root):
        if not path.name.endswith("_test.c"):
            continue
        folder = next(one for one in path.parents if (one / "meson.build").is_file() or one == root)
        build = folder / "meson.build"
        name = path.relative_to(folder).as_posix().removesuffix("_test.c")
        text = build.read_text(encoding="utf-8") if build.is_file() else ""
        own = rf"'({re.escape(name)}|{Path(name).name})(_test|_test\.c)?'"
        named = re.search(own, text) is not None
        for prefix in re.findall(r"'(\w+_)' \+ name", text):
            named = named or (name.startswith(prefix) and name.removeprefix(prefix) in listed)
        if not named:
            yield f"{path.relative_to(root)}: not in {build.relative_to(root)}, so it is never run"


def anchors(text: str) -> set[str]:
    """The anchors of a document's headings, as the usual viewers make them."""
    found = set()
    for line in _FENCE.sub("", text).splitlines():
        if match := re.match(r"#{1,6}\s+(.*?)\s*#*$", line):
            heading = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", match[1]).lower()
            found.add(re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", heading)))
    return found


def check_links(root: Path) -> Iterator[str]:
    """Every relative link and picture of every document."""
    for path in files(root):
        if path.suffix != ".md":
            continue
        text = path.read_text(encoding="utf-8")
        for match in _LINK.finditer(re.sub(r"`[^`\n]*`", "", _FENCE.sub("", text))):
            link = match[1] or match[2]
            if re.match(r"[a-z][a-z0-9+.-]*:", link):
                continue
            target, _, anchor = link.partition("#")
            document = path.parent / target if target else path
            name = path.relative_to(root)
            if not document.exists():
                yield f"{name}: the link to {link} leads nowhere"
                continue
            if not anchor or document.suffix != ".md":
                continue
            if anchor not in anchors(document.read_text(encoding="utf-8")):
                yield f"{name}: {link}: no such heading"


def check_merges(root: Path) -> Iterator[str]:
    """What git leaves where two changes met."""
    for path in files(root):
        if path.suffix != ".md" and not is_source(path):
            continue
        text = path.read_text(encoding="utf-8")
        if found := _MERGE.search(text):
            line = text.count("\n", 0, found.start()) + 1
            yield f"{path.relative_to(root)}:{line}: a merge is half done: keep one text"


def check_sizes(root: Path) -> Iterator[str]:
    """Files too large to be anybody's writing."""
    for path in files(root):
        size = path.stat().st_size
        if size > MAX_BYTES:
            yield f"{path.relative_to(root)}: {size} bytes (at most {MAX_BYTES}): is it a result?"


def check(root: Path) -> list[str]:
    """All findings, in a stable order."""
    return [
        *check_sources(root),
        *check_built(root),
        *check_merges(root),
        *check_links(root),
        *check_sizes(root),
        *check_documents.check(root, files(root)),
        *check_layers.check(root),
    ]


def main() -> int:
    """Prints the findings; 1 if there are any."""
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    findings = check(root)
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    raise SystemExit(main())
