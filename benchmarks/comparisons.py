# SPDX-License-Identifier: BSD-3-Clause
"""The benchmarks that are comparisons with bounds, and no more: a row of COMPARISONS each.

Rules of `beowire compare --rules` would lose what these have: ratios launch by launch, CPU times,
the fastest of several drivers, and figures without a bound beside those with one.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks import compare
from benchmarks.compare import Comparison, Quantity
from benchmarks.context import TCP, Context, drivers
from benchmarks.figure import Figure, Results, scaled
from beowire.record.reader import Record
from beowire.units import size_text

_KIB = 1024
#: Another "driver": the one of TCP's that is fastest.
_FASTEST = "the fastest TCP"


@dataclass(frozen=True)
class Against:
    """A driver that `beowire` is compared with, and what is asked of the ratio."""

    at_most: float | None = None
    at_least: float | None = None
    times: float = 1
    """What is compared is so many times the ratio, ..."""
    title: str = ""
    """... which is called a ratio to this; empty: to the driver."""
    sizes: Sequence[int] = ()
    """Only these; empty: all."""


@dataclass
class Compared:
    """A benchmark."""

    SUMMARY: str
    SECONDS: float
    others: Mapping[str, Against]
    sizes: Sequence[int]
    at: str
    """What a figure is of: `{size}`, `{part}`, and `{what}` of `quantities`."""
    detail: str = "{at}: "
    """What stands before the measured values."""
    drivers: Sequence[str] = ("beowire", "tcp")
    parts: Mapping[str, Sequence[str]] = field(default_factory=lambda: {"stream": ("--lab",)})
    """Comparisons, one after the other: the options of each."""
    pattern: str = "pingpong"
    quantities: Mapping[str, Quantity] = field(default_factory=lambda: {"": compare.half_rtt})
    kind: str = "time"
    launches: int | None = None
    remark: str = ""
    """Behind why something could not be measured."""

    def run(self, context: Context) -> Results:
        """All parts, each with its share of the time."""
        results = Results()
        for part, where in self.parts.items():
            comparison = Comparison.of(
                context.part(part.replace(" ", "")),
                call_cost=context.call_cost,
                where=where,
                drivers=drivers(*self.drivers),
                sizes=self.sizes,
                seconds=context.seconds / len(self.parts),
                pattern=self.pattern,
                launches=self.launches,
            )
            record = comparison.run()
            for size in self.sizes:
                for what, quantity in self.quantities.items():
                    at = self.at.format(size=size_text(size), part=part, what=what)
                    before = self.detail.format(at=at, part=part, size=size_text(size))
                    results.problems += self._add(
                        results.figures, record, comparison.command, (at, before), (size, quantity)
                    )
        return results

    def _add(
        self,
        figures: list[Figure],
        record: Record,
        command: str,
        texts: tuple[str, str],
        measured: tuple[int, Quantity],
    ) -> Iterator[str]:
        """Adds a figure for each of the others; why there is none of some."""
        at, before = texts
        names = drivers(*self.drivers)
        values = compare.values_text(record, measured[0], names, measured[1], self.kind)
        for name, asked in self.others.items():
            other = _fastest(record, *measured) if name == _FASTEST else name
            if other not in names or (asked.sizes and measured[0] not in asked.sizes):
                continue
            ratio = compare.ratio_of(record, "beowire", other, *measured)
            if ratio is None:
                why = compare.absence(record, ("beowire", other), *measured)
                yield f"{before}{why}{self.remark}"
                continue
            title = asked.title or (f"{other}, {name}" if name == _FASTEST else other)
            figures.append(
                Figure(
                    f"{at}: beowire / {title}",
                    scaled(ratio, asked.times),
                    command,
                    at_most=asked.at_most,
                    at_least=asked.at_least,
                    detail=before + values,
                )
            )


def _fastest(record: Record, size: int, quantity: Quantity) -> str:
    found = {name: compare.typical(record, name, size, quantity) for name in drivers(*TCP)}
    known = {name: one.value for name, one in found.items() if one is not None}
    return max(known, key=lambda name: known[name], default="tcp")


COMPARISONS = {
    "latency": Compared(
        "8 B half round trip, direct and through a switch, against bare frames",
        60.0,
        {"packet": Against(at_most=1.2), **{name: Against() for name in TCP}},
        sizes=(8,),
        at="{size} half round trip, {part}",
        detail="{part}: ",
        drivers=("beowire", "packet", *TCP),
        parts={link: ("--lab", "--link", link) for link in ("direct", "switch")},
    ),
    # Whoever gets a message out of one process and into another without a card's help copies twice.
    # A copy of shorter messages than 1 MiB finds all of it in the cache.
    "bulk": Compared(
        "64 KiB to 4 MiB ping-pong throughput, MTU 1500 and 9000, against TCP and two copies",
        120.0,
        {
            _FASTEST: Against(at_least=1.0),
            "memcpy": Against(None, 0.95, 2, "two bare copies", (1024 * _KIB, 4096 * _KIB)),
        },
        sizes=(64 * _KIB, 256 * _KIB, 1024 * _KIB, 4096 * _KIB),
        at="{size}, {part}",
        drivers=("beowire", "memcpy", *TCP),
        parts={f"MTU {mtu}": ("--lab", "--mtu", str(mtu)) for mtu in (1500, 9000)},
        quantities={"": compare.rate},
        kind="rate",
    ),
    "rate": Compared(
        "8 B windowed streaming, messages per second against TCP",
        60.0,
        {
            "tcp": Against(),
            "tcp-spin": Against(at_least=2.0),
            "fi-tcp": Against(),
            "packet": Against(),
        },
        sizes=(8,),
        at="{size} messages per second",
        detail="",
        drivers=("beowire", *TCP, "packet"),
        pattern="stream",
        quantities={"": compare.rate},
        kind="count",
    ),
    # A CPU time (user, system and softirq, both ends) has no interval within a launch: it comes
    # from the order of six.
    "cpu": Compared(
        "CPU time of a message up to 1 KiB in streaming, against blocking TCP",
        90.0,
        {"tcp": Against(at_most=0.5)},
        sizes=(8, 64, 256, 1024),
        at="{size} CPU time of a message",
        detail="{size}: ",
        drivers=("beowire", "tcp", "tcp-spin"),
        pattern="stream",
        quantities={"": compare.cpu},
        launches=6,
        remark=", or its softirq time is not known",
    ),
    # Every core computes something else: hogs that give way, then hogs that do not.
    "loaded": Compared(
        "median and 99th percentile beside a hog on every core, against blocking TCP",
        120.0,
        {"tcp": Against(at_most=1.0)},
        sizes=(8, 65536),
        at="{size} half round trip, hogs at {part}, {what}",
        parts={f"nice {nice}": ("--lab", "--load", f"hog:{nice}") for nice in (19, 0)},
        quantities={"median": compare.half_rtt, "p99": compare.half_rtt_p99},
    ),
}
