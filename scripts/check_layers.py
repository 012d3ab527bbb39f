# SPDX-License-Identifier: BSD-3-Clause
"""Which C file may know what: what ARCHITECTURE.md promises of folders and headers, checked.

- A folder that a table of ARCHITECTURE.md has (`| folder | is | may know |`) includes nothing but
  its own headers and those of what it may know; a subfolder without a row belongs to the one above.
  `lane` in the last column stands for the headers of that folder which are for others, and
  `lane (copy.h, lane.h)` for these alone; names are those of rows, or files.
- Headers that are for the files of a folder (`internal.h`, `X_internal.h`, or those whose first
  comment says "for the files of FOLDER/") are for nobody else, unless the table names them.
- A folder that the table calls pure includes no header of the system that has a clock, threads,
  files or sockets.
- The files of the folders in a line of ORDERED can be put in an order in which each calls only
  those before it.
- The folders of the evaluator are in the same order in ARCHITECTURE.md and in the contract of
  import-linter (pyproject.toml), which checks it.
- Of a structure whose comment says which fields others may `set` and `read`, they use no others.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

#: Folders of which no two files need each other. Those in one line are one house: what is for the
#: files of one of them is for those of all.
ORDERED = (
    ("fabric",),
    ("transport/core", "transport/peers"),
    ("transport/endpoint",),
    ("transport/flow",),
    ("transport/frame",),
    ("transport/message", "transport/pull", "transport/remote"),
    ("transport/route",),
)

#: What no code has to be told of to use it: whoever is pure may include it.
PURE_HEADERS = {
    *("assert.h", "ctype.h", "endian.h", "errno.h", "inttypes.h", "limits.h", "stdarg.h"),
    *("stdbool.h", "stddef.h", "stdint.h", "stdio.h", "stdlib.h", "string.h"),
    "sodium.h",  # hashes and ciphers
    *("arm_acle.h", "arm_neon.h", "immintrin.h"),  # instructions
    "sys/auxv.h",  # which of them the processor has
    "sys/mman.h",  # memory that is made at the beginning
}

#: Looks at the inside of everything, to see whether it is as it should be.
INSIDERS = {"simulation/invariants.c"}

#: Where names in quotes are looked for, behind the folder of the file.
INCLUDE_ROOTS = ("transport", "transport/include", "evaluator/engine", "apps", ".")

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)
_NOT_CODE = re.compile(
    r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|^[ \t]*#(?:\\\n|[^\n])*",
    re.DOTALL | re.MULTILINE,
)
_KNOWN = re.compile(r"`([\w./]+)`(?:\s*\(([^)]*)\))?")
_ATTRIBUTE = re.compile(r"__attribute__\(\(.*?\)\)\s*")
_FUNCTION = re.compile(r"^([A-Za-z_][\w\s*]*?)\b(\w+)\([^;{}]*\)\s*\{", re.MULTILINE)
_NAME = re.compile(r"(?<!struct )(?<!enum )(?<![.>\w])\w+")
_WRITE = re.compile(r"(?:\.\w+|->\w+|\[[^\]]*\])*\s*(?:=(?!=)|[-+*/%&|^]=|<<=|>>=|\+\+|--)")


@dataclass
class Layer:
    """A row of the table: a folder or a header, and what it may know."""

    path: str
    pure: bool
    known: dict[str, set[str]] = field(default_factory=dict)  #: no names: all that are for others


def code_of(text: str) -> str:
    """A C file without comments, texts and directives; lines stay where they are."""
    return _NOT_CODE.sub(lambda match: "\n" * match[0].count("\n"), text)


def c_files(folder: Path) -> list[Path]:
    """The C files and headers of a folder and those in it, in a stable order."""
    return sorted(path for path in folder.rglob("*.[ch]") if path.is_file())


def tables(document: str) -> Iterator[list[str]]:
    """The cells of each row of the tables whose heading is `| folder | is | may know |`."""
    inside = False
    for line in document.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
        if not line.startswith("|"):
            inside = False
        elif cells == ["folder", "is", "may know"]:
            inside = True
        elif inside and not set(line) <= set("|- "):
            yield cells


def layers(root: Path) -> dict[str, Layer]:
    """What ARCHITECTURE.md says, by the path of the folder or header."""
    document = root / "ARCHITECTURE.md"
    text = document.read_text(encoding="utf-8") if document.is_file() else ""
    found: dict[str, Layer] = {}
    for path_cell, is_cell, know_cell in tables(text):
        path = path_cell.strip("`").rstrip("/")
        layer = Layer(path, is_cell.endswith("Pure"))
        for name, only in _KNOWN.findall(know_cell):
            layer.known[name.rstrip("/")] = set(re.findall(r"`([\w.]+)`", only))
        found[path] = layer
    return found


def layer_of(path: str, table: dict[str, Layer]) -> Layer | None:
    """The row that a file belongs to: its own, or that of the nearest folder above it."""
    while path not in table:
        path, slash, _ = path.rpartition("/")
        if not slash:
            return None
    return table[path]


def target_of(root: Path, source: Path, name: str) -> str | None:
    """The file that an include in quotes is, by its path in the project."""
    for folder in (source.parent, *(root / one for one in INCLUDE_ROOTS)):
        path = (folder / name).resolve()
        if path.is_file() and path.is_relative_to(root.resolve()):
            return path.relative_to(root.resolve()).as_posix()
    return None


def is_private(root: Path, header: str) -> bool:
    """Whether a header is for the files of its own folder only."""
    if header.endswith("internal.h"):
        return True
    head = (root / header).read_text(encoding="utf-8").partition("#ifndef")[0]
    folder = Path(header).parent.name
    return f"or the files of {folder}/" in re.sub(r"\s*\n \*\s*", " ", head)


def house(folder: str) -> tuple[str, ...]:
    """The folders that are of one house with this one, itself among them."""
    return next((folders for folders in ORDERED if folder in folders), (folder,))


def may_include(root: Path, layer: Layer, target: str, table: dict[str, Layer]) -> bool:
    """Whether what belongs to `layer` may include this file."""
    other = layer_of(target, table)
    if other is None or other.path == layer.path:
        return True
    names = {other.path, other.path.removeprefix("transport/"), Path(target).name}
    shared = other.path in house(layer.path) or not is_private(root, target)
    for name in names & layer.known.keys():
        only = layer.known[name]
        if Path(target).name in only if only else shared:
            return True
    return False


def check_includes(root: Path, table: dict[str, Layer]) -> Iterator[str]:
    """Includes of what may not be known, and in pure folders of what is not pure."""
    for path in table:
        if not (root / path).exists():
            yield f"ARCHITECTURE.md: {path} is not there"
    for top in sorted({path.split("/")[0] for path in table}):
        for source in c_files(root / top):
            name = source.relative_to(root).as_posix()
            layer = layer_of(name, table)
            if name in INSIDERS:
                continue
            if layer is None:
                yield f"{name}: its folder is in no table of ARCHITECTURE.md"
                continue
            for quoted, system in _INCLUDE.findall(source.read_text(encoding="utf-8")):
                target = target_of(root, source, quoted) if quoted else None
                if target is not None and not may_include(root, layer, target, table):
                    yield f"{name}: includes {target}, which {layer.path} may not know"
                if system and layer.pure and system not in PURE_HEADERS:
                    yield f"{name}: includes <{system}>, and {layer.path} is pure"


def cycle(needs: dict[str, set[str]]) -> list[str]:
    """Files that need one another, each the next; [] if there are none."""
    done: set[str] = set()

    def visit(name: str, way: list[str]) -> list[str]:
        if name in way:
            return way[way.index(name) :]
        if name in done:
            return []
        done.add(name)
        for other in sorted(needs[name]):
            if found := visit(other, [*way, name]):
                return found
        return []

    for name in sorted(needs):
        if found := visit(name, []):
            return found
    return []


def functions(code: str) -> set[str]:
    """The functions that a C file has for others."""
    found = _FUNCTION.findall(_ATTRIBUTE.sub("", code))
    return {name for kind, name in found if "static" not in kind.split()}


def check_order(root: Path) -> Iterator[str]:
    """Files of an ordered folder that call one another."""
    for folders in ORDERED:
        code = {
            path.name if len(folders) == 1 else f"{path.parent.name}/{path.name}": code_of(
                path.read_text(encoding="utf-8")
            )
            for folder in folders
            for path in sorted((root / folder).glob("*.c"))
        }
        defined = {name: functions(text) for name, text in code.items()}
        words = {name: set(_NAME.findall(text)) for name, text in code.items()}
        needs = {
            name: {other for other in code if other != name and words[name] & defined[other]}
            for name in code
        }
        if found := cycle(needs):
            way = " -> ".join([*found, found[0]])
            yield f"{', '.join(folders)}: these need one another: {way}"


def check_python(root: Path) -> Iterator[str]:
    """Rows of the evaluator's table that are not layers of the contract."""
    if not (root / "pyproject.toml").is_file():
        return
    document = (root / "ARCHITECTURE.md").read_text(encoding="utf-8")
    _, _, rows = document.partition("| in `evaluator/beowire/` | is |\n|---|---|\n")
    cells = [row.split("|")[1] for row in rows.partition("\n\n")[0].splitlines()]
    tool = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    order = next(one["layers"] for one in tool["importlinter"]["contracts"] if "layers" in one)
    wanted = [set(re.findall(r"`(\w+)(?:/|\.py)`", cell)) for cell in cells[1:]]
    if wanted != [set(layer.split(" : ")) for layer in order[-2::-1]]:
        yield "pyproject.toml: the layers are not those of ARCHITECTURE.md's table"


