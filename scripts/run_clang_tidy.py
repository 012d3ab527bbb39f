# SPDX-License-Identifier: BSD-3-Clause
"""Runs clang-tidy over the C files of a build tree, as many at once as there are cores, or as
BEOWIRE_JOBS says.

A file that was clean is not checked again until it, a header of the project, the compiler's
command line, the configuration or clang-tidy itself changes: its fingerprint is then in
build/lint/clang-tidy. Of tests the paths through their functions are followed (clang-analyzer) only
if BEOWIRE_TEST_LONG is set: it takes half of the whole time, and seldom finds anything there.

Usage: run_clang_tidy.py BUILD_TREE
"""

import hashlib
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOL = "clang-tidy-14"


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
    """What of the configuration does not count for a file, as options of clang-tidy."""
    if ROOT / "tests" in source.parents and not os.environ.get("BEOWIRE_TEST_LONG"):
        return ["--checks=-clang-analyzer-*"]
    return []


def check(tree: Path, source: Path) -> str:
    """What clang-tidy says about one file: empty when it is clean."""
    # Its tool must not outlive an interrupted lint.
    tool = ["setpriv", "--pdeathsig", "KILL", TOOL, "-p", str(tree), "--quiet", *left_out(source)]
    done = subprocess.run([*tool, str(source)], capture_output=True, text=True, check=False)
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
    clean = ROOT / "build" / "lint" / "clang-tidy"
    clean.mkdir(parents=True, exist_ok=True)
    common = common_fingerprint()
    pending: dict[Path, Path] = {}
    for entry in json.loads(database.read_text()):
        source = (Path(entry["directory"]) / entry["file"]).resolve()
        if ROOT / "build" in source.parents:
            continue
        words = [entry["command"], *left_out(source)]
        own = hashlib.sha256(common + "\0".join(words).encode() + source.read_bytes())
        mark = clean / own.hexdigest()
        if not mark.exists():
            pending[source] = mark
    failed = False
    with ThreadPoolExecutor(int(os.environ.get("BEOWIRE_JOBS") or os.cpu_count() or 1)) as pool:
        verdicts = pool.map(lambda source: check(tree, source), pending)
        for (_, mark), verdict in zip(pending.items(), verdicts, strict=True):
            if verdict:
                failed = True
                print(verdict)
            else:
                mark.touch()
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
