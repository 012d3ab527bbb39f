# SPDX-License-Identifier: BSD-3-Clause
"""Paper 002: MPI and PVM on one user-level protocol, against what is below them.

Its figures 9 and 10 are latency and bandwidth of PVM; the text has the least latency and the
highest bandwidth of all three in numbers. Latency is half a round trip, bandwidth that of a stream.
"""

from beowire.reproduce import shared
from beowire.reproduce.base import Paper, Part, Picture, Reproduction, Table
from beowire.reproduce.comparison import Comparison
from beowire.reproduce.shared import Shown, times_text
from beowire.reproduce.steps import Found, Step
from beowire.units import rate_text, significant, size_text, time_text

#: What the paper says: one-way latency in ns, highest bandwidth in bytes per second.
PROTOCOL = (9_000.0, 83e6)
MPI = (11_000.0, 64e6)
PVM = (45_000.0, 48e6)

SIZES = (8, 64, 512, 4 << 10, 64 << 10, 1 << 20, 4 << 20)
_SHORTEST = SIZES[0]
_LONG = (1 << 20, 4 << 20)

BELOW = "beowire"
OVER = "pvm-beowire"
STOCK = ("pvm-direct", "pvm")
COPY = "memcpy"
#: In the report all drivers of PVM have one colour.
_COLOURS = {OVER: "#d9540b", "pvm-direct": "#2f9bcd", "pvm": "#1f4f9c", BELOW: "#333333"}

STEP = "compare"

_ABSENT = "-"


def _mpi() -> str | None:
    name = shared.first_mpi()
    return None if name is None else f"mpi:{name}/beowire"


def _times(value: float | None, below: float | None) -> str:
    return times_text(shared.quotient(value, below))


def _latency(found: Comparison, driver: str, size: int = _SHORTEST) -> float | None:
    value = found.half_rtt(driver, size)
    return None if value is None else value.median


def _row(
    found: Comparison, name: str, driver: str, paper: tuple[float, float] | None
) -> tuple[str, ...]:
    """A layer: latency and bandwidth, there and here, each with its ratio to what is below."""
    here = _latency(found, driver), found.best_stream(driver, SIZES)
    below = _latency(found, BELOW), found.best_stream(BELOW, SIZES)
    there = (_ABSENT,) * 4
    if paper is not None:
        there = (
            time_text(paper[0]),
            _times(paper[0], PROTOCOL[0]),
            rate_text(paper[1]),
            _times(paper[1], PROTOCOL[1]),
        )
    return (
        name,
        *there[:2],
        _ABSENT if here[0] is None else time_text(here[0]),
        _times(here[0], below[0]),
        *there[2:],
        _ABSENT if here[1] is None else rate_text(here[1]),
        _times(here[1], below[1]),
    )


def tables(found: Comparison, mpi: str | None) -> tuple[Table, ...]:
    """The paper's layers, and its figures 9 and 10."""
    layers = [_row(found, f"protocol ({BELOW})", BELOW, PROTOCOL)]
    if mpi is not None:
        layers.append(_row(found, f"MPI over it ({mpi})", mpi, MPI))
    layers.append(_row(found, f"PVM over it ({OVER})", OVER, PVM))
    layers += [_row(found, f"PVM's own way ({driver})", driver, None) for driver in STOCK]
    return (
        Table(
            "Latency (8 B, one way) and highest bandwidth",
            (
                "layer",
                *("paper", "to protocol", "here", "to protocol"),
                *("paper", "to protocol", "here", "to protocol"),
            ),
            tuple(layers),
        ),
        by_size(found, "Figure 9, in numbers", stream=False),
        by_size(found, "Figure 10, in numbers", stream=True),
        long_messages(found, mpi),
    )


def by_size(found: Comparison, title: str, *, stream: bool) -> Table:
    """What a figure shows of PVM, in numbers."""
    drivers = (OVER, *STOCK)

    def cells(size: int) -> tuple[str, ...]:
        values = [
            found.stream(driver, size) if stream else found.half_rtt(driver, size)
            for driver in drivers
        ]
        text = rate_text if stream else time_text
        return (
            size_text(size),
            *(_ABSENT if value is None else text(value.median) for value in values),
            shared.ratio_text(values[0], values[1]),
        )

    columns = ("message", *drivers, f"{OVER} to {STOCK[0]}")
    said = (
        "In brackets how far the 95 % intervals of both let the ratio be (`?`: too few rounds for"
        " one)."
    )
    return Table(title, columns, tuple(cells(size) for size in SIZES), said)


