# SPDX-License-Identifier: BSD-3-Clause
"""The options of `beowire compare`, and how those are read that are no number or name."""

import re
from pathlib import Path
from typing import Annotated

import typer

from beowire.commands.options import check_seconds
from beowire.errors import BeowireError
from beowire.plan.patterns import PATTERNS
from beowire.sizes import LARGEST_BYTES, parse_size, parse_sizes

_LONGEST_RUN_S = 7 * 24 * 3600.0
_MOST_LAUNCHES = 1000
#: A buffer begins in a page.
LARGEST_OFFSET = 4095
#: Messages a second: one each ten seconds at least, which an engine can wait for.
_LEAST_RATE, _LARGEST_RATE = 0.1, 100e6
#: The kernel gives less than the first to nobody.
LEAST_BUFFER, LARGEST_BUFFER = 4 << 10, 1 << 30

DriversOption = Annotated[
    str | None,
    typer.Option(
        "--drivers",
        help="Drivers or groups: tcp,beowire or memory,sockets or all; mpi: every installed"
        " MPI. Default: one of each kind. `beowire drivers` lists them.",
    ),
]
OwnDriversOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--driver",
        help="Your own driver, FILE.c written to driver.h: it is compiled, checked and"
        " measured as well. May be repeated.",
    ),
]
OwnCommandsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--driver-command",
        help="NAME=COMMAND: run COMMAND and show its lines SIZE SECONDS (half round trip) as"
        " NAME. May be repeated.",
    ),
]
PatternOption = Annotated[
    str,
    typer.Option("--pattern", "--patterns", help=f"One or several of {', '.join(PATTERNS)}."),
]
SizesOption = Annotated[
    str | None,
    typer.Option(
        "--sizes",
        help="Such as 8,1024,64KiB, or LOW-HIGH of the schedule. "
        "Default: NetPIPE's schedule up to --max-size, fewer if --time is short.",
    ),
]
LaunchesOption = Annotated[
    int,
    typer.Option(
        "--launches",
        help="Repeat everything this often with new processes; with --against, at most (20).",
    ),
]
MaxSizeOption = Annotated[
    str | None, typer.Option("--max-size", help="The largest message. Default: 4MiB.")
]
PinOption = Annotated[
    str | None,
    typer.Option("--pin", help="CPUs of the two ends: A,B. Default: chosen automatically."),
]
OffsetOption = Annotated[
    str | None,
    typer.Option(
        "--offset",
        help="Where messages begin, in bytes from the start of a page: N, or N,M for sent"
        " and received.",
    ),
]
LoadOption = Annotated[
    str | None,
    typer.Option(
        "--load",
        help="Measure idle and under a load, in turns: hog:NICE (0 equal, 19 low priority),"
        " idle, duty:PERCENT or memory:NICE, as in `beowire load`; or several:"
        " duty:25,duty:50,hog.",
    ),
]
ProbesOption = Annotated[
    str | None,
    typer.Option(
        "--probes",
        help="Show the cost of messages (CPU time, interrupts, context switches), and more"
        " in separate rounds: syscalls,hardware,soaker, or all, or none.",
    ),
]
SocketBufferOption = Annotated[
    str | None,
    typer.Option(
        "--socket-buffer",
        help="Also measure TCP with socket buffers of this size, such as 512KiB (tcp-buffer).",
    ),
]
MessageRateOption = Annotated[
    str | None,
    typer.Option(
        "--message-rate",
        help="Messages per second of the pattern open-loop: 5000 or 20k. Default: 10, 50 and"
        " 90 % of the highest rate without loss.",
    ),
]
SystemCallCostOption = Annotated[
    str | None,
    typer.Option(
        "--system-call-cost",
        help="Add this time, such as 300ns, to every system call of both ends, as on a"
        " machine with slow system calls.",
    ),
]
SeedOption = Annotated[
    int | None, typer.Option("--seed", help="Seed for the order of sizes and turns.")
]
JsonOption = Annotated[
    bool,
    typer.Option("--json", help="Print result lines as they are measured, and nothing else."),
]


def check_amounts(seconds: float, launches: int = 1) -> None:
    """BeowireError if there is too much or nothing to measure."""
    check_seconds(seconds, _LONGEST_RUN_S)
    if not 1 <= launches <= _MOST_LAUNCHES:
        raise BeowireError(f"--launches is 1 to {_MOST_LAUNCHES}")


def read_sizes(sizes: str | None, max_size: str | None) -> list[int]:
    """What `--sizes` and `--max-size` ask for. BeowireError."""
    if max_size is not None:
        return parse_sizes(sizes, parse_size(max_size))
    return parse_sizes(sizes) if sizes is None else parse_sizes(sizes, LARGEST_BYTES)


def read_offsets(text: str | None) -> tuple[int, int]:
    """What `--offset` asks for, of what is sent and what is received. BeowireError."""
    if text is None:
        return 0, 0
    words = [word.strip() for word in text.split(",")]
    numbers = [int(word) for word in words if re.fullmatch(r"[0-9]{1,4}", word)]
    if len(numbers) != len(words) or len(words) > 2 or max(numbers) > LARGEST_OFFSET:
        raise BeowireError(
            f"cannot read --offset {text!r}: write bytes up to {LARGEST_OFFSET}, as 1 or 1,64"
        )
    return numbers[0], numbers[-1]


def read_message_rate(text: str | None, patterns: list[str]) -> float | None:
    """Messages per second; None: nothing was said. BeowireError."""
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


def read_socket_buffer(text: str | None) -> int | None:
    """Bytes; None: nothing was said. BeowireError."""
    if text is None:
        return None
    try:
        size = parse_size(text)
    except BeowireError as error:
        raise BeowireError(f"--socket-buffer: {error}") from None
    if not LEAST_BUFFER <= size <= LARGEST_BUFFER:
        raise BeowireError("--socket-buffer is 4KiB to 1GiB")
    return size


def read_pins(text: str | None) -> tuple[str | None, str | None]:
    """The CPUs of the two ends; None: chosen automatically. BeowireError."""
    if text is None:
        return None, None
    words = [word.strip() for word in text.split(",")]
    if len(words) != 2 or not all(word == "auto" or word.isdecimal() for word in words):
        raise BeowireError(f"cannot read --pin {text!r}: write two CPU numbers, as 0,1")
    return words[0], words[1]
