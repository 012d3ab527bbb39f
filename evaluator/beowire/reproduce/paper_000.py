# SPDX-License-Identifier: BSD-3-Clause
"""Paper 000: TIPC beside TCP, from the socket to NAS's kernels.

It takes a kernel with TIPC, so nodes are machines; their card is the paper's, an 82540EM (e1000).
"""

from functools import partial

from beowire import drawing
from beowire.apps.record import IDLE, AppsRecord
from beowire.report.charts import RATES, SIZES
from beowire.reproduce import shared
from beowire.reproduce.base import Missing, Paper, Part, Picture, Reproduction, Table
from beowire.reproduce.comparison import Comparison
from beowire.reproduce.shared import Shown, axis, quotient, times_text
from beowire.reproduce.steps import Found, Step
from beowire.units import significant, size_text

#: The paper's table 1: how much faster, in %, each kernel is over TIPC than over TCP.
RELATIVE = {
    "cg": (2.07, 2.35),
    "is": (-0.79, -0.02),
    "lu": (4.96, 8.34),
    "mg": (2.71, 3.20),
    "sp": (1.10, 3.44),
    "ep": (-0.68, 0.06),
}
CPU_LESS = 0.35
"""Of a message up to 1 KB, under full load."""

KERNELS = ("cg", "is", "mg")
LOAD, LOAD_OF_APPS = "hog:0", "nice0"

TCP, STREAM = "tcp", "tipc"
TIPCS = ("tipc", "tipc-seqpacket", "tipc-rdm")
SOCKETS = (TCP, "tcp-nagle", *TIPCS)
_NAMES = {
    "tipc": "TIPC, stream",
    "tipc-seqpacket": "TIPC, connection",
    "tipc-rdm": "TIPC, connectionless",
    "tcp": "TCP, NODELAY",
    "tcp-nagle": "TCP",
}
_COLOURS = {
    "tipc": "#d9540b",
    "tipc-seqpacket": "#a07c00",
    "tipc-rdm": "#bb6296",
    "tcp": "#1f6fc4",
    "tcp-nagle": "#0b9269",
}
_SIZES = "64,1024,4KiB,16KiB,60000,256KiB"
_MPI_SIZES = "64,1024,16KiB,64KiB,128KiB"
_PROBED = (64, 1024, 16 << 10, 60_000)
_MACHINES = ("--lab", "--backend", "vm", "--nic", "e1000")

#: Booting two emulated machines; the first launch of a program in them, and each after it.
_BOOT_S, _FIRST_S, _LAUNCH_S = 45.0, 25.0, 12.0
_LEAST_LAUNCHES = 3


def plan(seconds: float) -> list[Step]:
    """Sockets, MPI, NAS: the latter as many launches as there is time for."""
    absent = shared.no_machines()
    mpi = shared.first_mpi() or ""
    no_mpi = "" if mpi else "there is no MPI here (Debian: libopenmpi-dev)"
    sockets, of_mpi, of_nas = 0.45 * seconds, 0.15 * seconds, 0.40 * seconds
    ways = len(KERNELS) * 2
    rounds = max(_LEAST_LAUNCHES, round((of_nas / ways - _FIRST_S) / _LAUNCH_S))
    nas_s = ways * (_FIRST_S + rounds * _LAUNCH_S)
    kernels = ("apps", "run", *KERNELS, *_MACHINES, "--over", "tcp,tipc", "--class", "S")
    return [
        Step(
            "sockets",
            "TCP's and TIPC's sockets, idle and loaded",
            (
                *("compare", *_MACHINES, "--drivers", ",".join(SOCKETS)),
                *("--pattern", "pingpong,stream", "--sizes", _SIZES),
                *("--load", LOAD, "--time", f"{sockets:g}"),
            ),
            sockets + _BOOT_S,
            absent,
        ),
        Step(
            "mpi",
            "MPI over the lane of TIPC, and over TCP",
            (
                *("compare", *_MACHINES, "--drivers", f"mpi:{mpi}/tcp,mpi:{mpi}/tipc"),
                *("--sizes", _MPI_SIZES, "--time", f"{of_mpi:g}"),
            ),
            of_mpi + _BOOT_S,
            absent or no_mpi,
        ),
        Step(
            "nas",
            "NAS's kernels over both",
            (*kernels, "--launches", str(rounds), "--no-profile", "--mpi", mpi),
            nas_s + _BOOT_S,
            absent or no_mpi,
        ),
        Step(
            "nas-loaded",
            "the same beside a program that computes on each node",
            (
                *(*kernels, "--launches", str(rounds), "--no-profile", "--mpi", mpi),
                *("--load", LOAD_OF_APPS),
            ),
            1.5 * nas_s + _BOOT_S,
            absent or no_mpi,
        ),
    ]


def _efficiency(found: Comparison, driver: str, size: int, load: str | None) -> float | None:
    return shared.per_system_second(found, Shown(driver, "stream", load), size)


