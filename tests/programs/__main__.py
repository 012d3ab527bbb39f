# SPDX-License-Identifier: BSD-3-Clause
"""`scripts/test-programs [--only NAME]... [--json FILE]`: programs that others wrote, over TCP and
over Beowire in turns. 0: none fails over Beowire alone; 1: one does; 2: bad input."""

import argparse
import os
import platform
import re
import secrets
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from beowire import files
from beowire.errors import BeowireError
from beowire.interrupts import Interrupts
from beowire.places.mpi import installation

from . import entry, results
from .entry import Entry
from .results import Row
from .run import Outcome, program_outcome

ROOT = Path(__file__).resolve().parents[2]
_DOCUMENT = ROOT / "docs" / "PROGRAMS.md"
_DOCUMENT_ROWS = ROOT / "docs" / "programs.json"

#: An interrupted package manager leaves a broken system: it is bounded by its own means.
_INSTALL_S = 3600.0


def main(arguments: Sequence[str]) -> int:
    """Runs what is named."""
    parser = argparse.ArgumentParser(
        prog="scripts/test-programs",
        description="Runs MPI programs that others wrote over TCP and Beowire, and compares them.",
    )
    parser.add_argument("--only", metavar="NAME", action="append", default=[])
    parser.add_argument("--list", action="store_true", help="name the programs, and run none")
    parser.add_argument("--mpi", default="openmpi4", metavar="NAME")
    parser.add_argument(
        "--repeat", type=int, default=3, metavar="N", help="runs over each (default: 3)"
    )
    parser.add_argument(
        "--json",
        type=Path,
        metavar="FILE",
        help="where rows are kept; those of other programs stay (default: build/programs/...)",
    )
    parser.add_argument(
        "--document", action="store_true", help="keep rows in docs/programs.json and PROGRAMS.md"
    )
    options = parser.parse_args(arguments)
    if not 1 <= options.repeat <= 100:
        parser.error("--repeat is 1 to 100")
    try:
        entries = entry.load(options.only)
        if options.list:
            for one in entries:
                print(f"{one.name:<20} {one.title}: {one.exercises}")
            return 0
        with Interrupts() as interrupts:
            return _all(entries, options, interrupts)
    except BeowireError as error:
        print(f"test-programs: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("test-programs: interrupted; what was run is kept", file=sys.stderr)
        return 130


def _all(entries: Sequence[Entry], options: argparse.Namespace, interrupts: Interrupts) -> int:
    kept = options.json or ROOT / "build" / "programs" / "results.json"
    if options.document:
        kept = _DOCUMENT_ROWS
    kept.parent.mkdir(parents=True, exist_ok=True)
    mpi = installation.find(options.mpi, None)
    where: Row = {
        "mpi": f"{installation.KINDS[mpi.name].title.rstrip('0123456789 ')} {mpi.version}",
        "distribution": _distribution(),
        "processor": _processor(),
        "cores": os.cpu_count() or 1,
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
    }
    failed = []
    for number, one in enumerate(entries, 1):
        begun = time.monotonic()
        directory = ROOT / "build" / "programs" / one.name
        if missing := _missing(one):
            outcome = Outcome(one, "", {}, f"cannot be installed: {', '.join(missing)}")
        else:
            seed = secrets.randbelow(1 << 31)
            outcome = program_outcome(
                one, mpi, directory, interrupts, repeat=options.repeat, seed=seed
            )
        made = results.row(outcome, where)
        with interrupts.held():
            results.write(kept, results.merged(kept, [made]))
        took = time.monotonic() - begun
        print(f"[{number}/{len(entries)}] {results.line(made)}  ({took:.0f} s)", flush=True)
        if results.is_failure(made):
            failed.append(one.name)
    print(f"rows: {kept}")
    if options.document:
        text = _DOCUMENT.read_text(encoding="utf-8")
        files.write_whole(_DOCUMENT, results.document(text, results.read(kept)))
    if failed:
        print(f"fail over Beowire, and not over TCP: {', '.join(failed)} (see build/programs/NAME)")
    return 1 if failed else 0


def _missing(one: Entry) -> list[str]:
    """Installs what it needs; what cannot be had."""
    if not _not_installed(one.packages):
        return []
    command = [str(ROOT / "scripts" / "install-packages"), "packages", *one.packages]
    subprocess.run(command, check=False, timeout=_INSTALL_S)
    return _not_installed(one.packages)


def _not_installed(packages: Sequence[str]) -> list[str]:
    missing = []
    for name in packages:
        command = ["dpkg-query", "-W", "-f", "${db:Status-Status}", name]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        if done.stdout != "installed":
            missing.append(name)
    return missing


def _distribution() -> str:
    facts = platform.freedesktop_os_release()
    return f"{facts.get('ID', 'linux').capitalize()} {facts.get('VERSION_ID', '')}".strip()


def _processor() -> str:
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    found = re.search(r"^model name\s*:\s*(.*)$", text, re.MULTILINE)
    return found[1].strip() if found else platform.machine()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
