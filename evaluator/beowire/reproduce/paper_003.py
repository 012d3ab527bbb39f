# SPDX-License-Identifier: BSD-3-Clause
"""Paper 003: RDMA over Ethernet beside TCP: PingPong and PingPing, CPU load, interrupts.

Its card does RDMA in hardware. Here the kernel does it (soft-RoCE), over the same emulated card as
TCP, in two machines.
"""

from beowire import drawing
from beowire.drawing import Axis, Bar, Interval, Row
from beowire.record import Result
from beowire.reproduce import shared
from beowire.reproduce.base import Paper, Part, Picture, Reproduction, Table
from beowire.reproduce.comparison import Comparison
from beowire.reproduce.shared import Shown, quotient, text_or_absent, times_text
from beowire.reproduce.steps import Found, Step
from beowire.units import rate_text, significant, size_text, time_text

#: What the paper says: µs one way (crossover cable, switch), MB/s at 4 MB (the same two),
#: interrupts per second.
BUILT_IN, LEGACY, RDMA = "built-in card, TCP", "RDMA card, TCP", "RDMA card, RDMA"
LATENCY = {BUILT_IN: (86.99, 85.85), LEGACY: (38.45, 44.90), RDMA: (17.62, 23.11)}
THROUGHPUT = {BUILT_IN: (50.39, 45.07), LEGACY: (66.79, 66.40), RDMA: (110.21, 110.07)}
INTERRUPTS = {
    BUILT_IN: "less than the next",
    LEGACY: "44,433",
    RDMA: "not more than the timer's 1,000",
}
PINGPING = {BUILT_IN: "about 0.5 ×", LEGACY: "about 0.5 ×", RDMA: "about 0.8 ×"}
CPU = {BUILT_IN: "less than RDMA", LEGACY: "the least", RDMA: "a whole processor: it polls"}

STEP = "rdma"
#: Told apart in bars as well, where the report's colours are those of groups.
_COLOURS = {
    "tcp": "#2f9bcd",
    "tcp-spin": "#1f4f9c",
    "verbs-send": "#d9540b",
    "verbs-send-events": "#0b9269",
    "verbs-write": "#a07c00",
}
DRIVERS = tuple(_COLOURS)
_SIZES = "8,1024,16KiB,64KiB,256KiB"
_SHORT, _LONG = 8, 64 << 10
_BOOT_S = 50.0

_PERCENT = Axis("CPU of one end, % of a processor", lambda value: f"{value:g} %")
_PER_SECOND = Axis("interrupts per second, one end", lambda value: f"{value:g}")


def plan(seconds: float) -> list[Step]:
    """One comparison."""
    words = (
        *("compare", "--lab", "--backend", "vm", "--nic", "e1000", "--module", "rdma_rxe"),
        *("--drivers", ",".join(DRIVERS), "--pattern", "pingpong,pingping"),
        *("--sizes", _SIZES, "--probes", "none", "--time", f"{seconds:g}"),
    )
    what = "RDMA (polled, by events) and TCP over one emulated card"
    return [Step(STEP, what, words, seconds + _BOOT_S, shared.no_machines())]


def cpu_percent(cell: Result) -> float | None:
    """CPU time of the initiator to the time that passed, in %: user, system and softirq."""
    if not cell.cpu or not cell.elapsed_ns:
        return None
    cost = cell.cpu[0]
    used = cost.user_ns + cost.system_ns + (cost.softirq_ns or 0.0)
    return 100 * used * cell.n / cell.elapsed_ns


def _interrupts(cell: Result | None) -> tuple[float, Interval | None] | None:
    """Of the initiator's machine, per second, the timer's among them."""
    value = None if cell is None else cell.figures(0).get("interrupts")
    if cell is None or value is None:
        return None
    known = cell.probes_ci95[0].get("interrupts") if cell.probes_ci95 else None
    return value, None if known is None else Interval(*known)


def _with_interval(value: float, interval: Interval | None) -> str:
    shown = f"{value:,.0f}"
    return shown if interval is None else f"{shown} ({interval.low:,.0f} to {interval.high:,.0f})"


