# SPDX-License-Identifier: BSD-3-Clause
"""`scripts/bench NAME|all [--time S] [--system-call-cost TIME] [--out DIR]`: prints figures, and
whether they are met."""

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
    document,
    instrument,
    interrupts,
    loss,
    memory,
    mpi,
    pipeline,
    provider,
    shaped,
    shm,
    table,
    trace,
)
from benchmarks.comparisons import COMPARISONS, Compared
from benchmarks.context import Context
from benchmarks.figure import Results
from beowire import files
from beowire.errors import BeowireError
from beowire.interrupts import Interrupts
from beowire.plan import call_cost
from beowire.plan.call_cost import OPTION

#: In this order; what each needs, and how it is measured.
BENCHMARKS: dict[str, ModuleType | Compared] = {
    "latency": COMPARISONS["latency"],
    "bulk": COMPARISONS["bulk"],
    "rate": COMPARISONS["rate"],
    "shaped": shaped,
    "loss": loss,
    "shm": shm,
    "cpu": COMPARISONS["cpu"],
    "loaded": COMPARISONS["loaded"],
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

#: Those in which nothing but messages is measured, so that their system calls can cost more.
SLOWED = ("latency", "bulk", "rate", "shaped", "loss", "cpu", "loaded", "mpi", "apps", "pipeline")


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
        OPTION,
        dest="call_cost",
        metavar="TIME",
        help="such as 300ns: every system call of what is measured costs so much more",
    )
    parser.add_argument(
        "--out", type=Path, help="directory for figures and records (default: a new one in build)"
    )
    options = parser.parse_args(arguments)
    if options.time is not None and not 1 <= options.time <= 7 * 24 * 3600:
        parser.error("--time is 1 second to 7 days")
    known = list(BENCHMARKS)
    if options.call_cost is not None:
        try:
            call_cost.parse(options.call_cost)
        except BeowireError as error:
            parser.error(str(error))
        known = list(SLOWED)
        if unfit := [name for name in options.name if name not in (*known, "all")]:
            parser.error(f"{unfit[0]} does not take {OPTION}; these do: {', '.join(known)}")
    names = known if "all" in options.name else list(dict.fromkeys(options.name))
    out = options.out or Path("build/bench") / datetime.now().strftime("%Y%m%d-%H%M%S")
    if out.exists():
        parser.error(f"{out} exists already and is not overwritten: name another directory")
    try:
        with Interrupts():  # a command that is being waited for does not outlive it
            return _all(names, options.time, options.call_cost, out)
    except KeyboardInterrupt:
        print(f"scripts/bench: interrupted; what was measured is in {out}", file=sys.stderr)
        return 130


def _all(names: Sequence[str], seconds: float | None, call_cost: str | None, out: Path) -> int:
    done = []
    for number, name in enumerate(names):
        if number:
            print()
        context = Context(out / name, seconds or BENCHMARKS[name].SECONDS, call_cost)
        done.append(_one(name, context))
    path = out / "figures.md"
    files.write_whole(path, document.render(document.read([out])))
    print(f"\nall of it as Markdown: {path}")
    return table.exit_status(done)


def _one(name: str, context: Context) -> Results:
    module = BENCHMARKS[name]
    context.directory.mkdir(parents=True)
    begun = time.monotonic()
    try:
        results: Results = module.run(context)
    except BeowireError as error:
        results = Results(problems=[str(error)])
    print(table.render(f"{name}: {module.SUMMARY}", results), flush=True)
    path = context.directory / "figures.json"
    table.write(path, name, context.seconds, results)
    print(f"{time.monotonic() - begun:.0f} s; figures: {path}", flush=True)
    return results


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
