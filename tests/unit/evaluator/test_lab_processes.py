# SPDX-License-Identifier: BSD-3-Clause
"""Processes are known by number and start time, and only those that are meant are ended."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from beowire.places.lab import processes
from beowire.places.lab.processes import Namespaces, Process

STUBBORN = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
    " print('ready', flush=True); time.sleep(600)"
)


@pytest.fixture(name="sleeper")
def make_sleeper() -> Iterator["subprocess.Popen[bytes]"]:
    with subprocess.Popen(["sleep", "600"]) as process:
        yield process
        process.kill()


def test_alive__this_process_and_not_a_later_one() -> None:
    here = processes.this_process()
    assert here.alive()
    assert not Process(here.pid, here.start_time + 1).alive()


def test_alive__a_zombie_is_dead(sleeper: "subprocess.Popen[bytes]") -> None:
    found = processes.find_process(sleeper.pid)
    assert found.alive()
    sleeper.kill()
    os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)  # it stays a zombie
    assert not found.alive()


def test_find_process__a_name_with_brackets_and_spaces() -> None:
    name = "x) 1 (y z"
    rename = f"import ctypes; ctypes.CDLL(None).prctl(15, {name.encode()!r}, 0, 0, 0)"
    script = f"{rename}; print(1, flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert processes.find_process(process.pid).alive()
        process.communicate(b"\n")


def test_members__both_namespaces_must_match() -> None:
    here = processes.this_process()
    mine = processes.namespaces_of(here.pid)
    assert here in processes.members([mine])
    assert processes.members([Namespaces(mine.network, 1), Namespaces(1, mine.hostname)]) == []
    assert processes.members([]) == []


def test_end__only_the_process_that_is_meant(sleeper: "subprocess.Popen[bytes]") -> None:
    found = processes.find_process(sleeper.pid)
    processes.end([Process(found.pid, found.start_time - 1)], 1.0)
    assert sleeper.poll() is None
    processes.end([found], 5.0)
    assert sleeper.wait() == -signal.SIGTERM
    processes.end([found], 1.0)  # it is gone: no error


def test_end__what_ignores_sigterm_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", STUBBORN], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        processes.end([processes.find_process(process.pid)], 0.05)
        assert process.wait() == -signal.SIGKILL
