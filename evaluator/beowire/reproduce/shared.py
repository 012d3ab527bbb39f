# SPDX-License-Identifier: BSD-3-Clause
"""What the pages of papers have in common: charts of a comparison, ratios, where it was measured.
Pure, but for looking which MPI is here."""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from beowire import drawing
from beowire.apps.record import AppsRecord
from beowire.drawing import Axis, Curve, Point
from beowire.errors import BeowireError
from beowire.lab.machines import parts
from beowire.mpi import installation
from beowire.record import NodeEnd, Record, Summary
from beowire.record_parts import Link
from beowire.report.charts import RATES, SIZES, TIMES
from beowire.report.palette import look
from beowire.reproduce.base import Missing, Part, Picture
from beowire.reproduce.comparison import Comparison
from beowire.reproduce.steps import Found
from beowire.units import significant

ABSENT = "-"

EMULATED = (
    "**Figures under emulation compare only with one another**: those below say nothing of any"
    " network card."
)

#: Which MPI stands for the paper's, the first that is here.
_MPIS = ("openmpi4", "openmpi5", "mpich", "intel")


def first_mpi() -> str | None:
    """Its name; None: there is none that programs can be compiled for."""
    for name in _MPIS:
        with contextlib.suppress(BeowireError):
            if installation.find(name).compiler is not None:
                return name
    return None


def no_machines() -> str:
    """Why a lab of machines cannot be had here, in a line; empty: it can."""
    try:
        parts.qemu_parts()
    except BeowireError as error:
        return str(error)
    return ""


@dataclass(frozen=True)
class Shown:
    """A curve that is wanted: what of, and what it is called if not by its driver."""

    driver: str
    pattern: str = "pingpong"
    load: str | None = None
    name: str = ""
    colour: str = ""
    comparison: Comparison | None = None
    """Another one than the picture's."""

    @property
    def title(self) -> str:
        """The legend's."""
        return self.name or (f"{self.driver} +{self.load}" if self.load else self.driver)

    def points(
        self, found: Comparison, value: Callable[[Comparison, "Shown", int], float | None]
    ) -> tuple[tuple[float, float], ...]:
        """By size."""
        source = self.comparison or found
        sizes = source.sizes(self.pattern, (self.driver,))
        known = [(size, value(source, self, size)) for size in sizes]
        return tuple((float(size), one) for size, one in known if one is not None)

    def curve(self, points: Sequence[tuple[float, float]]) -> Curve:
        """In the report's colour."""
        of_driver = look(self.driver)
        places = tuple(Point(x, y) for x, y in points)
        return Curve(self.title, self.colour or of_driver.colour, places, dashed=of_driver.bound)


def time_of(found: Comparison, one: Shown, size: int) -> float | None:
    """In ns, the median."""
    summary = found.time(one.driver, one.pattern, size, one.load)
    return None if summary is None else summary.median


def rate_of(found: Comparison, one: Shown, size: int) -> float | None:
    """In bytes per second, the median."""
    summary = found.rate(one.driver, one.pattern, size, one.load)
    return None if summary is None else summary.median


def per_system_second(found: Comparison, one: Shown, size: int) -> float | None:
    """Payload to a second of system time of both ends together, in bytes per second."""
    cell = found.cell(one.driver, one.pattern, size, one.load)
    if cell is None or not cell.bytes_per_system_s or not all(cell.bytes_per_system_s):
        return None
    return 1 / sum(1 / each for each in cell.bytes_per_system_s if each)


RATIOS = Axis("ratio", lambda value: f"{value:g}")


def axis(like: Axis, title: str) -> Axis:
    """The same axis under another title."""
    return Axis(title, like.text, like.base)


def times(title: str, name: str, found: Comparison, shown: Sequence[Shown], said: str) -> Picture:
    """Times against size."""
    lines = [one.curve(one.points(found, time_of)) for one in shown]
    return Picture(title, name, drawing.curves(title, SIZES, TIMES, lines), said)


def rates(title: str, name: str, found: Comparison, shown: Sequence[Shown], said: str) -> Picture:
    """Throughputs against size."""
    lines = [one.curve(one.points(found, rate_of)) for one in shown]
    return Picture(title, name, drawing.curves(title, SIZES, RATES, lines), said)


def signature(
    title: str, name: str, found: Comparison, shown: Sequence[Shown], said: str
) -> Picture:
    """Throughput against the time that a message takes: where a curve begins is the latency, and
    where it ends saturation."""
    lines = []
    for one in shown:
        of_time = dict(one.points(found, time_of))
        of_rate = dict(one.points(found, rate_of))
        both = [(of_time[size], of_rate[size]) for size in of_time if size in of_rate]
        lines.append(one.curve(sorted(both)))
    across = axis(TIMES, "time of a message, one way")
    return Picture(title, name, drawing.curves(title, across, RATES, lines), said)


