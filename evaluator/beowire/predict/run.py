# SPDX-License-Identifier: BSD-3-Clause
"""A whole prediction: a program on simulated clusters of each size, over each way of a record.

What ranks compute is measured first, in a few runs. All simulated runs then use the median of each
piece. So ways differ in their messages only, and the same pieces give the same figures.
"""

import tempfile
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from beowire import files
from beowire.errors import BeowireError
from beowire.interrupts import Interrupts
from beowire.places.mpi import compiling
from beowire.predict import platform, smpi
from beowire.predict.calibrate import VERSIONS, Parameters, Version, Way, elsewhere
from beowire.predict.platform import Topology
from beowire.predict.smpi import Cluster, Pieces, Program, Ran

#: Runs in which pieces of work are measured.
MEASURED_RUNS = 3

#: If more pieces than this share differ between runs, a note says so.
_OTHER_SHARE = 0.001

#: How SMPI chooses the algorithms of collective operations, by the MPI.
_SELECTORS = {"openmpi4": "ompi", "openmpi5": "ompi", "mpich": "mpich", "intel": "impi"}


@dataclass(frozen=True)
class Asked:
    """What the user asked for, checked."""

    words: Sequence[str]
    nodes: Sequence[int]
    topology: Topology
    rate_bytes_per_s: float | None = None
    latency_ns: float = 0.0
    processor: float = 1.0
    flags: Sequence[str] = ()
    timeout_s: float = 600.0
    out: Path | None = None
    """Where to keep platforms, parameters and pieces of work."""


