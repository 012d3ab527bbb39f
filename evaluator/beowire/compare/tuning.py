# SPDX-License-Identifier: BSD-3-Clause
"""The crossovers of the transport, measured: what `beowire tune` does.

Where two ways to send compete, both are forced in turn for the same sizes (`BEOWIRE_SETTINGS`), and
the size up to which the first is not the slower (but for WORTH) is the crossover. Where a number is
to be chosen, the default stays unless another is better by more than what runs differ anyway.
"""

import ctypes
import math
import os
import stat
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from beowire import files, paths
from beowire.compare.run import LONGEST_DEADLINE_S, Request, run
from beowire.errors import BeowireError
from beowire.interrupts import Interrupts
from beowire.places.launch.base import Launcher
from beowire.plan.plan import LEAST_CELL_S
from beowire.record.reader import read_record

#: Sizes, in bytes, at which the competitors meet.
BURST_SIZES = [2 << 10, 3 << 10, 4 << 10, 6 << 10, 8 << 10, 12 << 10]
EAGER_SIZES = [1 << power for power in range(11, 19)]
BUNDLE_SIZES = [8, 64, 256, 512, 1024]
UNASKED_SIZES = [128 << 10, 512 << 10]
BULK_SIZES = [1 << 20, 4 << 20]
READ_SIZES = [1 << power for power in range(15, 23)]

#: What is at most this much slower than the best is no worse: shares of its time.
WORTH = 0.03

#: How many runs share the time: as many as tune() measures at most.
RUNS = 17

#: What a run takes besides its measuring, until that is known: engines are started and ended.
_BESIDE_S = 1.0

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

#: Cost of a message by driver and size: lower is better.
Costs = Mapping[tuple[str, int], float]


@dataclass(frozen=True)
class Work:
    """One run: what is measured under which settings."""

    settings: str
    drivers: str
    pattern: str
    sizes: Sequence[int]
    within_host: bool = False


#: Carries out a run.
Measure = Callable[[Work], Costs]


@dataclass(frozen=True)
class Choice:
    """A line of the configuration, and what it rests on."""

    key: str
    value: str
    """Empty: none."""
    why: str
    left_out: bool = False
    """It was not to be had, and `why` says why: what is built in stays."""

    def __str__(self) -> str:
        """As people read it."""
        if self.left_out:
            return f"{self.key}: left out  ({self.why})"
        return f"{self.key} = {self.value or 'none'}  ({self.why})"


class Unmeasured(BeowireError):
    """A run that was carried out and has no figures: its comparison is left out, others go on."""


def crossover(first: Costs, second: Costs, sizes: Sequence[int]) -> int:
    """The largest size up to which the first way is never worse; 0: it is from the start."""
    best = 0
    for size in sorted(sizes):
        if first["beowire", size] > second["beowire", size] * (1 + WORTH):
            break
        best = size
    return best


def mean_cost(costs: Costs) -> float:
    """The geometric mean over the sizes, so that none counts more for being longer."""
    return math.exp(sum(math.log(cost) for cost in costs.values()) / len(costs))


def choose(costs: Mapping[str, float], default: str) -> str:
    """The cheapest value, unless the default is nearly as cheap."""
    best = min(costs, key=lambda value: costs[value])
    return default if costs[default] <= costs[best] * (1 + WORTH) else best


def tune(measure: Measure) -> Iterator[Choice]:
    """Measures one crossover after the other, each with what was found before it. One that cannot
    be measured (`Unmeasured`) is left out."""
    found: list[str] = []

    def beside_them(work: Work) -> Costs:
        return measure(replace(work, settings=_join(found, work)))

    for keys, compare in _COMPARISONS:
        try:
            choices = compare(beside_them)
        except Unmeasured as error:
            choices = [Choice(key, "", str(error), left_out=True) for key in keys]
        for choice in choices:
            if not choice.left_out:
                found.append(f"{choice.key}={choice.value}")
            yield choice


def _join(found: Sequence[str], work: Work) -> str:
    """The settings of some work after those that were found; each key may be there once."""
    tried = {setting.partition("=")[0] for setting in work.settings.split(",")}
    kept = [setting for setting in found if setting.partition("=")[0] not in tried]
    return ",".join([*kept, work.settings]) if work.settings else ",".join(kept)


def beside(kept: Sequence[str], measure: Measure) -> Measure:
    """Measures with these settings, too."""
    return lambda work: measure(
        replace(work, settings=",".join(filter(None, [*kept, work.settings])))
    )


