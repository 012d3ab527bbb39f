# SPDX-License-Identifier: BSD-3-Clause
"""Background load: how protocols fare on nodes that are busy with something else.

A load is one thread on each CPU of a node that computes, or copies memory, and knows how much of
its CPU it got. It runs in an engine of its own (docs/ENGINE.md, `load`), so it comes about on
whatever node the launcher reaches, and ends with that engine, which ends with its input: nothing is
left behind. And it ends by itself after a time, should all else fail.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType

from beowire.conduct.survey import end_engines, greet, start_engine
from beowire.errors import BeowireError
from beowire.interrupts import Interrupts
from beowire.places.engine import EngineError, EngineProcess
from beowire.places.launch.base import Launcher, one_machine
from beowire.plan.load import Load


def loaded_nodes(launcher: Launcher) -> int:
    """How many of the nodes need load of their own: those of a lab share their CPUs."""
    return 1 if one_machine(launcher) else len(launcher.nodes)


@dataclass(frozen=True)
class HogMeter:
    """What one hog has had so far."""

    cpu: int
    cpu_ns: int
    work: int


@dataclass(frozen=True)
class Meter:
    """A look at all hogs of a node."""

    at_ns: int
    unit: str
    """Of `work`: `turns`, or `bytes` read and written."""
    hogs: Sequence[HogMeter]


class Background:
    """The load, there from entering to leaving. EngineError from what asks the engines later."""

    def __init__(
        self,
        launcher: Launcher,
        load: Load | None,
        seconds: float,
        interrupts: Interrupts,
        cpus: Sequence[int] = (),
    ) -> None:
        """`seconds`: after this the hogs end by themselves. Without a load nothing is done. `cpus`:
        those that are loaded; empty: all."""
        self._launcher = launcher
        self._load = load
        self._seconds = seconds
        self._interrupts = interrupts
        self._cpus = cpus
        self._engines: list[EngineProcess] = []
        self._paused = False
        self._lost = ""
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
                words = self._load.words | {"seconds": max(1, round(self._seconds))}
                if self._cpus:
                    words["cpus"] = ",".join(map(str, self._cpus))
                self.hogs.append(int(engine.request("load", "load", words)["hogs"]))
        except (EngineError, KeyError, TypeError, ValueError) as error:
            self.end()
            raise BeowireError(f"cannot make load: {error}", exit_code=1) from None
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Ends the load."""
        self.end()

    def pause(self, paused: bool) -> None:
        """Has all hogs rest, or go on. Returns when they do. BeowireError if one is gone, now or
        before: then all are."""
        if self._lost:
            raise BeowireError(self._lost, exit_code=1)
        if paused == self._paused:
            return
        verb, answer = ("pause", "paused") if paused else ("resume", "resumed")
        try:
            for engine in self._engines:
                engine.send(verb)
            for engine in self._engines:
                engine.receive(answer)
        except EngineError as error:
            self._lost = f"the load failed on {error.node}: {error}"
            self.end()
            raise BeowireError(self._lost, exit_code=1) from None
        self._paused = paused

    def meters(self) -> list[Meter]:
        """What all hogs have had so far, a node each. BeowireError if one is gone."""
        try:
            answers = [engine.request("meter", "meter") for engine in self._engines]
            return [
                Meter(
                    int(answer["at_ns"]),
                    str(answer["unit"]),
                    [
                        HogMeter(int(hog["cpu"]), int(hog["cpu_ns"]), int(hog["work"]))
                        for hog in answer["hogs"]
                    ],
                )
                for answer in answers
            ]
        except EngineError as error:
            raise BeowireError(f"the load failed on {error.node}: {error}", exit_code=1) from None
        except (KeyError, TypeError, ValueError) as error:
            raise BeowireError(
                f"the load gave an answer that makes no sense ({error!r})", exit_code=1
            ) from None

    def failures(self) -> list[str]:
        """One line for each node on which the load ended too early."""
        return [
            f"the load ended too early on {engine.died().node}: {engine.died()}"
            for engine in self._engines
            if engine.has_died()
        ]

    def end(self) -> None:
        """Ends the load; may be called again."""
        with self._interrupts.held():
            engines, self._engines = self._engines, []
            end_engines(engines)


class Backgrounds:
    """Several loads, of which at most one goes on at a time; there from entering to leaving."""

    def __init__(
        self,
        launcher: Launcher,
        loads: Sequence[Load],
        seconds: float,
        interrupts: Interrupts,
    ) -> None:
        """As Background. Without loads nothing is done."""
        self._each = {load.text: Background(launcher, load, seconds, interrupts) for load in loads}
        self._lost = ""

    @property
    def hogs(self) -> list[int]:
        """How many run, a node each."""
        return next((one.hogs for one in self._each.values()), [])

    def __enter__(self) -> "Backgrounds":
        """Returns when all are there, and the last goes on. BeowireError if they cannot."""
        try:
            for number, one in enumerate(self._each.values(), start=1):
                one.__enter__()
                if number < len(self._each):
                    one.pause(True)
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Ends all of them."""
        self.end()

    def choose(self, load: str | None) -> None:
        """Has this one go on, and all others rest. BeowireError if one is gone, now or before: then
        all are."""
        if self._lost:
            raise BeowireError(self._lost, exit_code=1)
        try:
            for text, one in self._each.items():
                if text != load:
                    one.pause(True)
            if load is not None:
                self._each[load].pause(False)
        except BeowireError as error:
            self._lost = str(error)
            self.end()
            raise

    def failures(self) -> list[str]:
        """One line for each node on which one ended too early."""
        return [line for one in self._each.values() for line in one.failures()]

    def end(self) -> None:
        """Ends all of them; may be called again."""
        for one in self._each.values():
            one.end()
