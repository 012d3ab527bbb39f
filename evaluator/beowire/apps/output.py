# SPDX-License-Identifier: BSD-3-Clause
"""What programs say of themselves: the line of JSON of `apps/`, the text of NPB, hpcc's file, the
line of the profile; and of all that somebody says, the line that tells why it failed. Pure."""

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

#: Standard error of the library that is loaded before the MPI's.
PROFILE_MARK = "beowire-apps-profile "

#: The same of the one that takes the time of a program's parts.
PHASES_MARK = "beowire-apps-phases "

#: What launchers say after any failure: none of it says why.
_CHATTER = re.compile(
    r"[-=\s*|+]*$|=  |\[[^\]]*:\d+\]|.*(Primary job|exited (with|on)|BAD TERMINATION|EXIT CODE"
    r"|EXIT STRING|YOUR APPLICATION TERMINATED|CLEANUP|RANK \d+ PID|KILLED BY"
    r"|You can ignore the below|This typically refers|Please see the FAQ|Process name:|Exit code:"
    r"|non-zero status|the job to be terminated|job has been aborted|APPLICATION BAD)"
)

#: The lines of Open MPI between rules of dashes.
_BANNER = re.compile(r"^-{20,}$.*?^-{20,}$", re.MULTILINE | re.DOTALL)

_SIGNAL = re.compile(
    r"(?:exited on signal|KILLED BY SIGNAL:) (\d+ \([^)]*\))|EXIT STRING: (.+ \(signal \d+\))"
)


@dataclass(frozen=True)
class Said:
    """What a program found out."""

    seconds: float
    """Of its timed part."""
    figure: float
    unit: str
    verified: bool
    check: str = ""
    """What was compared, in words."""
    communication_share: float | None = None
    """By its own clock; None: it has none."""


@dataclass(frozen=True)
class Calls:
    """What the profile counted: all ranks together."""

    ranks: int
    seconds: float
    mpi_share: float
    messages: int
    bytes: int
    sizes: dict[int, int] = field(default_factory=dict)
    """Messages by their length: up to so many bytes."""
    collectives: int = 0
    """Calls of collective functions, of all ranks."""
    collective_bytes: int = 0
    """What was given to them."""


@dataclass(frozen=True)
class Phases:
    """Seconds of the parts of a program, each of the rank that took longest for it."""

    init_s: float
    """MPI_Init."""
    run_s: float
    """From its return to the call of MPI_Finalize."""
    finalize_s: float
    """MPI_Finalize."""


class Unreadable(Exception):
    """The text is not what the program should say; the message says what is missing."""


def own(text: str) -> Said:
    """The line of a program of `apps/`. Unreadable."""
    for line in text.splitlines():
        if not line.startswith("{"):
            continue
        try:
            value = json.loads(line)
            share = value.get("communication_share")
            return Said(
                seconds=float(value["seconds"]),
                figure=float(value["figure"]),
                unit=str(value["unit"]),
                verified=value["verified"] is True,
                check=str(value.get("check", "")),
                communication_share=None if share is None else float(share),
            )
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
    raise Unreadable("it printed no result")


def npb(text: str) -> Said:
    """The summary that each benchmark of NPB prints. Its seconds have two decimals, so they are
    only those of runs that take a while. Unreadable."""
    rate = re.search(r"^\s*Mop/s total\s*=\s*([\d.Ee+-]+)", text, re.MULTILINE)
    seconds = re.search(r"^\s*Time in seconds\s*=\s*([\d.Ee+-]+)", text, re.MULTILINE)
    verified = re.search(r"^\s*Verification\s*=\s*(.+?)\s*$", text, re.MULTILINE)
    if rate is None or seconds is None or verified is None:
        raise Unreadable("it printed no summary with `Mop/s total` and `Verification`")
    try:
        found, took = float(rate[1]), float(seconds[1])
    except ValueError:
        raise Unreadable(f"cannot read `{rate[0].strip()}`") from None
    return Said(
        seconds=took,
        figure=found,
        unit="MOP/s",
        verified=verified[1] == "SUCCESSFUL",
        check=f"Verification = {verified[1]}",
    )


def hpcc(text: str) -> Said:
    """hpccoutf.txt. Unreadable."""
    values = dict(re.findall(r"^(\w+)=(\S+)$", text, re.MULTILINE))
    residuals = re.findall(r"^\|\|.*=\s*([\d.]+)\s*\.*\s*(PASSED|FAILED)", text, re.MULTILINE)
    try:
        figure, seconds = float(values["HPL_Tflops"]) * 1e3, float(values["HPL_time"])
    except (KeyError, ValueError):
        raise Unreadable("hpccoutf.txt has no HPL_Tflops") from None
    return Said(
        seconds=seconds,
        figure=figure,
        unit="Gflop/s",
        verified=bool(residuals) and all(passed == "PASSED" for _, passed in residuals),
        check="; ".join(f"scaled residual {value} {passed}" for value, passed in residuals),
    )


def profile(text: str) -> Calls:
    """The line of the profile among all of standard error. Unreadable."""
    for line in text.splitlines():
        _, mark, rest = line.partition(PROFILE_MARK)
        if not mark:
            continue
        try:
            value = json.loads(rest)
            return Calls(
                ranks=int(value["ranks"]),
                seconds=float(value["seconds"]),
                mpi_share=float(value["mpi_share"]),
                messages=int(value["messages"]),
                bytes=int(value["bytes"]),
                sizes={int(size): int(count) for size, count in value["sizes"].items()},
                collectives=int(value.get("collectives", {}).get("messages", 0)),
                collective_bytes=int(value.get("collectives", {}).get("bytes", 0)),
            )
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
    raise Unreadable("the profile printed nothing: is the program linked with its MPI's library?")


def phases(text: str) -> Phases | None:
    """What the ranks say of their parts among all of standard error; None: none of them does."""
    found: list[tuple[float, float, float]] = []
    for line in text.splitlines():
        _, mark, rest = line.partition(PHASES_MARK)
        if not mark:
            continue
        try:
            value = json.loads(rest)
            one = tuple(float(value[name]) for name in ("init_s", "run_s", "finalize_s"))
        except (ValueError, KeyError, TypeError):
            continue
        if all(0 <= seconds < math.inf for seconds in one):
            found.append((one[0], one[1], one[2]))
    if not found:
        return None
    return Phases(*(max(column) for column in zip(*found, strict=True)))


def without_phases(text: str) -> str:
    """What a program, and its launcher, said besides."""
    return "".join(line for line in text.splitlines(keepends=True) if PHASES_MARK not in line)


def reason(name: str, texts: Sequence[str]) -> str:
    """The line that says best why a program failed: its own, or one of Beowire, else the first that
    is no chatter of a launcher, of the first text that has any; empty if nobody says why."""
    lines = [line.strip() for text in texts for line in text.splitlines() if line.strip()]
    for mark in (f"{name}: ", "beowire: "):
        for line in lines:
            if line.startswith(mark):
                return line.removeprefix(f"{name}: ")
    for text in texts:
        for line in _BANNER.sub("", text).splitlines():
            if not _CHATTER.match(line):
                return line.strip()
    whole = "\n".join(texts)
    if signal := _SIGNAL.search(whole):
        return f"ended by signal {signal[1] or signal[2]}"
    telling = [line for line in lines if not _CHATTER.match(line)]
    return "" if re.search("non-zero (status|exit)", whole) else (telling or [""])[0]
