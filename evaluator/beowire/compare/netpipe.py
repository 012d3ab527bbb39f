# SPDX-License-Identifier: BSD-3-Clause
"""NetPIPE's command lines: what each of its options means here, or why there is no such thing.

The letters are those of NetPIPE 3.7, the words those of NetPIPE 5 (with one dash or two). An option
that cannot change what is measured here is passed over, with a line that says why; one that would
measure something else than what was asked for is an error. Pure, but for which MPIs are here.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from beowire.errors import BeowireError
from beowire.mpi import drivers as mpi_drivers
from beowire.plan import selection
from beowire.sizes import LARGEST_BYTES, PERTURBATION_BYTES, schedule

#: What NetPIPE's programs measure.
MODULES = {
    "NPtcp": "tcp",
    "NPsctp": "sctp",
    "NPmemcpy": "memcpy",
    "NPmpi": "mpi",
    "NPmpi2": "mpi-put",
    "NPpvm": "pvm",
    "NPshmem": "shmem-put",
    "NPibv": "verbs-send",
    "NPibverbs": "verbs-send",
}
_DEFAULT = "tcp"

#: Where NetPIPE stops if it is not told: at a size that takes long. Here it is the schedule's end.
_UPPER_BYTES = 4 << 20

_NO_PORT = "no port has to be free: drivers find their own, and control goes over ssh"
_REPEATS = "how often a size is repeated follows from its interval: --time bounds it"
_POSTS = "receives are posted before their messages come wherever a pattern or an MPI needs it"
_RESET = "sockets are new in each launch, and windows are open before a size is measured"
_QUICK = "--time says how long all of it may take"
_WARM = "buffers are warm unless -I asks for cold ones"
_NAMES = "the record has the names of both nodes, and much else"


@dataclass
class Wanted:
    """What a command line asks for."""

    driver: str = _DEFAULT
    host: str = ""
    """The other end; empty: none was named."""
    pattern: str = "pingpong"
    low: int = 1
    high: int = _UPPER_BYTES
    perturbation: int = PERTURBATION_BYTES
    powers_only: bool = False
    offsets: tuple[int, int] = (0, 0)
    socket_buffer: str = ""
    output: str = "np.out"
    version: int = 3
    """Whose columns: 5 where an option of NetPIPE 5 is among them."""
    notes: list[str] = field(default_factory=list)
    """What was passed over, and why, a line each."""

    def sizes(self) -> list[int]:
        """The sizes. BeowireError if there are none."""
        found = schedule(self.low, self.high, self.perturbation)
        if self.powers_only:
            found = [size for size in found if size & (size - 1) == 0]
        if not found:
            raise BeowireError(
                f"no size of NetPIPE's schedule is between {self.low} and {self.high}: see -l, -u"
            )
        return found

    def needs_other_end(self) -> bool:
        """Whether the driver works between two nodes."""
        return selection.group_of(self.driver) not in ("memory", "host")


def parse(words: Sequence[str]) -> Wanted:
    """Reads a command line: NetPIPE's program or a driver's name, if any, and then options.

    BeowireError, in a line, for what cannot be read or cannot be measured.
    """
    wanted = Wanted()
    left = list(words)
    if left and not left[0].startswith("-"):
        wanted.driver = _driver(left.pop(0))
    patterns: dict[str, str] = {}
    while left:
        name, value = _next(left)
        if len(name) > 1:
            wanted.version = 5 if name not in _OF_BOTH else wanted.version
        option = _OPTIONS[name]
        if option.pattern:
            patterns[option.pattern] = _shown(name)
        option.apply(wanted, value)
        if option.note:
            wanted.notes.append(f"{_shown(name)} changes nothing: {option.note}")
    if len(patterns) > 1:
        raise BeowireError(f"{' and '.join(patterns.values())} exclude each other: take one")
    wanted.pattern = next(iter(patterns), wanted.pattern)
    if wanted.low > wanted.high:
        raise BeowireError(f"the lower bound {wanted.low} is above the upper one, {wanted.high}")
    if wanted.socket_buffer and wanted.driver != "tcp":
        raise BeowireError("-b sets TCP's buffers: take it with NPtcp")
    if wanted.socket_buffer:
        wanted.driver = "tcp-buffer"
    return wanted


def _nothing(_wanted: Wanted, _value: str) -> None:
    """What an option does that changes nothing."""


@dataclass(frozen=True)
class _Option:
    """An option: whether it has a value, and what it does."""

    apply: Callable[[Wanted, str], None] = _nothing
    takes_value: bool = False
    pattern: str = ""
    note: str = ""
    """Why it changes nothing."""


def _next(left: list[str]) -> tuple[str, str]:
    """Takes the next option, and its value, off the front."""
    word = left.pop(0)
    if not word.startswith("-") or word == "-":
        raise BeowireError(f"netpipe: {word!r} is no option of NetPIPE: write -u 1048576")
    name, equals, value = word.lstrip("-").partition("=")
    if name not in _OPTIONS or (len(name) == 1 and word.startswith("--")):
        # Letters may stand together, and before their value, as getopt reads them.
        letter, rest = word[1:2], word[2:]
        if word.startswith("--") or letter not in _OPTIONS:
            raise BeowireError(
                f"netpipe: NetPIPE has no option {word}, or it is none of its TCP, MPI and memory"
                " modules: see `beowire netpipe --help`"
            )
        name, value = letter, ""
        if rest and not _OPTIONS[letter].takes_value:
            left.insert(0, f"-{rest}")
        elif rest:
            value = rest
    if _OPTIONS[name].takes_value and not value:
        if not left or equals:
            raise BeowireError(
                f"netpipe: {_shown(name)} needs a value: see `beowire netpipe --help`"
            )
        value = left.pop(0)
    return name, value


def _shown(name: str) -> str:
    return f"-{name}" if len(name) == 1 else f"--{name}"


def _driver(word: str) -> str:
    """The driver of a program of NetPIPE, or of a name that is a driver's."""
    name = word.rpartition("/")[2]
    if name.startswith("NP") and name not in MODULES:
        raise BeowireError(
            f"netpipe: {name} has no counterpart here: there are {', '.join(MODULES)},"
            " and each name of `beowire drivers`"
        )
    return MODULES.get(name, word)


