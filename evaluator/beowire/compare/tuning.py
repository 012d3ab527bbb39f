# SPDX-License-Identifier: BSD-3-Clause
"""The thresholds of the transport, measured: what `beowire tune` does.

What competes for a key are sessions of one run (`TunedSession`), which take turns round by round,
so that a drift of the machine distorts none of them. Keys are measured one after the other, because
the kernel offers each frame to all packet sockets of a host, and many sessions would slow frames.
"""

import ctypes
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import geometric_mean

from beowire import files, paths
from beowire.conduct import How
from beowire.conduct.measure import Measurement
from beowire.conduct.session import SESSIONS, Session
from beowire.conduct.survey import Survey, survey
from beowire.errors import BeowireError
from beowire.interrupts import Interrupts
from beowire.places.launch.base import Launcher
from beowire.plan.plan import Group, Plan
from beowire.plan.selection import choose_drivers
from beowire.record.lines import NodeEnd, Result, Skipped

#: What is at most this much slower than the best is no worse: shares of its time.
WORTH = 0.03

#: A run that was too short is repeated, for so many times as long, and that again: beside others,
#: or in machines that are emulated, all takes longer.
_LONGER = 4

#: All that is repeated takes as long together as what was to be measured, or so long if that is
#: more; what is left of that is for one run more if it is so many times as long as the one before.
_LEAST_SPARE_S = 60.0
_WORTH_REPEATING = 2

#: Read where the user has none. As transport/endpoint/configuration.c has it.
OF_HOST = Path("/etc/beowire/beowire.conf")
_CONFIGURATION_BYTES = 1 << 16

_HEADER = "# Written by beowire tune."
_NO_LIMIT_FRAMES = 256
_NO_LIMIT_BYTES = 1 << 30
_SPIN_NS = (4000, 10_000_000)
_REASON_BYTES = 512

#: The family of drivers that TunedSession makes.
_TUNED = "tuned"

#: Cost of a message by driver and size: lower is better.
Costs = Mapping[tuple[str, int], float]


@dataclass(frozen=True)
class Work:
    """One run: what is measured, side by side."""

    drivers: Sequence[str]
    """`tuned:KEY=VALUE,...` is Beowire's with these settings."""
    sizes: Sequence[int]
    pattern: str = "pingpong"
    within_host: bool = False
    settings: str = ""
    """Of all of them."""

    @property
    def cells(self) -> int:
        """By which it has its share of the time."""
        return len(self.drivers) * len(self.sizes)


#: Carries out a run.
Measure = Callable[[Work], Costs]


@dataclass(frozen=True)
class Choice:
    """A line of the configuration, and what it rests on."""

    key: str
    value: str
    why: str
    left_out: bool = False
    """It was not to be had, and `why` says why: what is built in stays."""

    def __str__(self) -> str:
        """As people read it."""
        if self.left_out:
            return f"{self.key}: left out  ({self.why})"
        return f"{self.key} = {self.value}  ({self.why})"


class Unmeasured(BeowireError):
    """A run that was carried out and has no figures: its comparison is left out, others go on."""


@dataclass(frozen=True)
class Comparison:
    """What is measured for some keys, and how their values follow from it."""

    keys: Sequence[str]
    work: Work
    judge: Callable[[Costs], list[Choice]]


class TunedSession(Session):
    """Beowire's driver with engines that have the settings in its name, besides those of all."""

    @property
    def engine_driver(self) -> str:
        """What the engines call it."""
        return "beowire"

    def start_engines(self, pins: tuple[str | None, str | None]) -> None:
        """As Session does, with the settings."""
        own = self.info.name.partition(":")[2]
        with _settings(os.environ.get("BEOWIRE_SETTINGS", ""), own):
            super().start_engines(pins)


SESSIONS[_TUNED] = TunedSession


def crossover(first: Mapping[int, float], second: Mapping[int, float]) -> int:
    """The largest size up to which the first way is never worse; 0: it is from the start."""
    best = 0
    for size in sorted(first):
        if first[size] > second[size] * (1 + WORTH):
            break
        best = size
    return best


def choose(costs: Mapping[str, float], default: str) -> str:
    """The cheapest value, unless the default is nearly as cheap."""
    best = min(costs, key=lambda value: costs[value])
    return default if costs[default] <= costs[best] * (1 + WORTH) else best


def tune(measure: Measure, kept: Sequence[str] = ()) -> Iterator[Choice]:
    """Measures the keys one after the other, each with what was found before it and what is kept.
    What cannot be measured (`Unmeasured`) is left out."""
    found = list(kept)
    for one in COMPARISONS:
        try:
            choices = one.judge(measure(replace(one.work, settings=",".join(found))))
        except Unmeasured as error:
            choices = [Choice(key, "", str(error), left_out=True) for key in one.keys]
        for choice in choices:
            if not choice.left_out:
                found.append(f"{choice.key}={choice.value}")
            yield choice


def _spin(costs: Costs) -> list[Choice]:
    asleep_ns = max(0.0, costs["tcp", 8] - costs["tcp-spin", 8])
    spin_ns = min(max(round(asleep_ns, -3), _SPIN_NS[0]), _SPIN_NS[1])
    return [Choice("spin_ns", f"{spin_ns:.0f}", f"a wake-up takes {asleep_ns:.0f} ns")]


