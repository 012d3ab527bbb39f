# SPDX-License-Identifier: BSD-3-Clause
"""A whole comparison, from a launcher to a finished record, also after failures."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from beowire import __version__, files
from beowire.conduct import How, Loading, own_commands
from beowire.conduct.load import Backgrounds
from beowire.conduct.measure import Measurement, Progress
from beowire.conduct.others import Others
from beowire.conduct.own_commands import OwnCommand
from beowire.conduct.survey import Survey, survey
from beowire.doctor.ends import found_at
from beowire.errors import BeowireError
from beowire.interrupts import Interrupts
from beowire.mpi import drivers as mpi_drivers
from beowire.places.launch.base import Launcher
from beowire.plan import plan as planning
from beowire.plan import selection
from beowire.plan.load import Load
from beowire.plan.patterns import check_nodes
from beowire.record.lines import DriverInfo, End, Line, Meta, ProbeInfo, Result, Skipped, Wire
from beowire.record.parts import Found, Link
from beowire.record.reader import Record
from beowire.record.writer import RecordWriter
from beowire.show.display import Display

#: When a round is cut short. Later on links that lose frames, where senders wait long.
_LONGEST_DEADLINE_S = 10.0
_SHORTEST_DEADLINE_S = 2.0
_LOSSY_DEADLINE_S = 4.0
_LOADED_DEADLINE_S = 8.0
_DEADLINE_SHARE = 0.05

#: An unreliable driver's answer counts as lost after this, plus several times the time on the
#: wire.
_LOSS_TIMEOUT_MS = 20
_LOSS_MARGIN = 4
_LARGEST_DATAGRAM_BITS = 8 * 65536

#: A shaped port sends a burst at once after a pause, and there is one before each round. Rounds are
#: this many times longer than the burst, so that it adds at most half a per cent.
_ROUND_BURSTS = 200

#: With a hog a process runs in turns of some milliseconds, and earlier after a pause, such as that
#: between two rounds. So a round lasts many turns.
_LOADED_ROUND_NS = 100e6

#: Background load ends by itself if a run takes this much longer than planned.
_LOAD_SHARE = 2.0
_LOAD_SPARE_S = 300.0

#: The driver that `--socket-buffer` applies to.
BUFFER_DRIVER = "tcp-buffer"

#: Bytes around the payload of an Ethernet frame: header, check sequence, preamble and gap.
_FRAME_OVERHEAD_BYTES = 14 + 24


@dataclass(frozen=True)
class Request:
    """What the user asked for, checked."""

    patterns: list[str]
    sizes: list[int]
    directory: Path
    """Where `record.jsonl` is written; created if missing."""
    own_directory: bool = False
    """The directory's name was generated, so it must not exist yet."""
    drivers: str | None = None
    """Names of drivers and groups; None: the default ones (selection.py)."""
    seconds: float = 120.0
    """Time for measuring, of all launches together."""
    launches: int = 1
    seed: int = 1
    pins: tuple[str | None, str | None] = (None, None)
    interface: str = ""
    offsets: tuple[int, int] = (0, 0)
    """Offsets of messages in a page: sent, received."""
    scheduled: bool = False
    """`sizes` is the whole schedule, of which as much is measured as there is time for."""
    loads: tuple[Load, ...] = ()
    """Everything is measured with each of these loads, too, in turns with an idle machine."""
    probes: str | None = None
    """Names of probes that disturb, or `all`; None: none."""
    own: tuple[str, ...] = ()
    """The user's own drivers, which are always measured."""
    commands: tuple[OwnCommand, ...] = ()
    """The user's own commands, whose lines become rows."""
    socket_buffer: int | None = None
    """Buffer size of BUFFER_DRIVER, which is then measured, too."""
    call_cost_ns: int | None = None
    """Added cost of each system call of the engines."""
    message_rate: float | None = None
    """Messages per second of `open-loop`, if the user gives a rate."""
    json: bool = False
    """Result lines go to standard output as they come."""
    against: str = ""
    """What the run is compared with, as the user names it."""
    decided: Callable[[int], bool] | None = None
    """Called after each launch, when it is in the record; true: no more launches are needed."""

    @property
    def record(self) -> Path:
        """Where the record will be."""
        return self.directory / "record.jsonl"


