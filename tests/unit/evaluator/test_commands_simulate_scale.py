# SPDX-License-Identifier: BSD-3-Clause
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from beowire.commands import simulate, simulate_scale
from beowire.errors import BeowireError

RECORD: dict[str, Any] = {
    "workload": "incast",
    "nodes": 5,
    "rate_bits_per_s": 1_000_000_000,
    "messages": 4,
    "received": 4,
    "bytes": 4000,
    "time_ns": 40_000,
    "goodput_bytes_per_s": 100_000_000,
    "share_of_ideal": 0.82,
    "fairness": 0.5,
    "frames": 12,
    "frames_again": 2,
    "frames_dropped": 1,
    "frames_dropped_by_nodes": 0,
    "buffer_bytes_most": 3000,
    "queue_bytes_most": 2000,
    "memory_bytes_per_node": 1 << 20,
    "tenths": [
        {"messages": 0, "shortest": 0, "longest": 0, "median": 0, "p99": 0},
        {"messages": 4, "shortest": 1000, "longest": 1000, "median": 1.5, "p99": 2.25},
    ],
    "trace_hash": "0123",
}

#: Says which words it was given, as the simulator does not, or what is wrong with them.
PROGRAM = """#!{python}
import json, sys
words = dict(zip(sys.argv[2::2], sys.argv[3::2]))
if words["--nodes"] == "1":
    print("beowire-simulate scale: --nodes: not a number from 2 to 20000: 1", file=sys.stderr)
    sys.exit(2)
record = json.loads({record!r})
record["received"] = 3 if words["--nodes"] == "3" else 4
print(json.dumps(record | {{"words": words, "form": sys.argv[1]}}))
"""


@pytest.fixture(name="app")
def make_app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> typer.Typer:
    (tmp_path / "beowire-engine").touch()
    program = tmp_path / "beowire-simulate"
    program.write_text(
        PROGRAM.format(python=sys.executable, record=json.dumps(RECORD)), encoding="utf-8"
    )
    program.chmod(0o755)
    monkeypatch.setenv("BEOWIRE_ENGINE_DIR", str(tmp_path))
    made = typer.Typer()
    made.callback()(lambda: None)
    simulate.register(made)
    return made


def test_scale__tells_the_program_what_is_asked_for(app: typer.Typer) -> None:
    words = ["--workload", "incast", "--nodes", "5", "--rate", "1g", "--delay", "2us"]
    done = CliRunner().invoke(
        app, ["simulate", "scale", *words, "--size", "4KiB", "--buffer", "1M"]
    )
    assert done.exit_code == 0
    record = json.loads(done.stdout)
    assert record["form"] == "scale"
    told = record["words"]
    assert (told["--rate"], told["--delay-ns"]) == ("1000000000", "2000")
    assert (told["--bytes"], told["--cold"], told["--seed"]) == ("4096", "0", "1")


def test_scale__fails_if_not_all_was_received(app: typer.Typer) -> None:
    assert CliRunner().invoke(app, ["simulate", "scale", "--nodes", "3"]).exit_code == 1


def test_scale__says_in_one_line_what_is_wrong(app: typer.Typer) -> None:
    for words, said in (
        (["--workload", "storm"], "no workload 'storm'"),
        (["--rate", "quick"], "cannot read the rate"),
        (["--nodes", "1"], "--nodes: not a number from 2 to 20000: 1"),
    ):
        done = CliRunner().invoke(app, ["simulate", "scale", *words])
        assert isinstance(done.exception, BeowireError)
        assert str(done.exception).startswith(said)
        assert "\n" not in str(done.exception)


def test_lines__leave_out_tenths_without_messages() -> None:
    text = "\n".join(simulate_scale.lines(RECORD))
    assert "incast on 5 nodes" in text and "4 of 4 messages" in text
    assert "0.82 times the ideal" in text
    assert text.count("1000 to 1000") == 1 and "2.25" in text
    assert "TCP" not in text


def test_lines__say_how_tcp_fared() -> None:
    text = "\n".join(
        simulate_scale.lines(RECORD | {"tcp_share_of_fair": 0.3, "own_share_of_fair": 1.7})
    )
    assert "TCP had 0.30 and Beowire 1.70" in text
