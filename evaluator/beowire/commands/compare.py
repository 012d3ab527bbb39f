# SPDX-License-Identifier: BSD-3-Clause
"""`beowire compare`: measures protocols side by side. Options and calls; the work is elsewhere."""

import random
import re
import shutil
import sys
from contextlib import nullcontext
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from beowire.commands import sinks
from beowire.commands.against import (
    USUAL_THRESHOLD,
    Against,
    AgainstOption,
    ThresholdOption,
    prepare,
)
from beowire.commands.checks import (
    Checks,
    JunitOption,
    PrometheusOption,
    RulesOption,
    never_worse,
    read_checks,
)
from beowire.commands.options import (
    SSH,
    HostsOption,
    InterfaceOption,
    LauncherOption,
    ReadLab,
    SlurmOption,
    SshOption,
    TimeOption,
    TwoNodesOption,
    check_where,
    given,
    with_lab_options,
)
from beowire.commands.sinks import ColumnsOption, CsvOption
from beowire.compare.run import Outcome, Request, run
from beowire.conduct.own_commands import parse_commands
from beowire.conduct.own_drivers import own_drivers
from beowire.errors import BeowireError
from beowire.interrupts import Interrupts
from beowire.places.launch.base import Launcher
from beowire.places.launch.local import LocalLauncher
from beowire.places.launch.machines import lab_launcher
from beowire.places.launch.slurm import SlurmLauncher, is_another_task, is_step
from beowire.places.launch.ssh import SshLauncher
from beowire.places.mpi.launcher import MpirunLauncher
from beowire.plan import call_cost
from beowire.plan.load import parse_loads
from beowire.plan.patterns import DEFAULT, PATTERNS, parse_patterns
from beowire.record.reader import Record, read_record
from beowire.show import columns, terminal
from beowire.show.html import write_report
from beowire.sizes import LARGEST_BYTES, parse_size, parse_sizes
from beowire.visible import unguarded

LONGEST_RUN_S = 7 * 24 * 3600.0
_MOST_LAUNCHES = 1000
_PIPE_WIDTH = 100
#: A buffer begins in a page.
LARGEST_OFFSET = 4095
#: Messages a second: one each ten seconds at least, which an engine can wait for.
_LEAST_RATE, _LARGEST_RATE = 0.1, 100e6
#: The kernel gives less than the first to nobody.
LEAST_BUFFER, LARGEST_BUFFER = 4 << 10, 1 << 30


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("compare")(compare)


