# SPDX-License-Identifier: BSD-3-Clause
"""Paper 004: where TCP's microseconds go, and a protocol above any network card that saves them.

Its table of where time goes is `beowire explain`; its claim about any card, unmodified, is the
table of cards in docs/LAB.md; interrupts are counted in machines, which have cards.
"""

import shutil
from collections.abc import Mapping

from beowire import drawing
from beowire.apps.record import IDLE
from beowire.drawing import Axis, Bar, Row
from beowire.record import Explained
from beowire.reproduce import shared
from beowire.reproduce.base import Missing, Paper, Part, Picture, Reproduction, Table
from beowire.reproduce.comparison import Comparison
from beowire.reproduce.shared import quotient, text_or_absent, times_text
from beowire.reproduce.steps import Found, Step
from beowire.units import rate_text, significant, time_text

#: What the paper says of 8 bytes over Gigabit Ethernet, in ns of half a round trip.
TCP_PARTS = {
    "system call and socket": 1_600.0,
    "TCP": 15_500.0,
    "IP": 6_200.0,
    "protocol handler": 3_200.0,
    "device driver": 4_700.0,
    "hardware interrupt": 5_900.0,
    "card and wire": 7_700.0,
}
OWN_PARTS = {
    "system call and socket": 1_600.0,
    "its protocol": 4_800.0,
    "device driver": 4_700.0,
    "card and wire": 7_700.0,
}
TCP_TOTAL, OWN_TOTAL, LINK_TOTAL = 44_800.0, 18_800.0, 18_800.0
TCP_RATE, OWN_RATE, LINK_RATE = 46.7e6, 77.6e6, 90.4e6
IS_GAIN = 1.75
#: µs of a round trip with and without interrupt reaping.
REAPING = {
    "Alpha 21264, G-NIC II": (44.6, 49.8),
    "Pentium III, Intel E1000": (70.1, 108.0),
    "Pentium III, EEPRO 100": (106.4, 128.2),
}

#: Rows of the paper's table, and the parts of `beowire explain` that are the same.
_SAME: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "system call and socket": (("system call and socket",), ("own code", "system call")),
    "protocol, with copying": (("TCP", "IP", "its protocol"), ("protocol", "copy")),
    "protocol handler (softirq)": (("protocol handler",), ("softirq",)),
    "device driver": (("device driver",), ("driver",)),
    "hardware interrupt": (("hardware interrupt",), ("interrupt",)),
    "waking up": ((), ("wake-up",)),
    "other": ((), ("other kernel",)),
}
_REST = "card and wire; here what is left: waiting, looking"

EXPLAINED = ("tcp", "tcp-spin", "packet", "beowire")
_LAYERS = ("tcp", "tcp-spin", "packet", "beowire")

#: Who is counted in machines, and over which card. A lane that takes interrupts away is one more
#: name here.
COUNTED = ("tcp", "packet", "beowire")
_CARD = "e1000"
_SHORT = 8
_BOOT_S = 45.0
_COLOURS = ("#1f6fc4", "#d9540b", "#0b9269", "#8d6bd1", "#bb6296", "#a07c00", "#7d8590", "#c8ccd0")


def plan(seconds: float) -> list[Step]:
    """Layers, where time goes, interrupts, NAS's IS."""
    perf = "" if shutil.which("perf") else "there is no perf here (Debian: linux-perf)"
    mpi = shared.first_mpi() or ""
    layers, explained, counted = 0.25 * seconds, 0.07 * seconds, 0.20 * seconds
    launches = max(1, min(6, round(0.2 * seconds / 6)))
    return [
        Step(
            "layers",
            "TCP, bare frames and Beowire: latency and bandwidth",
            (
                *("compare", "--lab", "--drivers", ",".join(_LAYERS)),
                *("--pattern", "pingpong,stream", "--sizes", "8,1024,1400,64KiB,1MiB"),
                *("--time", f"{layers:g}"),
            ),
            layers + 3,
        ),
        *(
            Step(
                f"explain-{driver}",
                f"where half a round trip of {driver} goes",
                ("explain", driver, "--size", str(_SHORT), "--lab", "--time", f"{explained:g}"),
                explained + 8,
                perf,
            )
            for driver in EXPLAINED
        ),
        Step(
            "interrupts",
            "interrupts of a round trip, over an emulated card",
            (
                *("compare", "--lab", "--backend", "vm", "--nic", _CARD),
                *("--drivers", ",".join(COUNTED), "--sizes", str(_SHORT)),
                *("--probes", "none", "--time", f"{counted:g}"),
            ),
            counted + _BOOT_S,
            shared.no_machines(),
        ),
        Step(
            "is",
            "NAS's IS, class A",
            (
                *("apps", "run", "is", "--lab", "--class", "A", "--over", "tcp,beowire"),
                *("--mpi", mpi, "--launches", str(launches), "--no-profile"),
            ),
            launches * 6.0 + 15,
            "" if mpi else "there is no MPI here (Debian: libopenmpi-dev)",
        ),
    ]