def the_papers() -> Table:
    """Its figures in numbers."""
    rows = [
        (
            name,
            *(significant(value, 4) for value in LATENCY[name]),
            *(significant(value, 5) for value in THROUGHPUT[name]),
            PINGPING[name],
            CPU[name],
            INTERRUPTS[name],
        )
        for name in (BUILT_IN, LEGACY, RDMA)
    ]
    columns = (
        "the paper",
        *("µs, cable", "µs, switch", "MB/s at 4 MB, cable", "switch"),
        *("PingPing to PingPong", "CPU", "interrupts/s"),
    )
    return Table("What the paper measured (figures 2 to 7)", columns, tuple(rows))


def table(found: Comparison) -> Table:
    """The same of each driver."""
    rows = []
    for driver in found.drivers("pingpong"):
        short, long = (found.cell(driver, "pingpong", size) for size in (_SHORT, _LONG))
        half = None if short is None else short.half_rtt_ns
        interval = ""
        if half is not None and half.ci95 is not None:
            interval = f" ({time_text(half.ci95[0])} to {time_text(half.ci95[1])})"
        one, both = found.rate(driver, "pingpong", _LONG), found.rate(driver, "pingping", _LONG)
        counted = _interrupts(short)
        rows.append(
            (
                driver,
                shared.ABSENT if half is None else time_text(half.median) + interval,
                text_or_absent(None if one is None else one.median, rate_text),
                times_text(quotient(shared.median(both), shared.median(one))),
                *(_percent(cell) for cell in (short, long)),
                shared.ABSENT if counted is None else _with_interval(*counted),
                _each(short, counted),
            )
        )
    columns = (
        "here",
        f"half a round trip, {_SHORT} B (95 %)",
        f"throughput, {size_text(_LONG)}",
        "PingPing to PingPong",
        f"CPU, {_SHORT} B",
        f"CPU, {size_text(_LONG)}",
        f"interrupts/s, {_SHORT} B (95 %)",
        "interrupts a round trip",
    )
    return Table(
        "The same here",
        columns,
        tuple(rows),
        "CPU of the initiator's end, of its one processor; interrupts are its machine's, the"
        " timer's (250 a second) among them. `tcp-spin` and `verbs-*` without `-events` poll.",
    )


def _percent(cell: Result | None) -> str:
    value = None if cell is None else cpu_percent(cell)
    return shared.ABSENT if value is None else f"{significant(value, 2)} %"


def _each(cell: Result | None, counted: tuple[float, Interval | None] | None) -> str:
    """Interrupts of a round trip: a count, so one that emulation does not change much."""
    half = None if cell is None else cell.half_rtt_ns
    if counted is None or half is None:
        return shared.ABSENT
    return significant(counted[0] * 2 * half.median / 1e9, 2)


def _shown(found: Comparison, pattern: str) -> list[Shown]:
    return [Shown(driver, pattern, colour=_COLOURS[driver]) for driver in found.drivers(pattern)]


def _times(found: Comparison, number: int, pattern: str) -> Picture:
    name = "PingPong" if pattern == "pingpong" else "PingPing"
    said = (
        "Half of the round trip: what the paper calls latency."
        if pattern == "pingpong"
        else "Both ends send at once: the time until each has the other's message, not halved."
    )
    title = f"{name}: time against size"
    file = f"003-figure-{number}.svg"
    return shared.times(title, file, found, _shown(found, pattern), said)


def _rates(found: Comparison, number: int, pattern: str) -> Picture:
    name = "PingPong" if pattern == "pingpong" else "PingPing, each way"
    file = f"003-figure-{number}.svg"
    return shared.rates(f"{name}: throughput", file, found, _shown(found, pattern), "")


def _cpu(found: Comparison) -> Picture:
    rows = []
    for size in (_SHORT, _LONG):
        for driver in found.drivers("pingpong"):
            cell = found.cell(driver, "pingpong", size)
            value = None if cell is None else cpu_percent(cell)
            if value is not None:
                rows.append(_row(size, driver, f"{value:.0f} %", value))
    return Picture(
        "CPU",
        "003-figure-6.svg",
        drawing.bars("CPU of the initiator's end", _PERCENT, rows),
        "Without an interval: it is the sum over all rounds.",
    )


def _row(size: int, driver: str, said: str, value: float, interval: Interval | None = None) -> Row:
    name = f"PingPong, {size_text(size)}, {driver}: {said}"
    return Row(name, (Bar(driver, _COLOURS[driver], value),), interval)


