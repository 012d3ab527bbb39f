# SPDX-License-Identifier: BSD-3-Clause
"""Paper 001: NetPIPE, which measures any protocol, and a copy in memory, over all sizes.

Times are half a round trip, throughput is size over that, as in the paper.
"""

from collections.abc import Sequence

from beowire.reproduce import shared
from beowire.reproduce.base import Paper, Part, Picture, Reproduction, Table
from beowire.reproduce.comparison import Comparison
from beowire.reproduce.shared import Shown, bits_text, quotient, text_or_absent, times_text
from beowire.reproduce.steps import Found, Step
from beowire.units import significant, size_text, time_text

#: What the paper says: ns, and bits per second.
LATENCIES = (62_000.0, 24_000.0)
GIGABIT, GIGABIT_JUMBO = 900e6, 950e6
IN_CACHE, FROM_MEMORY = 6.5e9, 4.4e9
MVAPICH = 8_000.0

_SIZES = "8,64,256,1024,1536,4KiB,16KiB,64KiB,256KiB,1MiB,4MiB"
_SHAPED = "8,1024,4KiB,16KiB,64KiB,256KiB,1MiB,4MiB"
_MODES = "8,1024,4KiB,16KiB,64KiB,256KiB,1MiB,4MiB"
_ROUND = (64, 1 << 10, 16 << 10, 256 << 10, 4 << 20)
_OFF = 3
_COPIES = ",".join(str(size + off) for size in _ROUND for off in (-_OFF, 0, _OFF))
_BUFFER = "16KiB"

_LARGE = 1 << 20
#: On a wire that is shaped: so long that what passes at once after a pause hardly counts.
_SATURATED = 4 << 20
_SHORT = 8

#: A ratio that is no loss.
_NOTHING = 0.95

#: In the picture of copies alone, where the report's colours are too much alike.
_COPY_COLOURS = {
    "memcpy": "#a07c00",
    "memcpy-bytes": "#c63e77",
    "memcpy-movsb": "#1c8c8c",
    "memcpy-nontemporal": "#1f6fc4",
}
COPIES = tuple(_COPY_COLOURS)
NATIVE = ("tcp", "tcp-spin", "beowire")


def plan(seconds: float) -> list[Step]:
    """Five comparisons."""
    mpi = shared.first_mpi()
    of_mpi = [f"mpi:{mpi}/tcp", f"mpi:{mpi}/beowire"] if mpi else []

    def step(name: str, what: str, share: float, *words: str) -> Step:
        budget = share * seconds
        return Step(name, what, ("compare", *words, "--time", f"{budget:g}"), budget + 3)

    return [
        step(
            *("warm", "protocols, from the socket to MPI, over all sizes", 0.34),
            *("--lab", "--drivers", ",".join([*NATIVE, *of_mpi, "shm", "memcpy"])),
            *("--sizes", _SIZES),
        ),
        step(
            *("gigabit", "saturation of a wire of 1 Gbit/s, and small socket buffers", 0.12),
            *("--lab", "--rate", "1g", "--drivers", "tcp,tcp-buffer,beowire"),
            *("--socket-buffer", _BUFFER, "--sizes", _SHAPED),
        ),
        step(
            *("jumbo", "the same wire with frames of 9000 bytes", 0.10),
            *("--lab", "--rate", "1g", "--mtu", "9000", "--drivers", "tcp,beowire"),
            *("--sizes", _SHAPED),
        ),
        step(
            *("modes", "with cold caches, posted receives, streams, both ways", 0.28),
            *("--lab", "--drivers", "tcp-spin,beowire"),
            *("--pattern", "pingpong,cold,burst,stream,bidirectional", "--sizes", _MODES),
        ),
        step(
            *("copies", "copies in memory, of sizes that 4 divides and others", 0.16),
            *("--drivers", ",".join(COPIES), "--pattern", "pingpong,cold", "--sizes", _COPIES),
        ),
    ]


def _half(found: Comparison | None, driver: str, size: int = _SHORT) -> float | None:
    value = None if found is None else found.half_rtt(driver, size)
    return None if value is None else value.median


def _rate(
    found: Comparison | None, driver: str, size: int = _LARGE, pattern: str = "pingpong"
) -> float | None:
    value = None if found is None else found.rate(driver, pattern, size)
    return None if value is None else value.median


def _wire_rate(found: Comparison | None, driver: str) -> float | None:
    return _rate(found, driver, _SATURATED)