@dataclass(frozen=True)
class Outcome:
    """How a run ended; the record is there in any case."""

    failures: list[str]
    interrupted: bool


def run(
    launcher: Launcher, request: Request, interrupts: Interrupts, *, entered: bool = False
) -> Outcome:
    """Measures and writes the record. `entered`: the caller has entered the launcher's context and
    will leave it.

    BeowireError before anything is measured, or if the record cannot be written any more; then the
    lines written are kept, and every engine has ended.
    """
    if request.record.exists():
        raise BeowireError(
            f"{request.record} exists already and is not overwritten: name another directory"
        )
    context = nullcontext() if entered else _entered(launcher, interrupts)
    with Display() as display, context:
        display.note("Looking at both ends ...")
        many = check_nodes(request.patterns, len(launcher.nodes))
        found = survey(
            launcher,
            interrupts,
            request.pins,
            request.interface,
            many=many,
            call_cost_ns=request.call_cost_ns,
        )
        names, of_mpis = mpi_drivers.expanded(request.drivers)
        found = replace(found, drivers=[*found.drivers, *of_mpis])
        drivers, skipped = selection.choose_drivers(
            found.drivers, names, _own_drivers(request), request.drivers
        )
        found = _with_commands(found, request.commands)
        probes = choose_probes(request.probes, found.probes)
        findings = found_at(launcher, found)
        writer = _create(request)
        load_s = request.seconds * _LOAD_SHARE + _LOAD_SPARE_S
        try:
            with Backgrounds(launcher, request.loads, load_s, interrupts) as background:
                comparison = _Comparison(
                    launcher,
                    request,
                    interrupts,
                    display=display,
                    found=found,
                    findings=findings,
                    writer=writer,
                    background=background,
                    probes=probes,
                )
                return comparison.run(drivers, skipped)
        finally:
            writer.close()


@contextmanager
def _entered(launcher: Launcher, interrupts: Interrupts) -> Iterator[None]:
    """The launcher's context; signals do not interrupt its end."""
    with launcher:
        try:
            yield
        finally:
            interrupts.hold()


