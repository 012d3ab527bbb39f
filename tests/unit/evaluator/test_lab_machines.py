# SPDX-License-Identifier: BSD-3-Clause
"""Programs in machines: agent, broker and call as they are, a process in place of a machine."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from beowire import isolated
from beowire.errors import BeowireError
from beowire.places.lab.machines import agent, frames
from beowire.places.lab.machines.broker import Broker
from beowire.places.lab.machines.frames import Link
from beowire.places.lab.machines.loop import Loop

ROOT = Path(__file__).resolve().parents[3]

AGENT = """
import sys
from pathlib import Path
from typing import Any
from beowire.places.lab.machines.agent import Agent
Agent(int(sys.argv[1]), Path(sys.argv[2])).serve()
"""


class Machine:
    """A process that is taken for a machine, and the keeper's part, a thread."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.channel = directory / "lab.channel"
        self.within = directory / "machine.channel"
        ours, theirs = socket.socketpair()
        self.agent = subprocess.Popen(
            [sys.executable, "-c", AGENT, str(theirs.fileno()), str(self.within)],
            env={**os.environ, "PYTHONPATH": str(ROOT / "evaluator")},
            pass_fds=[theirs.fileno()],
            stderr=subprocess.DEVNULL,
        )
        theirs.close()
        self.loop = Loop()
        self.ready: dict[str, object] | None = None
        self.link = Link(self.loop, ours.detach(), self._arrived, lambda _: None)
        self.broker = Broker(
            self.loop, lambda request: self.link if request["machine"] == "m" else None, 1
        )
        self.broker.listen(self.channel)
        self.over = False
        self.jobs: list[Callable[[], None]] = []
        while self.ready is None:
            self.loop.step(10.0)
        self.thread: threading.Thread = threading.Thread(target=self._serve)
        self.thread.start()

    def _arrived(self, link: Link, session: int, kind: int, data: bytes) -> None:
        if kind == frames.HELLO:
            link.send(0, frames.SETUP, b"{}")
        elif kind == frames.READY:
            self.ready = json.loads(data)
        else:
            self.broker.pass_on(link, session, kind, data)

    def _serve(self) -> None:
        while not self.over:
            self.loop.step(0.02)
            while self.jobs:
                self.jobs.pop()()

    def line(self, *command: str, machine: str = "m", channel: Path | None = None) -> list[str]:
        """The command line that runs a command in the machine."""
        call = isolated.command("beowire.places.lab.machines.call")
        where = [str(channel or self.channel), machine, "-", "0", str(self.directory)]
        return [*call, *where, *command]

    def run(
        self, *command: str, data: bytes = b"", machine: str = "m", channel: Path | None = None
    ) -> "subprocess.CompletedProcess[bytes]":
        """Runs it to its end."""
        return subprocess.run(
            self.line(*command, machine=machine, channel=channel),
            input=data,
            capture_output=True,
            check=False,
            timeout=60,
        )

    def end(self) -> None:
        """Ends all of it."""
        self.over = True
        self.thread.join()
        self.agent.kill()
        self.agent.wait()
        self.link.close()


@pytest.fixture(name="machine", scope="module")
def make_machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    machine = Machine(tmp_path_factory.mktemp("machine"))
    yield machine
    machine.end()


def test_machine__says_what_it_is(machine: Machine) -> None:
    assert machine.ready == {"kernel": os.uname().release, "congestion": "", "loaded": []}


def test_call__streams_status_directory_and_environment(machine: Machine) -> None:
    script = 'cat; pwd; echo "$0 $HOME"; echo bad >&2; exit 7'
    done = machine.run("sh", "-c", script, "a word", data=b"in\n")
    home = os.environ["HOME"]
    assert done.stdout.decode() == f"in\n{machine.directory}\na word {home}\n"
    assert (done.stderr, done.returncode) == (b"bad\n", 7)


def test_call__megabytes_both_ways(machine: Machine) -> None:
    data = os.urandom(5 << 20)
    done = machine.run("cat", data=data)
    assert done.returncode == 0
    assert done.stdout == data


