# SPDX-License-Identifier: BSD-3-Clause
"""`beowire speedup`: what is refused before anything is started, and a whole run."""

import contextlib
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from beowire.apps import run
from beowire.commands import speedup
from beowire.conduct.survey import Survey
from beowire.errors import BeowireError
from beowire.places.mpi import installation, ways
from beowire.places.mpi.installation import Installation
from beowire.places.mpi.places import Prepared, Used
from beowire.places.mpi.ways import Way
from beowire.record.lines import NodeEnd
from unit.evaluator.test_apps_run import FakeLauncher


class FakePlace:
    """Runs the program as it is, with the way's name in its environment."""

    def __init__(self, *_words: object) -> None:
        self.launcher = FakeLauncher()

    def used(self, ranks: int) -> Used:
        del ranks
        return Used(["node0", "node1", "node2"], 1)

    @contextlib.contextmanager
    def prepared(
        self, mpi: Installation, way: Way, ranks: int, program: Sequence[str], files: Sequence[Path]
    ) -> Iterator[Prepared]:
        yield list(program), {**os.environ, "WAY": way.name}


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    def find(name: str, prefix: Path | None = None) -> Installation:
        installation.kind_of(name)
        return Installation(name, "4.1.4", Path("/usr/bin/mpirun"), None)

    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    monkeypatch.setattr(installation, "find", find)
    monkeypatch.setattr(ways, "way", lambda _mpi, over: Way(over, {}))
    monkeypatch.setattr(speedup, "LabPlace", FakePlace)
    ends = [NodeEnd(node="node0"), NodeEnd(node="node1")]
    monkeypatch.setattr(run, "survey", lambda *_: Survey(ends, []))


def invoke(*words: str) -> Result:
    app = typer.Typer()
    app.callback()(lambda: None)
    speedup.register(app)
    return CliRunner().invoke(app, ["speedup", *words])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("-- true", "name where to run: --lab"),
        ("--lab --hosts a,b -- true", "exclude each other"),
        ("--mtu 9000 --hosts a,b -- true", "--mtu describes a lab"),
        ("--lab --repeat 0 -- true", "--repeat is 1 to 1000, not 0"),
        ("--lab -n 0 -- true", "-n is 1 to 4096, not 0"),
        ("--lab --timeout 0 -- true", "--timeout is more than 0"),
        ("--lab --over foo -- true", "no way is called 'foo'"),
        ("--lab --mpi foo -- true", "no MPI is called 'foo'"),
        ("--lab --ignore x -- true", "--ignore needs --check-output"),
        ("--lab --check-output --ignore ( -- true", "cannot read --ignore '('"),
        ("--lab -- ./nosuchprogram", "there is no program ./nosuchprogram here"),
        ("--lab --ssh-option Port=1 -- true", "--ssh-option needs --hosts"),
    ],
)
def test_speedup__refused(words: str, message: str) -> None:
    result = invoke(*words.split())
    assert isinstance(result.exception, BeowireError), result.output
    assert message in str(result.exception)
    assert "\n" not in str(result.exception)


def test_speedup__a_whole_run_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = invoke("--lab", "--repeat", "2", "--check-output", "--", "sh", "-c", "echo 7")
    assert result.exception is None, result.exception
    assert "Over Beowire it is" in result.stdout
    assert "Output: the same in all 6 runs." in result.stdout
    assert list(tmp_path.iterdir()) == []


def test_speedup__outputs_that_differ_are_a_failure(tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ("--repeat", "1", "--check-output", "--json", "--out", str(out), "--seed", "1")
    result = invoke("--lab", *words, "--", "sh", "-c", 'echo "$WAY"')
    assert isinstance(result.exception, BeowireError)
    assert (str(result.exception), result.exception.exit_code) == ("the outputs differ", 1)
    said = json.loads(result.stdout)
    assert len(said["different_outputs"]) == 2
    assert {path.name for path in out.iterdir()} == {"record.jsonl", "report.html"}


def test_speedup__a_program_that_fails(tmp_path: Path) -> None:
    result = invoke("--lab", "--repeat", "1", "--", "sh", "-c", "echo no >&2; exit 3")
    assert isinstance(result.exception, BeowireError)
    assert result.exception.exit_code == 1
    said = str(result.exception)
    assert "openmpi4 over tcp" in said and "openmpi4 over beowire" in said
    assert said.startswith("sh (") and said.endswith("): no")