@dataclass(frozen=True)
class Figure:
    """A value, and the interval that the record leaves for it."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Predicted:
    """A program on so many nodes, over one way."""

    nodes: int
    way: str
    seconds: Figure
    communication: Figure
    speedup: Figure | None
    """Over TCP; None: this is TCP, or TCP was not measured."""


@dataclass
class Prediction:
    """All of them."""

    program: str
    found: list[Predicted] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def predict(
    ways: Sequence[Way], asked: Asked, interrupts: Interrupts, say: Callable[[str], None]
) -> Prediction:
    """Builds and runs it. BeowireError says in a line what is wrong."""
    with tempfile.TemporaryDirectory(prefix="beowire-predict-") as temporary:
        scratch = Path(temporary)
        say(f"Building {asked.words[0]} for SMPI ...")
        program = smpi.build(asked.words, asked.flags, scratch)
        if asked.out is not None:
            files.make_directory(asked.out, new=False)
        found = Prediction(program.name)
        for nodes in asked.nodes:
            runner = _Runner(program, asked, nodes, scratch, interrupts, say)
            found.found += runner.over(ways, found.notes)
        return found


@dataclass(frozen=True)
class _Runner:
    """The program on so many nodes."""

    program: Program
    asked: Asked
    nodes: int
    scratch: Path
    interrupts: Interrupts
    say: Callable[[str], None]

    def over(self, ways: Sequence[Way], notes: list[str]) -> list[Predicted]:
        """Over each of the ways."""
        pieces = self._measure(ways[0], notes)
        ran = {way.name: self._versions(way, pieces) for way in ways}
        for versions in ran.values():
            worst = max(versions.values(), key=lambda one: one.other)
            if worst.other > _OTHER_SHARE * worst.pieces:
                notes.append(
                    f"on {self.nodes} nodes {self.program.name} works differently in each run:"
                    f" {worst.other} of {worst.pieces} pieces of work differed from those measured"
                )
                break
        return [self._predicted(way, ran) for way in ways]

    def _predicted(self, way: Way, ran: dict[str, dict[Version, Ran]]) -> Predicted:
        seconds = _figure({at: one.seconds for at, one in ran[way.name].items()})
        speedup = None
        if way.baseline is not None:
            base = _figure({at: one.seconds for at, one in ran[way.baseline].items()})
            speedup = Figure(
                base.value / seconds.value, base.low / seconds.high, base.high / seconds.low
            )
        shares = {at: one.communication for at, one in ran[way.name].items()}
        return Predicted(self.nodes, way.name, seconds, _figure(shares), speedup)

    def _measure(self, way: Way, notes: list[str]) -> Path:
        """The pieces of work; those of an earlier prediction in the same directory, if there."""
        kept = None
        if self.asked.out is not None:
            work = compiling.digest(self.program.arguments, [self.program.binary])
            kept = self.asked.out / f"pieces-{self.nodes}-{work}"
        if kept is not None and kept.is_file():
            self.say(f"Using the work of each of {self.nodes} nodes from {kept} ...")
            return kept
        measured = []
        for number in range(MEASURED_RUNS):
            self.say(
                f"Measuring the work of each of {self.nodes} nodes:"
                f" {number + 1} of {MEASURED_RUNS} ..."
            )
            file = self.scratch / f"measured-{number}"
            self._run(way, "median", Pieces(write=file))
            measured.append(read_pieces(file))
        merged = merge(measured)
        if merged is None:
            notes.append(
                f"on {self.nodes} nodes {self.program.name} has a different number of pieces of"
                " work in each run, so those of one run are used"
            )
            merged = measured[0]
        target = kept or self.scratch / f"pieces-{self.nodes}"
        write_pieces(target, merged)
        return target

    def _versions(self, way: Way, pieces: Path) -> dict[Version, Ran]:
        found: dict[Version, Ran] = {}
        for version in VERSIONS:
            if found and way.versions[version] == way.versions["median"]:
                found[version] = found["median"]
                continue
            self.say(f"Simulating {self.nodes} nodes over {way.name} ({version}) ...")
            found[version] = self._run(way, version, Pieces(read=pieces))
        return found

    def _run(self, way: Way, version: Version, pieces: Pieces) -> Ran:
        asked = self.asked
        parameters = elsewhere(way.versions[version], asked.rate_bytes_per_s, asked.latency_ns)
        directory = self.scratch / "cluster"
        directory.mkdir(exist_ok=True)
        settings = platform.settings(parameters, _SELECTORS.get(way.mpi, "ompi"))
        _describe(directory, asked, self.nodes, parameters)
        if asked.out is not None and pieces.read is not None:
            self._keep(directory, f"{way.name}-{version}-{self.nodes}", settings)
        cluster = Cluster(self.nodes, directory, settings)
        return smpi.run(self.program, cluster, pieces, asked.timeout_s, self.interrupts)

    def _keep(self, directory: Path, name: str, settings: dict[str, str]) -> None:
        assert self.asked.out is not None
        base = self.asked.out / name.replace("/", "-").replace(":", "-")
        xml = (directory / "platform.xml").read_bytes()
        files.write_beside(base.with_name(f"{base.name}.xml"), xml)
        lines = [f"--cfg={key}:{value}\n" for key, value in settings.items()]
        files.write_beside(base.with_name(f"{base.name}.cfg"), "".join(lines))


def _describe(directory: Path, asked: Asked, nodes: int, parameters: Parameters) -> None:
    text = platform.xml(asked.topology, nodes, parameters, asked.processor)
    (directory / "platform.xml").write_text(text, encoding="ascii")
    (directory / "hosts").write_text(platform.hosts(nodes), encoding="ascii")


def _figure(versions: dict[Version, float]) -> Figure:
    """The value with the median times, and the extremes of all three versions."""
    return Figure(versions["median"], min(versions.values()), max(versions.values()))


@dataclass(frozen=True)
class PiecesOfWork:
    """The file of apps/pieces/pieces.c: seconds."""

    shortest: float
    ranks: "Sequence[array[float]]"


def read_pieces(file: Path) -> PiecesOfWork:
    """What `apps/pieces` wrote. BeowireError."""
    values = array("d")
    try:
        values.frombytes(file.read_bytes())
        ranks, at = [], 1
        while at < len(values):
            count = int(values[at])
            ranks.append(values[at + 1 : at + 1 + count])
            if len(ranks[-1]) != count:
                raise ValueError
            at += 1 + count
        return PiecesOfWork(values[0], ranks)
    except (OSError, ValueError, IndexError):
        raise BeowireError(f"{file} has no times of pieces of work: remove it", 1) from None


def merge(measured: Sequence[PiecesOfWork]) -> PiecesOfWork | None:
    """The median of each piece; None if runs differ in their number."""
    if len({tuple(map(len, one.ranks)) for one in measured}) > 1:
        return None
    ranks = [
        array("d", (median(one) for one in zip(*same, strict=True)))
        for same in zip(*(one.ranks for one in measured), strict=True)
    ]
    return PiecesOfWork(min(map(min, filter(None, ranks)), default=0.0), ranks)


def write_pieces(file: Path, pieces: PiecesOfWork) -> None:
    """As `apps/pieces` writes them."""
    values = array("d", [pieces.shortest])
    for rank in pieces.ranks:
        values.append(float(len(rank)))
        values.extend(rank)
    files.write_beside(file, values.tobytes())