def _best(found: Comparison | None, driver: str) -> float | None:
    if found is None:
        return None
    rates = [_rate(found, driver, size) for size in found.sizes("pingpong", (driver,))]
    return max((rate for rate in rates if rate is not None), default=None)


def _each(pairs: Sequence[tuple[str, str]]) -> str:
    """`tcp 12 µs, beowire 2 µs`."""
    known = [f"{name} {text}" for name, text in pairs if text != shared.ABSENT]
    return ", ".join(known) or "not measured"


def claims(found: Found) -> Table:
    """Each number of the paper beside ours."""
    warm, gigabit, jumbo, modes, copies = (
        found.comparisons.get(name) for name in ("warm", "gigabit", "jumbo", "modes", "copies")
    )
    both = ("tcp-spin", "beowire")
    wires = ("tcp", "beowire")

    def modes_ratio(driver: str, pattern: str, to: str = "pingpong") -> str:
        one, other = _rate(modes, driver, _LARGE, pattern), _rate(modes, driver, _LARGE, to)
        return times_text(quotient(one, other))

    rows = (
        (
            "half a round trip, 8 B",
            f"{time_text(LATENCIES[0])} and {time_text(LATENCIES[1])} (TCP, two gigabit cards)",
            _each([(one, text_or_absent(_half(warm, one), time_text)) for one in NATIVE]),
        ),
        (
            f"throughput, 1 Gbit/s, {size_text(_SATURATED)}, MTU 1500",
            bits_text(GIGABIT / 8),
            _each([(one, bits_text(_wire_rate(gigabit, one))) for one in wires]),
        ),
        (
            "the same, MTU 9000",
            f"{bits_text(GIGABIT_JUMBO / 8)} ({times_text(GIGABIT_JUMBO / GIGABIT)})",
            _each([(one, _to(_wire_rate(jumbo, one), _wire_rate(gigabit, one))) for one in wires]),
        ),
        (
            f"TCP's buffers of {_BUFFER}",
            "throughput flattens out",
            _each(
                [("tcp-buffer", _to(_wire_rate(gigabit, "tcp-buffer"), _wire_rate(gigabit, "tcp")))]
            ),
        ),
        (
            "a library, to what is below it",
            "to be compared at all sizes",
            _each(_of_mpis(warm)),
        ),
        (
            "time of 8 B in a stream, to half a round trip",
            "must not be taken for latency",
            _each([(one, _streamed(modes, one)) for one in both]),
        ),
        (
            f"cold caches to warm ones, {size_text(_LARGE)}",
            f"{bits_text(FROM_MEMORY / 8)} to {bits_text(IN_CACHE / 8)}"
            f" ({times_text(FROM_MEMORY / IN_CACHE)}; InfiniBand)",
            _each([(one, modes_ratio(one, "cold")) for one in both]),
        ),
        (
            "cold caches to a copy in memory, 4 MiB",
            "about 1 × (InfiniBand)",
            _each([(one, _to_copy(modes, copies, one)) for one in both]),
        ),
        (
            f"receives posted before, {size_text(_LARGE)}",
            "a good part of the time is posting",
            _each([(one, modes_ratio(one, "burst")) for one in both]),
        ),
        (
            f"both ways together, to one, {size_text(_LARGE)}",
            "a mode of its own",
            _each([(one, modes_ratio(one, "bidirectional", "stream")) for one in both]),
        ),
        (
            "copies of sizes that 4 does not divide: the most that they take longer",
            "10 × (GNU, 686), 1 × (Intel, 386)",
            _each([(one, _odd_text(copies, one)) for one in COPIES]),
        ),
        (
            "non-temporal copy from main memory, 4 MiB, to memcpy",
            "up to 1.5 ×",
            _each(
                [
                    (
                        "memcpy-nontemporal",
                        times_text(
                            quotient(
                                _rate(copies, "memcpy-nontemporal", 4 << 20, "cold"),
                                _rate(copies, "memcpy", 4 << 20, "cold"),
                            )
                        ),
                    )
                ]
            ),
        ),
    )
    return Table("What the paper says, and what is here", ("", "paper", "here"), rows)


def _to(one: float | None, other: float | None) -> str:
    return (
        bits_text(one) if one is None else f"{bits_text(one)} ({times_text(quotient(one, other))})"
    )