def _cpu(found: Comparison, driver: str, size: int, load: str | None) -> float | None:
    cell = found.cell(driver, "pingpong", size, load)
    return None if cell is None else cell.cpu_ns_per_message


def _rows(found: Comparison, driver: str) -> list[tuple[str, ...]]:
    """TCP to a kind of TIPC's sockets: time, CPU, throughput to a second of system time."""
    rows = []
    for load in (None, LOAD):
        for size in _PROBED:
            summaries = [found.time(one, "pingpong", size, load) for one in (TCP, driver)]
            ratios = (
                quotient(_cpu(found, driver, size, load), _cpu(found, TCP, size, load)),
                quotient(
                    _efficiency(found, driver, size, load), _efficiency(found, TCP, size, load)
                ),
            )
            if None not in summaries or any(one is not None for one in ratios):
                rows.append(
                    (
                        f"{_NAMES[driver]}, {size_text(size)}, {'loaded' if load else 'idle'}",
                        shared.ratio_text(*summaries),
                        *(times_text(one) for one in ratios),
                    )
                )
    return rows


def sockets(found: Comparison) -> Table:
    """The paper's claims of sockets, in ratios."""
    columns = ("", "TCP's time to TIPC's", "TIPC's CPU to TCP's", "TIPC's throughput per system s")
    rows = tuple(row for driver in TIPCS for row in _rows(found, driver))
    if not rows:
        raise drawing.Nothing("TIPC to TCP")
    return Table(
        "TIPC to TCP (NODELAY)",
        columns,
        rows,
        "In brackets how far the 95 % intervals of both let it be (`?`: too few rounds for one):"
        " where 1 is within, the two are not told apart. More than 1 × in the first and the last"
        " column, less in the middle one, is what the paper"
        " found for short messages (latency from its figure 1, which has no numbers; of CPU up to"
        f" 1 KB under full load it cites {significant(100 * CPU_LESS, 2)} % less, so"
        f' {times_text(1 - CPU_LESS)}; throughput per second of system time "dramatically'
        ' better"). CPU: user, system and softirq time of a round trip, both ends.',
    )


def _figure_1(found: Comparison, load: str | None) -> Picture:
    loaded = "loaded" if load else "idle"
    shown = [
        Shown(driver, load=load, name=_NAMES[driver], colour=_COLOURS[driver]) for driver in SOCKETS
    ]
    return shared.relative(
        f"Latency as a multiple of TIPC's (stream), {loaded}",
        f"000-latency-{loaded}.svg",
        found,
        shown,
        to=Shown(STREAM, load=load, name="TIPC, stream"),
        said="Connection and connectionless sockets carry up to 66,000 bytes in one message.",
    )


def _figure_2(found: Comparison, load: str | None) -> Picture:
    loaded = "loaded" if load else "idle"
    lines = []
    for driver in SOCKETS:
        shown = Shown(driver, "stream", load, _NAMES[driver], _COLOURS[driver])
        lines.append(shown.curve(shown.points(found, shared.per_system_second)))
    up = axis(RATES, "payload to a second of system time")
    title = f"Throughput to a second of system time, {loaded}"
    return Picture(
        title,
        f"000-system-{loaded}.svg",
        drawing.curves(title, SIZES, up, lines),
        "Streams; system time is that of both processes. Work that the kernel does in softirqs"
        " besides is in the CPU of the table.",
    )


def _figure_3(found: Comparison) -> Picture:
    names = found.drivers("pingpong")
    tcp = next((name for name in names if name.endswith("/tcp")), "")
    return shared.relative(
        "MPI: latency as a multiple of that over TCP",
        "000-mpi.svg",
        found,
        [Shown(name) for name in names],
        to=Shown(tcp),
        said="The paper: a clear advantage of TIPC below 16 KB, and a sharp rise at 128 KB, where"
        " its messages were cut at 66 KB and each part agreed upon.",
    )


def _gain(record: AppsRecord | None, app: str, load: str) -> str:
    """`+4.96`: how much faster over TIPC, in %."""
    if record is None:
        return shared.ABSENT
    ratio = quotient(shared.best(record, app, "tipc", load), shared.best(record, app, "tcp", load))
    return shared.ABSENT if ratio is None else f"{100 * (ratio - 1):+.2f}"


def _mpi_table(found: Comparison) -> Table:
    """Figure 3 in numbers, with how far they may be wrong."""
    names = found.drivers("pingpong")
    tcp, tipc = (
        next((name for name in names if name.endswith(way)), "") for way in ("/tcp", "/tipc")
    )
    rows = [
        (
            size_text(size),
            shared.ratio_text(
                found.time(tcp, "pingpong", size), found.time(tipc, "pingpong", size)
            ),
        )
        for size in found.sizes("pingpong")
    ]
    return Table("MPI: TCP's time to TIPC's", ("message", f"{tcp} to {tipc}"), tuple(rows))


