# SPDX-License-Identifier: BSD-3-Clause
"""What is ended when a dead lab is found: what is left of it, and nothing of another."""

import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from beowire.errors import BeowireError
from beowire.places.lab import cluster, processes
from beowire.places.lab.keeper import KeeperRequest
from beowire.places.lab.options import LabOptions
from beowire.places.lab.processes import Namespaces, Process
from beowire.places.lab.state import LabFiles, LabNode, LabState

#: Of a node each, and of the switch: nobody's here.
ROOMS = [Namespaces(number, number) for number in (1, 2, 3)]


@pytest.fixture(autouse=True)
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BEOWIRE_RUNTIME_DIR", str(tmp_path / "runtime"))


@pytest.fixture(name="keeper")
def somebodys_keeper() -> Iterator[Process]:
    """A process that is called as a keeper is, and so are its holders."""
    program = "import sys; sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", program, "beowire.places.lab.keeper", "{}"],
        stdin=subprocess.PIPE,
    ) as process:
        yield processes.find_process(process.pid)


def dead_lab(holder: Process) -> None:
    """Leaves the state file of one whose keeper has gone."""
    here = processes.this_process()
    nodes = [
        LabNode(name, holder, room, "", "", "", None)
        for name, room in zip(("node0", "node1", "switch"), ROOMS, strict=True)
    ]
    LabFiles.of("lab").write(
        LabState(
            name="lab",
            keeper=Process(here.pid, here.start_time + 1),
            boot_id=processes.boot_id(),
            ephemeral=False,
            options=LabOptions(),
            nodes=(nodes[0], nodes[1]),
            switch=nodes[2],
            delay_by="",
        )
    )


def ended(
    monkeypatch: pytest.MonkeyPatch, inside: dict[Namespaces, list[Process]]
) -> list[Process]:
    """What is ended, if these are in the namespaces of these numbers."""
    found: list[Process] = []

    def members(rooms: Iterable[Namespaces]) -> list[Process]:
        return [process for room in rooms for process in inside.get(room, [])]

    monkeypatch.setattr(processes, "members", members)
    monkeypatch.setattr(processes, "end", lambda those, grace_s: found.extend(those))
    assert cluster.every() == ([], ["lab"])
    assert LabFiles.of("lab").read() is None
    return found


def test_every__ends_what_is_left_of_a_dead_lab(monkeypatch: pytest.MonkeyPatch) -> None:
    dead_lab(Process(1 << 22, 1))
    left = [Process(1 << 22, 2), processes.this_process()]
    assert ended(monkeypatch, {ROOMS[1]: left}) == left


def test_every__numbers_that_are_another_labs_by_now(
    monkeypatch: pytest.MonkeyPatch, keeper: Process
) -> None:
    dead_lab(Process(1 << 22, 1))
    left = Process(1 << 22, 2)
    inside = {ROOMS[0]: [left], ROOMS[1]: [Process(1 << 22, 3), keeper]}
    assert ended(monkeypatch, inside) == [left]


def test_every__a_holder_that_dies_just_now_is_its_own(
    monkeypatch: pytest.MonkeyPatch, keeper: Process
) -> None:
    dead_lab(keeper)
    assert ended(monkeypatch, {ROOMS[0]: [keeper]}) == [keeper]


def test_up__while_another_lab_boots(monkeypatch: pytest.MonkeyPatch) -> None:
    """The keeper of the one says nothing yet; those of other names are looked at and made."""
    refusal = "import sys; sys.stdin.readline(); print('error 2 not here', flush=True)"

    def keeper(request: KeeperRequest) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", refusal],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    booting: list[subprocess.Popen[bytes]] = []

    def slow_keeper(request: KeeperRequest) -> "subprocess.Popen[bytes]":
        booting.append(keeper(request))
        monkeypatch.setattr(cluster, "_start_keeper", quick_keeper)
        started.set()
        return booting[0]

    def quick_keeper(request: KeeperRequest) -> "subprocess.Popen[bytes]":
        process = keeper(request)
        assert process.stdin is not None
        process.stdin.write(b"\n")
        process.stdin.flush()
        return process

    started = threading.Event()
    monkeypatch.setattr(cluster, "_start_keeper", slow_keeper)
    refused: list[BeowireError] = []

    def make() -> None:
        try:
            cluster.up(LabOptions(), "slow")
        except BeowireError as error:
            refused.append(error)

    maker = threading.Thread(target=make)
    maker.start()
    assert started.wait(30.0)
    assert cluster.every() == ([], [])
    with pytest.raises(BeowireError, match="not here"):
        cluster.up(LabOptions(), "quick")
    assert maker.is_alive()
    stdin = booting[0].stdin
    assert stdin is not None
    stdin.write(b"\n")
    stdin.flush()
    maker.join(30.0)
    assert [str(error) for error in refused] == ["not here"]