class _Comparison:
    """One run with an open record."""

    def __init__(
        self,
        launcher: Launcher,
        request: Request,
        interrupts: Interrupts,
        *,
        display: Display,
        found: Survey,
        findings: list[Found],
        writer: RecordWriter,
        background: Backgrounds,
        probes: tuple[str, ...],
    ) -> None:
        self._launcher = launcher
        self._request = request
        self._interrupts = interrupts
        self._display = display
        self._survey = found
        self._writer = writer
        self._background = background
        self._probes = probes
        self._link = Link.model_validate(launcher.describe_link())
        self._schedule: dict[str, float] = {}
        self._findings = findings
        self._others = Others()

    def run(self, drivers: list[DriverInfo], skipped: list[Skipped]) -> Outcome:
        begun = time.monotonic()
        others = self._others
        failures: list[str] = []
        status = "ok"
        if self._request.scheduled:
            self._fit_schedule(drivers)
        try:
            self._write(self._meta())
            for line in skipped:
                self._write(line)
            for launch in range(1, self._request.launches + 1):
                self._launch(launch, drivers, failures)
                self._run_commands(launch, failures)
                if self._request.decided is not None and self._request.decided(launch):
                    break
            failures.extend(self._background.failures())
            if failures:
                status = "; ".join(dict.fromkeys(failures))
        except KeyboardInterrupt:
            status = "interrupted"
        with self._interrupts.held():
            busy = others.busy() if self._all_is_ours() else None
            self._write(
                End(
                    finished=datetime.now(UTC),
                    status=status,
                    elapsed_s=time.monotonic() - begun,
                    other_cpus=others.cpus() if self._all_is_ours() else None,
                    busy_s=busy.seconds if busy else None,
                    busy_cpus=busy.cpus if busy else None,
                )
            )
            self._writer.finish()
        return Outcome(list(dict.fromkeys(failures)), status == "interrupted")

    def _all_is_ours(self) -> bool:
        """Whether everything measured runs on this machine, including machines of a lab."""
        return self._launcher.kind != "hosts"

    def _fit_schedule(self, drivers: list[DriverInfo]) -> None:
        request = self._request
        turns = 1 + len(request.loads)
        seconds = request.seconds / request.launches / turns
        sizes, needed_s = planning.affordable_sizes(
            request.sizes, drivers, request.patterns, seconds
        )
        self._schedule = {
            "schedule_sizes": len(request.sizes),
            "schedule_s": needed_s * request.launches * turns,
        }
        self._request = replace(request, sizes=sizes)

    def _launch(self, launch: int, drivers: list[DriverInfo], failures: list[str]) -> None:
        request = self._request
        seconds = request.seconds / request.launches
        plan = planning.make_plan(
            drivers,
            request.patterns,
            request.sizes,
            seconds,
            request.seed + launch,
            scheduled=request.scheduled,
        )
        if launch == 1:
            for line in plan.skipped:
                self._write(line)
        measurement = Measurement(
            self._launcher,
            self._survey,
            self._interrupts,
            self._write,
            lambda progress: self._between_rounds(progress, launch, measurement),
        )
        if launch == 1:
            self._display.starting(len(drivers), request.seconds, request.launches)
        try:
            measurement.run(plan, drivers, launch, self._how(seconds))
            measurement.flush()
        except KeyboardInterrupt:
            measurement.flush("interrupted")
            raise
        finally:
            with self._interrupts.held():
                self._others.follow(measurement.pids)
                measurement.end()
                failures.extend(measurement.failures)

    def _between_rounds(self, progress: Progress, launch: int, measurement: Measurement) -> None:
        self._display.show(progress, launch, self._request.launches)
        self._others.look(measurement.pids)

    def _run_commands(self, launch: int, failures: list[str]) -> None:
        for text in [None, *(load.text for load in self._request.loads)]:
            try:
                self._background.choose(text)
            except BeowireError as error:
                failures.append(str(error))
                if text is not None:
                    return
            for command in self._request.commands:
                self._run_command(command, launch, text, failures)

    def _run_command(
        self, command: OwnCommand, launch: int, load: str | None, failures: list[str]
    ) -> None:
        request = self._request
        self._display.note(f"Running the command {command.name} ...")
        results, fault = own_commands.measure(
            command,
            self._launcher,
            request.sizes,
            self._interrupts,
            launch=launch,
            seconds=request.seconds / request.launches,
        )
        self._others.look()
        for result in results:
            self._write(result.model_copy(update={"load": load}))
        if fault:
            failures.append(fault)
        if not results:
            self._write(Skipped(driver=command.name, reason=fault))

    def _how(self, seconds: float) -> How:
        link = self._link
        wire_ns = 2 * (link.delay_ns or 0.0)
        if link.rate_bits_per_s:
            wire_ns += 2e9 * _LARGEST_DATAGRAM_BITS / link.rate_bits_per_s
        longest_round_ns = planning.LONGEST_ROUND_NS
        if link.rate_bits_per_s and link.burst_bytes:
            burst_ns = 8e9 * link.burst_bytes / link.rate_bits_per_s
            longest_round_ns = max(longest_round_ns, _ROUND_BURSTS * burst_ns)
        shortest_s = _LOSSY_DEADLINE_S if link.loss else _SHORTEST_DEADLINE_S

        def deadline(shortest_s: float) -> float:
            wanted_s = max(shortest_s, seconds * _DEADLINE_SHARE)
            return min(_LONGEST_DEADLINE_S, wanted_s) + wire_ns / 1e9

        loading = None
        if self._request.loads:
            loading = Loading(
                self._background,
                [load.text for load in self._request.loads],
                deadline(max(shortest_s, _LOADED_DEADLINE_S)),
                max(longest_round_ns, _LOADED_ROUND_NS),
            )
        return How(
            seed=self._request.seed,
            pins=self._request.pins,
            loss_timeout_ms=_LOSS_TIMEOUT_MS + round(_LOSS_MARGIN * wire_ns / 1e6),
            deadline_s=deadline(shortest_s),
            offsets=self._request.offsets,
            longest_round_ns=longest_round_ns,
            message_rate=self._request.message_rate,
            settings=_settings(self._request),
            probes=self._probes,
            load=loading,
        )

    def _meta(self) -> Meta:
        request = self._request
        return Meta.model_validate(
            {
                "schema": 1,
                "beowire": __version__,
                "started": datetime.now(UTC),
                "command": ["beowire", *sys.argv[1:]],
                "options": {
                    "drivers": request.drivers,
                    "patterns": request.patterns,
                    "sizes": request.sizes,
                    **self._schedule,
                    "budget_s": request.seconds,
                    "launches": request.launches,
                    "seed": request.seed,
                    **self._load(),
                    **({"probes": list(self._probes)} if request.probes is not None else {}),
                    **({"offset": list(request.offsets)} if any(request.offsets) else {}),
                    **_settings(request),
                    **_message_rate(request),
                    **({"call_cost_ns": request.call_cost_ns} if request.call_cost_ns else {}),
                    **({"against": request.against} if request.against else {}),
                    "pin": list(request.pins),
                    "interface": request.interface,
                    "out": str(request.directory),
                },
                "link": self._link,
                "wire": self._wire(),
                "ends": self._survey.ends,
                "others": self._survey.others,
                "drivers": self._survey.drivers,
                "probes": self._survey.probes,
                "findings": self._findings,
            }
        )

    def _load(self) -> dict[str, object]:
        loads = self._request.loads
        if not loads:
            return {}
        described: dict[str, object] = dict(loads[0].words) if len(loads) == 1 else {}
        described["load"] = ",".join(load.text for load in loads)
        return {"load": described | {"hogs": self._background.hogs, "in_turns": True}}

    def _wire(self) -> Wire | None:
        """The limit of full-sized frames back to back, if the rate of the link is known."""
        link = self._link
        if not link.rate_bits_per_s or not link.mtu:
            return None
        share = link.mtu / (link.mtu + _FRAME_OVERHEAD_BYTES)
        return Wire(payload_bytes_per_s=link.rate_bits_per_s / 8 * share)

    def _write(self, line: Line) -> None:
        self._writer.write(line)
        if self._request.json and isinstance(line, Result) and line.type == "result":
            try:
                print(line.model_dump_json(by_alias=True), flush=True)
            except OSError as error:
                raise BeowireError(
                    f"cannot write results to standard output: {error.strerror}", exit_code=1
                ) from None


