# SPDX-License-Identifier: BSD-3-Clause
import json
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from beowire.commands import simulate
from beowire.errors import BeowireError

ECHO = """#!{python}
import json, sys
words = dict(zip(sys.argv[1::2], sys.argv[2::2]))
line = {{"seed": int(words["--seed"]), "messages": 1, "trace_hash": "00"}}
if "--nodes" in words:
    line["failure"] = "it hangs"
print(json.dumps(line))
with open({log!r}, "a") as log:
    print(json.dumps(words), file=log)
"""


@pytest.fixture(name="log")
def make_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    log = tmp_path / "log"
    engine = tmp_path / "engine"
    engine.mkdir()
    (engine / "beowire-engine").touch()
    program = engine / "beowire-simulate"
    program.write_text(ECHO.format(python=sys.executable, log=str(log)), encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("BEOWIRE_ENGINE_DIR", str(engine))
    return log


@pytest.fixture(name="app")
def make_app() -> typer.Typer:
    made = typer.Typer()
    made.callback()(lambda: None)
    simulate.register(made)
    return made


def words_of(log: Path) -> dict[str, str]:
    found: dict[str, str] = json.loads(log.read_text(encoding="utf-8").splitlines()[-1])
    return found


def test_simulate__prints_json_where_no_terminal_is(app: typer.Typer, log: Path) -> None:
    done = CliRunner().invoke(app, ["simulate", "--seed", "7"])
    assert done.exit_code == 0
    assert json.loads(done.stdout)["seed"] == 7
    assert words_of(log) == {"--seed": "7", "--seeds": "1"}


def test_simulate__shares_alone_mean_nothing_else_goes_wrong(app: typer.Typer, log: Path) -> None:
    done = CliRunner().invoke(app, ["simulate", "--loss", "1%", "--messages", "500"])
    assert done.exit_code == 0
    words = words_of(log)
    assert words["--scenario"] == "wire"
    assert words["--loss"] == "10000"
    assert words["--reorder"] == words["--duplicate"] == words["--corrupt"] == "0"
    assert words["--messages"] == "500"
    assert "--undetected" not in words


def test_simulate__scenario_with_a_share(app: typer.Typer, log: Path) -> None:
    CliRunner().invoke(app, ["simulate", "--scenario", "flood", "--corrupt", "0.5"])
    words = words_of(log)
    assert words["--scenario"] == "flood"
    assert words["--corrupt"] == "500000"
    assert "--loss" not in words


def test_simulate__failure_is_the_exit_code(app: typer.Typer, log: Path) -> None:
    done = CliRunner().invoke(app, ["simulate", "--nodes", "3"])
    assert done.exit_code == 1
    (failure,) = json.loads(done.stdout)["failures"]
    assert failure["reason"] == "it hangs"
    assert failure["replay"] == "beowire simulate --seed 1 --nodes 3 --trace trace.txt"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--nodes", "1"], "--nodes is 2 to 1000, not 1"),
        (["--seeds", "0"], "--seeds is"),
        (["--messages", "0"], "--messages is"),
        (["--jobs", "0"], "--jobs is"),
        (["--seed", "-1"], "--seed is"),
        (["--scenario", "weather"], "no scenario 'weather': there are all, wire, loss"),
        (["--loss", "110%"], "cannot read --loss '110%': write a share of the frames"),
        (["--corrupt", "much"], "cannot read --corrupt 'much'"),
        (["--trace", "x", "--seeds", "2"], "--trace records one seed"),
    ],
)
def test_simulate__bad_words(app: typer.Typer, log: Path, words: list[str], says: str) -> None:
    done = CliRunner().invoke(app, ["simulate", *words])
    assert isinstance(done.exception, BeowireError)
    assert says in str(done.exception)
    assert not log.exists()


def test_simulate__not_built(
    app: typer.Typer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "beowire-engine").touch()
    monkeypatch.setenv("BEOWIRE_ENGINE_DIR", str(tmp_path))
    done = CliRunner().invoke(app, ["simulate"])
    assert isinstance(done.exception, BeowireError)
    assert "build it first" in str(done.exception)