def layers(found: Comparison) -> Table:
    """Latency and bandwidth, there and here."""

    def row(name: str, driver: str, paper: tuple[float, float] | None) -> tuple[str, ...]:
        half = found.half_rtt(driver, _SHORT)
        rate = found.best_stream(driver, found.sizes("stream", (driver,)))
        tcp = found.half_rtt("tcp", _SHORT)
        there = (shared.ABSENT,) * 3
        if paper is not None:
            there = (
                time_text(paper[0]),
                times_text(paper[0] / TCP_TOTAL),
                rate_text(paper[1]),
            )
        return (
            f"{name} (`{driver}`)",
            *there,
            text_or_absent(None if half is None else half.median, time_text),
            times_text(quotient(shared.median(half), shared.median(tcp))),
            text_or_absent(rate, rate_text),
        )

    here = ("here, 8 B", "to TCP", "here, bandwidth")
    return Table(
        "Protocol layers: half a round trip and bandwidth",
        ("", "paper, 8 B", "to TCP", "paper, bandwidth", *here),
        (
            row("TCP/IP", "tcp", (TCP_TOTAL, TCP_RATE)),
            row("TCP/IP, polled", "tcp-spin", None),
            row("data link", "packet", (LINK_TOTAL, LINK_RATE)),
            row("reliable, above any card: PM/Ethernet", "beowire", (OWN_TOTAL, OWN_RATE)),
        ),
    )


def explained(found: Found) -> dict[str, Explained]:
    """Of each driver that was looked into."""
    known = {}
    for driver in EXPLAINED:
        comparison = found.comparisons.get(f"explain-{driver}")
        if comparison is not None:
            cell = comparison.cell(driver, "pingpong", _SHORT)
            if cell is not None and cell.explained is not None:
                known[driver] = cell.explained
    return known


def _sum(parts: Mapping[str, float], names: tuple[str, ...]) -> float:
    return sum(parts.get(name, 0.0) for name in names)


def _share(value: float, whole: float) -> str:
    return shared.ABSENT if not value else f"{time_text(value)}, {100 * value / whole:.0f} %"


def _signed_share(value: float, whole: float) -> str:
    return _share(value, whole) if value >= 0 else f"−{_share(-value, whole)}"


def where_it_goes(found: Found) -> Part:
    """The paper's table, and the same of each driver."""
    title = "Where half a round trip of 8 B goes"
    known = explained(found)
    if not known:
        return Missing(title, found.why(f"explain-{EXPLAINED[0]}"))
    rows = []
    for name, (theirs, ours) in _SAME.items():
        rows.append(
            (
                name,
                _share(_sum(TCP_PARTS, theirs), TCP_TOTAL),
                _share(_sum(OWN_PARTS, theirs), OWN_TOTAL),
                *(_share(_sum(one.parts_ns, ours), one.half_rtt_ns) for one in known.values()),
            )
        )
    rest = "card and wire"
    rows.append(
        (
            _REST,
            _share(TCP_PARTS[rest], TCP_TOTAL),
            _share(OWN_PARTS[rest], OWN_TOTAL),
            *(_signed_share(one.rest_ns, one.half_rtt_ns) for one in known.values()),
        )
    )
    totals = (time_text(one.half_rtt_ns) for one in known.values())
    rows.append(("half a round trip", time_text(TCP_TOTAL), time_text(OWN_TOTAL), *totals))
    return Table(
        title,
        ("", "paper, TCP/IP", "paper, PM/Ethernet", *(f"`{driver}`" for driver in known)),
        tuple(rows),
        "Here by samples of both ends' processors ([EXPLAIN.md](../EXPLAIN.md)); of a driver that"
        " polls, own code and looking for messages are in what is left. Times are under perf.",
    )


def _picture(found: Found) -> Part:
    title = "Where half a round trip goes, % of it"
    known = explained(found)
    if not known:
        return Missing(title, found.why(f"explain-{EXPLAINED[0]}"))
    rows = [
        _row("paper, TCP/IP", [_sum(TCP_PARTS, theirs) for theirs, _ in _SAME.values()], TCP_TOTAL),
        *(
            _row(
                driver,
                [_sum(one.parts_ns, ours) for _, ours in _SAME.values()],
                one.half_rtt_ns,
            )
            for driver, one in known.items()
        ),
    ]
    across = Axis("% of half a round trip", lambda value: f"{value:.3g} %")
    return Picture(title, "004-parts.svg", drawing.bars(title, across, rows))


def _row(name: str, values: list[float], whole: float) -> Row:
    names = [row.partition(" (")[0] for row in _SAME]
    bars = [
        Bar(part, colour, 100 * value / whole)
        for part, colour, value in zip(names, _COLOURS, values, strict=False)
    ]
    rest = max(0.0, whole - sum(values))
    return Row(name, (*bars, Bar("the rest", _COLOURS[-1], 100 * rest / whole)))