def resolved(driver: str) -> str:
    """The one driver that a name stands for: of an MPI without a way the first that is here, over
    its own TCP. BeowireError: none is."""
    if not mpi_drivers.is_one(driver) or "/" in driver:
        return driver
    names, _ = mpi_drivers.expanded(driver)
    return (names or driver).split(",")[0]


def _number(name: str, text: str, least: int = 1) -> int:
    if not re.fullmatch(r"[0-9]{1,12}", text) or not least <= int(text) <= LARGEST_BYTES:
        raise BeowireError(f"{name} is a number of bytes from {least} to 1 GiB, and not {text!r}")
    return int(text)


_BOUNDS = {
    "low": "the lower bound (-l)",
    "high": "the upper bound (-u)",
    "perturbation": "the perturbation (-p)",
}


def _setting(attribute: str, least: int = 1) -> Callable[[Wanted, str], None]:
    def apply(wanted: Wanted, value: str) -> None:
        setattr(wanted, attribute, _number(_BOUNDS[attribute], value, least))

    return apply


def _text(attribute: str) -> Callable[[Wanted, str], None]:
    def apply(wanted: Wanted, value: str) -> None:
        setattr(wanted, attribute, value)

    return apply


def _offsets(wanted: Wanted, value: str) -> None:
    words = value.split(",")
    if len(words) > 2:
        raise BeowireError(f"-O is one offset, or two: -O 1,3, and not {value!r}")
    numbers = [_number("an offset", word, 0) for word in words]
    wanted.offsets = numbers[0], numbers[-1] if len(numbers) > 1 else 0


def _one_offset(which: int) -> Callable[[Wanted, str], None]:
    def apply(wanted: Wanted, value: str) -> None:
        both = list(wanted.offsets)
        both[which] = _number("an offset", value, 0)
        wanted.offsets = both[0], both[1]

    return apply


def _powers(wanted: Wanted, _value: str) -> None:
    wanted.powers_only, wanted.perturbation = True, 0


def _unperturbed(wanted: Wanted, _value: str) -> None:
    wanted.perturbation = 0


