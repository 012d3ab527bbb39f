# SPDX-License-Identifier: BSD-3-Clause
"""`beowire load`: keeps this host busy, and says how much of it the load got."""

import os
import re
import time
from collections.abc import Sequence
from typing import Annotated

import typer

from beowire.commands.options import check_seconds
from beowire.conduct.load import Background, Meter
from beowire.errors import BeowireError
from beowire.interrupts import Interrupts
from beowire.places.launch.local import LocalLauncher
from beowire.plan.load import KINDS, Load, parse_load
from beowire.units import rate_text, significant

_LONGEST_S = 7 * 24 * 3600.0

#: A load without a time ends by itself after this, should nobody end it.
_FOR_EVER_S = 365 * 24 * 3600.0

#: The hogs end by themselves so much later than this command does.
_SPARE_S = 10.0

#: From line to line, and from look to look whether whoever started this is still there.
_LINE_S = 1.0
_LOOK_S = 0.2


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("load")(load)


def load(
    kind: Annotated[
        str,
        typer.Argument(help="; ".join(f"{name}: {what}" for name, what in KINDS.items()) + "."),
    ] = "hog:19",
    seconds: Annotated[
        float | None, typer.Option("--time", help="Seconds. Default: until Ctrl-C.")
    ] = None,
    cpus: Annotated[str | None, typer.Option("--cpus", help="CPUs: 0,2-3. Default: all.")] = None,
) -> None:
    """Keeps CPUs or memory of this host busy, and reports how much.

    Prints each second, and at the end, the share of each CPU that it got. It ends when its time is
    over, on Ctrl-C or SIGTERM, or when its parent ends.
    """
    if seconds is not None:
        check_seconds(seconds, _LONGEST_S)
    wanted = parse_load(kind, "the load")
    chosen = [] if cpus is None else _cpus(cpus)
    with Interrupts() as interrupts:
        lines = _Lines(wanted)
        spare_s = _FOR_EVER_S if seconds is None else seconds + _SPARE_S
        background = Background(LocalLauncher(), wanted, spare_s, interrupts, chosen)
        try:
            with background:
                _watch(background, lines, seconds, os.getppid())
                lines.last(background.meters()[0])
        except KeyboardInterrupt:
            # Ctrl-C is how one ends it; a terminal has told the engine as well.
            lines.last(None)


def _watch(background: Background, lines: "_Lines", seconds: float | None, parent: int) -> None:
    """Until the time is over, or the `parent` that started this has ended."""
    begun = time.monotonic()
    lines.first(background.meters()[0])
    shown = 1
    while os.getppid() == parent:
        left = float("inf") if seconds is None else begun + seconds - time.monotonic()
        if left <= 0:
            return
        due = begun + shown * _LINE_S - time.monotonic()
        meter = background.meters()[0]
        lines.look(meter)
        if due <= 0:
            lines.show(meter)
            shown += 1
        time.sleep(max(0.0, min(_LOOK_S, left, due if due > 0 else _LOOK_S)))


class _Lines:
    """What is printed."""

    def __init__(self, wanted: Load) -> None:
        self._wanted = wanted
        self._first: Meter | None = None
        self._before: Meter | None = None
        self._looked: Meter | None = None

    def first(self, meter: Meter) -> None:
        """What runs."""
        self._first = self._before = meter
        numbers = ", ".join(str(hog.cpu) for hog in meter.hogs)
        print(f"{self._wanted.text} on CPU {numbers}; share of each that it gets:", flush=True)

    def look(self, meter: Meter) -> None:
        """What it had got when it was last looked at."""
        self._looked = meter

    def show(self, meter: Meter) -> None:
        """What it got since the line before."""
        if self._first is not None and self._before is not None:
            at = (meter.at_ns - self._first.at_ns) / 1e9
            print(f"{at:7.1f} s  {_shares(self._before, meter)}", flush=True)
            self._before = meter

    def last(self, meter: Meter | None) -> None:
        """What it got in all; None: as far as it was looked at."""
        meter = meter or self._looked
        if self._first is not None and meter is not None:
            seconds = (meter.at_ns - self._first.at_ns) / 1e9
            print(f"in all {seconds:.1f} s  {_shares(self._first, meter)}", flush=True)


def _shares(before: Meter, after: Meter) -> str:
    """`99.8 %  97.1 %  (98.5 % of 2 CPUs, 1.2 G turns/s)`."""
    elapsed_ns = max(1, after.at_ns - before.at_ns)
    shares = [
        (now.cpu_ns - was.cpu_ns) / elapsed_ns
        for was, now in zip(before.hogs, after.hogs, strict=True)
    ]
    work = sum(hog.work for hog in after.hogs) - sum(hog.work for hog in before.hogs)
    per_s = work * 1e9 / elapsed_ns
    done = rate_text(per_s) if after.unit == "bytes" else f"{significant(per_s / 1e6)} M turns/s"
    each = "  ".join(f"{share:6.1%}" for share in shares)
    count = "1 CPU" if len(shares) == 1 else f"{len(shares)} CPUs"
    return f"{each}  ({sum(shares) / len(shares):.1%} of {count}, {done})"


def _cpus(text: str) -> list[int]:
    """`0,2-3` as numbers, each once. BeowireError if it is none, or not one of this host's."""
    found: list[int] = []
    for word in text.split(","):
        match = re.fullmatch(r"(\d{1,4})(?:-(\d{1,4}))?", word.strip())
        if not match or int(match[2] or match[1]) < int(match[1]):
            raise BeowireError(f"cannot read --cpus {text!r}: write numbers, as 0 or 0,2-3")
        found += range(int(match[1]), int(match[2] or match[1]) + 1)
    usable = _usable()
    for cpu in found:
        if cpu not in usable:
            raise BeowireError(f"--cpus {text}: there is no CPU {cpu}: {_named(usable)}")
    return list(dict.fromkeys(found))


def _usable() -> Sequence[int]:
    return sorted(os.sched_getaffinity(0))


def _named(usable: Sequence[int]) -> str:
    return (
        f"there are {', '.join(map(str, usable))}"
        if len(usable) < 9
        else (f"there are {len(usable)}, from {usable[0]} to {usable[-1]}")
    )