def relative(
    title: str, name: str, found: Comparison, shown: Sequence[Shown], *, to: Shown, said: str
) -> Picture:
    """Times as multiples of those of another."""
    base = dict(to.points(found, time_of))
    lines = []
    for one in shown:
        points = [(x, y / base[x]) for x, y in one.points(found, time_of) if base.get(x)]
        lines.append(one.curve(points))
    up = axis(RATIOS, f"time / that of {to.title}")
    return Picture(title, name, drawing.curves(title, SIZES, up, lines), said)


def part(title: str, found: Found, step: str, make: Callable[[Comparison], Part]) -> Part:
    """What is made of a step, or why it is not there."""
    comparison = found.comparisons.get(step)
    if comparison is None:
        return Missing(title, found.why(step))
    try:
        made = make(comparison)
    except drawing.Nothing:
        left = dict.fromkeys(f"{one.driver}: {one.reason}" for one in comparison.record.skipped)
        return Missing(title, "; ".join(left) or "time was too short for it")
    return replace(made, title=title) if isinstance(made, Picture) else made


def left_out(found: Found) -> list[str]:
    """A note each: steps and drivers that were not measured, and why."""
    notes = [f"`{name}` was not measured: {why}." for name, why in found.reasons.items() if why]
    for name, comparison in found.comparisons.items():
        reasons = dict.fromkeys(
            (one.driver, one.reason) for one in comparison.record.skipped if one.pattern is None
        )
        notes += [f"`{driver}` is not in `{name}`: {reason}." for driver, reason in reasons]
        notes += [f"`{name}`: {warning}." for warning in comparison.record.warnings]
    for name, programs in found.programs.items():
        notes += [f"`{name}`: {warning}." for warning in programs.warnings]
        for left in programs.skipped:
            what = "/".join(word for word in (left.app, left.mpi, left.over) if word)
            notes.append(f"`{what}` is not in `{name}`: {left.reason}.")
    return notes


def best(record: AppsRecord, app: str, over: str, load: str) -> float | None:
    """The best of the launches, as the paper has it."""
    figures = [
        one.figure
        for one in record.launches
        if (one.app, one.over, one.load) == (app, over, load)
        and one.round > 0
        and one.figure is not None
        and one.status == "ok"
    ]
    return max(figures, default=None)


def times_text(value: float | None) -> str:
    """`1.25 ×`."""
    return ABSENT if value is None else f"{significant(value)} ×"


def ratio_text(one: Summary | None, other: Summary | None) -> str:
    """`1.47 × (1.20 to 1.81)`: of the medians, and how far apart both intervals let it be, which is
    wider than an interval of the ratio itself."""
    if one is None or other is None or not other.median:
        return ABSENT
    shown = times_text(one.median / other.median)
    if one.ci95 is None or other.ci95 is None or not other.ci95[0]:
        return f"{shown} (?)"
    low, high = one.ci95[0] / other.ci95[1], one.ci95[1] / other.ci95[0]
    return f"{shown} ({significant(low)} to {significant(high)})"


def quotient(one: float | None, other: float | None) -> float | None:
    """None where either is not known."""
    return None if one is None or not other else one / other


def median(summary: Summary | None) -> float | None:
    """None where nothing was measured."""
    return None if summary is None else summary.median


def bits_text(bytes_per_s: float | None) -> str:
    """As networks are sold: `941 Mbit/s`."""
    return ABSENT if bytes_per_s is None else f"{significant(8 * bytes_per_s / 1e6)} Mbit/s"


def text_or_absent(value: float | None, text: Callable[[float], str]) -> str:
    """What is not known is a dash."""
    return ABSENT if value is None else text(value)


def where(link: Link, ends: Sequence[NodeEnd], day: str) -> str:
    """Where and when something was measured, in a sentence."""
    facts = ends[0].environment
    nodes = {
        "vm": f"Two machines of QEMU ({link.accelerator or 'tcg'}), joined by emulated cards"
        f" {link.nic}, Linux {link.kernel}",
        "uml": f"Two nodes in user-mode Linux {link.kernel}",
        None: "Two nodes of a lab on one host" if link.kind == "lab" else "Two ends on one host",
    }[link.backend]
    host = f"{facts.get('cpu_model') or 'an unknown processor'}"
    kernel = "" if link.backend else f", Linux {facts.get('kernel')}"
    return f"Measured on {day}. {nodes}; {host}{kernel}."


def where_of(record: Record) -> str:
    """The same of a comparison."""
    return where(record.meta.link, record.meta.ends, f"{record.meta.started:%-d %B %Y}")
