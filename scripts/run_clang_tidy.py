# SPDX-License-Identifier: BSD-3-Clause
"""Runs clang-tidy over the C files of a build tree, and over those that only an MPI's wrapper
compiles, as many at once as there are cores, or as BEOWIRE_JOBS says.

A file that was clean is not checked again until it, a header that it includes, the compiler's
command line, the configuration or clang-tidy itself changes, in whichever checkout: its fingerprint
is then in the user's cache (XDG_CACHE_HOME, or ~/.cache), from where those that nobody has asked
for in a month are removed. How far the paths through functions are followed (clang-analyzer), which
is most of the time, is up to BEOWIRE_TEST_LONG: in tests only if it is set; in all else a quarter
as far where it is not.

Usage: run_clang_tidy.py BUILD_TREE
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cache as remembered
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: The program of PyPI's package: what that puts into the search path is a script that starts it.
TOOL = str(Path(sysconfig.get_path("purelib"), "clang_tidy/data/bin/clang-tidy"))

#: Compiled by the wrapper of whichever MPI is tried; here with the headers of Debian's Open MPI.
MPI_FILES = (
    *("apps/*.c", "apps/*/*.c"),
    *("evaluator/drivers/mpi/*.c", "evaluator/drivers/shmem/*.c"),
)
MPI_WRAPPER = "mpicc.openmpi"
MPI_FLAGS = ["-std=gnu17", "-D_GNU_SOURCE", "-I", str(ROOT / "apps")]
#: It knows no request that is kept in a struct, and crashes (clang-tidy 14 and 15).
MPI_LEFT_OUT = "-clang-analyzer-optin.mpi.MPI-Checker"

#: How many states of a function are looked at, where clang's default is 225,000: it takes a third
#: of the time (of 23 files).
SHORT_NODES = 60_000

#: How long the fingerprint of a clean file is kept after it was last asked for, in seconds.
KEPT_S = 30 * 86400


def cache() -> Path:
    """Where the fingerprints of clean files are, each an empty file. Not made yet."""
    of_user = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(of_user) / "beowire" / "clang-tidy"


def common_fingerprint() -> bytes:
    """What every file's verdict depends on: the tool and its configuration."""
    digest = hashlib.sha256()
    digest.update(subprocess.run([TOOL, "--version"], check=True, capture_output=True).stdout)
    digest.update((ROOT / ".clang-tidy").read_bytes())
    return digest.digest()


@remembered
def _content(path: Path) -> bytes:
    return hashlib.sha256(path.read_bytes()).digest()


def parse_deps(text: str, tree: Path) -> dict[str, list[Path]]:
    """Of what `ninja -t deps` prints: an object's name in the tree, and the files it was made from.
    Without those that have changed since."""
    found: dict[str, list[Path]] = {}
    files: list[Path] = []
    for line in text.splitlines():
        if line.startswith(" "):
            files.append((tree / line.strip()).resolve())
        elif ": #deps" in line:
            files = []
            if line.endswith("(VALID)"):
                found[line.partition(": #deps")[0]] = files
    return found


def included(tree: Path) -> dict[str, list[Path]]:
    """What each object of a build tree that was built was made from."""
    asked = ["ninja", "-C", str(tree), "--quiet", "-t", "deps"]
    return parse_deps(
        subprocess.run(asked, check=True, capture_output=True, text=True).stdout, tree
    )


def our_headers() -> list[Path]:
    """All headers of the project: for files of which nobody knows what they include."""
    asked = [ROOT / "scripts" / "find-c-files"]
    listed = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.split("\0")
    return [ROOT / name for name in listed if name.endswith(".h")]


def what_counts(command: str) -> str:
    """A compiler's command line without what changes no verdict: ccache in front of it, and options
    that leave out what a fuzzer would be told."""
    return command.removeprefix("ccache ").replace(" -fno-sanitize=fuzzer-no-link", "")


def fingerprint(common: bytes, depends: str, files: list[Path]) -> str:
    """Of one file's verdict, the same in every checkout: `depends` is the command line, `files` the
    file itself and all that it includes."""
    own = hashlib.sha256(common + depends.replace(str(ROOT), ".").encode())
    for path in sorted(set(files)):
        name = path.relative_to(ROOT) if ROOT in path.parents else path
        own.update(bytes(name) + _content(path))
    return own.hexdigest()