def _of_mpis(warm: Comparison | None) -> list[tuple[str, str]]:
    """Latency and best throughput of each MPI, as multiples of what it goes over."""
    found = []
    for driver in _mpis(warm):
        below = "beowire" if driver.endswith("/beowire") else "tcp-spin"
        latency = quotient(_half(warm, driver), _half(warm, below))
        rate = quotient(_best(warm, driver), _best(warm, below))
        found.append(
            (
                f"{driver} to {below}:",
                f"latency {times_text(latency)}, throughput {times_text(rate)}",
            )
        )
    return found


def _mpis(warm: Comparison | None) -> list[str]:
    drivers = [] if warm is None else warm.drivers("pingpong")
    return [driver for driver in drivers if driver.startswith("mpi:")]


def _streamed(modes: Comparison | None, driver: str) -> str:
    rate, half = _rate(modes, driver, _SHORT, "stream"), _half(modes, driver)
    return times_text(None if not rate or not half else _SHORT / rate * 1e9 / half)


def _to_copy(modes: Comparison | None, copies: Comparison | None, driver: str) -> str:
    size = 4 << 20
    return times_text(
        quotient(_rate(modes, driver, size, "cold"), _rate(copies, "memcpy", size, "cold"))
    )


def _odd(copies: Comparison | None, driver: str) -> tuple[float, int] | None:
    """The largest ratio of the time of a size beside a round one to that of the round one, and the
    size."""
    ratios = [
        (ratio, size + off)
        for size in _ROUND
        for off in (-_OFF, _OFF)
        if (ratio := quotient(_half(copies, driver, size + off), _half(copies, driver, size)))
    ]
    return max(ratios, default=None)


def _odd_text(copies: Comparison | None, driver: str) -> str:
    found = _odd(copies, driver)
    return shared.ABSENT if found is None else f"{times_text(found[0])} at {found[1]} B"


def parts(found: Found) -> tuple[Part, ...]:
    """The claims, and a picture for each of the paper's graphs."""
    return (
        claims(found),
        shared.part("Throughput against size", found, "warm", _throughput),
        shared.part("The signature graph: throughput against time", found, "warm", _signature),
        shared.part(
            "Figure 2: saturation at 1 Gbit/s", found, "gigabit", lambda one: _wire(one, found)
        ),
        shared.part("Figure 3: with caches, without them, posted before", found, "modes", _modes),
        shared.part("Figure 4: copies in memory", found, "copies", _copied),
    )


def _shown(found: Comparison) -> list[Shown]:
    return [Shown(driver) for driver in found.drivers("pingpong")]


def _throughput(found: Comparison) -> Picture:
    return shared.rates(
        "Throughput of a ping-pong",
        "001-throughput.svg",
        found,
        _shown(found),
        "Memory (`memcpy`, `shm`) is the bound of all that stays in one host, as this wire does.",
    )


def _signature(found: Comparison) -> Picture:
    return shared.signature(
        "Signature: throughput against the time of a message",
        "001-signature.svg",
        found,
        _shown(found),
        "Where a curve begins is the latency; where it turns flat, the protocol is saturated: from"
        " there on time only grows with the size.",
    )


def _wire(found: Comparison, all_found: Found) -> Picture:
    shown = [
        Shown("tcp", name="tcp, MTU 1500"),
        Shown("tcp-buffer", name=f"tcp, buffers {_BUFFER}"),
        Shown("beowire", name="beowire, MTU 1500"),
    ]
    jumbo = all_found.comparisons.get("jumbo")
    if jumbo is not None:
        shown += [
            Shown("tcp", name="tcp, MTU 9000", colour="#17566f", comparison=jumbo),
            Shown("beowire", name="beowire, MTU 9000", colour="#8a3405", comparison=jumbo),
        ]
    return shared.rates(
        "Throughput of a ping-pong at 1 Gbit/s",
        "001-gigabit.svg",
        found,
        shown,
        "The paper's figure also has two ports as one, by the kernel (slower than one) and striped"
        " above sockets (1.4 Gbit/s, with jumbo frames nearly 2). Short messages pass the rate, for"
        " the shaper lets a burst through after a pause, and a ping-pong has one before each.",
    )


