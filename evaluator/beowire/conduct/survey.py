# SPDX-License-Identifier: BSD-3-Clause
"""Finds out what can be measured: the two ends, the route between them, the drivers."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from beowire.errors import BeowireError
from beowire.interrupts import Interrupts
from beowire.places.engine import EngineError, EngineProcess
from beowire.places.launch.base import Launcher, Node
from beowire.plan.selection import driver_named
from beowire.record.lines import CallCost, Clock, DriverInfo, NodeEnd, ProbeInfo

#: The control protocol that this evaluator speaks (docs/ENGINE.md).
PROTOCOL = 1


@dataclass(frozen=True)
class Survey:
    """The ends (initiator, responder), their clocks, and the drivers as both ends see them."""

    ends: list[NodeEnd]
    drivers: list[DriverInfo]
    others: list[NodeEnd] = field(default_factory=list)
    """Further nodes, if they were asked."""
    probes: list[ProbeInfo] = field(default_factory=list)
    """What can be counted, and why other figures cannot."""
    reasons: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By node: why a driver cannot run there; an empty text: it can."""

    @property
    def nodes(self) -> list[NodeEnd]:
        """All nodes that were asked, in the launcher's order."""
        return [*self.ends, *self.others]

    @property
    def clock_overhead_ns(self) -> float:
        """Time to read the initiator's clock."""
        clock = self.ends[0].clock
        return clock.overhead_ns if clock else 0.0


def start_engine(
    launcher: Launcher,
    node: Node,
    interrupts: Interrupts,
    engines: list[EngineProcess],
    cpu: str | None = None,
) -> EngineProcess:
    """Starts an engine and adds it to `engines`, whose owner ends it. BeowireError if that fails.
    Signals are held meanwhile, so that no started engine is forgotten.
    """
    with interrupts.held():
        engines.append(EngineProcess(launcher.start(node, cpu=cpu), node.name, launcher.marker))
        return engines[-1]


def greet(engine: EngineProcess) -> dict[str, Any]:
    """The engine's `hello`; refuses one of another protocol."""
    hello = engine.request("hello", "hello")
    if hello.get("protocol") != PROTOCOL:
        raise EngineError(
            engine.node,
            f"the engine speaks protocol {hello.get('protocol')}, this beowire {PROTOCOL}: "
            "install the same version on every node",
        )
    return hello


def survey(
    launcher: Launcher,
    interrupts: Interrupts,
    pins: tuple[str | None, str | None] = (None, None),
    interface: str = "",
    *,
    many: bool = False,
    call_cost_ns: int | None = None,
) -> Survey:
    """Asks one engine on each of the first two nodes. BeowireError (exit code 1) that names the
    node.

    `interface` is the user's choice; "": that of the node or the route. `many`: all nodes are
    asked, and a driver must be ready on all of them. `call_cost_ns`: added cost of each system
    call; an engine of each node finds out how to add it.
    """
    nodes = list(launcher.nodes) if many else list(launcher.nodes)[:2]
    scouts: list[EngineProcess] = []
    try:
        for node, cpu in zip_longest(nodes, pins):
            start_engine(launcher, node, interrupts, scouts, cpu)
        hellos = [greet(scout) for scout in scouts]
        routes = [scouts[0].request("route", "route", {"to": nodes[1].reach})]
        # The way back starts from the address that the other end will see.
        back = {"to": routes[0]["source"]}
        routes += [scout.request("route", "route", back) for scout in scouts[1:]]
        ends = [
            _end(scout, hello, route, interface or node.interface, call_cost_ns)
            for scout, node, hello, route in zip(scouts, nodes, hellos, routes, strict=True)
        ]
        # Probing takes long: all at the same time.
        for scout, end in zip(scouts, ends, strict=True):
            scout.send("drivers", end_options(end))
        answers = [scout.receive("drivers") for scout in scouts]
        tables = [scout.request("probes", "probes")["figures"] for scout in scouts]
        reports = [known_drivers(answer) for answer in answers]
        reasons = {
            end.node: {one.name: "" if one.ready else one.reason for one in report}
            for end, report in zip(ends, reports, strict=True)
        }
        probes = _merge_probes(tables)
        return Survey(ends[:2], _merge(reports, nodes), ends[2:], probes, reasons)
    except EngineError as error:
        raise BeowireError(f"{error.node}: {error}", exit_code=1) from None
    except (KeyError, TypeError, ValueError) as error:
        raise BeowireError(
            f"an engine gave an answer that makes no sense ({error!r}): "
            "install the same version on every node",
            exit_code=1,
        ) from None
    finally:
        with interrupts.held():
            end_engines(scouts)


