# SPDX-License-Identifier: BSD-3-Clause
"""Asks hosts what is so, each by an engine and a script, and has the checks judge it."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from beowire.analysis.finding import Finding, State, ok, ordered, unknown
from beowire.conduct.survey import end_engines, greet, known_drivers, start_engine
from beowire.doctor import card_checks, facts, host_checks
from beowire.doctor.facts import Facts
from beowire.errors import BeowireError
from beowire.interrupts import Interrupts
from beowire.places.engine import EngineError, EngineProcess
from beowire.places.launch.base import Launcher, Node

#: Runs a script (`facts.script()`) on a node, and takes apart what it prints.
Ask = Callable[[Node, str], dict[str, list[str]]]


@dataclass(frozen=True)
class Diagnosis:
    """A host: what is so, and what is to be said of it."""

    facts: Facts
    findings: Sequence[Finding] = field(default_factory=list)


def look(
    launcher: Launcher, nodes: Sequence[Node], ask: Ask, interrupts: Interrupts, interface: str = ""
) -> list[Facts]:
    """What is so on each of the nodes. BeowireError (exit code 1) names the node."""
    engines: list[EngineProcess] = []
    try:
        for node in nodes:
            start_engine(launcher, node, interrupts, engines)
        hellos = [greet(engine) for engine in engines]
        chosen = [
            interface or _on_the_way(engine, nodes, node, ask)
            for engine, node in zip(engines, nodes, strict=True)
        ]
        environments = [_environment(*pair) for pair in zip(engines, chosen, strict=True)]
        drivers = [_drivers(*pair) for pair in zip(engines, chosen, strict=True)]
    except EngineError as error:
        raise BeowireError(f"{error.node}: {error}", exit_code=1) from None
    finally:
        with interrupts.held():
            end_engines(engines)
    # Once the engines are gone: the scripts have the hosts for themselves.
    with ThreadPoolExecutor(max(1, len(nodes))) as pool:
        said = list(pool.map(ask, nodes, map(facts.script, chosen)))
    return [
        Facts(node.name, name, environment, sections, known, _overhead_ns(hello))
        for node, name, environment, sections, known, hello in zip(
            nodes, chosen, environments, said, drivers, hellos, strict=True
        )
    ]


def diagnose(found: Facts, *, udp_passes: bool = False) -> Diagnosis:
    """Has all checks judge a host. `udp_passes`: that of others has come to it, so no rule of its
    firewall can be in the way."""
    findings = [check(found) for check in host_checks.CHECKS]
    if udp_passes:
        findings = [
            ok(one.check, f"{one.text}, but UDP from the other hosts arrives (tried)")
            if one.check == "firewall" and one.state is State.BAD
            else one
            for one in findings
        ]
    if found.interface:
        findings += [check(found) for check in card_checks.CHECKS]
    else:
        findings.append(
            unknown(
                "card",
                "no card with an IPv4 address was found",
                "beowire doctor --interface NAME   # `ip -br link` lists them",
            )
        )
    return Diagnosis(found, ordered(findings))


def _on_the_way(engine: EngineProcess, nodes: Sequence[Node], node: Node, ask: Ask) -> str:
    """The interface that leads to another of the nodes; of one node alone, the likeliest."""
    others = [other for other in nodes if other is not node]
    if not others:
        return facts.likely_interface(ask(node, facts.script("", facts.OF_INTERFACES)))
    route = engine.request("route", "route", {"to": others[0].reach})
    return str(route["interface"])


def _environment(engine: EngineProcess, interface: str) -> dict[str, object]:
    words = {"interface": interface} if interface else {}
    try:
        return dict(engine.request("environment", "environment", words)["fields"])
    except EngineError as error:
        if error.fatal or not interface:
            raise
        raise BeowireError(
            f"{engine.node}: there is no interface {interface}: `ip -br link` lists them"
        ) from None


def _drivers(engine: EngineProcess, interface: str) -> dict[str, str]:
    words = {"interface": interface} if interface else {}
    answer = engine.request("drivers", "drivers", words)
    return {one.name: "" if one.ready else one.reason for one in known_drivers(answer)}


def _overhead_ns(hello: dict[str, object]) -> float | None:
    clock = hello.get("clock")
    value = clock.get("overhead_ns") if isinstance(clock, dict) else None
    return float(value) if isinstance(value, int | float) else None
