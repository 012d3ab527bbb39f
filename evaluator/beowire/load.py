# SPDX-License-Identifier: BSD-3-Clause
"""Background load while measuring: how protocols fare on nodes that are busy with something else.

`hog` is one thread on each CPU of each node that computes and never waits, at a nice value. It runs
in an engine of its own (docs/ENGINE.md, `load`), so it comes about on whatever node the launcher
reaches, and ends with that engine, which ends with its input: nothing is left behind. And it ends
by itself after a time, should all else fail.
"""

import re
from dataclasses import dataclass
from types import TracebackType

from beowire.engine import EngineError, EngineProcess
from beowire.errors import BeowireError
from beowire.interrupts import Interrupts
from beowire.launch.base import Launcher
from beowire.survey import end_engines, greet, start_engine

#: Nice values that need no privilege.
_NICEST = 19


@dataclass(frozen=True)
class Load:
    """What runs beside the measurement."""

    nice: int
    """Of the hogs: 0 is an equal, 19 gives way."""

    @property
    def text(self) -> str:
        """As `--load` takes it."""
        return f"hog:{self.nice}"


def parse_load(text: str) -> Load:
    """`hog` (nice 0) or `hog:NICE`. Raises BeowireError."""
    found = re.fullmatch(r"hog(?::(\d{1,2}))?", text.strip())
    if not found or int(found[1] or 0) > _NICEST:
        raise BeowireError(
            f"cannot read --load {text!r}: write hog:NICE, NICE from 0 (an equal) to {_NICEST}"
        )
    return Load(int(found[1] or 0))


def loaded_nodes(launcher: Launcher) -> int:
    """How many of the nodes need load of their own: those of a lab share their CPUs."""
    return len(launcher.nodes) if launcher.kind == "hosts" else 1


class Background:
    """The load, there from entering to leaving."""

    def __init__(
        self, launcher: Launcher, load: Load | None, seconds: float, interrupts: Interrupts
    ) -> None:
        """`seconds`: after this the hogs end by themselves. Without a load nothing is done."""
        self._launcher = launcher
        self._load = load
        self._seconds = seconds
        self._interrupts = interrupts
        self._engines: list[EngineProcess] = []
        self.hogs: list[int] = []
        """How many run, a node each."""

    def __enter__(self) -> "Background":
        """Returns when all hogs run. BeowireError if they cannot."""
        if self._load is None:
            return self
        try:
            for node in list(self._launcher.nodes)[: loaded_nodes(self._launcher)]:
                engine = start_engine(self._launcher, node, self._interrupts, self._engines)
                greet(engine)
                words = {"nice": self._load.nice, "seconds": max(1, round(self._seconds))}
                self.hogs.append(int(engine.request("load", "load", words)["hogs"]))
        except (EngineError, KeyError, TypeError, ValueError) as error:
            self._end()
            raise BeowireError(f"cannot make load: {error}", exit_code=1) from None
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Ends the load."""
        self._end()

    def failures(self) -> list[str]:
        """One line for each node on which the load ended too early."""
        return [
            f"the load ended too early on {engine.died().node}: {engine.died()}"
            for engine in self._engines
            if engine.has_died()
        ]

    def _end(self) -> None:
        with self._interrupts.held():
            engines, self._engines = self._engines, []
            end_engines(engines)
