# SPDX-License-Identifier: BSD-3-Clause
"""`beowire simulate` as a user runs it, with the simulator that was built."""

import json
import subprocess
from pathlib import Path
from typing import Any

from beowire.commands.simulate import SCENARIOS
from beowire.paths import simulator
from system.conftest import RunBeowire


def simulated(run_beowire: RunBeowire, *words: str) -> dict[str, Any]:
    done = run_beowire("simulate", "--json", *words)
    assert done.returncode == 0, done.stderr + done.stdout
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_simulate__every_message_arrives_over_a_bad_wire(run_beowire: RunBeowire) -> None:
    found = simulated(
        run_beowire,
        *("--nodes", "8", "--messages", "400", "--seed", "3", "--loss", "5%"),
        *("--reorder", "0.05", "--duplicate", "2%", "--corrupt", "0.02"),
    )
    assert found["seed"] == 3
    assert found["delivered"] == found["messages"] == 400
    assert found["lost"] == found["duplicated"] == found["corrupted"] == found["hung"] == 0
    assert found["retransmitted"] > 0
    assert found["faults"]["loss"] > 0 and found["faults"]["corrupt"] > 0
    assert found["faults"]["crash"] == 0
    assert len(found["trace_hash"]) == 16


def test_simulate__nothing_goes_wrong_on_a_good_wire(run_beowire: RunBeowire) -> None:
    found = simulated(run_beowire, "--messages", "200", "--seed", "5")
    assert found["delivered"] == 200
    assert not any(found["faults"].values())


def test_simulate__the_same_seed_gives_the_same_trace(
    run_beowire: RunBeowire, tmp_path: Path
) -> None:
    traces = [tmp_path / "first", tmp_path / "second"]
    hashes = {
        simulated(run_beowire, "--seed", "11", "--trace", str(path))["trace_hash"]
        for path in traces
    }
    assert len(hashes) == 1
    first, second = (path.read_bytes() for path in traces)
    assert first == second
    assert first.count(b"\n") > 100
    assert simulated(run_beowire, "--seed", "12")["trace_hash"] not in hashes


def test_simulate__every_scenario_has_its_fault(run_beowire: RunBeowire) -> None:
    for name in SCENARIOS[2:]:
        found = simulated(run_beowire, "--scenario", name, "--seeds", "4", "--seed", "1")
        assert found["faults"][name] > 0, name


def test_simulate__names_are_those_of_the_simulator() -> None:
    listed = subprocess.run(
        [simulator(), "--list-scenarios"], capture_output=True, text=True, check=True
    )
    assert tuple(listed.stdout.split()) == SCENARIOS


def test_simulate__damage_that_nothing_detects_is_found(run_beowire: RunBeowire) -> None:
    guarded = run_beowire("simulate", "--json", "--undetected", "2%", "--seeds", "20")
    assert (guarded.returncode, json.loads(guarded.stdout)["failures"]) == (0, [])
    damage = ("simulate", "--json", "--undetected", "2%", "--unchecked", "1")
    done = run_beowire(*damage, "--seeds", "20")
    assert done.returncode == 1
    found = json.loads(done.stdout)
    failures = found["failures"]
    assert found["corrupted"] > 0 and failures
    again = run_beowire(*damage, "--seed", str(failures[0]["seed"]))
    assert again.returncode == 1
    replayed = json.loads(again.stdout)
    assert replayed["failures"][0]["reason"] == failures[0]["reason"]
    # The same run, event by event, and not another that fails likewise.
    assert len(failures[0]["trace_hash"]) == 16
    assert replayed["trace_hash"] == failures[0]["trace_hash"]


def test_simulate__summary_for_people(run_beowire: RunBeowire) -> None:
    done = run_beowire("simulate", "--seeds", "3")
    assert done.returncode == 0
    assert done.stderr.startswith("3 seeds, ")
    assert json.loads(done.stdout)["seeds"] == 3


def test_scale__all_messages_arrive_by_whatever_the_switch_drops(run_beowire: RunBeowire) -> None:
    size = ("--nodes", "40", "--size", "64K", "--buffer", "40000")
    words = ("simulate", "scale", "--workload", "incast", *size)
    found, again = (json.loads(run_beowire(*words).stdout) for _ in range(2))
    assert found["received"] == found["messages"] == 39
    assert 0 < found["frames_dropped"] <= found["frames_again"]
    assert found["trace_hash"] == again["trace_hash"]
    assert 0 < found["share_of_ideal"] <= 1


def test_scale__bad_words(run_beowire: RunBeowire) -> None:
    done = run_beowire("simulate", "scale", "--nodes", "1")
    assert done.returncode != 0
    assert "not a number from 2 to 20000: 1" in done.stderr
    assert done.stderr.count("\n") == 1
