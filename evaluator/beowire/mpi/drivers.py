# SPDX-License-Identifier: BSD-3-Clause
"""The drivers that measure an MPI over one of its ways: which there are, by name, and compiled.

    mpi:openmpi4/tcp    messages of Open MPI 4 over its own TCP
    mpi:mpich/beowire   messages of MPICH over Beowire
    mpi:mpich           MPICH over both of these
    mpi                 every MPI that is here, over both
    mpi-put             the same of one-sided puts; so mpi-get, mpi-put-fence, mpi-get-fence
    shmem-put           puts of the OpenSHMEM of every MPI that has one, over TCP; so shmem-get
    openshmem           both

The other ways of `beowire.places.mpi.ways` have to be named. An engine knows such a driver by what
is before the colon; which MPI it is follows from the directory that the engine gets it from.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from beowire import paths
from beowire.errors import BeowireError
from beowire.mpi import openshmem
from beowire.places.mpi import compiling, installation, ways
from beowire.places.mpi.compiling import Options
from beowire.places.mpi.installation import KINDS, Installation
from beowire.places.mpi.ways import Way
from beowire.record.lines import DriverInfo

#: What the engine calls them (evaluator/drivers/mpi, shmem), and what each measures.
FAMILIES = {
    "mpi": "messages",
    "mpi-put": "one-sided puts",
    "mpi-get": "one-sided gets",
    "mpi-put-fence": "one-sided puts with fences",
    "mpi-get-fence": "one-sided gets with fences",
    **openshmem.FAMILIES,
}

#: Open MPI 4 has one-sided operations over Beowire with the first only (docs/MPI.md), over TCP with
#: the second only.
_ONESIDED = {"OMPI_MCA_btl": "ofi,self"}
_ONESIDED_TCP = {"OMPI_MCA_osc": "pt2pt"}

#: The ways that are meant where none is named.
USUAL_WAYS = ("tcp", "beowire")

_FLAGS = ("-std=gnu17", "-D_GNU_SOURCE", "-O2", "-fPIC", "-shared", "-fvisibility=hidden")

_LARGEST_BYTES = 1 << 30


@dataclass(frozen=True)
class MpiDriver:
    """An MPI, and the way that its messages take."""

    family: str
    mpi: Installation
    way: Way

    @property
    def name(self) -> str:
        """As `--drivers` takes it."""
        return f"{self.family}:{self.mpi.name}/{self.way.name}"

    def info(self) -> DriverInfo:
        """As an engine would report it."""
        kind = KINDS[self.mpi.name]
        title = f"{kind.title.rstrip('0123456789 ')} {self.mpi.version}"
        return DriverInfo(
            name=self.name,
            summary=f"{FAMILIES[self.family]} of {title}, {_over(self.way)}; spins",
            placement="host" if self.way.one_node else "pair",
            reliable=True,
            spins=True,
            posts=self.family == "mpi",
            collective=self.family == "mpi",
            fixed=self.family != "mpi",
            min_size=1,
            max_size=_LARGEST_BYTES,
            ready=True,
        )


def is_one(name: str) -> bool:
    """Whether a driver's name, or a word of `--drivers`, is of an MPI."""
    return name.partition(":")[0] in FAMILIES


def driver(name: str) -> MpiDriver:
    """The driver of a whole name. BeowireError: there is no such MPI here, or no such way."""
    family, _, rest = name.partition(":")
    mpi, _, over = rest.partition("/")
    if family not in FAMILIES or not over:
        raise BeowireError(f"no driver {name!r}: write {next(iter(FAMILIES))}:MPI/WAY")
    if mpi not in KINDS:
        raise BeowireError(f"driver {name}: no MPI is called {mpi!r}: there are {', '.join(KINDS)}")
    if over not in ways.NAMES:
        raise BeowireError(
            f"driver {name}: no way is called {over!r}: there are {', '.join(ways.NAMES)}"
        )
    found = _found(family, mpi)
    if family in openshmem.FAMILIES:
        return MpiDriver(family, found, openshmem.way(found, over))
    way = ways.way(found, over)
    if family != "mpi" and found.name == "openmpi4":
        if "FI_PROVIDER_PATH" in way.variables:
            way = replace(way, variables={**way.variables, **_ONESIDED})
        elif over == "tcp":
            way = replace(way, variables={**way.variables, **_ONESIDED_TCP})
    return MpiDriver(family, found, way)