@dataclass
class Face:
    """A structure of which others may use some fields only."""

    name: str
    folder: str
    written: set[str]
    read: set[str]


def faces(root: Path) -> list[Face]:
    """All whose comments say what others may `set` and `read`."""
    found = []
    for header in c_files(root / "transport"):
        text = header.read_text(encoding="utf-8")
        for comment, name in re.findall(
            r"/\*\*((?:(?!\*/).)*)\*/\s*struct (\w+) \{", text, re.DOTALL
        ):
            lists: dict[str, set[str]] = {"set": set(), "read": set()}
            current = None
            for line in comment.splitlines():
                match = re.match(r" \* {6}(set|read|) +((?:\w+ ?)+)$", line.rstrip())
                current = (match[1] or current) if match else None
                if match and current:
                    lists[current] |= set(match[2].split())
            if lists["set"] or lists["read"]:
                folder = header.parent.relative_to(root).as_posix()
                found.append(Face(name, folder, lists["set"], lists["read"]))
    return found


def structures(headers: Iterable[str]) -> dict[str, dict[str, str]]:
    """The structures of headers: of each field the declaration."""
    found: dict[str, dict[str, str]] = {}
    for code in headers:
        for name, body in re.findall(r"^struct (\w+) \{\n(.*?)^\}", code, re.MULTILINE | re.DOTALL):
            fields = found.setdefault(name, {})
            for declaration in body.split(";"):
                if match := re.search(r"(\w+)\s*(?:\[[^]]*\]\s*)*(?::\s*\d+\s*)?$", declaration):
                    fields[match[1]] = declaration.strip()
    return found


