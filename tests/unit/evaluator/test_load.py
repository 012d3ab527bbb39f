# SPDX-License-Identifier: BSD-3-Clause
from collections.abc import Iterator
from pathlib import Path

import pytest

from beowire.errors import BeowireError
from beowire.interrupts import Interrupts
from beowire.load import Background, Load, loaded_nodes, parse_load
from beowire.record import read_record
from beowire.run import Request, run
from unit.evaluator.fake_engine import FakeLauncher


@pytest.fixture
def launcher() -> Iterator[FakeLauncher]:
    made = FakeLauncher()
    yield made
    assert all(process.poll() is not None for process in made.processes)


@pytest.mark.parametrize(("text", "nice"), [("hog", 0), ("hog:0", 0), ("hog:19", 19), (" hog ", 0)])
def test_parse_load__nice_value(text: str, nice: int) -> None:
    load = parse_load(text)
    assert load.nice == nice
    assert parse_load(load.text) == load


@pytest.mark.parametrize("text", ["", "pig", "hog:", "hog:20", "hog:-1", "hog:x", "hog:1:2"])
def test_parse_load__anything_else_is_refused(text: str) -> None:
    with pytest.raises(BeowireError, match="write hog:NICE"):
        parse_load(text)


def test_background__one_engine_where_both_nodes_share_the_cpus(launcher: FakeLauncher) -> None:
    with Background(launcher, Load(19), 10, Interrupts()) as background:
        assert background.hogs == [2]
        assert background.failures() == []
        assert [process.poll() for process in launcher.processes] == [None]
    assert [process.poll() for process in launcher.processes] == [0]


def test_background__one_engine_a_host(launcher: FakeLauncher) -> None:
    launcher.kind = "hosts"
    assert loaded_nodes(launcher) == 2
    with Background(launcher, Load(0), 10, Interrupts()) as background:
        assert background.hogs == [2, 2]
    assert [name for name, _ in launcher.started] == ["node0", "node1"]


def test_background__without_a_load_starts_nothing(launcher: FakeLauncher) -> None:
    with Background(launcher, None, 10, Interrupts()) as background:
        assert (background.hogs, background.failures()) == ([], [])
    assert launcher.started == []


def test_background__an_engine_that_died_is_a_failure(launcher: FakeLauncher) -> None:
    with Background(launcher, Load(0), 10, Interrupts()) as background:
        launcher.processes[0].kill()
        launcher.processes[0].wait()
        (failure,) = background.failures()
    assert failure.startswith("the load ended too early on node0: ")


def test_background__an_engine_that_refuses(launcher: FakeLauncher) -> None:
    with (
        pytest.raises(BeowireError, match="cannot make load: nice is refused"),
        Background(launcher, Load(7), 10, Interrupts()),
    ):
        pass


def test_background__an_error_inside_ends_the_load(launcher: FakeLauncher) -> None:
    with pytest.raises(ZeroDivisionError), Background(launcher, Load(0), 10, Interrupts()):
        raise ZeroDivisionError
    assert launcher.processes[0].poll() == 0


def test_run__with_load__says_so_in_the_record(launcher: FakeLauncher, tmp_path: Path) -> None:
    request = Request(["pingpong"], [8], tmp_path, drivers="steady", seconds=5, load=Load(19))
    outcome = run(launcher, request, Interrupts())
    assert outcome.failures == []
    options = read_record(tmp_path / "record.jsonl").meta.options
    assert options["load"] == {"kind": "hog", "nice": 19, "hogs": [2]}