def _spread(record: AppsRecord) -> float:
    """By how much launches of one program over one way differ, at most: largest to least."""
    figures: dict[tuple[str, str, str, str], list[float]] = {}
    for one in record.launches:
        if one.round > 0 and one.figure:
            figures.setdefault(one.key, []).append(one.figure)
    return max((max(each) / min(each) for each in figures.values()), default=1.0)


def kernels(found: Found) -> Part:
    """The paper's table 1."""
    title = "Table 1: NAS's kernels, TIPC relative to TCP, %"
    idle, loaded = found.programs.get("nas"), found.programs.get("nas-loaded")
    if idle is None and loaded is None:
        return Missing(title, found.why("nas"))
    rows = [
        (
            app.upper(),
            *(f"{value:+.2f}" for value in RELATIVE[app]),
            _gain(idle, app, IDLE),
            _gain(loaded, app, LOAD_OF_APPS),
        )
        for app in RELATIVE
    ]
    columns = ("", "paper, idle", "paper, loaded", "here, idle", "here, loaded")
    known = idle or loaded
    assert known is not None
    launches = known.meta.options.get("launches")
    return Table(
        title,
        columns,
        tuple(rows),
        f"The paper: class W on sixteen processors, the best of five. Here: class S, two ranks, the"
        f" best of {launches}, of which those of one program over one way differ by up to"
        f" {times_text(_spread(known))}: what is less than that tells nothing. LU and SP are not"
        " among our kernels (`--npb DIR` runs NPB's own).",
    )


def _lost(found: Comparison) -> str:
    """`12 % at 64 B`, of streams of idle nodes; empty: nothing was lost."""
    words = []
    for size in found.sizes("stream", ("tipc-rdm",)):
        cell = found.cell("tipc-rdm", "stream", size)
        if cell is not None and cell.lost:
            share = 100 * cell.lost / (cell.n + cell.lost)
            words.append(f"{significant(share, 2)} % at {size_text(size)}")
    return ", ".join(words)


def _of_streams(found: Comparison) -> list[str]:
    """Where TCP's streams need less of the system's time than TIPC's."""
    size = _PROBED[0]
    ratio = quotient(*(_efficiency(found, driver, size, None) for driver in (STREAM, TCP)))
    if ratio is None or ratio >= 1:
        return []
    return [
        f"Streams of {size_text(size)}: TIPC has {times_text(ratio)} of TCP's throughput per second"
        " of system time, the reverse of the paper, though a round trip costs it less CPU. Probably"
        " because Linux gathers short TCP segments while earlier ones wait for the card (since"
        " 2013); that has not been looked into."
    ]


def notes(found: Found) -> list[str]:
    """Where it differs, and why."""
    said = [
        "MPI goes over TIPC by Beowire's lane of connectionless sockets, beneath libfabric; the"
        " paper's was a module of Open MPI that used TIPC in place of TCP. What is above the"
        " socket is so another protocol than the MPI's own over TCP.",
        "The emulated card cuts and checksums for TCP (its driver has both on), so TCP's curves are"
        " those with hardware offloading of the paper; it takes away none of the host's work.",
        "Not repeated: GAMMA (a driver of its own for kernels of 2006), MPICH's ch_p4, sixteen"
        " processors.",
    ]
    sockets = found.comparisons.get("sockets")
    if sockets is not None:
        said += _of_streams(sockets)
    if sockets is not None and (lost := _lost(sockets)):
        said.append(
            f"Connectionless streams lose what finds the receiver's buffer full: {lost}. Their"
            " throughput counts what arrived."
        )
    return [*said, *shared.left_out(found)]


def tell(found: Found) -> Reproduction:
    """The page."""
    one: list[str] = []
    if found.records:
        one = [shared.where_of(found.records[0])]
    elif found.programs:
        record = next(iter(found.programs.values()))
        one = [shared.where(record.meta.link, record.meta.ends, f"{record.meta.started:%-d %B %Y}")]
    loads = (("idle", None), ("loaded", LOAD))
    pictures = [
        shared.part(f"Figure 1: latency, {word}", found, "sockets", partial(_figure_1, load=load))
        for word, load in loads
    ] + [
        shared.part(
            f"Figure 2: resource usage, {word}", found, "sockets", partial(_figure_2, load=load)
        )
        for word, load in loads
    ]
    return Reproduction(
        "Paper 000: TIPC beside TCP",
        (
            shared.part("TIPC to TCP (NODELAY)", found, "sockets", sockets),
            *pictures,
            shared.part("Figure 3: MPI", found, "mpi", _figure_3),
            shared.part("MPI: TCP's time to TIPC's", found, "mpi", _mpi_table),
            kernels(found),
        ),
        tuple(notes(found)),
        found.commands,
        lead=(
            shared.EMULATED,
            "The paper: TIPC has lower latency than TCP for short messages, needs much less of the"
            " system's time, and more so on loaded nodes; MPI programs with short messages gain a"
            " few per cent.",
            *one,
        ),
    )


PAPER = Paper("000", "TIPC beside TCP, from the socket to NAS's kernels", plan, tell)