@with_lab_options()
def compare(
    context: typer.Context,
    *,
    lab: TwoNodesOption = False,
    hosts: HostsOption = None,
    slurm: SlurmOption = False,
    drivers: Annotated[
        str | None,
        typer.Option(
            "--drivers",
            help="Drivers or groups: tcp,beowire or memory,sockets or all; mpi: every installed"
            " MPI. Default: one of each kind. `beowire drivers` lists them.",
        ),
    ] = None,
    driver: Annotated[
        list[Path] | None,
        typer.Option(
            "--driver",
            help="Your own driver, FILE.c written to driver.h: it is compiled, checked and"
            " measured as well. May be repeated.",
        ),
    ] = None,
    driver_command: Annotated[
        list[str] | None,
        typer.Option(
            "--driver-command",
            help="NAME=COMMAND: run COMMAND and show its lines SIZE SECONDS (half round trip) as"
            " NAME. May be repeated.",
        ),
    ] = None,
    pattern: Annotated[
        str,
        typer.Option("--pattern", "--patterns", help=f"One or several of {', '.join(PATTERNS)}."),
    ] = DEFAULT.name,
    sizes: Annotated[
        str | None,
        typer.Option(
            "--sizes",
            help="Such as 8,1024,64KiB, or LOW-HIGH of the schedule. "
            "Default: NetPIPE's schedule up to --max-size, fewer if --time is short.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Directory for record.jsonl and report.html. Default: new."),
    ] = None,
    seconds: TimeOption = 120.0,
    launches: Annotated[
        int,
        typer.Option(
            "--launches",
            help="Repeat everything this often with new processes; with --against, at most (20).",
        ),
    ] = 1,
    against: AgainstOption = None,
    threshold: ThresholdOption = USUAL_THRESHOLD,
    rules: RulesOption = None,
    junit: JunitOption = None,
    prometheus: PrometheusOption = None,
    max_size: Annotated[
        str | None, typer.Option("--max-size", help="The largest message. Default: 4MiB.")
    ] = None,
    interface: InterfaceOption = "",
    ssh_option: SshOption = None,
    launched_by: LauncherOption = None,
    pin: Annotated[
        str | None,
        typer.Option("--pin", help="CPUs of the two ends: A,B. Default: chosen automatically."),
    ] = None,
    offset: Annotated[
        str | None,
        typer.Option(
            "--offset",
            help="Where messages begin, in bytes from the start of a page: N, or N,M for sent"
            " and received.",
        ),
    ] = None,
    load: Annotated[
        str | None,
        typer.Option(
            "--load",
            help="Measure idle and under a load, in turns: hog:NICE (0 equal, 19 low priority),"
            " idle, duty:PERCENT or memory:NICE, as in `beowire load`; or several:"
            " duty:25,duty:50,hog.",
        ),
    ] = None,
    probes: Annotated[
        str | None,
        typer.Option(
            "--probes",
            help="Show the cost of messages (CPU time, interrupts, context switches), and more"
            " in separate rounds: syscalls,hardware,soaker, or all, or none.",
        ),
    ] = None,
    socket_buffer: Annotated[
        str | None,
        typer.Option(
            "--socket-buffer",
            help="Also measure TCP with socket buffers of this size, such as 512KiB (tcp-buffer).",
        ),
    ] = None,
    message_rate: Annotated[
        str | None,
        typer.Option(
            "--message-rate",
            help="Messages per second of the pattern open-loop: 5000 or 20k. Default: 10, 50 and"
            " 90 % of the highest rate without loss.",
        ),
    ] = None,
    system_call_cost: Annotated[
        str | None,
        typer.Option(
            "--system-call-cost",
            help="Add this time, such as 300ns, to every system call of both ends, as on a"
            " machine with slow system calls.",
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Seed for the order of sizes and turns.")
    ] = None,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Print result lines as they are measured, and nothing else."),
    ] = False,
    csv: CsvOption = None,
    netpipe_columns: ColumnsOption = False,
    read_lab: ReadLab,
) -> None:
    """Compares protocols between two nodes, and says which to use.

    All drivers do the same work, in turns. Some patterns are between more than two nodes. Without
    --lab, --hosts or --slurm both ends are on this host, over loopback. With --against the
    measurements of a record are repeated until it is clear whether anything is worse.
    """
    if not 0 < seconds <= LONGEST_RUN_S:
        raise BeowireError(f"--time is more than 0 and at most {LONGEST_RUN_S:g} seconds")
    if not 1 <= launches <= _MOST_LAUNCHES:
        raise BeowireError(f"--launches is 1 to {_MOST_LAUNCHES}")
    sinks.check(csv, netpipe_columns, as_json)
    commands = parse_commands(driver_command or [])
    patterns = parse_patterns(pattern)
    if commands and "pingpong" not in patterns:
        raise BeowireError("--driver-command reports half round trips: use --pattern pingpong")
    if commands and system_call_cost is not None:
        raise BeowireError("--system-call-cost does not affect --driver-command: use one of them")
    request = Request(
        patterns=patterns,
        sizes=_sizes(sizes, max_size),
        scheduled=sizes is None,
        directory=out or Path(datetime.now().strftime("beowire-%Y%m%d-%H%M%S")),
        own_directory=out is None,
        drivers=drivers,
        seconds=seconds,
        launches=launches,
        seed=random.SystemRandom().randrange(1 << 31) if seed is None else seed,
        pins=_pins(pin),
        offsets=_offsets(offset),
        interface=interface,
        loads=() if load is None else parse_loads(load),
        probes=probes,
        socket_buffer=_socket_buffer(socket_buffer),
        call_cost_ns=None if system_call_cost is None else call_cost.parse(system_call_cost),
        message_rate=_message_rate(message_rate, patterns),
        commands=tuple(commands),
        json=as_json,
    )
    checks = read_checks(rules, junit, prometheus)
    comparison = _comparison(against, threshold, request, given(context), checks)
    request = comparison.request if comparison is not None else request
    check_where(
        context,
        lab=lab,
        hosts=hosts,
        ssh_options=ssh_option,
        slurm=slurm,
        launcher=launched_by,
    )
    slurm = slurm or (not lab and hosts is None and is_step())
    if slurm and is_another_task():
        raise typer.Exit(0)  # `srun beowire compare`: the first task measures
    many = any(PATTERNS[name].many for name in request.patterns)
    with Interrupts() as interrupts, never_worse() if against or rules else nullcontext():
        launcher: Launcher
        if lab:
            launcher = lab_launcher(read_lab())
        elif hosts is not None and launched_by not in (None, SSH):
            launcher = MpirunLauncher(launched_by, hosts, interface, many=many)
        elif hosts is not None:
            launcher = SshLauncher(hosts, ssh_option or [], interface, many=many)
        elif slurm:
            launcher = SlurmLauncher(interface, many=many)
        else:
            launcher = LocalLauncher()
        try:
            with own_drivers(driver or [], interrupts) as own:
                outcome = run(launcher, replace(request, own=tuple(own)), interrupts)
        except KeyboardInterrupt:
            raise BeowireError("interrupted before anything was measured", 130) from None
        quiet = request.json or sinks.takes_output(csv, netpipe_columns)
        record = read_record(request.record)
        try:
            _show(request, outcome, record, csv, netpipe_columns)
        finally:
            status = checks.finish(record, quiet=quiet)
        raise typer.Exit(status if comparison is None else comparison.finish())


