# SPDX-License-Identifier: BSD-3-Clause
"""Sharing out seeds, and what is made of the simulator's lines; the simulator is a script here."""

import sys
from pathlib import Path

import pytest

from beowire.errors import BeowireError
from beowire.simulation import Outcome, Simulator, replay_command

FAKE = """#!{python}
import json, os, signal, sys
words = dict(zip(sys.argv[1::2], sys.argv[2::2]))
first = int(words["--seed"])
for seed in range(first, first + int(words["--seeds"])):
    line = {{"seed": seed, "messages": 10, "delivered": 9, "failed": 1, "frames": 50,
            "retransmitted": 2, "faults": {{"loss": seed % 2, "crash": 1}},
            "work": {{"puts": 3, "gets": 2, "atomics": 1, "remote_refused": 1}},
            "trace_hash": f"{{seed:016x}}"}}
    if seed == 13:
        line.update(lost=1, failure="message 3 did not arrive")
    if seed == 27:
        print(json.dumps({{"seed": seed, "failure": "an assertion failed"}}), flush=True)
        sys.exit(1)
    if seed == 31:
        print("the stack", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    if words.get("--scenario") == "bad":
        print("no such scenario", file=sys.stderr)
        sys.exit(2)
    print(json.dumps(line), flush=True)
"""


@pytest.fixture(name="program")
def make_program(tmp_path: Path) -> Path:
    program = tmp_path / "beowire-simulate"
    program.write_text(FAKE.format(python=sys.executable), encoding="utf-8")
    program.chmod(0o755)
    return program


def run(program: Path, first: int, count: int, jobs: int = 2) -> tuple[Outcome, int]:
    done: list[int] = []
    with Simulator(program, [], {"--nodes": "4"}) as simulator:
        outcome = simulator.run(first, count, jobs, lambda: done.append(1))
    return outcome, len(done)


def test_run__each_seed_once(program: Path) -> None:
    outcome, done = run(program, 100, 50)
    assert done == outcome.seeds == 50
    assert sorted(outcome.hashes) == list(range(100, 150))
    assert outcome.sums["messages"] == 500
    assert outcome.faults == {"loss": 25, "crash": 50}
    assert outcome.seeds_with == {"loss": 25, "crash": 50}
    assert not outcome.failures


def test_run__failures_cost_their_own_seed_only(program: Path) -> None:
    outcome, done = run(program, 1, 60, jobs=3)
    assert done == outcome.seeds == 60
    found = {one.seed: one for one in outcome.failures}
    assert set(found) == {13, 27, 31}
    assert found[13].reason == "message 3 did not arrive"
    assert found[27].reason == "an assertion failed"
    assert "killed by signal 9" in found[31].reason and "the stack" in found[31].reason
    assert found[13].replay == "beowire simulate --seed 13 --nodes 4 --trace trace.txt"


def test_run__same_hash_however_many_jobs(program: Path) -> None:
    assert run(program, 40, 45, 1)[0].trace_hash() == run(program, 40, 45, 4)[0].trace_hash()
    assert run(program, 40, 45)[0].trace_hash() != run(program, 40, 44)[0].trace_hash()
    assert run(program, 40, 1)[0].trace_hash() == f"{40:016x}"


def test_run__program_that_refuses_its_words(program: Path) -> None:
    with (
        Simulator(program, ["--scenario", "bad"], {}) as simulator,
        pytest.raises(BeowireError, match="no such scenario"),
    ):
        simulator.run(1, 5, 1, lambda: None)


def test_lines__say_what_happened_and_how_to_repeat_it(program: Path) -> None:
    lines = run(program, 1, 20)[0].lines()
    assert lines[0].startswith("20 seeds, 200 messages: 180 delivered; 20 operations ended")
    assert "loss 10 (10), crash 20 (20)" in lines[2]
    assert lines[3].startswith("lost 1, duplicated 0")
    assert lines[-1].splitlines()[0] == "seed 13 FAILED: message 3 did not arrive"
    assert "beowire simulate --seed 13" in lines[-1]


def test_to_json__has_what_scripts_depend_on(program: Path) -> None:
    found = run(program, 13, 1)[0].to_json(13)
    assert found["seed"] == 13
    assert {"delivered", "lost", "duplicated", "corrupted", "hung", "retransmitted"} <= set(found)
    assert found["trace_hash"] == f"{13:016x}"
    assert found["failures"][0]["replay"].startswith("beowire simulate --seed 13")


def test_replay_command__quotes() -> None:
    assert replay_command(3, {"--loss": "1 %"}) == (
        "beowire simulate --seed 3 --loss '1 %' --trace trace.txt"
    )


def test_lines__what_was_done_on_remote_memory(program: Path) -> None:
    lines = run(program, 1, 10)[0].lines()
    assert lines[1] == (
        "remote memory: 30 puts, 20 gets, 10 atomic operations; 10 refused as they had to be"
    )
