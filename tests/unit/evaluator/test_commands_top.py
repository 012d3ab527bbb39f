# SPDX-License-Identifier: BSD-3-Clause
import io
import json
import os
from collections.abc import Iterator

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from beowire.commands import top
from beowire.counters import stats
from beowire.errors import BeowireError
from unit.evaluator.published import endpoint, publish


@pytest.fixture
def app() -> typer.Typer:
    made = typer.Typer()
    made.callback()(lambda: None)
    top.register(made)
    return made


@pytest.fixture
def published() -> Iterator[int]:
    descriptor = publish(endpoint(100, process=os.getpid()))
    yield descriptor
    os.close(descriptor)


def run(app: typer.Typer, *words: str) -> "list[str]":
    done = CliRunner().invoke(app, ["top", *words])
    if done.exception is not None:
        raise done.exception
    return done.stdout.splitlines()


@pytest.mark.usefixtures("published")
def test_top__in_a_pipe_it_looks_once(app: typer.Typer) -> None:
    lines = run(app, "--pid", str(os.getpid()))
    assert lines[0].startswith(f"process {os.getpid()}: ")
    assert "at 10.77.0.1/4711" in lines[0] + lines[1]  # below, where the command is long
    assert sum("10.77.0.1/4711" in line for line in lines) == 1


@pytest.mark.usefixtures("published")
def test_top__looks_as_often_as_it_is_told(app: typer.Typer) -> None:
    lines = run(app, "--pid", str(os.getpid()), "--count", "3", "--interval", "0.1")
    assert sum("10.77.0.1/4711" in line for line in lines) == 3


@pytest.mark.usefixtures("published")
def test_top__json_is_an_object_a_line(app: typer.Typer) -> None:
    pid = str(os.getpid())
    (line,) = run(app, "--json", "--pid", pid)
    assert json.loads(line)["endpoints"][0]["counters"] == {"message_eager": 100}
    lines = run(app, "--json", "--pid", pid, "--count", "2", "--interval", "0.1")
    assert [json.loads(line)["endpoints"][0]["pid"] for line in lines] == [os.getpid()] * 2


@pytest.mark.usefixtures("published")
def test_top__of_all_processes_it_has_a_line_each(
    app: typer.Typer, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What other programs of this machine have open is theirs: their lines may be wider.
    find = stats.find
    monkeypatch.setattr("beowire.counters.stats.find", lambda _pid: find(os.getpid()))
    lines = run(app)
    assert lines[0].split()[:3] == ["pid", "program", "host"]
    (own,) = (line for line in lines if line.split()[0] == str(os.getpid()))
    assert "10.77.0.1" in own
    assert len(own) <= 80
    assert f"process {os.getpid()}: " in "\n".join(run(app, "--details"))


def test_top__nobody_is_there_is_no_error(
    app: typer.Typer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("beowire.counters.stats.find", lambda _pid: [])
    assert run(app) == ["no endpoint is open in any process that you may look at"]
    assert json.loads(run(app, "--json")[0])["endpoints"] == []


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--pid", "4194305"], "process 4194305 has no open endpoint"),
        (["--count", "0"], "--count is at least 1"),
        (["--interval", "0"], "--interval is 0.1 to 3600 seconds"),
        (["--interval", "nan"], "--interval is 0.1 to 3600 seconds"),
    ],
)
def test_top__bad_input_is_one_line(app: typer.Typer, words: list[str], says: str) -> None:
    with pytest.raises(BeowireError) as refused:
        run(app, *words)
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.usefixtures("published")
def test_top__in_a_terminal_it_is_live_until_it_is_interrupted(
    app: typer.Typer, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=100, height=30)
    looked: list[float] = []

    def pause(seconds: float) -> None:
        looked.append(seconds)
        if len(looked) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(top, "Console", lambda **_: console)
    monkeypatch.setattr("beowire.commands.top.time.sleep", pause)
    assert run(app, "--pid", str(os.getpid()), "--interval", "2") == []
    assert looked == [2.0, 2.0, 2.0]
    assert screen.getvalue().count("packet/eth0") >= 3
    assert screen.getvalue().count("\x1b[?1049l") == 1  # the terminal is given back


@pytest.mark.usefixtures("published")
def test_top__in_a_low_terminal_it_says_what_is_missing(
    app: typer.Typer, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=100, height=5)
    monkeypatch.setattr(top, "Console", lambda **_: console)
    monkeypatch.setattr("beowire.commands.top.time.sleep", _interrupt)
    assert run(app, "--pid", str(os.getpid())) == []
    assert "endpoints: 1  (Ctrl-C ends)" in screen.getvalue()
    assert "more lines: use a taller terminal, or --pid" in screen.getvalue()
    assert "dropped" not in screen.getvalue()


def _interrupt(_seconds: float) -> None:
    raise KeyboardInterrupt
