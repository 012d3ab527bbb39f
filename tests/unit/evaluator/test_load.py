# SPDX-License-Identifier: BSD-3-Clause
from collections.abc import Iterator
from pathlib import Path

import pytest

from beowire.compare.run import Request, run
from beowire.conduct.load import Background, Backgrounds, loaded_nodes
from beowire.errors import BeowireError
from beowire.interrupts import Interrupts
from beowire.plan.load import Load, described, parse_load, parse_loads
from beowire.record.reader import read_record
from unit.evaluator.fake_launcher import FakeLauncher


@pytest.fixture
def launcher() -> Iterator[FakeLauncher]:
    made = FakeLauncher()
    yield made
    assert all(process.poll() is not None for process in made.processes)


@pytest.mark.parametrize(
    ("text", "load"),
    [
        ("hog", Load(0)),
        ("hog:0", Load(0)),
        ("hog:19", Load(19)),
        (" hog ", Load(0)),
        ("idle", Load(kind="idle")),
        ("duty:30", Load(kind="duty", percent=30)),
        ("duty:100", Load(kind="duty", percent=100)),
        ("memory", Load(kind="memory")),
        ("memory:19", Load(19, "memory")),
    ],
)
def test_parse_load__each_kind(text: str, load: Load) -> None:
    assert parse_load(text) == load
    assert parse_load(load.text) == load
    assert described(load.text) == load.described


@pytest.mark.parametrize(
    "text",
    ["", "pig", "hog:", "hog:20", "hog:-1", "hog:x", "hog:1:2", "idle:1", "duty", "duty:0",
     "duty:101", "memory:20", "memory:x"],
)  # fmt: skip
def test_parse_load__anything_else_is_refused(text: str) -> None:
    with pytest.raises(BeowireError, match="write hog:NICE, idle, duty:PERCENT or memory:NICE"):
        parse_load(text)


def test_described__a_kind_of_a_later_version() -> None:
    assert described("sponge:3") == "sponge:3"


def test_background__pauses_and_goes_on_once(launcher: FakeLauncher) -> None:
    with Background(launcher, Load(19), 10, Interrupts()) as background:
        for paused in (False, True, True, False, True):
            background.pause(paused)  # the engine refuses to do what is done already
        (meter,) = background.meters()
    assert (meter.unit, [hog.cpu for hog in meter.hogs]) == ("turns", [0, 1])
    assert meter.hogs[0].cpu_ns * 2 == meter.at_ns


def test_background__an_engine_that_died_cannot_be_paused(launcher: FakeLauncher) -> None:
    with Background(launcher, Load(0), 10, Interrupts()) as background:
        launcher.processes[0].kill()
        launcher.processes[0].wait()
        with pytest.raises(BeowireError, match="the load failed on node0"):
            background.meters()
        for _ in range(2):
            with pytest.raises(BeowireError, match="the load failed on node0"):
                background.pause(True)


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


def test_run__with_load__measures_both_in_turns(launcher: FakeLauncher, tmp_path: Path) -> None:
    request = Request(["pingpong"], [8], tmp_path, drivers="steady", seconds=5, loads=(Load(19),))
    outcome = run(launcher, request, Interrupts())
    assert outcome.failures == []
    record = read_record(tmp_path / "record.jsonl")
    assert record.meta.options["load"] == {
        "kind": "hog",
        "nice": 19,
        "load": "hog:19",
        "hogs": [2],
        "in_turns": True,
    }
    assert {one.load for one in record.results} == {None, "hog:19"}
    assert len(record.results) == 2


def test_run__with_several_loads__measures_beside_each_in_turns(
    launcher: FakeLauncher, tmp_path: Path
) -> None:
    loads = parse_loads("duty:25,hog:19")
    request = Request(["pingpong"], [8], tmp_path, drivers="steady", seconds=8, loads=loads)
    assert run(launcher, request, Interrupts()).failures == []
    record = read_record(tmp_path / "record.jsonl")
    described = {"load": "duty:25,hog:19", "hogs": [2], "in_turns": True}
    assert record.meta.options["load"] == described
    assert {one.load for one in record.results} == {None, "duty:25", "hog:19"}


@pytest.mark.parametrize("text", ["idle,idle", "hog,", ",".join(f"hog:{n}" for n in range(9))])
def test_parse_loads__what_cannot_be(text: str) -> None:
    with pytest.raises(BeowireError):
        parse_loads(text)


def test_backgrounds__at_most_one_goes_on(launcher: FakeLauncher) -> None:
    loads = parse_loads("duty:25,hog:19")
    with Backgrounds(launcher, loads, 10, Interrupts()) as both:
        states = [[one._paused for one in both._each.values()]]
        for load in ("duty:25", None, "hog:19"):
            both.choose(load)
            states.append([one._paused for one in both._each.values()])
    assert states == [[True, False], [False, True], [True, True], [True, False]]
    assert all(process.poll() is not None for process in launcher.processes)


def test_run__the_load_dies__the_rest_goes_on(tmp_path: Path) -> None:
    launcher = FakeLauncher(drivers={"load": {"dies_of_pause": True}})
    request = Request(
        ["pingpong"], [8], tmp_path, drivers="steady", seconds=5, loads=(Load(0),), launches=2
    )
    outcome = run(launcher, request, Interrupts())
    assert [line.partition(": ")[0] for line in outcome.failures] == ["the load failed on node0"]
    record = read_record(tmp_path / "record.jsonl")
    assert [(one.launch, one.load) for one in record.results] == [(1, None), (2, None)]
    left_out = [one.reason for one in record.skipped if one.driver == "steady"]
    assert len(left_out) == 2
    assert all(line.startswith("beside hog:0: the load failed on node0") for line in left_out)
    assert all(process.poll() is not None for process in launcher.processes)
