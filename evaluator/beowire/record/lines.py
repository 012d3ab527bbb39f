# SPDX-License-Identifier: BSD-3-Clause
"""The lines of the record of a run. The format is docs/RECORD.md.

Times are in nanoseconds, rates in bytes per second, sizes in bytes. Values are checked strictly
(no text where a number belongs, no NaN, no infinity). A field that this version does not know is
kept, so a record that passes through an older reader of the same schema loses nothing.
"""

from typing import Annotated, Literal

from pydantic import (
    AwareDatetime,
    BeforeValidator,
    Field,
    JsonValue,
    PrivateAttr,
    Strict,
    model_validator,
)

from beowire.record.histogram import bucket_index, bucket_lower
from beowire.record.parts import Found, Link, RecordLine, RecordPart

#: The schema that is written, and the newest that is read. A new optional field does not change
#: it; a new type of line, a changed meaning or a removed field does.
SCHEMA = 1

#: What one cell of an environment can hold: what a person would compare between two nodes.
EnvironmentValue = str | int | float | bool | None

#: Driver, pattern, size and load.
CellOfAll = tuple[str, str, int, str | None]

_Lenient = Strict(False)  # a list may stand for a tuple: JSON knows only lists


def _encodable(value: object) -> object:
    """Replaces what UTF-8 cannot hold: a command line may have any bytes, a record may not."""
    match value:
        case str():
            return value.encode(errors="replace").decode()
        case list():
            return [_encodable(item) for item in value]
        case dict():
            return {_encodable(key): _encodable(item) for key, item in value.items()}
        case _:
            return value


#: For texts of others.
Encodable = BeforeValidator(_encodable)
Text = Annotated[str, Encodable]


class Wire(RecordPart):
    """The limit that no protocol on this wire can pass."""

    payload_bytes_per_s: float = Field(gt=0)
    """Bytes of payload per second of full-sized frames, back to back."""


class Clock(RecordPart):
    """The clock that timed, as the engine measured it."""

    source: str
    overhead_ns: float = Field(ge=0)
    overhead_p99_ns: float | None = None
    resolution_ns: float | None = None


class CallCost(RecordPart):
    """What was added to each system call there, as an engine measured it."""

    steps: int = Field(ge=0)
    """Of the filter that adds it."""
    before_ns: float
    """What one takes without: getppid(2)."""
    added_ns: float


class NodeEnd(RecordPart):
    """One end of the run."""

    node: str
    address: str | None = None
    interface: str | None = None
    cpu: int | None = None
    """The CPU that the engines were pinned to; None when they were not."""
    clock: Clock | None = None
    call_cost: CallCost | None = None
    """None: nothing was added."""
    environment: dict[str, EnvironmentValue] = Field(default_factory=dict)


class DriverInfo(RecordPart):
    """A driver as the engine reported it."""

    name: str
    summary: str
    placement: str
    """`pair`, `host` or `process`."""
    reliable: bool
    spins: bool
    posts: bool = False
    """It can begin to send and receive, and go on meanwhile."""
    fixed: bool = False
    """Messages lie in memory that was named in advance."""
    collective: bool = False
    """It has operations of all ends together."""
    min_size: int
    max_size: int
    ready: bool
    reason: str = ""


class ProbeInfo(RecordPart):
    """What a probe counts at each end, as the engines reported it."""

    name: str
    """In results; it ends in its unit, if it has one."""
    summary: str
    unit: str
    """`ns`, or empty for a number of things."""
    per: Literal["message", "second"]
    """What its values are of."""
    probe: str
    """What counts it: `--probes` takes this."""
    how: str
    of: str
    """`process`, `cpus` (those that the engine may use, whoever uses them) or `machine`."""
    disturbs: bool
    """It costs what is measured something: it has rounds of its own."""
    reasons: list[str]
    """Why it cannot be had: of the initiator, of the responder; empty: it can."""


class Meta(RecordLine):
    """The first line: what was asked for, where, and on what."""

    type: Literal["meta"] = "meta"
    schema_version: int = Field(default=SCHEMA, alias="schema", ge=1)
    beowire: str
    """The version that measured."""
    started: AwareDatetime
    command: Annotated[list[str], Encodable]
    """The command line, one word an item."""
    options: Annotated[dict[str, JsonValue], Encodable]
    link: Link
    wire: Wire | None
    ends: list[NodeEnd] = Field(min_length=2, max_length=2)
    """The initiator, then the responder."""
    others: list[NodeEnd] = Field(default_factory=list)
    """The other nodes, where a pattern was between more than two."""
    drivers: list[DriverInfo]
    probes: list[ProbeInfo] = Field(default_factory=list)
    findings: list[Found] = Field(default_factory=list)
    """What of the nodes costs time, the worst first; none: it was not looked."""


