# SPDX-License-Identifier: BSD-3-Clause
import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from beowire.conduct.survey import _merge, end_engines, known_drivers, start_engine, survey
from beowire.errors import BeowireError
from beowire.interrupts import Interrupts
from beowire.places.engine import EngineProcess
from unit.evaluator.fake_launcher import FakeLauncher, FakeNode

Make = Callable[..., FakeLauncher]


@pytest.fixture
def make() -> Iterator[Make]:
    launchers: list[FakeLauncher] = []

    def run(**members: Any) -> FakeLauncher:
        launchers.append(FakeLauncher(**members))
        return launchers[-1]

    yield run
    for launcher in launchers:
        assert all(process.poll() is not None for process in launcher.processes)


def test_survey__knows_both_ends(make: Make) -> None:
    found = survey(make(), Interrupts())
    assert [end.node for end in found.ends] == ["node0", "node1"]
    assert [end.cpu for end in found.ends] == [0, 1]
    assert [end.address for end in found.ends] == ["127.0.0.1"] * 2
    assert [end.interface for end in found.ends] == ["lo"] * 2
    assert found.ends[1].environment["kernel"] == "0.0-fake"
    assert found.clock_overhead_ns == 20.0


def test_survey__probes_have_the_reasons_of_both_ends(make: Make) -> None:
    by_name = {one.name: one for one in survey(make(), Interrupts()).probes}
    assert by_name["cycles"].reasons == ["no such counter"] * 2
    assert by_name["interrupts"].reasons == ["", ""]
    assert (by_name["interrupts"].per, by_name["interrupts"].disturbs) == ("second", False)


def test_survey__finds_out_how_to_add_a_cost_to_system_calls(make: Make) -> None:
    assert [end.call_cost for end in survey(make(), Interrupts()).ends] == [None, None]
    found = survey(make(), Interrupts(), call_cost_ns=300)
    assert [end.call_cost.steps for end in found.ends if end.call_cost] == [320, 320]
    with pytest.raises(BeowireError, match=r"^node0: a filter can add 56 to 3290 ns"):
        survey(make(), Interrupts(), call_cost_ns=9000)


def test_survey__an_interface_of_the_users_choice_has_its_own_address(make: Make) -> None:
    found = survey(make(), Interrupts(), interface="eth7")
    assert [(end.interface, end.address) for end in found.ends] == [("eth7", None)] * 2


def test_survey__the_nodes_interface_counts_where_the_user_names_none(make: Make) -> None:
    nodes = (FakeNode("a", interface="eth1"), FakeNode("b"))
    found = survey(make(nodes=nodes), Interrupts())
    assert [end.interface for end in found.ends] == ["eth1", "lo"]


def test_survey__absent_drivers_have_the_node_and_the_reason(make: Make) -> None:
    found = survey(make(), Interrupts())
    by_name = {one.name: one for one in found.drivers}
    assert by_name["steady"].ready and by_name["steady"].reason == ""
    assert not by_name["absent"].ready
    assert by_name["absent"].reason == "node0: install libabsent"


def test_survey__a_driver_that_cannot_be_loaded_is_absent_with_the_reason(make: Make) -> None:
    broken = [{"file": "beowire-driver-crash.so", "reason": "it ends the process that tries it"}]
    found = survey(make(environment={"BEOWIRE_FAKE_BROKEN": json.dumps(broken)}), Interrupts())
    (crash,) = (one for one in found.drivers if one.name == "crash")
    assert not crash.ready
    assert crash.reason == "node0: it cannot be loaded: it ends the process that tries it"
    assert any(one.ready for one in found.drivers)


def test_merge__a_driver_whose_library_the_other_node_does_not_have_has_that_reason() -> None:
    broken = {"file": "beowire-driver-ucx.so", "reason": "no libucp.so.0"}
    unloadable = known_drivers({"drivers": [], "broken": [broken]})
    there = {"name": "ucx:tcp", "summary": "UCX over TCP", "ready": True, "reason": ""}
    ready = [unloadable[0].model_copy(update=there)]
    nodes: Any = (FakeNode("a"), FakeNode("b"))
    (found,) = _merge([ready, unloadable], nodes)
    assert not found.ready
    assert found.reason == "b: it cannot be loaded: no libucp.so.0"
    (found,) = _merge([ready, []], nodes)
    assert found.reason == "b: this node does not have the driver"


def test_survey__another_protocol_is_refused_with_advice(make: Make) -> None:
    launcher = make(environment={"BEOWIRE_FAKE_PROTOCOL": "9"})
    with pytest.raises(BeowireError, match=r"node0: .* protocol 9, .* same version") as caught:
        survey(launcher, Interrupts())
    assert caught.value.exit_code == 1


def test_survey__a_slow_start_is_waited_for(make: Make) -> None:
    launcher = make(environment={"BEOWIRE_FAKE_START_S": "1.0"})
    assert len(survey(launcher, Interrupts()).ends) == 2


def test_start_engine__a_signal_in_the_middle_loses_no_engine(make: Make) -> None:
    class Interrupted(FakeLauncher):
        def start(self, node: Any, *, cpu: str | None = None) -> subprocess.Popen[bytes]:
            os.kill(os.getpid(), signal.SIGTERM)
            return super().start(node, cpu=cpu)

    launcher = Interrupted()
    engines: list[EngineProcess] = []
    with Interrupts() as interrupts, pytest.raises(KeyboardInterrupt):
        start_engine(launcher, launcher.nodes[0], interrupts, engines)
    assert [engine.process for engine in engines] == launcher.processes
    end_engines(engines)
    assert launcher.processes[0].poll() is not None