def _of_mpi2(family: str, what: str) -> Callable[[Wanted, str], None]:
    """An option of NPmpi2, where there is a driver for what it asks."""

    def apply(wanted: Wanted, _value: str) -> None:
        if family not in mpi_drivers.FAMILIES:
            raise BeowireError(f"netpipe: no driver measures {what}: there are NPmpi and NPmpi2")
        wanted.driver = family

    return apply


def _refused(why: str) -> Callable[[Wanted, str], None]:
    def apply(_wanted: Wanted, _value: str) -> None:
        raise BeowireError(f"netpipe: {why}")

    return apply


_SYNC = _refused("-S: no driver sends with MPI_Ssend: leave it out to measure MPI_Send")
_ANY = _refused("-z: no driver receives from MPI_ANY_SOURCE: leave it out to name the source")
_SDP = _refused("-A: Linux has no SDP sockets any more")
_INFINIBAND = _refused("-c, -d, -D, -m and -t are of the InfiniBand modules: see `beowire drivers`")
_WORK = _refused("--workload: `beowire compare --pattern overlap` says what goes on meanwhile")

#: Each option, by its letter or word; docs/NETPIPE.md has the same table for people.
_OPTIONS: Mapping[str, _Option] = {
    "h": _Option(_text("host"), True),
    "l": _Option(_setting("low"), True),
    "u": _Option(_setting("high"), True),
    "p": _Option(_setting("perturbation", 0), True),
    "o": _Option(_text("output"), True),
    "O": _Option(_offsets, True),
    "b": _Option(_text("socket_buffer"), True),
    "s": _Option(pattern="stream"),
    "2": _Option(pattern="bidirectional"),
    "B": _Option(pattern="burst"),
    "I": _Option(pattern="cold"),
    "i": _Option(pattern="integrity"),
    "a": _Option(note=_POSTS),
    "n": _Option(takes_value=True, note=_REPEATS),
    "P": _Option(takes_value=True, note=_NO_PORT),
    "r": _Option(note=_RESET),
    "X": _Option(note="it was for debugging NetPIPE"),
    "g": _Option(_of_mpi2("mpi-get", "MPI_Get")),
    "f": _Option(_of_mpi2("mpi-put-fence", "MPI_Put with fences")),
    "S": _Option(_SYNC),
    "z": _Option(_ANY),
    "A": _Option(_SDP),
    **{letter: _Option(_INFINIBAND, True) for letter in "mtcdD"},
    "start": _Option(_setting("low"), True),
    "end": _Option(_setting("high"), True),
    "pert": _Option(_setting("perturbation", 0), True),
    "perturbation": _Option(_setting("perturbation", 0), True),
    "fac2": _Option(_powers),
    "factorsof2": _Option(_powers),
    "outfile": _Option(_text("output"), True),
    "soffset": _Option(_one_offset(0), True),
    "send_offset": _Option(_one_offset(0), True),
    "roffset": _Option(_one_offset(1), True),
    "recv_offset": _Option(_one_offset(1), True),
    "buffersize": _Option(_text("socket_buffer"), True),
    "stream": _Option(pattern="stream"),
    "bidir": _Option(pattern="bidirectional"),
    "bidirectional": _Option(pattern="bidirectional"),
    "burst": _Option(pattern="burst"),
    "nocache": _Option(pattern="cold"),
    "inval": _Option(pattern="cold"),
    "integrity": _Option(pattern="integrity"),
    "cache": _Option(note=_WARM),
    "async": _Option(note=_POSTS),
    "asynchronous": _Option(note=_POSTS),
    "reset": _Option(note=_RESET),
    "repeat": _Option(takes_value=True, note=_REPEATS),
    "repeats": _Option(takes_value=True, note=_REPEATS),
    "quick": _Option(_unperturbed, note=_QUICK),
    "quicker": _Option(_unperturbed, note=_QUICK),
    "quickest": _Option(_unperturbed, note=_QUICK),
    "printhostnames": _Option(note=_NAMES),
    "sync": _Option(_SYNC),
    "syncSend": _Option(_SYNC),
    "anysource": _Option(_ANY),
    "workload": _Option(_WORK),
}

#: Words that say nothing of whose columns are wanted.
_OF_BOTH = ("outfile",)