def _spin(measure: Measure) -> list[Choice]:
    wake = measure(Work("", "tcp,tcp-spin", "pingpong", [8]))
    asleep_ns = max(0.0, wake["tcp", 8] - wake["tcp-spin", 8])
    spin_ns = min(max(round(asleep_ns, -3), _SPIN_NS[0]), _SPIN_NS[1])
    return [Choice("spin_ns", f"{spin_ns:.0f}", f"a wake-up takes {asleep_ns:.0f} ns")]


def _burst(measure: Measure) -> list[Choice]:
    bursts = {
        value: mean_cost(measure(Work(f"burst_frames={value}", "beowire", "pingpong", BURST_SIZES)))
        for value in ("2", "3", "6", "64")
    }
    why = _shares(bursts, "messages of 2 to 12 KiB")
    return [Choice("burst_frames", choose(bursts, "3"), why)]


def _eager(measure: Measure) -> list[Choice]:
    no_limit = f"eager_cut_frames={_NO_LIMIT_FRAMES}"
    at_once, announced = (
        measure(Work(f"{no_limit},eager_bytes={limit}", "beowire", "pingpong", EAGER_SIZES))
        for limit in (1 << 20, 0)
    )
    eager = str(crossover(at_once, announced, EAGER_SIZES))
    return [
        Choice(
            "eager_cut_frames",
            str(_NO_LIMIT_FRAMES),
            "not measured: no limit, so that what is measured for eager_bytes is the only one",
        ),
        Choice("eager_bytes", eager, "up to here sending at once is not slower than announcing"),
    ]


def _unasked(measure: Measure) -> list[Choice]:
    unasked = {
        value: mean_cost(
            measure(Work(f"unasked_blocks={value}", "beowire", "pingpong", UNASKED_SIZES))
        )
        for value in ("0", "1", "2", "4")
    }
    return [Choice("unasked_blocks", choose(unasked, "2"), _shares(unasked, "long messages"))]


def _bundle(measure: Measure) -> list[Choice]:
    bundled, alone = (
        measure(Work(f"bundle_bytes={limit}", "beowire", "stream", BUNDLE_SIZES))
        for limit in (1024, 0)
    )
    bundle = str(crossover(bundled, alone, BUNDLE_SIZES))
    return [Choice("bundle_bytes", bundle, "up to here a stream is not slower in bundles")]


def _bulk(measure: Measure) -> list[Choice]:
    bulk = {
        value: mean_cost(
            measure(Work(f"bulk_by_packet={value}", "beowire", "pingpong", BULK_SIZES))
        )
        for value in ("", "all")
    }
    return [Choice("bulk_by_packet", choose(bulk, ""), _shares(bulk, "long messages"))]


def _read(measure: Measure) -> list[Choice]:
    # What is sent at once is not read: announced, all sizes tell the two apart.
    alone, both = (
        measure(
            Work(
                f"eager_bytes=0,read_bytes={limit}",
                "beowire",
                "pingpong",
                READ_SIZES,
                within_host=True,
            )
        )
        for limit in (_NO_LIMIT_BYTES, 0)
    )
    read = str(crossover(alone, both, READ_SIZES))
    why = "within this host: up to here the receiver alone is not slower than both ends at once"
    return [Choice("read_bytes", read, why)]


#: What is compared, in this order, and the keys that it is for.
_COMPARISONS: Sequence[tuple[tuple[str, ...], Callable[[Measure], list[Choice]]]] = (
    (("spin_ns",), _spin),
    (("burst_frames",), _burst),
    (("eager_cut_frames", "eager_bytes"), _eager),
    (("unasked_blocks",), _unasked),
    (("bundle_bytes",), _bundle),
    (("bulk_by_packet",), _bulk),
    (("read_bytes",), _read),
)


def _shares(costs: Mapping[str, float], what: str) -> str:
    least = min(costs.values())
    return f"times of {what}: " + ", ".join(
        f"{value or 'none'}: {cost / least:.2f}" for value, cost in costs.items()
    )