def _best(
    key: str, default: str, others: Sequence[str], sizes: Sequence[int], what: str
) -> Comparison:
    """The value with the least geometric mean over the sizes, so that none counts more for being
    longer."""
    drivers = {value: f"{_TUNED}:{key}={value}" for value in (default, *others)}

    def judge(costs: Costs) -> list[Choice]:
        means = {
            value: geometric_mean(costs[driver, size] for size in sizes)
            for value, driver in drivers.items()
        }
        return [Choice(key, choose(means, default), _shares(means, what))]

    return Comparison((key,), Work(tuple(drivers.values()), sizes), judge)


def _limit(key: str, work: Work, why: str, fixed: Sequence[Choice] = ()) -> Comparison:
    """The size up to which the first driver of the work is not the slower."""

    def judge(costs: Costs) -> list[Choice]:
        first, second = ({size: costs[one, size] for size in work.sizes} for one in work.drivers)
        return [*fixed, Choice(key, str(crossover(first, second)), why)]

    return Comparison([*(choice.key for choice in fixed), key], work, judge)


#: What is compared, in this order.
COMPARISONS: Sequence[Comparison] = (
    Comparison(("spin_ns",), Work(("tcp", "tcp-spin"), (8,)), _spin),
    _best("burst_frames", "3", ("2", "6", "64"), (2 << 10, 4 << 10, 8 << 10), "2 to 8 KiB"),
    _limit(
        "eager_bytes",
        Work(
            tuple(
                f"{_TUNED}:eager_cut_frames={_NO_LIMIT_FRAMES},eager_bytes={limit}"
                for limit in (1 << 20, 0)
            ),
            tuple(1 << power for power in range(12, 19)),
        ),
        "up to here sending at once is not slower than announcing",
        [
            Choice(
                "eager_cut_frames",
                str(_NO_LIMIT_FRAMES),
                "not measured: no limit, so that what is measured for eager_bytes is the only one",
            )
        ],
    ),
    _limit(
        "bundle_bytes",
        Work(
            tuple(f"{_TUNED}:bundle_bytes={limit}" for limit in (1024, 0)),
            (64, 256, 512, 1024),
            "stream",
        ),
        "up to here a stream is not slower in bundles",
    ),
    # What is sent at once is not read: announced, all sizes tell the two apart.
    _limit(
        "read_bytes",
        Work(
            tuple(f"{_TUNED}:eager_bytes=0,read_bytes={limit}" for limit in (_NO_LIMIT_BYTES, 0)),
            tuple(1 << power for power in range(15, 23)),
            within_host=True,
        ),
        "within this host: up to here the receiver alone is not slower than both ends at once",
    ),
)

_CELLS = sum(one.work.cells for one in COMPARISONS)


def _shares(costs: Mapping[str, float], what: str) -> str:
    least = min(costs.values())
    return f"times of {what}: " + ", ".join(
        f"{value}: {cost / least:.2f}" for value, cost in costs.items()
    )


@contextmanager
def measuring(
    between: Launcher, within: Launcher, seconds: float, interrupts: Interrupts, interface: str
) -> Iterator[Measure]:
    """Runs between the nodes of a launcher, or within a host by the other; all COMPARISONS measure
    for so many seconds. Runs that are too short are repeated, for as long again in all, or a
    minute. Both launchers' contexts are entered once for all runs, and left here."""
    spare_s = max(seconds, _LEAST_SPARE_S)
    found: Survey | None = None

    def measure(work: Work) -> Costs:
        nonlocal spare_s, found
        share_s = seconds * work.cells / _CELLS
        launcher = between
        with _settings(work.settings):
            # It probes every driver, which takes longer than a run: once is enough.
            found = found or survey(between, interrupts, interface=interface)
            ends = found.ends
            if work.within_host:
                launcher = within
                ends = [
                    NodeEnd(node=node.name, address=node.reach, interface="lo")
                    for node in within.nodes
                ]
            while True:
                try:
                    return _run(launcher, replace(found, ends=ends), work, share_s, interrupts)
                except _TooShort:
                    longer_s = min(_LONGER * share_s, spare_s)
                    if longer_s < _WORTH_REPEATING * share_s:
                        raise
                    spare_s -= longer_s
                    share_s = longer_s

    with between, within:
        try:
            yield measure
        finally:
            interrupts.hold()


class _TooShort(Unmeasured):
    """A run had too little time for one of its sizes."""