def owners(face: Face, known: dict[str, dict[str, str]]) -> dict[str, set[str]]:
    """How the structure is reached as a field of another, and fields that are then not its own but
    those of a third that has the same name somewhere."""
    kinds: dict[str, set[str]] = {}
    for fields in known.values():
        for name, declaration in fields.items():
            if match := re.fullmatch(rf"struct (\w+) (\*?){name}", declaration):
                reached = rf"(?:->|\.){name}\s*{'->' if match[2] else '[.]'}"
                kinds.setdefault(reached, set()).add(match[1])
    return {
        reached: set().union(*(known.get(kind, {}) for kind in those - {face.name}))
        for reached, those in kinds.items()
        if face.name in those
    }


def uses(code: str, face: Face, reached: dict[str, set[str]]) -> Iterator[tuple[int, str, bool]]:
    """The lines and names of fields of a structure that a file uses, and whether it writes them."""
    line = 1
    for function in re.split(r"(?<=^\})", code, flags=re.MULTILINE):
        variables = set(re.findall(rf"\bstruct {face.name}\s*\**(?:const\b)?\s*(\w+)", function))
        here = reached | {rf"(?<![\w.>]){name}\s*(?:->|[.])": set() for name in variables}
        for way, others in here.items():
            for match in re.finditer(rf"{way}\s*(\w+)", function):
                if match[1] not in others:
                    written = _WRITE.match(function, match.end()) is not None
                    yield line + function.count("\n", 0, match.start()), match[1], written
        line += function.count("\n")


def check_faces(root: Path) -> Iterator[str]:
    """Fields that others have nothing to do with, and those that they may read but set."""
    sources = {
        path.relative_to(root).as_posix(): code_of(path.read_text(encoding="utf-8"))
        for top in ("transport", "fabric", "simulation", "benchmarks")
        for path in c_files(root / top)
    }
    known = structures(code for name, code in sources.items() if name.endswith(".h"))
    for face in faces(root):
        reached = owners(face, known)
        for name, code in sources.items():
            if name.startswith(tuple(f"{one}/" for one in house(face.folder))) or name in INSIDERS:
                continue
            for line, used, written in uses(code, face, reached):
                if used not in face.written | face.read:
                    yield f"{name}:{line}: {used} of struct {face.name} is {face.folder}/'s alone"
                elif written and used not in face.written:
                    yield f"{name}:{line}: {used} of struct {face.name} is only to be read"


def check(root: Path) -> list[str]:
    """All findings, in a stable order."""
    return [
        *check_includes(root, layers(root)),
        *check_order(root),
        *check_python(root),
        *check_faces(root),
    ]
