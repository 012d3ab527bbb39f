# SPDX-License-Identifier: BSD-3-Clause
"""Runs clang-tidy over the C files of a build tree, and over those that only an MPI's wrapper
compiles, as many at once as there are cores, or as BEOWIRE_JOBS says.

A file that was clean is not checked again until it, a header of the project, the compiler's
command line, the configuration or clang-tidy itself changes: its fingerprint is then in
build/lint/clang-tidy. Of tests the paths through their functions are followed (clang-analyzer) only
if BEOWIRE_TEST_LONG is set: it takes half of the whole time, and seldom finds anything there.

Usage: run_clang_tidy.py BUILD_TREE
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOL = "clang-tidy-14"

#: Compiled by the wrapper of whichever MPI is tried; here with the headers of Debian's Open MPI.
MPI_FILES = (
    *("apps/*.c", "apps/common/*.c", "apps/profile/*.c"),
    *("evaluator/drivers/mpi/*.c", "evaluator/drivers/shmem/*.c"),
)
MPI_WRAPPER = "mpicc.openmpi"
MPI_FLAGS = ["-std=gnu17", "-D_GNU_SOURCE", "-I", str(ROOT / "apps")]
#: It knows no request that is kept in a struct, and crashes (clang-tidy 14).
MPI_LEFT_OUT = "-clang-analyzer-optin.mpi.MPI-Checker"


def common_fingerprint() -> bytes:
    """What every file's verdict depends on: the tool, its configuration, all headers."""
    digest = hashlib.sha256()
    digest.update(subprocess.run([TOOL, "--version"], check=True, capture_output=True).stdout)
    digest.update((ROOT / ".clang-tidy").read_bytes())
    listed = subprocess.run([ROOT / "scripts" / "find-c-files"], check=True, capture_output=True)
    for name in listed.stdout.decode().split("\0"):
        if name.endswith(".h"):
            digest.update(name.encode() + (ROOT / name).read_bytes())
    return digest.digest()


def left_out(source: Path) -> list[str]:
    """What of the configuration does not count for a file of a build tree, as options."""
    if ROOT / "tests" in source.parents and not os.environ.get("BEOWIRE_TEST_LONG"):
        return ["--checks=-clang-analyzer-*"]
    return []


def of_tree(tree: Path) -> dict[Path, tuple[list[str], str]]:
    """The files of a build tree: arguments of clang-tidy before and after the file, and what else
    its verdict depends on."""
    found: dict[Path, tuple[list[str], str]] = {}
    for entry in json.loads((tree / "compile_commands.json").read_text()):
        source = (Path(entry["directory"]) / entry["file"]).resolve()
        if ROOT / "build" not in source.parents:
            options = left_out(source)
            arguments = ["-p", str(tree), *options, str(source)]
            found[source] = (arguments, "\0".join([entry["command"], *options]))
    return found


def of_mpi() -> dict[Path, tuple[list[str], str]]:
    """As above, of the files that include an MPI's headers, which are not ours to mend."""
    asked = [MPI_WRAPPER, "--showme:incdirs"]
    folders = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.split()
    flags = [*MPI_FLAGS, *(word for folder in folders for word in ("-isystem", folder))]
    found: dict[Path, tuple[list[str], str]] = {}
    for source in sorted(file for pattern in MPI_FILES for file in ROOT.glob(pattern)):
        arguments = [f"--checks={MPI_LEFT_OUT}", str(source), "--", *flags]
        found[source] = (arguments, "\0".join(arguments))
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
    clean = ROOT / "build" / "lint" / "clang-tidy"
    clean.mkdir(parents=True, exist_ok=True)
    common = common_fingerprint()
    pending: dict[Path, tuple[list[str], Path]] = {}
    for source, (arguments, depends) in {**of_tree(tree), **of_mpi()}.items():
        own = hashlib.sha256(common + depends.encode() + source.read_bytes())
        mark = clean / own.hexdigest()
        if not mark.exists():
            pending[source] = (arguments, mark)
    failed = False
    with ThreadPoolExecutor(int(os.environ.get("BEOWIRE_JOBS") or os.cpu_count() or 1)) as pool:
        verdicts = pool.map(lambda one: check(one[0], one[1][0]), pending.items())
        for (_, mark), verdict in zip(pending.values(), verdicts, strict=True):
            if verdict:
                failed = True
                print(verdict)
            else:
                mark.touch()
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