class Summary(RecordPart):
    """A measured quantity. Its unit is in the name of the field that holds it."""

    median: float = Field(ge=0)
    ci95: Annotated[tuple[float, float], _Lenient] | None
    """95 % interval of the median; None when there were too few rounds for one."""
    p90: float | None
    """None when n is too small for an upper limit of this percentile."""
    p99: float | None
    min: float
    max: float


class Histogram(RecordPart):
    """Round-trip times in ns, in the log-linear buckets of docs/ENGINE.md."""

    kind: Literal["log-linear-7"] = "log-linear-7"
    buckets: list[Annotated[tuple[int, int], _Lenient]]
    """(smallest value in ns, count) of each bucket that holds something, rising."""

    @model_validator(mode="after")
    def _in_order(self) -> "Histogram":
        previous = -1
        for lower, count in self.buckets:
            if lower <= previous or not _is_bucket(lower) or count < 1:
                raise ValueError(f"[{lower}, {count}] is not the next bucket and its count")
            previous = lower
        return self


def _is_bucket(lower_ns: int) -> bool:
    try:
        return bucket_lower(bucket_index(lower_ns)) == lower_ns
    except ValueError:
        return False


class CpuCost(RecordPart):
    """What one message cost one end; means over the measured messages."""

    user_ns: float
    system_ns: float
    voluntary_switches: float
    involuntary_switches: float
    softirq_ns: float | None = None
    """The machine's in that time, as far as it is not in the process's own; None: not known."""
    irq_ns: float | None = None
    """The same of interrupts themselves; None: it is in the others."""


class CpuMethods(RecordPart):
    """CPU time of a message at both ends together, seen in two ways in the same rounds."""

    accounted_ns: float
    """What the kernel charged to the engines, and softirq time."""
    taken_ns: float
    """What was not left to a soaker of the lowest priority on their CPUs, whoever took it."""
    differ: bool
    """By more than 5 % of the larger, and 1 % of a CPU."""


class Level(RecordPart):
    """One rate of an open loop."""

    share: float | None
    """Of the loss-free rate; None: the user has named the rate."""
    rate_messages_per_s: float
    n: int
    """Measured messages that arrived."""
    lost: int
    late: int
    """That left more than an interval after they were due."""
    time_ns: Summary


class Senders(RecordPart):
    """An incast of so many."""

    senders: int
    time_ns: Summary
    """Until the last of them has its answer."""
    goodput_bytes_per_s: float


class PairFigures(RecordPart):
    """Two nodes: medians over the rounds."""

    a: str
    b: str
    half_rtt_ns: float | None = None
    rate_bytes_per_s: float


#: The parts of a message's way, in the order in which it meets them.
PARTS = (
    "own code",
    "system call",
    "copy",
    "protocol",
    "driver",
    "interrupt",
    "softirq",
    "wake-up",
    "other kernel",
    "waiting",
)


class Explained(RecordPart):
    """Where half a round trip went, by samples of both ends' processors (`beowire explain`)."""

    half_rtt_ns: float = Field(gt=0)
    parts_ns: dict[str, float]  # seen at work, both ends together; names: PARTS
    rest_ns: float  # what is left; negative: both ends worked at once
    spins: bool  # then the program's own code is in what is left
    seen: float  # of the processors' time, as a share, by samples and as idle
    samples: int


