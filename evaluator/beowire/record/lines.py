# SPDX-License-Identifier: BSD-3-Clause
"""The lines of the record of a run. The format is docs/RECORD.md.

Times are in nanoseconds, rates in bytes per second, sizes in bytes. Values are checked strictly
(no text in place of a number, no NaN, no infinity). Unknown fields are kept, so an older reader of
the same schema loses nothing when it copies a record.
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

#: A value of an environment, comparable between two nodes.
EnvironmentValue = str | int | float | bool | None

#: Driver, pattern, size and load.
CellOfAll = tuple[str, str, int, str | None]

_Lenient = Strict(False)  # a list may stand for a tuple: JSON knows only lists


def _encodable(value: object) -> object:
    """Replaces what UTF-8 cannot represent: a command line may have any bytes, a record may not."""
    match value:
        case str():
            return value.encode(errors="replace").decode()
        case list():
            return [_encodable(item) for item in value]
        case dict():
            return {_encodable(key): _encodable(item) for key, item in value.items()}
        case _:
            return value


#: For texts from outside.
Encodable = BeforeValidator(_encodable)
Text = Annotated[str, Encodable]


class Wire(RecordPart):
    """The upper limit for any protocol on this wire."""

    payload_bytes_per_s: float = Field(gt=0)
    """Bytes of payload per second of full-sized frames, back to back."""


class Clock(RecordPart):
    """The clock used for timing, as the engine measured it."""

    source: str
    overhead_ns: float = Field(ge=0)
    overhead_p99_ns: float | None = None
    resolution_ns: float | None = None


class CallCost(RecordPart):
    """The cost added to each system call, as an engine measured it."""

    steps: int = Field(ge=0)
    """Length of the filter that adds it."""
    before_ns: float
    """Duration of getppid(2) without it."""
    added_ns: float


class NodeEnd(RecordPart):
    """One end of the run."""

    node: str
    address: str | None = None
    interface: str | None = None
    cpu: int | None = None
    """The CPU to which the engines were pinned; None: not pinned."""
    clock: Clock | None = None
    call_cost: CallCost | None = None
    """None: no added cost."""
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
    """It can post sends and receives, and continue meanwhile."""
    fixed: bool = False
    """Its messages use buffers chosen in advance."""
    collective: bool = False
    """It has collective operations."""
    min_size: int
    max_size: int
    ready: bool
    reason: str = ""


class ProbeInfo(RecordPart):
    """What a probe counts at each end, as the engines reported it."""

    name: str
    """Its name in results, which ends in its unit, if any."""
    summary: str
    unit: str
    """`ns`, or empty for a count."""
    per: Literal["message", "second"]
    """The values are per message or per second."""
    probe: str
    """The probe that counts it, as in `--probes`."""
    how: str
    of: str
    """`process`, `cpus` (all use of the CPUs that the engine may use) or `machine`."""
    disturbs: bool
    """It slows down what is measured, so it has separate rounds."""
    reasons: list[str]
    """Why it is not available at the initiator and the responder; empty: it is."""


class Meta(RecordLine):
    """The first line: the command, its options, and the nodes."""

    type: Literal["meta"] = "meta"
    schema_version: int = Field(default=SCHEMA, alias="schema", ge=1)
    beowire: str
    """The version of beowire that measured."""
    started: AwareDatetime
    command: Annotated[list[str], Encodable]
    """The words of the command line."""
    options: Annotated[dict[str, JsonValue], Encodable]
    link: Link
    wire: Wire | None
    ends: list[NodeEnd] = Field(min_length=2, max_length=2)
    """The initiator, then the responder."""
    others: list[NodeEnd] = Field(default_factory=list)
    """The other nodes, if a pattern used more than two."""
    drivers: list[DriverInfo]
    probes: list[ProbeInfo] = Field(default_factory=list)
    findings: list[Found] = Field(default_factory=list)
    """Findings about the nodes that cost time, the worst first; none: not checked."""


class Summary(RecordPart):
    """A measured quantity. Its unit is in the name of the field that holds it."""

    median: float = Field(ge=0)
    ci95: Annotated[tuple[float, float], _Lenient] | None
    """95 % confidence interval of the median; None: too few rounds."""
    p90: float | None
    """None: n is too small for an upper limit of this percentile."""
    p99: float | None
    min: float
    max: float


class Histogram(RecordPart):
    """Round-trip times in ns, in the log-linear buckets of docs/ENGINE.md."""

    kind: Literal["log-linear-7"] = "log-linear-7"
    buckets: list[Annotated[tuple[int, int], _Lenient]]
    """(smallest value in ns, count) of each non-empty bucket, rising."""

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
    """Cost of a message at one end: means over the measured messages."""

    user_ns: float
    system_ns: float
    voluntary_switches: float
    involuntary_switches: float
    softirq_ns: float | None = None
    """The machine's softirq time not included in the process's own; None: unknown."""
    irq_ns: float | None = None
    """The same for interrupts; None: included in the others."""


class CpuMethods(RecordPart):
    """CPU time of a message, summed over both ends, measured in two ways in the same rounds."""

    accounted_ns: float
    """Time that the kernel charged to the engines, and softirq time."""
    taken_ns: float
    """Time on their CPUs that a soaker of the lowest priority did not get."""
    differ: bool
    """By more than 5 % of the larger, and 1 % of a CPU."""


class Level(RecordPart):
    """One rate of an open loop."""

    share: float | None
    """Of the loss-free rate; None: the user chose the rate."""
    rate_messages_per_s: float
    n: int
    """Measured messages that arrived."""
    lost: int
    late: int
    """Messages sent more than an interval after they were due."""
    time_ns: Summary


class Senders(RecordPart):
    """An incast of this many senders."""

    senders: int
    time_ns: Summary
    """Time until the last of them has its answer."""
    goodput_bytes_per_s: float


class PairFigures(RecordPart):
    """Results of two nodes: medians over the rounds."""

    a: str
    b: str
    half_rtt_ns: float | None = None
    rate_bytes_per_s: float


#: The parts of a message's path, in order.
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
    """Parts of half a round trip, by sampling both ends' processors (`beowire explain`)."""

    half_rtt_ns: float = Field(gt=0)
    parts_ns: dict[str, float]  # sampled, sum of both ends; names: PARTS
    rest_ns: float  # the rest; negative: both ends worked at the same time
    spins: bool  # then the program's own code is part of the rest
    seen: float  # share of the processors' time, sampled or idle
    samples: int


