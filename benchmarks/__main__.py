# SPDX-License-Identifier: BSD-3-Clause
"""`scripts/bench NAME|all [--time S] [--out DIR]`: prints figures, and whether they are met."""

import argparse
import sys
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from types import ModuleType

from benchmarks import (
    agreement,
    apps,
    bulk,
    cpu,
    document,
    instrument,
    interrupts,
    latency,
    loaded,
    loss,
    memory,
    mpi,
    pipeline,
    provider,
    rate,
    shaped,
    shm,
    table,
    trace,
)
from benchmarks.context import Context
from benchmarks.figure import Results
from beowire import files
from beowire.errors import BeowireError
from beowire.interrupts import Interrupts

BENCHMARKS: dict[str, ModuleType] = {
    "latency": latency,
    "bulk": bulk,
    "rate": rate,
    "shaped": shaped,
    "loss": loss,
    "shm": shm,
    "cpu": cpu,
    "loaded": loaded,
    "memory": memory,
    "mpi": mpi,
    "provider": provider,
    "apps": apps,
    "pipeline": pipeline,
    "agreement": agreement,
    "instrument": instrument,
    "interrupts": interrupts,
    "trace": trace,
}


def main(arguments: Sequence[str]) -> int:
    """Runs what is named; 0: all figures are met, 1: not all, 2: this run cannot tell, 130: it was
    ended by a signal."""
    parser = argparse.ArgumentParser(
        prog="scripts/bench",
        description="Measures the figures that the transport is built for.",
        epilog="\n".join(f"{name:<8} {module.SUMMARY}" for name, module in BENCHMARKS.items())
        + "\n\nexit status: 0 all figures are met, 1 not all, 2 this run cannot tell",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", nargs="+", choices=[*BENCHMARKS, "all"], metavar="NAME|all")
    parser.add_argument(
        "--time", type=float, help="seconds that each benchmark may measure (default: its own)"
    )
    parser.add_argument(
        "--out", type=Path, help="directory for figures and records (default: a new one in build)"
    )
    options = parser.parse_args(arguments)
    if options.time is not None and not 1 <= options.time <= 7 * 24 * 3600:
        parser.error("--time is 1 second to 7 days")
    names = list(BENCHMARKS) if "all" in options.name else list(dict.fromkeys(options.name))
    out = options.out or Path("build/bench") / datetime.now().strftime("%Y%m%d-%H%M%S")
    if out.exists():
        parser.error(f"{out} exists already and is not overwritten: name another directory")
    try:
        with Interrupts():  # a command that is being waited for does not outlive it
            return _all(names, options.time, out)
    except KeyboardInterrupt:
        print(f"scripts/bench: interrupted; what was measured is in {out}", file=sys.stderr)
        return 130


def _all(names: Sequence[str], seconds: float | None, out: Path) -> int:
    done = []
    for number, name in enumerate(names):
        if number:
            print()
        done.append(_one(name, seconds or BENCHMARKS[name].SECONDS, out / name))
    path = out / "figures.md"
    files.write_whole(path, document.render(document.read([out])))
    print(f"\nall of it as Markdown: {path}")
    return table.exit_status(done)


def _one(name: str, seconds: float, directory: Path) -> Results:
    module = BENCHMARKS[name]
    directory.mkdir(parents=True)
    begun = time.monotonic()
    try:
        results: Results = module.run(Context(directory, seconds))
    except BeowireError as error:
        results = Results(problems=[str(error)])
    print(table.render(f"{name}: {module.SUMMARY}", results), flush=True)
    path = directory / "figures.json"
    table.write(path, name, seconds, results)
    print(f"{time.monotonic() - begun:.0f} s; figures: {path}", flush=True)
    return results


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