def reaping(found: Found) -> Part:
    """Interrupts of a round trip: the place for a lane that takes them away."""
    title = "Interrupts"
    comparison = found.comparisons.get("interrupts")
    if comparison is None:
        return Missing(title, found.why("interrupts"))
    rows = []
    for driver in COUNTED:
        cell = comparison.cell(driver, "pingpong", _SHORT)
        if cell is None or cell.half_rtt_ns is None:
            continue
        counts = [
            significant(value * 2 * cell.half_rtt_ns.median / 1e9, 2)
            if (value := cell.figures(end).get("interrupts")) is not None
            else shared.ABSENT
            for end in (0, 1)
        ]
        rows.append((driver, time_text(2 * cell.half_rtt_ns.median), *counts))
    return Table(
        title,
        ("", "round trip, emulated", "interrupts a round trip, initiator", "responder"),
        tuple(rows),
        "All interrupts of the machine, the timer's (250 a second) among them; the times, under"
        " emulation, say nothing. The paper takes interrupts away while a program waits: a round"
        " trip of "
        + ", ".join(f"{one} for {other} µs ({name})" for name, (one, other) in REAPING.items())
        + ". Here the lane `xdp` polls the card's queue in their place: what that saves"
        " `scripts/bench interrupts` counts ([PERFORMANCE.md](../PERFORMANCE.md#interrupts)).",
    )


def programs(found: Found) -> Part:
    """IS, class A."""
    title = "NAS's IS, class A"
    record = found.programs.get("is")
    if record is None:
        return Missing(title, found.why("is"))
    figures = [shared.best(record, "is", over, IDLE) for over in ("tcp", "beowire")]
    speedup = next((one.speedup for one in record.results if one.over == "beowire"), None)
    here = times_text(None if speedup is None else speedup.median)
    if speedup is not None and speedup.ci95 is not None:
        here += f" ({significant(speedup.ci95[0])} to {significant(speedup.ci95[1])})"
    elif speedup is not None:
        here += " (too few launches for an interval)"
    return Table(
        title,
        ("", "paper", "here"),
        (
            ("faster than over TCP", times_text(IS_GAIN), here),
            ("over TCP, MOP/s", shared.ABSENT, text_or_absent(figures[0], significant)),
            ("over Beowire, MOP/s", shared.ABSENT, text_or_absent(figures[1], significant)),
        ),
        "The paper: sixteen nodes, a wire of 1 Gbit/s. Here: two ranks in two nodes of a lab, whose"
        " wire is memory, so that IS, which sends long messages, waits for copies and not for the"
        " wire; the median of the rounds' ratios. On a machine that did nothing else, and at"
        " 1 Gbit/s: [APPS.md](../APPS.md#where-it-stands).",
    )


def notes(found: Found) -> list[str]:
    """Where it differs, and why."""
    said = []
    known = explained(found)
    tcp = known.get("tcp")
    if tcp is not None:
        protocol = _sum(tcp.parts_ns, _SAME["protocol, with copying"][1])
        waking = tcp.parts_ns.get("wake-up", 0.0)
        said.append(
            f"TCP and IP take {100 * (TCP_PARTS['TCP'] + TCP_PARTS['IP']) / TCP_TOTAL:.0f} % of"
            f" TCP's half round trip in the paper, {100 * protocol / tcp.half_rtt_ns:.0f} % here;"
            f" waking up, which its table does not have, {100 * waking / tcp.half_rtt_ns:.0f} %."
        )
    said += [
        "A lab's wire has no card: no hardware interrupt, and no time on the wire. What is left of"
        " `tcp` is waiting for a processor to wake up.",
        "Any card, unmodified: [LAB.md](../LAB.md#any-card) has nine cards, each with its driver as"
        " Linux has it, over which TCP, `beowire-packet` and `beowire` were right.",
        "Not repeated: Myrinet, the clusters of 16 and 128 nodes.",
    ]
    return [*said, *shared.left_out(found)]


def tell(found: Found) -> Reproduction:
    """The page."""
    records = found.records
    return Reproduction(
        "Paper 004: where the microseconds go, and a protocol above any card",
        (
            shared.part("Protocol layers", found, "layers", layers),
            where_it_goes(found),
            _picture(found),
            reaping(found),
            programs(found),
        ),
        tuple(notes(found)),
        found.commands,
        lead=(
            "Of what follows, *Interrupts* is of emulated machines: figures under emulation compare"
            " only with one another.",
            "The paper divides TCP's half round trip among the layers, and has a protocol of its"
            " own above the driver of any Ethernet card, which has neither TCP nor IP and takes"
            " interrupts away: less than half of TCP's latency, 1.7 times its bandwidth.",
            *([shared.where_of(records[0])] if records else []),
        ),
    )


PAPER = Paper("004", "where TCP's microseconds go, and a protocol above any card", plan, tell)