def _run(
    launcher: Launcher, found: Survey, work: Work, seconds: float, interrupts: Interrupts
) -> Costs:
    costs: dict[tuple[str, int], float] = {}

    def take(line: Result | Skipped) -> None:
        if isinstance(line, Result) and line.half_rtt_ns is not None:
            costs[line.driver, line.size] = line.half_rtt_ns.median
        elif isinstance(line, Result) and line.rate_messages_per_s is not None:
            costs[line.driver, line.size] = 1e9 / line.rate_messages_per_s.median

    drivers = [
        choose_drivers(found.drivers, "beowire" if _is_tuned(name) else name)[0][0].model_copy(
            update={"name": name}
        )
        for name in work.drivers
    ]
    groups = [Group(work.pattern, size, tuple(work.drivers)) for size in work.sizes]
    measurement = Measurement(launcher, found, interrupts, take, lambda _: None)
    try:
        measurement.run(Plan(tuple(groups), (), seconds), drivers, 1, How())
        measurement.flush()
    finally:
        with interrupts.held():
            measurement.end()
    if measurement.failures:
        raise Unmeasured("; ".join(measurement.failures), exit_code=1)
    for size in work.sizes:
        for name in work.drivers:
            if not costs.get((name, size), 0) > 0:
                raise _TooShort(
                    f"there was no time to measure {name} at {size} bytes: give more with --time",
                    exit_code=1,
                )
    return costs


def _is_tuned(driver: str) -> bool:
    return driver.partition(":")[0] == _TUNED


@contextmanager
def _settings(*settings: str) -> Iterator[None]:
    """What engines inherit: these settings, of which the last value of a key counts, and no
    file."""
    pairs = [pair.partition("=") for text in settings for pair in text.split(",") if pair]
    last = {key: f"{key}={value}" for key, _, value in pairs}
    before = {name: os.environ.get(name) for name in ("BEOWIRE_SETTINGS", "BEOWIRE_CONFIG")}
    os.environ.update({"BEOWIRE_SETTINGS": ",".join(last.values()), "BEOWIRE_CONFIG": ""})
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def kept_of(path: Path) -> list[str]:
    """What is in the file, as `key=value`, and is not measured: a user has written it there. Where
    there is no such file, and this one will be read in place of the host's, of that one.
    BeowireError: it is there, and cannot be read, or is wrong."""
    if files.descriptor_of(path) is not None:
        return []
    found = path
    if not path.exists() and path == default_path():
        found = OF_HOST
    try:
        if not found.exists() or not stat.S_ISREG(found.stat().st_mode):
            return []
        with found.open(encoding="utf-8", errors="replace") as file:
            text = file.read(_CONFIGURATION_BYTES)
    except OSError as error:
        raise BeowireError(f"{found} cannot be read: {error.strerror}") from None
    check_file(str(found.absolute()))
    measured = {key for one in COMPARISONS for key in one.keys}
    pairs = (line.partition("#")[0].partition("=") for line in text.splitlines())
    settings = {key.strip(): value.strip() for key, equals, value in pairs if equals}
    return [f"{key}={value}" for key, value in settings.items() if key not in measured]


def text_of(choices: Sequence[Choice], where: str, kept: Sequence[str] = ()) -> str:
    """The configuration file. `kept`: what kept_of() has found."""
    lines = [f"{_HEADER} Measured {where}. What each means: docs/CONFIGURATION.md."]
    for choice in choices:
        line = f"# {choice.key}: left out" if choice.left_out else f"{choice.key} = {choice.value}"
        lines += ["", f"# {choice.why}", line]
    if kept:
        lines += ["", "# Kept: it is not measured."]
        lines += [" = ".join(setting.split("=", 1)) for setting in kept]
    return "\n".join(lines) + "\n"


def default_path() -> Path:
    """Where the transport looks first, unless BEOWIRE_CONFIG says otherwise."""
    base = os.environ.get("XDG_CONFIG_HOME") or ""
    return (
        Path(base) if base.startswith("/") else Path.home() / ".config"
    ) / "beowire/beowire.conf"


def check_writable(path: Path) -> None:
    """Makes the directory. Raises BeowireError when nothing can be written there, or when a person
    wrote what is there."""
    written = _HEADER
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if files.descriptor_of(path) is None and path.is_file():
            written = path.read_text(encoding="utf-8", errors="replace") or _HEADER
    except OSError as error:
        raise BeowireError(
            f"{path} cannot be written: {error.strerror}: choose another --out"
        ) from None
    if path.is_dir():
        raise BeowireError(f"{path} cannot be written: it is no file: choose another --out")
    files.refuse_unwritable(path)
    if not written.startswith(_HEADER):
        raise BeowireError(f"{path} was not written by `beowire tune`: choose another --out")


def write(path: Path, text: str) -> None:
    """Writes the file where check_writable() has found nothing against it, and has the transport
    read it. BeowireError."""
    files.write_named(path, text)
    if files.descriptor_of(path) is None and path.is_file():
        check_file(str(path.absolute()))


def check_file(path: str | None) -> None:
    """Raises BeowireError with the line that the transport refuses, by asking the transport."""
    driver = paths.engine_directory() / "drivers" / "beowire-driver-beowire.so"
    try:
        check = ctypes.CDLL(str(driver)).beowire_configuration_check
    except OSError as error:
        raise BeowireError(f"the transport cannot be asked: {error}") from None
    check.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t]
    reason = ctypes.create_string_buffer(_REASON_BYTES)
    if check(None if path is None else os.fsencode(path), reason, _REASON_BYTES) != 0:
        raise BeowireError(reason.value.decode(errors="replace"))
