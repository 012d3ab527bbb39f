# SPDX-License-Identifier: BSD-3-Clause
"""The house's own rules, which no off-the-shelf linter knows. Prints each finding on one line.

- Each source file says `SPDX-License-Identifier: BSD-3-Clause` in its first three lines.
- No source file has more than 700 lines.
- Each C file and each module of the evaluator has its unit-test file, in the same place and under
  the same name; no unit-test file is without its source. The drivers share a conformance test.
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

#: Where sources are, and where their unit tests must be.
C_TESTS = {
    "transport": "tests/unit/transport",
    "evaluator/engine": "tests/unit/engine",
    "evaluator/lab": "tests/unit/lab",
    "fabric": "tests/unit/fabric",
    "pvm": "tests/unit/pvm",
}

#: Sources that have no behaviour apart from others', and the test in which they have it.
TESTED_ELSEWHERE = {
    "evaluator/beowire/errors.py": "tests/unit/evaluator/test_cli.py",
    "evaluator/beowire/launch/base.py": "tests/system/test_lab.py",
    "evaluator/beowire/mpi/pin.py": "tests/unit/evaluator/test_mpi_places.py",
    "evaluator/beowire/record_parts.py": "tests/unit/evaluator/test_record.py",
    "evaluator/engine/main.c": "tests/system/test_engine_process.py",
    "evaluator/lab/relay.c": "tests/system/test_lab.py",
    "fabric/complete.c": "tests/unit/fabric/cq_test.c",
    "fabric/libfabric.c": "tests/unit/fabric/info_test.c",
    "fabric/parameters.c": "tests/unit/fabric/info_test.c",
    "fabric/progress.c": "tests/unit/fabric/counter_test.c",
    "fabric/provider.c": "tests/unit/fabric/info_test.c",
    "fabric/unsupported.c": "tests/unit/fabric/domain_test.c",
    "pvm/advice.c": "tests/system/test_pvm_failures.py",
    "pvm/interpose.c": "tests/system/test_pvm_programs.py",
    "pvm/meet.c": "tests/system/test_pvm_programs.py",
    "pvm/port.c": "tests/system/test_pvm_programs.py",
    "pvm/stock.c": "tests/system/test_pvm_programs.py",
}

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


def names_in(folder: Path, ending: str) -> set[str]:
    """Files in a folder and those in it, without this ending of theirs."""
    return {
        path.relative_to(folder).as_posix().removesuffix(ending)
        for path in folder.rglob(f"*{ending}")
    }


def check_c_tests(root: Path) -> Iterator[str]:
    """One unit-test file a C file, and the other way round."""
    for source_directory, test_directory in C_TESTS.items():
        sources = names_in(root / source_directory, ".c")
        tests = names_in(root / test_directory, "_test.c")
        for name in sorted(sources - tests):
            source = f"{source_directory}/{name}.c"
            outside = TESTED_ELSEWHERE.get(source)
            if outside is None:
                yield f"{source}: has no unit test {test_directory}/{name}_test.c"
            elif not (root / outside).is_file():
                yield f"{source}: is said to be tested by {outside}, which is not there"
        for name in sorted(tests - sources):
            test = f"{test_directory}/{name}_test.c"
            if test not in TESTED_ELSEWHERE.values():
                yield f"{test}: tests no source file: there is no {source_directory}/{name}.c"


def check_python_tests(root: Path) -> Iterator[str]:
    """Each module of the evaluator has tests that bear its name or its package's."""
    package = root / "evaluator" / "beowire"
    unit = root / "tests" / "unit" / "evaluator"
    system = root / "tests" / "system"
    for path in files(package) if package.is_dir() else ():
        if path.suffix != ".py" or path.name in ("__init__.py", "__main__.py"):
            continue
        parts = path.relative_to(package).with_suffix("").parts
        names = {"_".join(parts), parts[0], parts[-1]}
        candidates = [folder / f"test_{name}.py" for folder in (unit, system) for name in names]
        outside = TESTED_ELSEWHERE.get(str(path.relative_to(root)))
        if outside is not None:
            candidates.append(root / outside)
        if not any(candidate.is_file() for candidate in candidates):
            wanted = (unit / f"test_{'_'.join(parts)}.py").relative_to(root)
            yield f"{path.relative_to(root)}: has no unit test {wanted}"


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
        *check_c_tests(root),
        *check_python_tests(root),
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
