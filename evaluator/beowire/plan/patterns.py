# SPDX-License-Identifier: BSD-3-Clause
"""The patterns: what two ends do in a round, and how all that shows a result speaks of it.

One row a pattern. The engine has the same table (evaluator/engine/pattern.c, one C file a pattern);
what is here is what the engine need not know. Plan, session, cell, display, terminal and report
read these rows, and none of them knows a pattern by its name. docs/EXTENDING.md has the recipe.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from beowire.errors import BeowireError
from beowire.record.lines import DriverInfo

#: What a driver must be able to do, by the engine's name for it, and what is said where it cannot.
NEEDS: Mapping[str, str] = {
    "peer": "it has no other end",
    "reliable": "it loses messages",
    "posting": "it cannot post messages (post_send in driver.h)",
    "anywhere": "its messages use buffers chosen in advance (fixed in driver.h)",
    "collective": "it has no collective operations (collective in driver.h)",
}


@dataclass(frozen=True)
class Pattern:
    """A pattern. Texts are parts of sentences: they begin in lower case."""

    name: str
    """What `--pattern` takes, and what the engine and the record call it."""
    summary: str
    """What both ends do, in a line: the engine says the same."""
    reports: Literal["times", "rates"]
    """A sample a message, or messages a round."""
    noun: str
    """One of it."""
    quantity: str
    """What is measured."""
    field: Literal["half_rtt_ns", "time_ns", "rate_bytes_per_s"]
    """The record's field that has it."""
    each: str
    """What a sample is of, or what is counted."""
    caption: str
    """How to read its chart, in HTML."""
    rate: str = ""
    """Of times: what the throughput is that they come to."""
    share: float = 1.0
    """How much of a sample the quantity is."""
    ways: int = 1
    """In how many directions the messages that are counted go."""
    batch: int = 1
    """How many a sample is of, at least; 0: it is always of one."""
    crossings: int = 1
    """Messages that cross for each that is counted; 0: none that has a size, or what is done
    besides (waiting for the time of the next one, too) takes CPU time, so that there is no service
    demand."""
    needs: tuple[str, ...] = ()
    """Of NEEDS."""
    sized: bool = True
    """It depends on a size; if not, it is measured once."""
    min_size: int = 0
    """Bytes of the smallest message that carries what it has to."""
    answered: bool = True
    """Of times: whoever sends takes the samples, for every message is answered."""
    many: bool = False
    """It is between all nodes, and not only the first two."""
    sizes: tuple[int, ...] = ()
    """What is measured unless sizes are asked for, if not NetPIPE's schedule: a round is long."""
    engine: str = ""
    """The engine's pattern that carries it, if that has another name."""

    @property
    def carried_by(self) -> str:
        """What the engines are told to run."""
        return self.engine or self.name

    @property
    def samples_at_initiator(self) -> bool:
        """When the initiator is done, so is all that counts."""
        return self.is_times and self.answered

    @property
    def is_times(self) -> bool:
        """It has samples: percentiles, a distribution, less is better."""
        return self.reports == "times"

    @property
    def title(self) -> str:
        """The quantity, as a title begins."""
        return self.quantity[0].upper() + self.quantity[1:]

    def obstacle(self, driver: DriverInfo) -> str:
        """Why this driver cannot carry it, in a line; empty if it can."""
        if self.many and driver.placement == "host":
            return "both of its ends are on one node"
        able = {
            "peer": driver.placement != "process",
            "reliable": driver.reliable,
            "posting": driver.posts,
            "anywhere": not driver.fixed,
            "collective": driver.collective,
        }
        return next((NEEDS[need] for need in NEEDS if need in self.needs and not able[need]), "")


#: For patterns whose rounds are long.
_FEW_SIZES = (64, 1024, 16384, 262144)

