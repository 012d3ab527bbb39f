# SPDX-License-Identifier: BSD-3-Clause
"""How a job is spread over a lab's nodes, and how its launcher gets into them."""

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from beowire.errors import BeowireError
from beowire.places.lab import cluster
from beowire.places.lab.processes import Namespaces, Process
from beowire.places.lab.state import LabNode
from beowire.places.mpi import in_lab as mpirun
from beowire.places.mpi.in_lab import agent_script, spread

#: What is not looked at.
LAB, MPI = cast(Any, None), cast(Any, None)


def nodes(count: int, *, pinned: bool = True) -> list[LabNode]:
    return [
        LabNode(
            name=f"node{i}",
            holder=Process(1, 1),
            namespaces=Namespaces(1, 1),
            address=f"10.77.0.{i + 1}",
            address6="",
            mac="",
            cpu=i if pinned else None,
        )
        for i in range(count)
    ]


@pytest.mark.parametrize(
    ("count", "ranks", "expected"),
    [(2, 2, [1, 1]), (2, 4, [2, 2]), (2, 3, [2, 2]), (2, 1, [1]), (4, 6, [2, 2, 2]), (1, 3, [3])],
)
def test_spread__in_blocks(count: int, ranks: int, expected: list[int]) -> None:
    assert [host.ranks for host in spread(nodes(count), ranks)] == expected


def test_spread__ranks_of_a_pinned_node_share_its_core() -> None:
    assert [host.cores for host in spread(nodes(2), 4)] == [1, 1]


def test_spread__no_ranks() -> None:
    with pytest.raises(BeowireError, match="at least one rank, not 0"):
        spread(nodes(2), 0)


@pytest.fixture(name="agent")
def make_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The agent of a job on two nodes that are entered by saying their name."""

    def say(node: LabNode, command: list[str], *, pin: bool) -> list[str]:
        assert pin
        return ["env", f"NODE={node.name}", *command]

    monkeypatch.setattr(cluster, "command_in", say)
    script = tmp_path / "agent"
    kept = {"PATH": "/usr/bin:/bin", "HOME": "/it's here"}
    script.write_text(agent_script(nodes(2), kept, pin=True), encoding="ascii")
    script.chmod(0o700)
    return script


def call(agent: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [agent, *words],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "/usr/bin:/bin", "SECRET": "not handed over"},
        timeout=60,
    )


@pytest.mark.parametrize("host", ["node1", "10.77.0.2"])
def test_agent__runs_a_shell_line_in_the_node(agent: Path, host: str) -> None:
    done = call(agent, host, "A='a b';", "export A;", 'echo "$NODE $A $HOME ${SECRET-unset}"')
    assert (done.stdout, done.stderr) == ("node1 a b /it's here unset\n", "")


def test_agent__exit_status_is_the_commands(agent: Path) -> None:
    assert call(agent, "node0", "exit 7").returncode == 7


def test_agent__unknown_host(agent: Path) -> None:
    done = call(agent, "node7", "true")
    assert done.returncode == 255
    assert done.stderr == "beowire: this job has no host node7\n"


def test_signals__a_launcher_that_heeds_none_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mpirun, "_GRACE_S", 0.1)
    deaf = ["sh", "-c", "trap '' TERM; echo deaf; sleep 60 & wait; wait"]
    with subprocess.Popen(deaf, stdout=subprocess.PIPE, start_new_session=True) as launcher:
        assert launcher.stdout is not None
        launcher.stdout.readline()
        with mpirun._signals_go_to(launcher):
            os.kill(os.getpid(), signal.SIGTERM)
            assert launcher.wait(timeout=60) == -signal.SIGKILL
        os.killpg(launcher.pid, signal.SIGKILL)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_run__ctrl_c_is_said_whatever_the_launcher_makes_of_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, number: int, status: int
) -> None:
    os.mkfifo(tmp_path / "ready")
    script = f"trap 'exit 0' INT TERM; echo > {tmp_path}/ready; while :; do sleep 0.01; done"

    @contextlib.contextmanager
    def prepared(*_words: object, **_more: object) -> Iterator[tuple[list[str], dict[str, str]]]:
        yield ["sh", "-c", script], dict(os.environ)

    def send() -> None:
        (tmp_path / "ready").read_text()  # it is under way
        while signal.getsignal(number) is before:  # who waits for it may not be yet
            time.sleep(0.001)
        os.kill(os.getpid(), number)

    monkeypatch.setattr(mpirun, "prepared", prepared)
    before = signal.getsignal(number)
    sender = threading.Thread(target=send)
    sender.start()
    found = 0
    try:
        found = mpirun.run(LAB, MPI, {}, ranks=2, program=["x"])
    except BeowireError as error:
        found = error.exit_code
        assert str(error) == "interrupted"
    sender.join()
    assert found == status
