# SPDX-License-Identifier: BSD-3-Clause
"""`beowire compare`: measures protocols side by side. Options and calls; the work is elsewhere."""

import random
import shutil
import sys
from contextlib import nullcontext
from dataclasses import replace

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
from beowire.commands.compare_options import (
    DriversOption,
    JsonOption,
    LaunchesOption,
    LoadOption,
    MaxSizeOption,
    MessageRateOption,
    OffsetOption,
    OwnCommandsOption,
    OwnDriversOption,
    PatternOption,
    PinOption,
    ProbesOption,
    SeedOption,
    SizesOption,
    SocketBufferOption,
    SystemCallCostOption,
    check_amounts,
    read_message_rate,
    read_offsets,
    read_pins,
    read_sizes,
    read_socket_buffer,
)
from beowire.commands.options import (
    SSH,
    HostsOption,
    InterfaceOption,
    LauncherOption,
    OutOption,
    ReadLab,
    SlurmOption,
    SshOption,
    TimeOption,
    TwoNodesOption,
    check_where,
    directory_of,
    given,
    launcher_of,
    with_lab_options,
)
from beowire.commands.sinks import ColumnsOption, CsvOption
from beowire.compare.run import Outcome, Request, problems, run
from beowire.conduct.own_commands import OwnCommand, parse_commands
from beowire.conduct.own_drivers import own_drivers
from beowire.errors import BeowireError
from beowire.interrupts import Interrupts
from beowire.places.launch.base import Launcher
from beowire.places.launch.slurm import SlurmLauncher, is_another_task, is_step
from beowire.places.mpi.launcher import MpirunLauncher
from beowire.plan import call_cost
from beowire.plan.load import parse_loads
from beowire.plan.patterns import DEFAULT, PATTERNS, parse_patterns
from beowire.record.reader import Record, read_record
from beowire.show import columns, terminal
from beowire.show.html import write_report
from beowire.visible import unguarded

_PIPE_WIDTH = 100


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
    drivers: DriversOption = None,
    driver: OwnDriversOption = None,
    driver_command: OwnCommandsOption = None,
    pattern: PatternOption = DEFAULT.name,
    sizes: SizesOption = None,
    out: OutOption = None,
    seconds: TimeOption = 120.0,
    launches: LaunchesOption = 1,
    against: AgainstOption = None,
    threshold: ThresholdOption = USUAL_THRESHOLD,
    rules: RulesOption = None,
    junit: JunitOption = None,
    prometheus: PrometheusOption = None,
    max_size: MaxSizeOption = None,
    interface: InterfaceOption = "",
    ssh_option: SshOption = None,
    launched_by: LauncherOption = None,
    pin: PinOption = None,
    offset: OffsetOption = None,
    load: LoadOption = None,
    probes: ProbesOption = None,
    socket_buffer: SocketBufferOption = None,
    message_rate: MessageRateOption = None,
    system_call_cost: SystemCallCostOption = None,
    seed: SeedOption = None,
    as_json: JsonOption = False,
    csv: CsvOption = None,
    netpipe_columns: ColumnsOption = False,
    read_lab: ReadLab,
) -> None:
    """Compares protocols between two nodes, and says which to use.

    All drivers do the same work, in turns. Some patterns are between more than two nodes. Without
    --lab, --hosts or --slurm both ends are on this host, over loopback. With --against the
    measurements of a record are repeated until it is clear whether anything is worse.
    """
    check_amounts(seconds, launches)
    sinks.check(csv, netpipe_columns, as_json)
    patterns = parse_patterns(pattern)
    request = Request(
        patterns=patterns,
        sizes=read_sizes(sizes, max_size),
        scheduled=sizes is None,
        directory=directory_of(out),
        own_directory=out is None,
        drivers=drivers,
        seconds=seconds,
        launches=launches,
        seed=random.SystemRandom().randrange(1 << 31) if seed is None else seed,
        pins=read_pins(pin),
        offsets=read_offsets(offset),
        interface=interface,
        loads=() if load is None else parse_loads(load),
        probes=probes,
        socket_buffer=read_socket_buffer(socket_buffer),
        call_cost_ns=None if system_call_cost is None else call_cost.parse(system_call_cost),
        message_rate=read_message_rate(message_rate, patterns),
        commands=_commands(driver_command, patterns, system_call_cost),
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
    with Interrupts() as interrupts, never_worse() if against or rules else nullcontext():
        many = any(PATTERNS[name].many for name in request.patterns)
        launcher: Launcher
        if slurm:
            launcher = SlurmLauncher(interface, many=many)
        elif hosts is not None and launched_by not in (None, SSH):
            launcher = MpirunLauncher(launched_by, hosts, interface, many=many)
        else:
            described = read_lab() if lab else None
            launcher = launcher_of(described, hosts, ssh_option, interface, many=many)
        try:
            with own_drivers(driver or [], interrupts) as own:
                outcome = run(launcher, replace(request, own=tuple(own)), interrupts)
        except KeyboardInterrupt:
            raise BeowireError("interrupted before anything was measured", 130) from None
        record = read_record(request.record)
        quiet = request.json or sinks.takes_output(csv, netpipe_columns)
        try:
            _show(request, outcome, record, csv, netpipe_columns, quiet=quiet)
        finally:
            status = checks.finish(record, quiet=quiet)
        raise typer.Exit(status if comparison is None else comparison.finish())


def _commands(
    texts: list[str] | None, patterns: list[str], system_call_cost: str | None
) -> tuple[OwnCommand, ...]:
    """What `--driver-command` asks for."""
    commands = parse_commands(texts or [])
    if commands and "pingpong" not in patterns:
        raise BeowireError("--driver-command reports half round trips: use --pattern pingpong")
    if commands and system_call_cost is not None:
        raise BeowireError("--system-call-cost does not affect --driver-command: use one of them")
    return tuple(commands)


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
    request: Request,
    outcome: Outcome,
    record: Record,
    csv: str | None,
    netpipe_columns: bool,
    *,
    quiet: bool,
) -> None:
    """Table, plot and report of what is there; then what went wrong, in one line.

    The table comes first, and a terminal that went away does not cost the report: what was
    measured is shown wherever it still can be.
    """
    report = request.directory / "report.html"
    unheard: OSError | None = None
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
