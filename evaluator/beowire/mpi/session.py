# SPDX-License-Identifier: BSD-3-Clause
"""The session of a driver over an MPI: its engines are ranks, which that MPI's launcher starts.

On each node stands a proxy (docs/ENGINE.md), started as an engine is. The launcher starts the
engines, which attach themselves to their proxies; from then on the proxies are the engines, as far
as anybody else can see.
"""

import shlex
import time
from contextlib import ExitStack
from pathlib import Path

from beowire.conduct.session import SESSIONS, Session
from beowire.conduct.survey import greet
from beowire.errors import BeowireError
from beowire.interrupts import Interrupts
from beowire.mpi import drivers, remote
from beowire.mpi.drivers import MpiDriver
from beowire.places.engine import EngineError, EngineProcess, wait_for_events
from beowire.places.launch.base import Launcher, Node
from beowire.places.launch.ssh import SshLauncher
from beowire.places.launch.steps import StepLauncher
from beowire.places.mpi.job import LAST_WORDS_S, Job, rank_in
from beowire.places.mpi.places import place_of
from beowire.plan.plan import TWO_ENDS
from beowire.record.lines import DriverInfo

#: How long a launcher may take to start two ranks.
_START_S = 40.0

#: The exit status of a proxy whose engine has ended by itself (docs/ENGINE.md).
_RANK_ENDED = 9

#: Each MPI's name for a rank's number, for a shell (as pin.py has it).
_RANK = "${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:-$PMI_RANK}}"

#: What has been said of an error is read within this.
_MOMENT_S = 0.3

#: How long it may take to end when its ranks have.
_END_S = 2.0


class MpiSession(Session):
    """A driver over an MPI with its ranks."""

    def __init__(
        self,
        info: DriverInfo,
        launcher: Launcher,
        interrupts: Interrupts,
        offsets: tuple[int, int] = (0, 0),
    ) -> None:
        """Starts nothing yet."""
        super().__init__(info, launcher, interrupts, offsets)
        self._driver: MpiDriver | None = None
        self._job: Job | None = None
        self._files = ExitStack()

    @property
    def engine_driver(self) -> str:
        """All MPIs' are called alike by their engines."""
        return self.info.name.partition(":")[0]

    def start_engines(self, pins: tuple[str | None, str | None]) -> None:
        """Starts proxies, and a launcher that starts ranks for them. EngineError, BeowireError."""
        self._driver = drivers.driver(self.info.name)
        nodes = list(self._launcher.nodes)[:2]
        cores = [pin or node.cpu for pin, node in zip(pins, nodes, strict=True)]
        if self.info.placement == "host":
            nodes = [nodes[0], nodes[0]]
        folders = self._compiled(nodes)
        for node in nodes:
            with self._interrupts.held():
                process = self._launcher.start_proxy(node)
                self._engines.append(EngineProcess(process, node.name, self._launcher.marker))
        program = [
            self._program(engine, folder, core)
            for engine, folder, core in zip(self._engines, folders, cores, strict=True)
        ]
        self._start_ranks(f"case {_RANK} in 0) {program[0]};; 1) {program[1]};; esac")
        for engine in self._engines:
            self.add_cpu(greet(engine))

    def end(self) -> None:
        """Ends ranks and launcher, bounded in time."""
        super().end()
        job, self._job = self._job, None
        if job is not None:
            job.end(_END_S)
        self._files.close()

    def _compiled(self, nodes: list[Node]) -> list[Path]:
        """The directory of the drivers, of each node. EngineError, BeowireError."""
        assert self._driver is not None
        if isinstance(self._launcher, SshLauncher | StepLauncher):
            return [remote.compiled(self._launcher, node, self._driver.mpi) for node in nodes]
        try:
            folder = drivers.library(self._driver.mpi).parent
        except BeowireError as error:
            raise EngineError(nodes[0].name, str(error)) from None
        return [folder, folder]

    def _program(self, engine: EngineProcess, folder: Path, core: str | None) -> str:
        """What a rank becomes, for a shell."""
        proxy = engine.receive("proxy")
        words = [str(proxy["program"]), "--attach", str(proxy["name"]), "--drivers", str(folder)]
        if core is not None:
            words += ["--cpu", core]
            if core != "auto":  # whatever the launcher has chosen
                words = ["taskset", "-c", core, *words]
        return f"exec {shlex.join(words)}"

    def _start_ranks(self, script: str) -> None:
        assert self._driver is not None
        prepared = place_of(self._launcher).prepared(
            self._driver.mpi, self._driver.way, 2, ["sh", "-c", script], []
        )
        command, environment = self._files.enter_context(prepared)
        with self._interrupts.held():
            self._job = Job(command, environment, self._driver.mpi.launcher.name)
        self._await_ranks(self._job)

    def _await_ranks(self, job: Job) -> None:
        """Until both have come."""
        deadline = time.monotonic() + _START_S
        missing = list(self._engines)
        while missing:
            for engine in list(missing):
                event = engine.take()
                if event is not None:
                    engine.check(event, "attached")
                    missing.remove(engine)
            if missing and (job.has_ended() or time.monotonic() >= deadline):
                what = "ended before" if job.has_ended() else f"took more than {_START_S:g} s until"
                error = EngineError(missing[0].node, f"its launcher {what} the rank was there")
                raise self._with_words(error, _MOMENT_S)
            if missing:
                wait_for_events(missing, 0.05)

    def _explain(self, error: EngineError) -> EngineError:
        error = super()._explain(error)
        if error.code != "DIED":
            return self._with_words(error, _MOMENT_S)
        if not self._rank_ended(error.node):
            return error
        return self._with_words(
            EngineError(error.node, "the rank has ended", code=error.code), LAST_WORDS_S
        )

    def _rank_ended(self, node: str) -> bool:
        """Whether the proxy there has ended for no other reason than that its rank has."""
        return any(
            engine.node == node and engine.process.poll() == _RANK_ENDED for engine in self._engines
        )

    def _with_words(self, error: EngineError, patience_s: float) -> EngineError:
        """The error, and what launcher or ranks have said of it."""
        said = self._job.last_words(patience_s) if self._job and error.fatal else ""
        if not said:
            return error
        node = error.node
        if error.code == "DIED" and self.info.placement == "pair":
            # One that ends takes the other with it: the launcher knows which was first.
            ends = list(self._launcher.nodes)[:2]
            rank = rank_in(said, [end.reach for end in ends])
            node = node if rank is None else ends[rank].name
        return EngineError(node, f"{error}: {said}", code=error.code)


SESSIONS.update(dict.fromkeys(drivers.FAMILIES, MpiSession))
TWO_ENDS.update(
    dict.fromkeys(drivers.FAMILIES, "an MPI's launcher starts its ranks, two for one session")
)