@contextmanager
def measuring(
    between: Launcher, within: Launcher, seconds: float, interrupts: Interrupts, interface: str
) -> Iterator[Measure]:
    """Runs between the nodes of a launcher, or within a host by the other, all RUNS of them in so
    many seconds, with what starting the engines takes; those that are too short are repeated, for
    as long again in all, or a minute. Both launchers' contexts are entered once for all runs, and
    left here."""
    clock = _Shares(seconds)

    def measure(work: Work) -> Costs:
        seconds = clock.next_s(work)
        while True:
            try:
                return measured(work, seconds)
            except _TooShort:
                longer = clock.longer_s(work, seconds)
                if longer is None:
                    raise
                seconds = longer

    def measured(work: Work, seconds: float) -> Costs:
        with tempfile.TemporaryDirectory(prefix="beowire-tune-") as directory:
            request = Request(
                patterns=[work.pattern],
                sizes=list(work.sizes),
                directory=Path(directory),
                drivers=work.drivers,
                seconds=seconds,
                interface="" if work.within_host else interface,
                # Emulated, and beside others, a MiB takes seconds. What takes too long ends with
                # the run's time, and has more then.
                least_deadline_s=LONGEST_DEADLINE_S,
            )
            with _settings(work.settings):
                launcher = within if work.within_host else between
                outcome = run(launcher, request, interrupts, entered=True)
            if outcome.interrupted:
                raise KeyboardInterrupt
            if outcome.failures:
                raise Unmeasured("; ".join(outcome.failures), exit_code=1)
            return _costs(request.record, work)

    with between, within:
        clock.start()
        try:
            yield measure
        finally:
            interrupts.hold()


class _TooShort(Unmeasured):
    """A run had too little time for one of its sizes."""


class _Shares:
    """What is left of the time, shared by the runs that are to come. How long one takes besides its
    measuring is learned from those before it."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._spare_s = max(seconds, _LEAST_SPARE_S)
        self._begun = self._last = time.monotonic()
        self._given: list[float] = []
        self._beside_s = _BESIDE_S

    def start(self) -> None:
        """The time begins."""
        self._begun = self._last = time.monotonic()

    @staticmethod
    def least_s(work: Work) -> float:
        """Seconds that a run needs, if it has the cores."""
        return LEAST_CELL_S * len(work.sizes) * len(work.drivers.split(","))

    def next_s(self, work: Work) -> float:
        """Seconds for the next run to measure."""
        now = time.monotonic()
        if self._given:
            beside = max(0.0, now - self._last - self._given[-1])
            self._beside_s += (beside - self._beside_s) / len(self._given)
        left = self._seconds - (now - self._begun)
        share = left / max(1, RUNS - len(self._given)) - self._beside_s
        self._last = now
        self._given.append(max(self.least_s(work), share))
        return self._given[-1]

    def longer_s(self, work: Work, tried_s: float) -> float | None:
        """Seconds for a run again that was too short; they are nobody's share. None: there is no
        time left for it."""
        tried_s = max(tried_s, self.least_s(work))
        wanted = min(_LONGER * tried_s, self._spare_s)
        if wanted < _WORTH_REPEATING * tried_s:
            return None
        self._spare_s -= wanted
        self._begun += wanted
        self._last += wanted
        return wanted


@contextmanager
def _settings(settings: str) -> Iterator[None]:
    """What engines inherit: these settings, and no file."""
    before = {name: os.environ.get(name) for name in ("BEOWIRE_SETTINGS", "BEOWIRE_CONFIG")}
    os.environ.update({"BEOWIRE_SETTINGS": settings, "BEOWIRE_CONFIG": ""})
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _costs(path: Path, work: Work) -> Costs:
    costs = {}
    for result in read_record(path).results:
        if result.half_rtt_ns is not None:
            costs[result.driver, result.size] = result.half_rtt_ns.median
        elif result.rate_messages_per_s is not None:
            costs[result.driver, result.size] = 1e9 / result.rate_messages_per_s.median
    missing = [
        f"{driver} at {size} bytes"
        for driver in work.drivers.split(",")
        for size in work.sizes
        if not costs.get((driver, size), 0) > 0
    ]
    if missing:
        raise _TooShort(
            f"there was no time to measure {missing[0]}: give more with --time", exit_code=1
        )
    return costs


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
    measured = {key for keys, _ in _COMPARISONS for key in keys}
    pairs = (line.partition("#")[0].partition("=") for line in text.splitlines())
    settings = {key.strip(): value.strip() for key, equals, value in pairs if equals}
    return [f"{key}={value}" for key, value in settings.items() if key not in measured]


def text_of(choices: Sequence[Choice], where: str, kept: Sequence[str] = ()) -> str:
    """The configuration file. `kept`: what kept_of() has found."""
    lines = [f"{_HEADER} Measured {where}. What each means: docs/CONFIGURATION.md."]
    for choice in choices:
        line = f"{choice.key} = {choice.value}"
        if not choice.value:
            line = f"# {choice.key}: {'left out' if choice.left_out else 'none'}"
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
