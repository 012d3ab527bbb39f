# SPDX-License-Identifier: BSD-3-Clause
import os
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from beowire.commands import load
from beowire.errors import BeowireError
from unit.evaluator import fake_launcher


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> typer.Typer:
    monkeypatch.setenv("BEOWIRE_ENGINE_DIR", str(fake_launcher.write_engine(tmp_path / "engine")))
    monkeypatch.setattr(load, "_LINE_S", 0.05)
    made = typer.Typer()
    made.callback()(lambda: None)
    load.register(made)
    return made


def test_load__a_line_each_while_and_one_at_the_end(app: typer.Typer) -> None:
    done = CliRunner().invoke(app, ["load", "duty:50", "--time", "0.2"])
    assert done.exception is None
    lines = done.stdout.splitlines()
    assert lines[0] == "duty:50 on CPU 0, 1; share of each that it gets:"
    # The pretended engine says half a CPU, whenever it is asked.
    assert lines[1].split("  ")[-1] == "(50.0% of 2 CPUs, 0.00000100 M turns/s)"
    assert lines[-1].startswith("in all ")
    assert all("50.0%   50.0%" in line for line in lines[1:])
    assert len(lines) >= 3


def test_load__ends_with_whoever_started_it(
    app: typer.Typer, monkeypatch: pytest.MonkeyPatch
) -> None:
    parents = [7, 7, 7, 1]
    monkeypatch.setattr(os, "getppid", lambda: parents.pop(0) if len(parents) > 1 else parents[0])
    done = CliRunner().invoke(app, ["load"])
    assert done.exception is None
    assert done.stdout.splitlines()[-1].startswith("in all ")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["pig"], "cannot read the load 'pig': write hog:NICE"),
        (["--time", "0"], "--time is more than 0"),
        (["--cpus", "x"], "cannot read --cpus 'x': write numbers, as 0 or 0,2-3"),
        (["--cpus", "3-1"], "cannot read --cpus '3-1'"),
        (["--cpus", "9999"], "--cpus 9999: there is no CPU 9999: there are "),
    ],
)
def test_load__bad_words__one_line(app: typer.Typer, words: list[str], message: str) -> None:
    refused = CliRunner().invoke(app, ["load", *words]).exception
    assert isinstance(refused, BeowireError)
    assert str(refused).startswith(message)
    assert "\n" not in str(refused)


def test_load__an_engine_that_refuses(app: typer.Typer) -> None:
    refused = CliRunner().invoke(app, ["load", "hog:7"]).exception
    assert isinstance(refused, BeowireError)
    assert str(refused) == "cannot make load: nice is refused"
