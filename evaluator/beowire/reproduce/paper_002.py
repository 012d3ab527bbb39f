# SPDX-License-Identifier: BSD-3-Clause
"""Paper 002: MPI and PVM on one user-level protocol, against what is below them.

Its figures 9 and 10 are latency and bandwidth of PVM; the text has the least latency and the
highest bandwidth of all three in numbers. Latency is half a round trip, bandwidth that of a stream.
"""

from beowire.reproduce import shared
from beowire.reproduce.base import Paper, Reproduction, Table
from beowire.reproduce.comparison import Comparison
from beowire.reproduce.steps import Found, Step
from beowire.units import rate_text, significant, size_text, time_text

#: What the paper says: one-way latency in ns, highest bandwidth in bytes per second.
PROTOCOL = (9_000.0, 83e6)
MPI = (11_000.0, 64e6)
PVM = (45_000.0, 48e6)

SIZES = (8, 64, 512, 4 << 10, 64 << 10, 1 << 20, 4 << 20)
_SHORTEST = SIZES[0]

BELOW = "beowire"
OVER = "pvm-beowire"
STOCK = ("pvm-direct", "pvm")

STEP = "compare"

_ABSENT = "-"


def _mpi() -> str | None:
    name = shared.first_mpi()
    return None if name is None else f"mpi:{name}/beowire"


def _times(value: float | None, below: float | None) -> str:
    return _ABSENT if value is None or not below else f"{significant(value / below)} ×"


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
    drivers = (OVER, *STOCK)

    def cells(size: int, *, stream: bool) -> tuple[str, ...]:
        values = [
            found.stream(driver, size) if stream else found.half_rtt(driver, size)
            for driver in drivers
        ]
        text = rate_text if stream else time_text
        ratio = (
            _ABSENT
            if values[0] is None or values[1] is None
            else significant(values[0].median / values[1].median)
        )
        return (
            size_text(size),
            *(_ABSENT if value is None else text(value.median) for value in values),
            ratio,
        )

    columns = ("message", *drivers, f"{OVER} / {STOCK[0]}")
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
        Table(
            "Figure 9: latency of PVM",
            columns,
            tuple(cells(size, stream=False) for size in SIZES),
        ),
        Table(
            "Figure 10: bandwidth of PVM",
            columns,
            tuple(cells(size, stream=True) for size in SIZES),
        ),
    )


def notes(found: Comparison, mpi: str | None) -> tuple[str, ...]:
    """What was asked, and whether it is so; what differs from the paper; what is missing."""
    said = [
        "The paper: two hosts of two 550 MHz processors each, a network of 1.28 Gbit/s. Here: two"
        " nodes of a lab on one host, so that only ratios can be compared.",
    ]
    over, below = _latency(found, OVER), _latency(found, BELOW)
    direct = _latency(found, STOCK[0])
    if over is not None and below is not None:
        said.append(
            f"PVM adds {time_text(max(0.0, over - below))} to half a round trip of 8 B; the paper's"
            f" {time_text(PVM[0] - PROTOCOL[0])}."
        )
    if over is not None and direct is not None:
        said.append(
            f"Half a round trip of 8 B takes {significant(over / direct)} of that over PVM's direct"
            " route."
        )
    if mpi is None:
        said.append("There is no MPI here (Debian: libopenmpi-dev): its row is missing.")
    for driver, reason in found.missing((BELOW, OVER, *STOCK, *([mpi] if mpi else []))).items():
        said.append(f"`{driver}` was not measured: {reason}.")
    return tuple(said)


def plan(seconds: float) -> list[Step]:
    """All in one comparison, whose drivers take turns."""
    mpi = _mpi()
    drivers = [BELOW, *([mpi] if mpi else []), OVER, *STOCK]
    words = ["compare", "--lab", "--drivers", ",".join(drivers), "--pattern", "pingpong,stream"]
    words += ["--sizes", ",".join(str(size) for size in SIZES), "--time", f"{seconds:g}"]
    return [Step(STEP, "PVM, MPI and what is below them, by turns", tuple(words), seconds + 5)]


def tell(found: Found) -> Reproduction:
    """What came of it."""
    comparison, mpi = found.comparisons[STEP], _mpi()
    return Reproduction(
        "Paper 002: PVM and MPI on one protocol",
        tables(comparison, mpi),
        notes(comparison, mpi),
        found.commands,
    )


PAPER = Paper("002", "MPI and PVM on one protocol: figures 9 and 10", plan, tell)