def expanded(names: str | None) -> tuple[str | None, list[DriverInfo]]:
    """The words of `--drivers`, each that stands for several replaced by these; and the drivers of
    MPIs among them. One that is named whole and is not here is there, with the reason.

    BeowireError: a word means nothing, or stands for MPIs of which none is here.
    """
    if names is None:
        return None, []
    words: list[str] = []
    for word in openshmem.named(one.strip() for one in names.split(",")):
        words += _members(word) if is_one(word) and "/" not in word else [word]
    words = list(dict.fromkeys(words))
    return ",".join(words), [_info(word) for word in words if is_one(word)]


def every() -> Iterator[DriverInfo]:
    """Each MPI that there may be over its usual ways, compiled to see whether it can be: or, in one
    line, why not."""
    for mpi in KINDS:
        faults: dict[str, str] = {}
        for family in FAMILIES:
            if mpi not in _mpis(family):
                continue
            part = openshmem.PART if family in openshmem.FAMILIES else "mpi"
            if part not in faults:
                faults[part] = _fault(family, mpi)
            if faults[part]:
                yield _absent(f"{family}:{mpi}", faults[part])
            else:
                yield from (_info(f"{family}:{mpi}/{over}") for over in _usual_ways(family))


def _fault(family: str, mpi: str) -> str:
    """Why the drivers of a family cannot be compiled; empty: they can."""
    try:
        library(_found(family, mpi))
    except BeowireError as error:
        return str(error)
    return ""


def _found(family: str, mpi: str) -> Installation:
    """The MPI of this name, or what of it a family is of. BeowireError: it is not here."""
    return openshmem.find(mpi) if family in openshmem.FAMILIES else installation.find(mpi)


def _mpis(family: str) -> Sequence[str]:
    """The MPIs that may have drivers of a family."""
    return openshmem.MPIS if family in openshmem.FAMILIES else tuple(KINDS)


def _usual_ways(family: str) -> Sequence[str]:
    return ("tcp",) if family in openshmem.FAMILIES else USUAL_WAYS


def library(mpi: Installation) -> Path:
    """The drivers, compiled for this MPI on this host. BeowireError."""
    files = sources(mpi.part)
    return compiling.compiled(file(mpi), mpi, paths.drivers_cache(), files, options(mpi))


def options(mpi: Installation) -> Options:
    """How they are compiled."""
    linking = openshmem.LINKING if mpi.part == openshmem.PART else ()
    return Options(_FLAGS, ("-ldl", *linking))


def file(mpi: Installation) -> str:
    """The file in which an engine looks for them."""
    return f"beowire-driver-{mpi.part}.so"


def sources(part: str) -> list[Path]:
    """What is compiled for this part of an installation, and the headers that it includes.
    BeowireError: they are not here."""
    folder = paths.mpi_drivers_sources()
    return [*sorted((folder / part).glob("*.[ch]")), *sorted(folder.glob("*.h"))]


def _absent(name: str, reason: str) -> DriverInfo:
    """A driver that is not ready."""
    family, _, rest = name.partition(":")
    mpi = rest.partition("/")[0]
    return DriverInfo(
        name=name,
        summary=f"{FAMILIES[family]} of {KINDS[mpi].title}" if mpi in KINDS else FAMILIES[family],
        placement="pair",
        reliable=True,
        spins=True,
        min_size=1,
        max_size=_LARGEST_BYTES,
        ready=False,
        reason=reason,
    )


def _info(name: str) -> DriverInfo:
    """What is known of a driver, without compiling it."""
    try:
        return driver(name).info()
    except BeowireError as error:
        return _absent(name, str(error))


def _members(word: str) -> list[str]:
    """The drivers that a word without a way stands for. BeowireError: none."""
    family, _, chosen = word.partition(":")
    mpis = _mpis(family)
    if chosen and chosen not in KINDS:
        known = ", ".join(mpis)
        raise BeowireError(f"--drivers {word}: no MPI is called {chosen!r}: there are {known}")
    names: list[str] = []
    reasons: list[str] = []
    for mpi in [chosen] if chosen else mpis:
        try:
            _found(family, mpi)
        except BeowireError as error:
            reasons.append(str(error))
        else:
            names += [f"{family}:{mpi}/{over}" for over in _usual_ways(family)]
    if not names:
        raise BeowireError(f"--drivers {word}: {'; '.join(reasons)}")
    return names


def _over(way: Way) -> str:
    if way.one_node:
        return "through memory"
    return {"tcp": "over TCP", "beowire": "over Beowire"}.get(way.name, f"by {way.name}")