def test_call__a_signal_is_the_end_here_as_well(machine: Machine) -> None:
    assert machine.run("sh", "-c", "kill -TERM $$").returncode == -signal.SIGTERM
    assert machine.run("sh", "-c", "kill -KILL $$").returncode == -signal.SIGKILL


def test_call__signals_are_passed_on(machine: Machine) -> None:
    program = "trap 'echo got it; exit 5' INT; echo ready; while :; do sleep 0.01; done"
    with subprocess.Popen(
        machine.line("sh", "-c", program), stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == "got it\n"
        assert process.wait() == 5


def gone(pid: int) -> bool:
    deadline = time.monotonic() + 60
    while Path(f"/proc/{pid}").exists():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def test_call__killed_it_takes_the_program_along(machine: Machine) -> None:
    line = machine.line("sh", "-c", "echo $$; exec sleep 600")
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        process.kill()
    assert gone(pid)


def test_call__nobody_reads_its_output(machine: Machine) -> None:
    line = machine.line("sh", "-c", "echo $$; exec yes")
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        process.stdout.close()
        assert process.wait() == -signal.SIGPIPE
    assert gone(pid)


def test_call__what_it_leaves_behind_is_not_waited_for(machine: Machine) -> None:
    done = machine.run("sh", "-c", "sleep 600 & echo $!")
    assert done.returncode == 0
    os.kill(int(done.stdout), signal.SIGKILL)


def test_call__many_at_once(machine: Machine) -> None:
    calls = [
        subprocess.Popen(
            machine.line("sh", "-c", f"head -c 300000 /dev/zero; echo {number}"),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
        )
        for number in range(8)
    ]
    said = [call.communicate(timeout=60)[0] for call in calls]
    assert said == [bytes(300_000) + f"{number}\n".encode() for number in range(8)]


def test_call__from_a_program_in_the_machine(machine: Machine) -> None:
    inner = machine.line("sh", "-c", "cat; exit 3", channel=machine.within)
    done = machine.run(*inner, data=b"there and back")
    assert (done.stdout, done.returncode) == (b"there and back", 3)


@pytest.mark.parametrize(
    ("command", "how", "code", "words"),
    [
        (["no-such-program"], {}, 127, "no-such-program: no such program"),
        (["/etc/passwd"], {}, 126, "/etc/passwd: Permission denied"),
        (["true"], {"machine": "n"}, 125, "there is no machine n"),
        (["true"], {"channel": Path("/nowhere/lab")}, 125, "this lab is gone"),
    ],
)
def test_call__refused_in_one_line(
    machine: Machine, command: list[str], how: dict[str, Any], code: int, words: str
) -> None:
    done = machine.run(*command, **how)
    assert (done.returncode, done.stdout) == (code, b"")
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith(f"beowire: {words}")


def test_call__the_lab_ends_meanwhile(machine: Machine) -> None:
    with subprocess.Popen(
        machine.line("sh", "-c", "echo $$; exec sleep 600"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        pid = int(process.stdout.readline())
        machine.jobs.append(lambda: machine.broker.end_all("node1: its kernel panicked"))
        assert process.stderr.read() == "beowire: node1: its kernel panicked\n"
        assert process.wait() == 125
    os.kill(pid, signal.SIGKILL)  # with a machine it would be gone


def test_configure__a_module_that_is_missing() -> None:
    with pytest.raises(BeowireError, match="the kernel has no module no_such_module that it can"):
        agent.configure({"modules": ["no_such_module"]})
    assert agent.configure({"tried": ["no_such_module"]})["loaded"] == []


def test_link__nonsense_is_an_end() -> None:
    loop = Loop()
    ours, theirs = socket.socketpair()
    ended: list[Link] = []
    link = Link(loop, ours.detach(), lambda *_: None, ended.append)
    theirs.send(b"\xff" * 64)
    loop.step(5.0)
    assert ended == [link]
    assert not link.open
    theirs.close()