def _modes(found: Comparison) -> Picture:
    colours = {"pingpong": "", "cold": "#8a3405", "burst": "#5d8a2d"}
    shown = [
        Shown("beowire", pattern, name=f"beowire, {pattern}", colour=colour)
        for pattern, colour in colours.items()
    ]
    shown += [
        Shown("tcp-spin", pattern, name=f"tcp-spin, {pattern}", colour=colour)
        for pattern, colour in (("pingpong", ""), ("cold", "#444444"), ("burst", "#8d6bd1"))
    ]
    return shared.rates(
        "Throughput: warm caches, cold caches, receives posted before",
        "001-caches.svg",
        found,
        shown,
        "`cold`: each message is sent from, and received into, memory that no cache holds. `burst`:"
        " up to 64 messages one way into receives that were all posted before.",
    )


def _copied(found: Comparison) -> Picture:
    shown = [
        *(Shown(driver, colour=colour) for driver, colour in _COPY_COLOURS.items()),
        *(
            Shown(driver, "cold", name=f"{driver}, cold", colour=colour)
            for driver, colour in (("memcpy", "#444444"), ("memcpy-nontemporal", "#8d6bd1"))
        ),
    ]
    return shared.rates(
        "Copy rate in memory, sizes n - 3, n, n + 3",
        "001-copies.svg",
        found,
        shown,
        "Three sizes beside each other: where a routine copies what 4 does not divide byte by byte"
        " there are spikes, as in the paper's figure.",
    )


def notes(found: Found) -> list[str]:
    """Where it differs, and why."""
    warm, gigabit = found.comparisons.get("warm"), found.comparisons.get("gigabit")
    said = [
        "The wire of a lab is memory of one host (`warm`, `modes`), or that shaped to a rate"
        " (`gigabit`, `jumbo`): times have no network card in them, so that latencies are those of"
        " protocol and kernel alone."
    ]
    tcp, spinning = _half(warm, "tcp"), _half(warm, "tcp-spin")
    if tcp and spinning:
        said.append(
            f"Of TCP's half round trip ({time_text(tcp)})"
            f" {significant(100 * (1 - spinning / tcp), 2)} % is sleeping and waking up:"
            f" with sockets that are polled it takes {time_text(spinning)}."
        )
    best = _wire_rate(gigabit, "tcp")
    if best:
        said.append(
            f"At 1 Gbit/s TCP's ping-pong of {size_text(_SATURATED)} reaches {bits_text(best)};"
            " frames of 1500 bytes can carry 949 Mbit/s in a stream. The paper's card reached 900."
        )
    small = quotient(_wire_rate(gigabit, "tcp-buffer"), best)
    if small and small > _NOTHING:
        said.append(
            f"Socket buffers of {_BUFFER} cost TCP nothing here ({times_text(small)}), where the"
            " paper has them limit it: on a wire without delay more than they hold is never under"
            " way. (`beowire lab up --rate 1g --delay 100us` is one with delay.)"
        )
    said.append(
        "`burst` is not the paper's burst mode, which still waits for each answer: here up to 64"
        " messages are under way, and each burst waits for the word that its receives are posted."
    )
    copies = found.comparisons.get("copies")
    odd, slow = (
        _odd(copies, "memcpy"),
        quotient(_rate(copies, "memcpy", 1 << 10), _rate(copies, "memcpy-bytes", 1 << 10)),
    )
    if odd and slow:
        said.append(
            f"Sizes that 4 does not divide cost today's memcpy {times_text(odd[0])} at most; a loop"
            f" over bytes is {significant(slow)} times slower than it at 1 KiB, which is what the"
            " paper's spikes were."
        )
    said += [
        "Not repeated: two ports as one (a lab's node has one card), InfiniBand and its MPI (no"
        " such card; soft-RoCE is paper 003), glibc for the 386 and Intel's compiler. One-sided"
        " puts and gets: `beowire compare --drivers mpi-put,mpi-get,shmem-put,shmem-get`. PVM:"
        " paper 002. Messages that are checked: `--pattern integrity`.",
    ]
    return [*said, *shared.left_out(found)]


def tell(found: Found) -> Reproduction:
    """The page."""
    records = found.records
    return Reproduction(
        "Paper 001: NetPIPE, any protocol over all sizes",
        parts(found),
        tuple(notes(found)),
        found.commands,
        lead=(
            "The paper shows what one tool finds by bouncing messages of all sizes over any"
            " protocol, and by copying them in memory: latency, saturation, what caches do, what is"
            " lost above the socket. `beowire netpipe` takes its command lines"
            " ([NETPIPE.md](../NETPIPE.md)).",
            *([shared.where_of(records[0])] if records else []),
        ),
    )


PAPER = Paper("001", "NetPIPE: protocols, caches and copies over all sizes", plan, tell)