def remove_old(clean: Path, now: float) -> None:
    """Removes the fingerprints that nobody has asked for in KEPT_S before `now`."""
    for mark in clean.iterdir():
        with suppress(FileNotFoundError):  # another lint may be at it
            if mark.stat().st_mtime < now - KEPT_S:
                mark.unlink()


def depth(source: Path) -> list[str]:
    """How far the paths through a file of a build tree are followed, as options."""
    if os.environ.get("BEOWIRE_TEST_LONG"):
        return []
    if ROOT / "tests" in source.parents:
        return ["--checks=-clang-analyzer-*"]
    limit = ("-Xclang", "-analyzer-config", "-Xclang", f"max-nodes={SHORT_NODES}")
    return [f"--extra-arg={word}" for word in limit]


@dataclass(frozen=True)
class Job:
    """A file to check."""

    arguments: list[str]
    """Of clang-tidy."""
    depends: str
    """What else its verdict depends on."""
    files: list[Path]
    """Itself, and what it includes."""


def of_tree(tree: Path) -> dict[Path, Job]:
    """The files of a build tree."""
    found: dict[Path, Job] = {}
    includes, headers = included(tree), our_headers()
    for entry in json.loads((tree / "compile_commands.json").read_text()):
        source = (Path(entry["directory"]) / entry["file"]).resolve()
        if ROOT / "build" not in source.parents:
            options = depth(source)
            files = [source, *(includes.get(entry["output"]) or headers)]
            depends = "\0".join([what_counts(entry["command"]), *options])
            found[source] = Job(["-p", str(tree), *options, str(source)], depends, files)
    return found


def of_mpi() -> dict[Path, Job]:
    """As above, of the files that include an MPI's headers, which are not ours to mend."""
    asked = [MPI_WRAPPER, "--showme:incdirs"]
    folders = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.split()
    flags = [*MPI_FLAGS, *(word for folder in folders for word in ("-isystem", folder))]
    headers = our_headers()
    found: dict[Path, Job] = {}
    for source in sorted(file for pattern in MPI_FILES for file in ROOT.glob(pattern)):
        arguments = [f"--checks={MPI_LEFT_OUT}", str(source), "--", *flags]
        found[source] = Job(arguments, "\0".join(arguments), [source, *headers])
    return found


def check(source: Path, arguments: list[str]) -> str:
    """What clang-tidy says about one file: empty when it is clean."""
    # Its tool must not outlive an interrupted lint.
    tool = ["setpriv", "--pdeathsig", "KILL", TOOL, "--quiet", *arguments]
    done = subprocess.run(tool, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return ""
    return (done.stdout + done.stderr).strip() or f"{source}: {TOOL} exited {done.returncode}"


def main() -> int:
    """Checks what has changed, prints the findings; 1 if there are any."""
    if len(sys.argv) != 2:
        print("usage: run_clang_tidy.py BUILD_TREE", file=sys.stderr)
        return 2
    tree = Path(sys.argv[1]).resolve()
    database = tree / "compile_commands.json"
    if not database.is_file():
        print(f"run_clang_tidy: {database} is missing: build the tree first", file=sys.stderr)
        return 2
    if shutil.which(MPI_WRAPPER) is None:
        print(f"run_clang_tidy: no {MPI_WRAPPER}: scripts/install-packages", file=sys.stderr)
        return 2
    clean = cache()
    clean.mkdir(parents=True, exist_ok=True)
    common = common_fingerprint()
    pending: list[tuple[Path, Job, Path]] = []
    for source, job in {**of_tree(tree), **of_mpi()}.items():
        mark = clean / fingerprint(common, job.depends, job.files)
        try:
            os.utime(mark)
        except FileNotFoundError:
            pending.append((source, job, mark))
    remove_old(clean, time.time())
    failed = False
    with ThreadPoolExecutor(int(os.environ.get("BEOWIRE_JOBS") or os.cpu_count() or 1)) as pool:
        verdicts = pool.map(lambda one: check(one[0], one[1].arguments), pending)
        for (_, _, mark), verdict in zip(pending, verdicts, strict=True):
            if verdict:
                failed = True
                print(verdict)
            else:
                mark.touch()
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