def _per_second(found: Comparison) -> Picture:
    rows = []
    for size in (_SHORT, _LONG):
        for driver in found.drivers("pingpong"):
            counted = _interrupts(found.cell(driver, "pingpong", size))
            if counted is not None:
                rows.append(_row(size, driver, _with_interval(*counted), *counted))
    return Picture(
        "Interrupts per second",
        "003-figure-7.svg",
        drawing.bars("Interrupts per second at the initiator's end", _PER_SECOND, rows),
        "The whiskers are 95 % intervals of the median over the rounds.",
    )


def notes(found: Comparison) -> list[str]:
    """Where it differs, and why."""
    said = []

    def half(driver: str) -> float | None:
        value = found.half_rtt(driver, _SHORT)
        return None if value is None else value.median

    ratio = quotient(half("verbs-send"), half("tcp-spin"))
    if ratio is not None:
        said.append(
            f"Half a round trip of {_SHORT} B takes {times_text(ratio)} of polled TCP's, where the"
            f" paper has {times_text(RDMA_TO_TCP)}: its card does the protocol in hardware;"
            " soft-RoCE is one more protocol in the kernel, above the same card and its interrupts."
        )
    polls, sleeps = (
        None if (cell := found.cell(one, "pingpong", _SHORT)) is None else cpu_percent(cell)
        for one in ("verbs-send", "verbs-send-events")
    )
    if polls is not None and sleeps is not None:
        said.append(
            f"Polling takes {significant(polls, 2)} % of the processor, waiting for events"
            f" {significant(sleeps, 2)} %: the paper's figure 6, in which its MPI polls."
        )
    said += [
        "Interrupts: each packet of soft-RoCE interrupts as any other does. What its figure 7 shows"
        " takes a card that does RDMA.",
        "A machine has one processor here: what polls keeps it from the kernel's own threads, which"
        " carry out soft-RoCE; the paper's hosts had two (four with hyper-threading).",
        "On a host that was busy with other work the same RDMA took 23 ms, and perftest's"
        " `ib_send_lat` 34 ms, where TCP took 0.64: each machine's processor is a thread of the"
        " host's, which it has to have when a message comes. Over the device's own loopback half a"
        " round trip takes 23 µs ([beside perftest](../DRIVERS.md)).",
        "Not repeated: the switch, LINPACK and the climate model of its section 5 over verbs"
        " (`beowire apps run hpl climate` runs such programs over MPI's own ways).",
    ]
    return said


RDMA_TO_TCP = LATENCY[RDMA][0] / LATENCY[LEGACY][0]


def parts(found: Found) -> tuple[Part, ...]:
    """Figures 2 to 7."""

    def make(title: str, what: object) -> Part:
        return shared.part(title, found, STEP, what)  # type: ignore[arg-type]

    return (
        the_papers(),
        make("The same here", table),
        make("Figure 2: PingPong, time", lambda one: _times(one, 2, "pingpong")),
        make("Figure 3: PingPong, throughput", lambda one: _rates(one, 3, "pingpong")),
        make("Figure 4: PingPing, time", lambda one: _times(one, 4, "pingping")),
        make("Figure 5: PingPing, throughput", lambda one: _rates(one, 5, "pingping")),
        make("Figure 6: CPU", _cpu),
        make("Figure 7: interrupts", _per_second),
    )


def tell(found: Found) -> Reproduction:
    """The page."""
    comparison = found.comparisons[STEP]
    return Reproduction(
        "Paper 003: RDMA over Ethernet beside TCP",
        parts(found),
        (*notes(comparison), *shared.left_out(found)),
        found.commands,
        lead=(
            shared.EMULATED,
            "The paper: a card that does RDMA (over TCP, in hardware) beside its own and another"
            " card's ordinary interface. RDMA has a fifth of the built-in card's latency and twice"
            " its throughput, takes a whole processor (it polls) and hardly any interrupt. On two"
            " hosts with an RDMA device over `eth1`: `beowire compare --hosts A,B --interface eth1`"
            " and the options below without those of a lab.",
            shared.where_of(comparison.record),
        ),
    )


PAPER = Paper("003", "RDMA over Ethernet beside TCP: figures 2 to 7", plan, tell)