_ROWS = (
    Pattern(
        name="pingpong",
        summary="one message there, and one of the same size back",
        reports="times",
        noun="a ping-pong",
        quantity="half round trip",
        field="half_rtt_ns",
        each="round trip",
        share=0.5,
        rate="throughput of a ping-pong (size / half round trip)",
        crossings=2,
        caption="Half of the round trip of a message against its size: the median, with the 95 %"
        " interval of the median as a band. Lower is better. Dashed are bounds: <i>packet</i>"
        " is the floor, bare frames without any protocol; <i>memcpy</i> is one copy in memory.",
    ),
    Pattern(
        name="pingping",
        summary="both ends send a message at the same time, then each receives the other's",
        reports="times",
        noun="a ping-ping",
        quantity="time of an exchange",
        field="time_ns",
        each="exchange",
        rate="throughput of a ping-ping, each way (size / time of an exchange)",
        needs=("peer", "reliable", "posting"),
        crossings=2,
        caption="Both ends send a message at the same time, and each waits for the other's: what a"
        " protocol does when a message comes while one goes. The time is not halved. Lower is"
        " better.",
    ),
    Pattern(
        name="request",
        summary="a request of 8 bytes there, and a message of the size back",
        reports="times",
        noun="a request",
        quantity="time of a request and its answer",
        field="time_ns",
        each="request",
        rate="throughput that one request after the other comes to (size / time)",
        needs=("peer",),
        caption="A request of 8 bytes goes there, and a message of the size comes back: what the"
        " client of a file server or of a store of keys waits for. The time is of both. Lower is"
        " better.",
    ),
    Pattern(
        name="stream",
        summary="messages one way, many under way at once; the last is answered",
        reports="rates",
        noun="a stream",
        quantity="throughput of a stream",
        field="rate_bytes_per_s",
        each="message",
        needs=("peer",),
        caption="Messages one way, one after the other without waiting, until the last is"
        " acknowledged. Higher is better.",
    ),
    Pattern(
        name="bidirectional",
        summary="messages both ways at the same time, many under way at once",
        reports="rates",
        noun="two streams",
        quantity="throughput of two streams, both ways together",
        field="rate_bytes_per_s",
        each="message",
        ways=2,
        needs=("peer", "reliable", "posting"),
        caption="A stream each way at the same time, until all has arrived at both ends: bytes and"
        " messages of both ways together. Higher is better.",
    ),
    Pattern(
        name="burst",
        summary="bursts of 64 messages one way, each with a receive posted in advance",
        reports="rates",
        noun="bursts",
        quantity="throughput of bursts",
        field="rate_bytes_per_s",
        each="message",
        needs=("peer", "reliable", "posting"),
        caption="Bursts of up to 64 messages one way. The receiver posts a receive for each of"
        " them, then says that they may come: so nothing comes unexpected, and each burst waits for"
        " that word. Higher is better.",
    ),
    Pattern(
        name="integrity",
        summary="messages both ways by turns, every byte of which is checked",
        reports="rates",
        noun="checked messages",
        quantity="throughput of checked messages",
        field="rate_bytes_per_s",
        each="message",
        ways=2,
        needs=("peer", "reliable"),
        caption="Messages both ways by turns, up to 64 at a time, each of its own content. Every"
        " byte is checked where it arrives, and one that is wrong ends the driver: what is here"
        " was right. Making and checking is in the time. Higher is better.",
    ),
    Pattern(
        name="cold",
        summary="a ping-pong whose buffers move through twice the last-level cache",
        reports="times",
        noun="a ping-pong with cold caches",
        quantity="half round trip with cold caches",
        field="half_rtt_ns",
        each="round trip",
        share=0.5,
        rate="throughput with cold caches (size / half round trip)",
        needs=("anywhere",),
        crossings=2,
        caption="A ping-pong in which every message is sent from, and put into, memory that no"
        " cache holds: it walks through twice the last-level cache, or as much as there is memory"
        " for. Lower is better.",
    ),
    Pattern(
        name="alignment",
        summary="a ping-pong whose messages begin at another offset in a page each time",
        reports="times",
        noun="a ping-pong at any alignment",
        quantity="half round trip at any alignment",
        field="half_rtt_ns",
        each="round trip",
        share=0.5,
        rate="throughput at any alignment (size / half round trip)",
        crossings=2,
        caption="A ping-pong in which every message begins at another place of a page, at odd"
        " addresses as often as at even ones. Lower is better.",
    ),
    Pattern(
        name="overlap",
        summary="a message sent, and one received, by an end that computes meanwhile",
        reports="times",
        noun="a message beside computing",
        quantity="cost of a message beside computing",
        field="time_ns",
        each="exchange",
        share=0.5,
        batch=0,
        rate="throughput that this comes to (size / cost)",
        needs=("peer", "reliable", "posting"),
        crossings=0,
        caption="What a message takes beyond the computing that its end does meanwhile, which is as"
        " much as fits into the time that it takes alone: the mean of one sent and one received."
        " Near nothing where the transfer goes on by itself. Lower is better.",
    ),
    Pattern(
        name="pipeline",
        summary="messages one by one between pieces of work, to an end that works as long on each",
        reports="times",
        noun="a message between pieces of work",
        quantity="cost of a message between pieces of work",
        field="time_ns",
        each="message",
        batch=32,
        rate="throughput that this comes to (size / cost between pieces of work)",
        needs=("peer", "reliable"),
        crossings=0,
        caption="Messages are sent one by one between pieces of work of 20 µs, to an end that works"
        " as long on each: what programs do that hand rows on. The time is what a message adds to"
        " the work, in sweeps of 32: what is hidden behind work costs nothing. Lower is better.",
    ),
    Pattern(
        name="barrier",
        summary="barriers: each end waits for all others",
        reports="times",
        noun="barriers",
        quantity="time of a barrier",
        field="time_ns",
        each="barrier",
        batch=8,
        rate="rate of barriers (a byte each)",
        needs=("peer", "reliable", "collective"),
        crossings=0,
        sized=False,
        caption="Barriers without pause: what it takes until all have come to the same place. It"
        " has no size, so it is measured once. Lower is better.",
    ),
    Pattern(
        name="broadcast",
        summary="broadcasts: one end sends to all, another one each time",
        reports="times",
        noun="broadcasts",
        quantity="time of a broadcast",
        field="time_ns",
        each="broadcast",
        batch=8,
        rate="throughput of broadcasts (size / time of a broadcast)",
        needs=("peer", "reliable", "collective"),
        caption="Broadcasts without pause, from each rank by turns, so that nobody only pushes."
        " Lower is better.",
    ),
    Pattern(
        name="allreduce",
        summary="reductions: all ends get the sum, byte by byte, of their messages",
        reports="times",
        noun="reductions",
        quantity="time of a reduction",
        field="time_ns",
        each="reduction",
        batch=8,
        rate="throughput of reductions (size / time of a reduction)",
        needs=("peer", "reliable", "collective"),
        crossings=2,
        caption="Reductions without pause: the sum of what all ranks have, byte by byte, gets to"
        " all of them. Lower is better.",
    ),
    Pattern(
        name="alltoall",
        summary="exchanges: each end sends a message to each, itself included",
        reports="times",
        noun="exchanges of all",
        quantity="time of an exchange of all",
        field="time_ns",
        each="exchange",
        batch=8,
        rate="throughput of exchanges (size / time of an exchange)",
        needs=("peer", "reliable", "collective"),
        crossings=2,
        caption="Exchanges without pause: each rank has a message of the size for each rank,"
        " itself included. Lower is better.",
    ),
    Pattern(
        name="open-loop",
        summary="messages at a fixed rate, each timed from when it was due",
        reports="times",
        noun="messages at a given rate",
        quantity="time of a message at half of the loss-free rate",
        field="time_ns",
        each="message",
        batch=0,
        rate="throughput that one message at a time would come to (size / time)",
        needs=("peer",),
        crossings=0,
        min_size=16,
        answered=False,
        sizes=_FEW_SIZES,
        caption="Messages go by a clock, whatever becomes of those before, and each is timed from"
        " when it was due: a stall delays all that were due meanwhile, and all of them count. First"
        " the rate is found up to which none is lost and the clock is kept, then 10, 50 and 90 % of"
        " it are tried; the chart is of 50 %. Between hosts, whose clocks differ, each message is"
        " answered before the next goes, and half of the round trip counts. Lower is better.",
    ),
    Pattern(
        name="oneway",
        summary="one message there, and one back with the time when the first arrived",
        reports="times",
        noun="a message one way",
        quantity="time of one way",
        field="time_ns",
        each="message",
        batch=0,
        rate="throughput that this comes to (size / time of one way)",
        needs=("peer",),
        crossings=2,
        min_size=16,
        sizes=_FEW_SIZES,
        caption="From the moment before a message is sent to the one when it is here, by a clock"
        " that both ends share, or by two whose offset is known as well as the smallest round trips"
        " tell: half of the least one is the bound, which stands with each figure. Lower is"
        " better.",
    ),
    Pattern(
        name="incast",
        summary="messages to an end to which others send at the same time, each answered",
        reports="times",
        noun="an incast",
        quantity="time until all senders are answered",
        field="time_ns",
        each="burst",
        batch=0,
        rate="goodput of an incast (size of all messages / time until all are answered)",
        needs=("peer", "reliable"),
        crossings=0,
        many=True,
        sizes=_FEW_SIZES,
        caption="All nodes but the first send it a message at the same moment; the time is until"
        " the last of them has its answer. The table below has it by the number of senders. Lower"
        " is better.",
    ),
    Pattern(
        name="pairs",
        summary="streams between pairs of nodes, all at the same time",
        reports="rates",
        noun="streams between pairs",
        quantity="throughput of all pairs together",
        field="rate_bytes_per_s",
        each="message",
        needs=("peer",),
        many=True,
        sizes=_FEW_SIZES,
        engine="stream",
        caption="A stream between each node of the first half and one of the second, all begun at"
        " the same moment: the sum of their rates. The table below has the slowest. Higher is"
        " better.",
    ),
    Pattern(
        name="all-pairs",
        summary="a ping-pong and a stream between each two nodes, one pair after the other",
        reports="times",
        noun="ping-pongs between all pairs",
        quantity="half round trip over all pairs",
        field="half_rtt_ns",
        each="round trip",
        share=0.5,
        rate="throughput of a ping-pong over all pairs (size / half round trip)",
        needs=("peer",),
        crossings=2,
        many=True,
        sizes=_FEW_SIZES,
        engine="pingpong",
        caption="Each pair of nodes by itself, in turns: half of the round trip, of all pairs"
        " pooled. The tables below have each pair, and name a link that is slower than others."
        " Lower is better.",
    ),
)

#: By name, in the order in which they are shown.
PATTERNS: Mapping[str, Pattern] = {row.name: row for row in _ROWS}

#: What is measured unless something else is asked for; summaries and advice are about it.
DEFAULT = PATTERNS["pingpong"]


def check_nodes(patterns: Sequence[str], nodes: int) -> bool:
    """Whether one of the patterns is between all nodes. BeowireError if it cannot be between so
    many."""
    many = [name for name in patterns if PATTERNS[name].many]
    if "pairs" in many and nodes % 2:
        raise BeowireError(f"{nodes} nodes are no pairs: take an even number for --pattern pairs")
    return bool(many)


def parse_patterns(text: str) -> list[str]:
    """The patterns of `--pattern`, each once. Raises BeowireError."""
    names = list(dict.fromkeys(word.strip() for word in text.split(",")))
    for name in names:
        if name not in PATTERNS:
            raise BeowireError(f"no pattern {name!r}: there are {', '.join(PATTERNS)}")
    return names