class Result(RecordLine):
    """A measured cell: driver x pattern x size x launch."""

    type: Literal["result", "partial"] = "result"
    """`partial`: what there is so far; a later line of the same cell takes its place."""
    driver: str
    pattern: str
    """A name of beowire.plan.patterns, or of a later version's."""
    size: int = Field(ge=0)
    launch: int = Field(ge=1)
    n: int = Field(ge=0)
    """Measured messages."""
    rounds: int = Field(ge=0)
    batch: int = Field(ge=1)
    """Round trips that one sample covers; percentiles are of samples."""
    lost: int = Field(ge=0)
    status: Text
    """`ok`, or in a line why the cell is not whole."""
    stopped_by: Literal["precise", "time", "rounds", "error"]
    half_rtt_ns: Summary | None = None
    """Of patterns whose messages come back at once."""
    time_ns: Summary | None = None
    """Of other patterns that report times."""
    rate_bytes_per_s: Summary | None = None
    """For times: size / time, so p90 is the rate of the slow tail."""
    rate_messages_per_s: Summary | None = None
    """For rates only: the same, counted in messages."""
    walk_bytes: int | None = None
    """Memory that each end's messages walked through, to be met by no cache; None: they did not."""
    cache_bytes: int | None = None
    """Of the last-level cache that this was to be twice of; 0: the kernel does not say."""
    overlap_send: float | None = None
    """Share of a transfer that went on while the sender computed, 0 to 1 (pattern `overlap`)."""
    overlap_receive: float | None = None
    """The same while the receiver computed."""
    levels: list[Level] = Field(default_factory=list)
    """At which rates messages were sent, and what became of them (pattern `open-loop`)."""
    loss_free_messages_per_s: float | None = None
    """The rate that these are shares of; None: something was lost at any rate, or one was given."""
    clock_bound_ns: float | None = None
    """How far times of one way may be wrong to either side (pattern `oneway`)."""
    senders: list[Senders] = Field(default_factory=list)
    """By the number of senders (pattern `incast`)."""
    pairs: list[PairFigures] = Field(default_factory=list)
    """Of each pair of nodes (patterns `pairs`, `all-pairs`)."""
    slow: list[Text] = Field(default_factory=list)
    """Links that are slower than the others, in words (pattern `all-pairs`)."""
    start_skew_ns: float | None = None
    """Between the first and the last to begin where all were to at once, in the median round."""
    round_medians: list[float] = Field(default_factory=list)
    """In measuring order, in the pattern's unit."""
    histogram: Histogram | None = None
    """All rounds merged; round-trip (not half) times. None for rates."""
    cpu: list[CpuCost]
    """Initiator, responder; one item if there is one process, none if nothing was measured."""
    cpu_ns_per_message: float | None = None
    """User, system and softirq time of both ends; None where softirq time is not known."""
    service_demand_us_per_kb: float | None = None
    """CPU time of both ends, as above, to 1024 bytes of payload that crossed."""
    bytes_per_system_s: list[float | None] = Field(default_factory=list)
    """Payload that crossed to a second of system time, of each end; None: it had none."""
    probes: list[dict[str, float | None]] = Field(default_factory=list)
    """What else probes counted at each end, by name: to a message or a second, as `meta` says; None
    where it cannot be had."""
    probes_ci95: list[dict[str, Annotated[tuple[float, float], _Lenient] | None]] = Field(
        default_factory=list
    )
    """95 % intervals of those of a second, of each end; None: too few rounds for one."""
    probed_rounds: int = 0
    """Rounds, not among the others, in which probes counted that disturb."""
    cpu_methods: CpuMethods | None = None
    """If a soaker was among them."""
    load: str | None = None
    """What ran on the nodes meanwhile, as `--load` takes it; None: nothing that is known of."""
    explained: Explained | None = None
    elapsed_ns: float = Field(ge=0)
    settled: bool | None = None
    """A steady part was found (MSER-5); None when there were too few rounds to tell."""
    _launches: int = PrivateAttr(default=1)

    @property
    def launches(self) -> int:
        """How many it stands for, in a record of many that was read: its figures are the medians
        of theirs, its intervals have all of theirs inside, what is counted is their sum."""
        return self._launches

    def stands_for(self, launches: int) -> None:
        """For whoever makes such a result."""
        self._launches = launches

    def time(self) -> Summary | None:
        """The time that the pattern reports; None if it reports rates."""
        return self.half_rtt_ns or self.time_ns

    def cell(self) -> tuple[str, str, int, int, str | None]:
        """A later line of the same one takes its place."""
        return self.driver, self.pattern, self.size, self.launch, self.load

    def cell_of_all(self) -> CellOfAll:
        """The cell, whatever the launch."""
        return self.driver, self.pattern, self.size, self.load

    def figures(self, end: int) -> dict[str, float]:
        """All that probes counted at an end (0: initiator), as far as it is known."""
        found: dict[str, float | None] = {}
        if end < len(self.cpu):
            found |= self.cpu[end].model_dump()
        if end < len(self.probes):
            found |= self.probes[end]
        return {name: value for name, value in found.items() if value is not None}


class Skipped(RecordLine):
    """What was not measured, and why."""

    type: Literal["skipped"] = "skipped"
    driver: str
    pattern: str | None = None
    """None: no pattern of this driver."""
    size: int | None = None
    """None: no size."""
    reason: Text


#: The share of a machine's processors from which on others are felt.
BUSY_SHARE = 0.1


class End(RecordLine):
    """The last line of a run that ended by itself, however it ended."""

    type: Literal["end"] = "end"
    finished: AwareDatetime
    status: Text
    """`ok`, `interrupted`, or the error in one line."""
    elapsed_s: float = Field(ge=0)
    other_cpus: float | None = None
    """Processors' time of this machine that other programs used, in the mean; None: not known."""
    busy_s: float | None = Field(default=None, ge=0)
    """So long, in pieces of two seconds or more of which two came on end, or in one of ten, that
    was BUSY_SHARE of the processors or more; None: not known."""
    busy_cpus: float | None = None
    """How many processors' time it was then, in the mean; 0: it never was so much."""


Line = Meta | Result | Skipped | End