def problems(request: Request, outcome: Outcome, record: Record) -> list[str]:
    """What went wrong in a run, a line each; nothing if all went well."""
    if outcome.interrupted:
        return [f"interrupted; what was measured is in {request.record}"]
    if outcome.failures:
        return list(outcome.failures)
    if record.results:
        return []
    reasons = dict.fromkeys(f"{one.driver}: {one.reason}" for one in record.skipped)
    return [f"nothing could be measured: {'; '.join(reasons)}"]


def choose_probes(text: str | None, table: Sequence[ProbeInfo]) -> tuple[str, ...]:
    """The disturbing probes of `--probes`; the others always count. BeowireError."""
    known = dict.fromkeys(info.probe for info in table)
    disturbing = dict.fromkeys(info.probe for info in table if info.disturbs)
    words = [] if text is None else [word.strip() for word in text.split(",")]
    for word in words:
        if word not in known and word not in ("all", "none"):
            raise BeowireError(
                f"no probe {word!r}: write all, or of {', '.join(disturbing)}"
                f" ({', '.join(name for name in known if name not in disturbing)} count always)"
            )
    return tuple(name for name in disturbing if name in words or "all" in words)


def _own_drivers(request: Request) -> list[str]:
    """Drivers that an option requests regardless of `--drivers`."""
    return [*request.own, *([] if request.socket_buffer is None else [BUFFER_DRIVER])]


def _with_commands(found: Survey, commands: Sequence[OwnCommand]) -> Survey:
    """The survey with the commands among the drivers. BeowireError if one has a driver's name."""
    names = {info.name for info in found.drivers}
    for command in commands:
        if command.name in names:
            raise BeowireError(
                f"--driver-command: {command.name} is the name of a driver: take another"
            )
    return replace(found, drivers=[*found.drivers, *(command.info() for command in commands)])


def _settings(request: Request) -> dict[str, str]:
    buffer = request.socket_buffer
    return {} if buffer is None else {"socket_buffer": str(buffer)}


def _message_rate(request: Request) -> dict[str, float]:
    rate = request.message_rate
    return {} if rate is None else {"message_rate": rate}


def _create(request: Request) -> RecordWriter:
    files.make_directory(request.directory, new=request.own_directory)
    return RecordWriter(request.record)