class Result(RecordLine):
    """A measured cell: driver x pattern x size x launch."""

    type: Literal["result", "partial"] = "result"
    """`partial`: the result so far; a later line of the same cell replaces it."""
    driver: str
    pattern: str
    """A name in beowire.plan.patterns, or in that of a later version."""
    size: int = Field(ge=0)
    launch: int = Field(ge=1)
    n: int = Field(ge=0)
    """Measured messages."""
    rounds: int = Field(ge=0)
    batch: int = Field(ge=1)
    """Round trips per sample; percentiles are those of samples."""
    lost: int = Field(ge=0)
    status: Text
    """`ok`, or in one line why the cell is incomplete."""
    stopped_by: Literal["precise", "time", "rounds", "error"]
    half_rtt_ns: Summary | None = None
    """Of patterns whose messages are returned at once."""
    time_ns: Summary | None = None
    """Of other patterns that report times."""
    rate_bytes_per_s: Summary | None = None
    """For times: size / time, so p90 is the rate of slow messages."""
    rate_messages_per_s: Summary | None = None
    """For rates only: the same, counted in messages."""
    walk_bytes: int | None = None
    """Memory that each end's messages used in turn, to avoid caches; None: one buffer."""
    cache_bytes: int | None = None
    """Size of the last-level cache, half of the intended `walk_bytes`; 0: unknown."""
    overlap_send: float | None = None
    """Share of a transfer that proceeded while the sender computed, 0 to 1 (pattern `overlap`)."""
    overlap_receive: float | None = None
    """The same while the receiver computed."""
    levels: list[Level] = Field(default_factory=list)
    """Results by rate of sending (pattern `open-loop`)."""
    loss_free_messages_per_s: float | None = None
    """The highest rate without loss; None: loss at any rate, or the user chose the rates."""
    clock_bound_ns: float | None = None
    """Largest error of one-way times, in either direction (pattern `oneway`)."""
    senders: list[Senders] = Field(default_factory=list)
    """By the number of senders (pattern `incast`)."""
    pairs: list[PairFigures] = Field(default_factory=list)
    """By pair of nodes (patterns `pairs`, `all-pairs`)."""
    slow: list[Text] = Field(default_factory=list)
    """Links that are slower than others, one line each (pattern `all-pairs`)."""
    start_skew_ns: float | None = None
    """Time between the first and the last start, if all should start together; median of rounds."""
    round_medians: list[float] = Field(default_factory=list)
    """In order of measurement, in the pattern's unit."""
    histogram: Histogram | None = None
    """All rounds merged; round-trip (not half) times. None for rates."""
    cpu: list[CpuCost]
    """Initiator, responder; one item for a single process, none if nothing was measured."""
    cpu_ns_per_message: float | None = None
    """User, system and softirq time of both ends; None: softirq time is unknown."""
    service_demand_us_per_kb: float | None = None
    """CPU time of both ends, as above, per 1024 bytes of transferred payload."""
    bytes_per_system_s: list[float | None] = Field(default_factory=list)
    """Transferred payload per second of system time, of each end; None: no system time."""
    probes: list[dict[str, float | None]] = Field(default_factory=list)
    """Other figures of probes at each end, by name, per message or second as in `meta`; None: not
    available."""
    probes_ci95: list[dict[str, Annotated[tuple[float, float], _Lenient] | None]] = Field(
        default_factory=list
    )
    """95 % confidence intervals of figures per second, of each end; None: too few rounds."""
    probed_rounds: int = 0
    """Separate rounds, for probes that disturb."""
    cpu_methods: CpuMethods | None = None
    """If the soaker was one of the probes."""
    load: str | None = None
    """Background load on the nodes, as in `--load`; None: none known."""
    explained: Explained | None = None
    elapsed_ns: float = Field(ge=0)
    settled: bool | None = None
    """A steady part was found (MSER-5); None: too few rounds."""
    _launches: int = PrivateAttr(default=1)

    @property
    def launches(self) -> int:
        """Number of launches that this result represents after reading: its figures are their
        medians, its intervals contain theirs, its counts are their sums."""
        return self._launches

    def stands_for(self, launches: int) -> None:
        """Sets `launches`."""
        self._launches = launches

    def time(self) -> Summary | None:
        """The time that the pattern reports; None if it reports rates."""
        return self.half_rtt_ns or self.time_ns

    def cell(self) -> tuple[str, str, int, int, str | None]:
        """A later line of the same cell replaces this one."""
        return self.driver, self.pattern, self.size, self.launch, self.load

    def cell_of_all(self) -> CellOfAll:
        """The cell, for all launches."""
        return self.driver, self.pattern, self.size, self.load

    def figures(self, end: int) -> dict[str, float]:
        """All known figures of probes at an end (0: initiator)."""
        found: dict[str, float | None] = {}
        if end < len(self.cpu):
            found |= self.cpu[end].model_dump()
        if end < len(self.probes):
            found |= self.probes[end]
        return {name: value for name, value in found.items() if value is not None}


class Skipped(RecordLine):
    """A driver, pattern or size that was not measured, and why."""

    type: Literal["skipped"] = "skipped"
    driver: str
    pattern: str | None = None
    """None: all patterns of this driver."""
    size: int | None = None
    """None: all sizes."""
    reason: Text


#: The share of a machine's processors above which other programs affect results.
BUSY_SHARE = 0.1


class End(RecordLine):
    """The last line of a run that was not killed."""

    type: Literal["end"] = "end"
    finished: AwareDatetime
    status: Text
    """`ok`, `interrupted`, or the error in one line."""
    elapsed_s: float = Field(ge=0)
    other_cpus: float | None = None
    """Processors of this machine that other programs used, on average; None: unknown."""
    busy_s: float | None = Field(default=None, ge=0)
    """How long that was at least BUSY_SHARE of the processors, in two consecutive periods of at
    least two seconds or one of ten; None: unknown."""
    busy_cpus: float | None = None
    """Processors that they used in that time, on average; 0: never that many."""


Line = Meta | Result | Skipped | End