def _comparison(
    against: str | None, threshold: str, request: Request, named: set[str], checks: Checks
) -> Against | None:
    """What `--against` asks for, if it is there."""
    if against is None:
        if "threshold" in named:
            raise BeowireError("--threshold needs --against RECORD")
        return None
    if checks.rules is not None:
        raise BeowireError("--against and --rules both decide the exit status: use one")
    return prepare(against, threshold, request, named)


def _show(
    request: Request, outcome: Outcome, record: Record, csv: str | None, netpipe_columns: bool
) -> None:
    """Table, plot and report of what is there; then what went wrong, in one line.

    The table comes first, and a terminal that went away does not cost the report: what was
    measured is shown wherever it still can be.
    """
    report = request.directory / "report.html"
    unheard: OSError | None = None
    quiet = request.json or sinks.takes_output(csv, netpipe_columns)
    if not quiet:
        try:
            print(_text_of(record, request), file=unguarded(sys.stdout))
            print(f"\nrecord: {request.record}", flush=True)
        except OSError as error:
            unheard = error
    found = problems(request, outcome, record)
    try:
        write_report([record], report)
    except BeowireError as error:
        found.append(str(error))
    else:
        if not quiet and unheard is None:
            print(f"report: {report}", flush=True)
    try:
        if netpipe_columns:
            sinks.write_netpipe([record])
        if csv is not None:
            sinks.write_csv(columns.comma_separated([record]), csv, [record.path])
    except BeowireError as error:
        found.append(str(error))
    except OSError as error:
        unheard = error
    if found:
        raise BeowireError("; ".join(found), 130 if outcome.interrupted else 1)
    if unheard is not None:
        raise unheard


def _text_of(record: Record, request: Request) -> str:
    width = shutil.get_terminal_size((_PIPE_WIDTH, 24)).columns
    return terminal.render(
        record, width=width, colour=sys.stdout.isatty(), probes=request.probes is not None
    )


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


def _sizes(sizes: str | None, max_size: str | None) -> list[int]:
    if max_size is not None:
        return parse_sizes(sizes, parse_size(max_size))
    return parse_sizes(sizes) if sizes is None else parse_sizes(sizes, LARGEST_BYTES)


def _offsets(text: str | None) -> tuple[int, int]:
    if text is None:
        return 0, 0
    words = [word.strip() for word in text.split(",")]
    numbers = [int(word) for word in words if re.fullmatch(r"[0-9]{1,4}", word)]
    if len(numbers) != len(words) or len(words) > 2 or max(numbers) > LARGEST_OFFSET:
        raise BeowireError(
            f"cannot read --offset {text!r}: write bytes up to {LARGEST_OFFSET}, as 1 or 1,64"
        )
    return numbers[0], numbers[-1]


def _message_rate(text: str | None, patterns: list[str]) -> float | None:
    if text is None:
        return None
    if "open-loop" not in patterns:
        raise BeowireError("--message-rate needs --pattern open-loop")
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([kM]?)", text.strip())
    rate = float(found[1]) * {"": 1, "k": 1e3, "M": 1e6}[found[2]] if found else 0.0
    if not _LEAST_RATE <= rate <= _LARGEST_RATE:
        raise BeowireError(
            f"cannot send at --message-rate {text!r}: write messages per second, 0.1 to 100M,"
            f" such as 20k"
        )
    return rate


def _socket_buffer(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        size = parse_size(text)
    except BeowireError as error:
        raise BeowireError(f"--socket-buffer: {error}") from None
    if not LEAST_BUFFER <= size <= LARGEST_BUFFER:
        raise BeowireError("--socket-buffer is 4KiB to 1GiB")
    return size


def _pins(text: str | None) -> tuple[str | None, str | None]:
    if text is None:
        return None, None
    words = [word.strip() for word in text.split(",")]
    if len(words) != 2 or not all(word == "auto" or word.isdecimal() for word in words):
        raise BeowireError(f"cannot read --pin {text!r}: write two CPU numbers, as 0,1")
    return words[0], words[1]