def long_messages(found: Comparison, mpi: str | None) -> Table:
    """By how many copies PVM is slower than MPI."""
    rows = []
    for size in _LONG:
        of_mpi = None if mpi is None else _latency(found, mpi, size)
        over, copy = (_latency(found, driver, size) for driver in (OVER, COPY))
        more = None if of_mpi is None or over is None else over - of_mpi
        rows.append(
            (
                size_text(size),
                *(_ABSENT if one is None else time_text(one) for one in (of_mpi, over)),
                _ABSENT if more is None else time_text(max(0.0, more)),
                _ABSENT if copy is None else time_text(copy),
                _ABSENT if more is None or not copy else significant(max(0.0, more) / copy, 2),
            )
        )
    columns = (
        "half a round trip",
        *("MPI over Beowire", "PVM over it", "PVM takes longer by"),
        *(f"a copy (`{COPY}`)", "in copies"),
    )
    return Table(
        "Long messages: PVM beside MPI",
        columns,
        tuple(rows),
        "Packed in place: the sender copies nothing. The receiver gets a message before its program"
        " says where it is to be, and `pvm_upkbyte()` copies it there: that copy is PVM's own. More"
        " than one copy (of memory that caches hold) is not accounted for by it.",
    )


def _shown(mpi: str | None, pattern: str) -> list[Shown]:
    drivers = (OVER, *STOCK, *([mpi] if mpi else []), BELOW)
    return [Shown(driver, pattern, colour=_COLOURS.get(driver, "")) for driver in drivers]


def _latencies(found: Comparison, mpi: str | None) -> Picture:
    """Figure 9."""
    said = "Half a round trip, beside MPI and the protocol (the paper's figures 5 to 8)."
    shown = _shown(mpi, "pingpong")
    return shared.times("Latency of PVM", "002-latency.svg", found, shown, said)


def _bandwidths(found: Comparison, mpi: str | None) -> Picture:
    """Figure 10."""
    said = (
        "A stream one way. Where sending in place returns when the other task has the message, the"
        " next one cannot set out before."
    )
    shown = _shown(mpi, "stream")
    return shared.rates("Bandwidth of PVM", "002-bandwidth.svg", found, shown, said)


def notes(found: Comparison, mpi: str | None) -> tuple[str, ...]:
    """Where it differs from the paper, and why."""
    said = [
        "The paper: two hosts of two 550 MHz processors each, a network of 1.28 Gbit/s that no"
        " kernel stands before. Here: two nodes of a lab on one host, whose wire is memory, so that"
        " only ratios can be compared.",
    ]
    over, below = _latency(found, OVER), _latency(found, BELOW)
    direct = _latency(found, STOCK[0])
    if over is not None and below is not None:
        said.append(
            f"PVM adds {time_text(max(0.0, over - below))} to half a round trip of 8 B; the paper's"
            f" {time_text(PVM[0] - PROTOCOL[0])}, on processors some ten times slower. It does not"
            " say what its PVM does in that time. Here libpvm3 packs and matches as ever, and only"
            " what moves a message is replaced ([PVM.md](../PVM.md)); its own sockets, two system"
            " calls, are looked at once in 20 to 100 µs, not for each message."
        )
    if over is not None and direct is not None:
        said.append(
            f"Half a round trip of 8 B takes {significant(over / direct)} of that over PVM's direct"
            " route."
        )
    rates = [found.best_stream(driver, SIZES) for driver in (OVER, BELOW)]
    if rates[0] is not None and rates[1] is not None:
        said.append(
            f"PVM's highest bandwidth is {times_text(rates[0] / rates[1])} of the protocol's, in"
            f" the paper {times_text(PVM[1] / PROTOCOL[1])}. Here that is the receiver's second"
            " copy, and that one message at a time is under way where it is sent in place."
        )
    if mpi is None:
        said.append("There is no MPI here (Debian: libopenmpi-dev): its row is missing.")
    return tuple(said)


def plan(seconds: float) -> list[Step]:
    """All in one comparison, whose drivers take turns."""
    mpi = _mpi()
    drivers = [COPY, BELOW, *([mpi] if mpi else []), OVER, *STOCK]
    words = ["compare", "--lab", "--drivers", ",".join(drivers), "--pattern", "pingpong,stream"]
    words += ["--sizes", ",".join(str(size) for size in SIZES), "--time", f"{seconds:g}"]
    return [Step(STEP, "PVM, MPI and what is below them, by turns", tuple(words), seconds + 5)]


def tell(found: Found) -> Reproduction:
    """What came of it."""
    comparison, mpi = found.comparisons[STEP], _mpi()
    layers, latency, bandwidth, long = tables(comparison, mpi)
    parts: tuple[Part, ...] = (
        layers,
        shared.part("Figure 9: latency of PVM", found, STEP, lambda one: _latencies(one, mpi)),
        latency,
        shared.part("Figure 10: bandwidth of PVM", found, STEP, lambda one: _bandwidths(one, mpi)),
        bandwidth,
        long,
    )
    return Reproduction(
        "Paper 002: PVM and MPI on one protocol",
        parts,
        (*notes(comparison, mpi), *shared.left_out(found)),
        found.commands,
        lead=(
            "The paper: a protocol of its own for Myrinet that goes past the kernel, with both MPI"
            " and PVM above it. Half a round trip is 9 µs for the protocol, 11 µs for MPI and 45 µs"
            " for PVM, the highest bandwidth 83, 64 and 48 MB/s. Its figures 9 and 10 show PVM"
            " alone, as curves without numbers; what PVM takes by its own ways it does not say.",
            shared.where_of(comparison.record),
        ),
    )


PAPER = Paper("002", "MPI and PVM on one protocol: figures 9 and 10", plan, tell)
