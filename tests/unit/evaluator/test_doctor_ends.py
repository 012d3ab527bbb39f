# SPDX-License-Identifier: BSD-3-Clause
"""What `compare` writes of the ends: the doctor's own words, of what can be known there."""

import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from beowire.analysis.finding import State
from beowire.conduct.survey import Survey
from beowire.doctor import card_checks, ends, facts, host_checks
from beowire.errors import BeowireError
from beowire.places.launch.base import Node
from beowire.places.launch.local import LocalLauncher
from beowire.record.lines import Clock, NodeEnd
from unit.evaluator.test_doctor import GOOD, SECTIONS

READY = {"beowire-packet": ""}
SLOW: Mapping[str, Any] = {
    **GOOD,
    "interface_mtu": 1500,
    "interface_coalesce_receive_us": 50,
    "net_core_rmem_max": 212992,
    "net_core_wmem_max": 212992,
    "capabilities": "0000000000000000",
}


def end(name: str, environment: Mapping[str, Any], interface: str | None = "enp1s0") -> NodeEnd:
    clock = Clock(source="CLOCK_MONOTONIC", overhead_ns=20.0)
    return NodeEnd(node=name, interface=interface, clock=clock, environment=dict(environment))


class Elsewhere:
    """A launcher of which only its nodes count."""

    marker = b""

    def __init__(self, kind: str, link: str, *names: str) -> None:
        self.kind = kind
        self._link = link
        self.nodes = [Node(name, name) for name in names]

    def describe_link(self) -> dict[str, object]:
        return {"kind": self._link}

    def __enter__(self) -> "Elsewhere":
        return self

    def __exit__(self, *exc: object) -> None: ...

    def start(self, node: Node, *, cpu: str | None = None) -> subprocess.Popen[bytes]:
        raise NotImplementedError

    def start_proxy(self, node: Node) -> subprocess.Popen[bytes]:
        raise NotImplementedError


def survey(*found: NodeEnd) -> Survey:
    reasons = {one.node: READY for one in found}
    return Survey(list(found[:2]), [], list(found[2:]), reasons=reasons)


def test_found__are_the_doctors_words__those_alike_in_one__the_worst_first() -> None:
    launcher = Elsewhere("hosts", "hosts", "a", "b")
    found = ends.found_at(launcher, survey(end("a", SLOW), end("b", SLOW)))
    (coalescing,) = [one for one in found if one.check == "coalescing"]
    said = card_checks.coalescing(facts.Facts("a", "enp1s0", SLOW))
    assert coalescing.model_dump() == {"nodes": ["a", "b"], **said.as_data()}
    assert coalescing.do.startswith("ethtool -C enp1s0")
    (buffers,) = [one for one in found if one.check == "socket buffers"]
    assert "rmem_max 212992" in buffers.text and buffers.nodes == ["a", "b"]
    states = [list(State).index(State(one.state)) for one in found]
    assert states == sorted(states)
    # What takes a script is not said where none was run: nothing is known of it.
    assert not {one.check for one in found} & {"power states", "losses", "interrupts"}


def test_found__ends_that_differ__are_named_and_compared() -> None:
    launcher = Elsewhere("hosts", "hosts", "a", "b")
    found = ends.found_at(launcher, survey(end("a", SLOW), end("b", GOOD)))
    (coalescing,) = [one for one in found if one.check == "coalescing" and one.state != "ok"]
    assert coalescing.nodes == ["a"]
    unlike = [one for one in found if one.check == "MTU" and len(one.nodes) == 2]
    assert [one.text for one in unlike] == ["not the same: a 1500, b 9000"]


def test_judged__in_a_lab__what_to_type_is_for_the_lab() -> None:
    known = ends.facts_of(end("node0", SLOW), {}, READY)
    by_check = {one.check: one for one in ends.judged(known, in_lab=True)}
    assert by_check["MTU"].do == "beowire compare --lab --mtu 9000"
    assert by_check["coalescing"].do == ""
    assert by_check["MTU"].costs == card_checks.mtu(known).costs


def test_judged__a_labs_cable__has_an_mtu_alone() -> None:
    cable = {**SLOW, "interface_driver": "veth", "interface_offload_rx_gro": False}
    found = ends.judged(ends.facts_of(end("node0", cable, "eth0"), {}, READY), in_lab=True)
    checks = [one.check for one in found if one.check not in ("Ethernet frames", "clock")]
    assert checks == ["socket buffers", "MTU"]


def test_judged__loopback_has_no_card() -> None:
    known = ends.facts_of(end("local0", SLOW, "lo"), {}, READY)
    checks = {one.check for one in ends.judged(known, in_lab=False)}
    assert checks == {"Ethernet frames", "socket buffers", "clock"}


def test_judged__with_the_script__as_doctor() -> None:
    known = ends.facts_of(end("a", GOOD), SECTIONS, READY)
    found = ends.judged(known, in_lab=False)
    assert {one.state for one in found} == {State.OK}
    assert {"power states", "frequency", "losses", "interrupts"} <= {one.check for one in found}


def test_frames__a_driver_that_is_not_known__is_not_said_to_fail() -> None:
    known = replace(ends.facts_of(end("a", GOOD), {}, {}), drivers={})
    assert host_checks.frames(known).state is State.UNKNOWN


def test_offloads__a_virtual_cable_has_nothing_to_join() -> None:
    cable = {**GOOD, "interface_offload_rx_gro": False, "interface_driver": "veth"}
    assert card_checks.offloads(facts.Facts("a", "eth0", cable)).state is State.OK
    card = {**cable, "interface_driver": "igc"}
    assert card_checks.offloads(facts.Facts("a", "eth0", card)).state is State.WORSE


def test_found__a_host_that_answers_no_script__has_the_engines_word(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(text: str) -> dict[str, list[str]]:
        raise BeowireError("this host takes more than 60 s to answer")

    monkeypatch.setattr(facts, "ask_here", fails)
    both = survey(end("local0", SLOW, "lo"), end("local1", SLOW, "lo"))
    found = ends.found_at(LocalLauncher(), both)
    assert {one.check for one in found} == {"Ethernet frames", "socket buffers", "clock"}


def test_asked__of_this_host__is_what_its_files_say() -> None:
    found = ends.found_at(LocalLauncher(), survey(end("local0", SLOW, "lo"), end("local1", SLOW)))
    here = Path("/proc/sys/net/core/rmem_max").read_text(encoding="ascii").strip()
    # A limit that is high enough is said by itself.
    (buffers,) = [one for one in found if one.check == "socket buffers"]
    assert f"rmem_max {here}," in buffers.text or buffers.state == "ok"
    assert "power states" in {one.check for one in found}