def known_drivers(answer: Mapping[str, Any]) -> list[DriverInfo]:
    """The drivers of an answer to `drivers`. A driver whose file cannot be loaded is absent, with
    the reason, the name of its file, and no summary (selection.driver_named())."""
    found = [DriverInfo.model_validate(one) for one in answer["drivers"]]
    names = {one.name for one in found}
    for item in answer.get("broken", []):
        file = re.fullmatch(r"beowire-driver-(.+)\.so", str(item["file"]))
        name = file[1] if file else str(item["file"])
        if name not in names:
            names.add(name)
            found.append(_absent(name, f"it cannot be loaded: {item['reason']}"))
    return found


def _absent(name: str, reason: str) -> DriverInfo:
    return DriverInfo(
        name=name,
        summary="",
        placement="pair",
        reliable=False,
        spins=False,
        min_size=1,
        max_size=1,
        ready=False,
        reason=reason,
    )


def end_engines(engines: list[EngineProcess]) -> None:
    """Ends all of them, at the same time."""
    for engine in engines:
        engine.request_end()
    for engine in engines:
        engine.end()


def end_options(end: NodeEnd) -> dict[str, str]:
    """`interface=` and `address=` for the engine at this end, where they are known."""
    options = {"interface": end.interface, "address": end.address}
    return {key: value for key, value in options.items() if value}


def add_call_cost(engine: EngineProcess, words: Mapping[str, int]) -> CallCost:
    """Adds to the cost of an engine's system calls: `ns`, or a filter of so many `steps`."""
    return CallCost.model_validate(
        {
            name: value
            for name, value in engine.request("system-call-cost", "system-call-cost", words).items()
            if name in CallCost.model_fields
        }
    )


def _end(
    scout: EngineProcess,
    hello: dict[str, Any],
    route: dict[str, Any],
    wanted: str,
    call_cost_ns: int | None,
) -> NodeEnd:
    interface = wanted or route["interface"]
    environment = scout.request("environment", "environment", {"interface": interface})
    return NodeEnd(
        node=scout.node,
        # If the user chose another interface than the route's, its address is used.
        address=route["source"] if interface == route["interface"] else None,
        interface=interface,
        cpu=hello.get("cpu"),
        clock=Clock.model_validate(hello["clock"]),
        call_cost=None if call_cost_ns is None else add_call_cost(scout, {"ns": call_cost_ns}),
        environment=environment["fields"],
    )


def _merge_probes(tables: Sequence[Sequence[Mapping[str, Any]]]) -> list[ProbeInfo]:
    """The probes of the first end, with each end's reasons why one is not available."""
    others = {str(one["name"]): str(one["reason"]) for one in tables[1]}
    return [
        ProbeInfo.model_validate(
            {
                **{name: one[name] for name in ProbeInfo.model_fields if name != "reasons"},
                "reasons": [
                    str(one["reason"]),
                    others.get(str(one["name"]), "this node does not have the probe"),
                ],
            }
        )
        for one in tables[0]
    ]


def _merge(reports: Sequence[Sequence[DriverInfo]], nodes: Sequence[Node]) -> list[DriverInfo]:
    """The drivers that the first end reports; ready only if all ends that they need are."""
    others = [{report.name: report for report in one} for one in reports[1:]]
    merged = []
    for info in reports[0]:
        reasons = [f"{nodes[0].name}: {info.reason}"] if not info.ready else []
        for node, known in zip(nodes[1:], others, strict=True):
            other = driver_named(info.name, known)
            if info.placement != "pair":
                break
            if other is None:
                reasons = reasons or [f"{node.name}: this node does not have the driver"]
            elif not other.ready and other.reason != info.reason:
                reasons.append(f"{node.name}: {other.reason}")
        merged.append(info.model_copy(update={"ready": not reasons, "reason": "; ".join(reasons)}))
    return merged
