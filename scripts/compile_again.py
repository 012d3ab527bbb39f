# SPDX-License-Identifier: BSD-3-Clause
"""Compiles C of build/release once more, by the compiler's front end alone, warnings as errors.

`unbuilt`: what is compiled there only by `make test-long`, so that gcc sees all C that clang
compiles in build/asan; that nothing is missing is checked.
`libfabric`: what uses libfabric, against the headers of version 2, if this machine's are older:
they are fetched into build/libfabric-2, and nothing is installed. Where they cannot be had, a line
that begins with `left out:` says so.

Usage: compile_again.py unbuilt|libfabric
"""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TREE = ROOT / "build" / "release"
NEWER = ROOT / "build" / "libfabric-2"

#: The suite of Debian that has a libfabric 2.
SUITE = "trixie"

#: What uses libfabric.
USERS = ("fabric", "tests/unit/fabric", "evaluator/drivers/fi.c", "benchmarks/provider_path.c")

#: Of a command, what is for its output; the last two have a word after them.
_OF_OUTPUT = ("-c", "-MD", "-MQ", "-MF", "-o")


@dataclass(frozen=True)
class Job:
    """A file of a build tree."""

    source: Path
    command: tuple[str, ...]
    built: bool


def jobs(tree: Path) -> list[Job]:
    """Each C file of a tree once."""
    found = {}
    for entry in json.loads((tree / "compile_commands.json").read_text()):
        source = (Path(entry["directory"]) / entry["file"]).resolve()
        built = (tree / entry["output"]).exists()
        if source not in found or built:
            found[source] = Job(source, tuple(front_end(entry["command"])), built)
    return list(found.values())


def front_end(command: str) -> Iterator[str]:
    """A compiler's command line for its front end alone."""
    words = iter(shlex.split(command.removeprefix("ccache ")))
    for word in words:
        if word in _OF_OUTPUT:
            if word not in ("-c", "-MD"):
                next(words)
        elif not word.startswith(("-flto", "-ffat-lto")):
            yield word
    yield from ("-fsyntax-only", "-Werror")


def uses_libfabric(source: Path) -> bool:
    """Is it one of USERS?"""
    name = source.relative_to(ROOT)
    return any(name.is_relative_to(user) for user in USERS)


def unseen(of_clang: list[Job], of_gcc: list[Job]) -> list[Path]:
    """What clang compiles and gcc does not, but fuzz targets: their library is clang's."""
    missing = {job.source for job in of_clang} - {job.source for job in of_gcc}
    return sorted(file for file in missing if ROOT / "tests" / "fuzz" not in file.parents)


def older_libfabric() -> bool:
    """Is this machine's libfabric, if there is one, older than version 2?"""
    asked = ["pkg-config", "--atleast-version=2", "libfabric"]
    return subprocess.run(asked, check=False).returncode != 0


def compiled(job: Job, more: tuple[str, ...]) -> bool:
    """Does it compile? What the compiler says is printed."""
    command = [job.command[0], *more, *job.command[1:]]
    return subprocess.run(command, cwd=TREE, check=False).returncode == 0


def main() -> int:
    """Compiles them; 1 if one does not."""
    if len(sys.argv) != 2 or sys.argv[1] not in ("unbuilt", "libfabric"):
        print(__doc__, file=sys.stderr)
        return 2
    found = jobs(TREE)
    more: tuple[str, ...] = ()
    if sys.argv[1] == "unbuilt":
        if missing := unseen(jobs(ROOT / "build" / "asan"), found):
            print("compile_again: gcc does not compile", *missing, file=sys.stderr)
            return 1
        found = [job for job in found if not job.built]
    else:
        found = [job for job in found if uses_libfabric(job.source)]
        if not found:
            print("left out: nothing was compiled against libfabric 2: there is no libfabric here")
            return 0
        if older_libfabric():
            script = str(ROOT / "scripts" / "fetch-packages")
            fetch = [script, "--suite", SUITE, str(NEWER), "libfabric-dev"]
            if subprocess.run(fetch, check=False).returncode:
                print("left out: the headers of libfabric 2 could not be fetched (build/logs)")
                return 0
            more = ("-I", str(NEWER / "usr/include"))
    with ThreadPoolExecutor(int(os.environ.get("BEOWIRE_JOBS") or os.cpu_count() or 1)) as pool:
        good = list(pool.map(lambda job: compiled(job, more), found))
    print(f"compile_again: {sum(good)} of {len(found)} files compile")
    return 0 if all(good) else 1


if __name__ == "__main__":
    raise SystemExit(main())
