# SPDX-License-Identifier: BSD-3-Clause
"""What others used: all that was used, less what we and those that we started did."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from beowire.conduct import interrupt_time, others

HZ = os.sysconf("SC_CLK_TCK")

#: A process that is not ours: its parent has ended. It computes for half a second of its own time.
STRANGER = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        while time.process_time() < 0.5:
            pass
        os.write(1, b"done")
    os._exit(0)
os.wait()
"""


class Machine:
    """Time, what we have used of it, and the kernel's account."""

    def __init__(
        self, proc: Path, monkeypatch: pytest.MonkeyPatch, apart: bool | None = True
    ) -> None:
        self.proc = proc
        self.now, self.own = 100.0, 0.0
        monkeypatch.setattr("beowire.conduct.others.time.monotonic", lambda: self.now)
        monkeypatch.setattr(
            "beowire.conduct.others.os.times", lambda: os.times_result((0, 0, self.own, 0, 0))
        )
        monkeypatch.setattr("beowire.conduct.others.interrupt_time.is_apart", lambda: apart)
        monkeypatch.setattr("beowire.conduct.others.os.cpu_count", lambda: 2)
        self.used(1000)

    def used(self, seconds: float, idle_s: float = 0.0, interrupts_s: float = 0.0) -> None:
        user, idle, softirq = round(seconds * HZ / 2), round(idle_s * HZ), round(interrupts_s * HZ)
        (self.proc / "stat").write_text(
            f"cpu  {user} 0 {user} {idle} 7 5 {softirq} 0 0 0\ncpu0 1 2 3\n", encoding="ascii"
        )

    def process(self, pid: int, parent: int, name: str, own_s: float, childrens_s: float) -> None:
        (self.proc / str(pid)).mkdir(exist_ok=True)
        (self.proc / str(pid) / "stat").write_text(
            f"{pid} ({name}) S {parent} 1 1 0 -1 0 0 0 0 0 {round(own_s * HZ)} 0"
            f" 0 {round(childrens_s * HZ)} 20 0 1 0 5\n",
            encoding="ascii",
        )


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, monkeypatch)


@pytest.fixture
def looking(machine: Machine) -> others.Others:
    return others.Others(machine.proc)


def test_cpus__what_is_neither_idle_nor_ours(machine: Machine, looking: others.Others) -> None:
    machine.now, machine.own = 110.0, 6.0
    machine.used(1021, idle_s=50, interrupts_s=3)
    assert looking.cpus() == pytest.approx(1.5)
    machine.own = 25.0  # the kernel's clocks differ: never less than nothing
    assert looking.cpus() == 0.0


def test_cpus__others_do_not_vanish_behind_our_interrupts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine(tmp_path, monkeypatch, apart=False)
    looking = others.Others(tmp_path)
    # Of ours 6 s were softirqs, which the kernel's columns have apart.
    machine.now, machine.own = 110.0, 10.0
    machine.used(1000 + 4 + 5, interrupts_s=6)
    assert looking.cpus() == pytest.approx(0.5)


def test_cpus__softirqs_in_threads_of_the_kernel_are_nobodys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine(tmp_path, monkeypatch, apart=False)
    machine.process(14, 2, "ksoftirqd/0", 1, 0)
    machine.process(15, 1, "ksoftirqd/0", 1, 0)  # somebody's, by that name
    looking = others.Others(tmp_path)
    machine.process(14, 2, "ksoftirqd/0", 5, 0)
    machine.process(15, 1, "ksoftirqd/0", 3, 0)
    machine.now = 110.0
    machine.used(1000 + 2, interrupts_s=4)
    assert looking.cpus() == pytest.approx(0.2)


def test_cpus__what_runs_of_ours_is_not_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine(tmp_path, monkeypatch)
    us = os.getpid()
    machine.process(us, 1, "beowire", 100, 100)  # what os.times() says
    machine.process(us + 1, us, "a (load)", 1, 2)
    looking = others.Others(tmp_path)
    machine.process(us + 1, us, "a (load)", 3, 3)
    machine.process(us + 2, us + 1, "its child", 2, 1)
    machine.process(us + 3, 1, "stranger", 9, 9)
    machine.now = 110.0
    machine.used(1000 + 6 + 4)
    assert looking.cpus() == pytest.approx(0.4)


def test_cpus__what_daemons_have_started_for_us_is_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine(tmp_path, monkeypatch)
    us = os.getpid()
    looking = others.Others(tmp_path)
    machine.process(us + 1, us, "engine", 1, 0)
    machine.process(us + 2, 1, "orted", 0, 0)
    machine.process(us + 3, us + 2, "engine", 2, 1)
    machine.process(us + 4, us + 3, "its child", 4, 0)
    looking.follow([us + 1, us + 3])
    machine.own = 1.0  # it has ended, as has the other one, for which nobody of ours waits
    for pid in range(us + 1, us + 5):
        (tmp_path / str(pid) / "stat").unlink()
    looking.follow([])
    machine.now = 110.0
    machine.used(1000 + 1 + 7 + 4)
    assert looking.cpus() == pytest.approx(0.4)


def test_cpus__not_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(tmp_path, monkeypatch)
    assert others.Others(tmp_path / "nothing").cpus() is None
    looking = others.Others(tmp_path)
    machine.now = 100.5
    assert looking.cpus() is None
    (tmp_path / "stat").write_text("cpu  nonsense\n", encoding="ascii")
    assert others.Others(tmp_path).cpus() is None


def test_cpus__not_known_where_interrupts_may_be_anybodys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine(tmp_path, monkeypatch, apart=None)
    looking = others.Others(tmp_path)
    machine.now = 110.0
    assert looking.cpus() is None


# ---- how long it was much -----------------------------------------------------------------------


def seconds_of(
    machine: Machine,
    looking: others.Others,
    theirs: Sequence[float],
    *,
    ours: float = 1.0,
    softirqs: float = 0.0,
) -> None:
    """A second each, in which others use so much, and we do; of ours so much is softirqs, which the
    kernel also has in their own column."""
    all_s = 1000.0
    for at, used in enumerate(theirs, start=1):
        machine.now, machine.own = 100.0 + at, ours * at
        all_s += used + ours - softirqs
        machine.used(all_s, interrupts_s=softirqs * at)
        looking.look()


@pytest.mark.parametrize("softirqs", [0.0, 0.7], ids=["computing", "softirqs"])
def test_busy__whatever_we_use_alone__is_never(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, softirqs: float
) -> None:
    machine = Machine(tmp_path, monkeypatch, apart=softirqs == 0)
    looking = others.Others(tmp_path)
    # Both processors full, and what else runs on any machine.
    seconds_of(machine, looking, [0.03, 0.1, 0.02, 0.05] * 10, ours=1.9, softirqs=softirqs)
    assert looking.busy() == others.Busy(0.0, 0.0)
    assert looking.cpus() == pytest.approx(0.05)


def test_busy__a_load_of_ours__is_never(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(tmp_path, monkeypatch)
    us = os.getpid()
    machine.process(us, 1, "beowire", 100, 100)
    machine.process(us + 1, us, "hog", 0, 0)
    looking = others.Others(tmp_path)
    for at in range(1, 11):  # it runs for a second, and is started anew for the next but one
        machine.process(us + 1, us, "hog", (at + 1) // 2, 0)
        machine.now = 100.0 + 2 * at
        machine.used(1000 + (at + 1) // 2)
        looking.look()
    assert looking.busy() == others.Busy(0.0, 0.0)


def test_busy__a_burst__is_known_with_its_length(machine: Machine, looking: others.Others) -> None:
    seconds_of(machine, looking, [0.02] * 20 + [0.4] * 10)
    cpus = looking.cpus()
    assert cpus is not None and cpus < 0.2  # which the mean does not tell
    busy = looking.busy()
    assert busy is not None and busy.seconds == 10.0
    assert busy.cpus == pytest.approx(0.4)


def test_busy__a_long_piece__counts_by_itself(machine: Machine, looking: others.Others) -> None:
    machine.now, machine.own = 112.0, 0.0  # nobody looks while a command runs
    machine.used(1012.0)
    looking.look()
    busy = looking.busy()
    assert busy is not None and busy.seconds == 12.0
    assert busy.cpus == pytest.approx(1.0)


def test_busy__one_piece_alone__may_be_the_kernels_account(
    machine: Machine, looking: others.Others
) -> None:
    # A process that ends between two looks is in one account before it is in the other.
    seconds_of(machine, looking, [0.25, 0.25, 0, 0, 0.05, 0.05, 0.3, 0.3, 0, 0] * 4)
    assert looking.busy() == others.Busy(0.0, 0.0)


def test_busy__all_of_the_time(machine: Machine, looking: others.Others) -> None:
    seconds_of(machine, looking, [1.0] * 21)
    busy = looking.busy()
    assert busy is not None and busy.seconds == 21.0  # the last second, too
    assert busy.cpus == pytest.approx(1.0)


def test_busy__looks_that_are_too_close__are_none(machine: Machine, looking: others.Others) -> None:
    assert looking.busy() is None
    for at in range(1, 20):  # a tick that others have had is much of a few milliseconds
        machine.now = 100.0 + at / 100
        machine.used(1000 + at / 100)
        looking.look()
    assert looking.busy() is None
    machine.now = 102.0
    assert looking.busy() == others.Busy(0.0, 0.0)


def test_busy__not_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(tmp_path, monkeypatch, apart=None)
    looking = others.Others(tmp_path)
    seconds_of(machine, looking, [1.0] * 10)
    assert looking.busy() is None
    machine = Machine(tmp_path, monkeypatch)
    looking = others.Others(tmp_path)
    (tmp_path / "stat").write_text("cpu  nonsense\n", encoding="ascii")
    machine.now = 110.0
    looking.look()
    assert looking.busy() is None


def test_cpus__of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    # If this machine was never left alone long enough to tell: what it says is more, not less.
    apart = interrupt_time.is_apart() or False
    monkeypatch.setattr("beowire.conduct.others.interrupt_time.is_apart", lambda: apart)
    looking = others.Others()
    begun = looking._begun
    assert begun is not None
    ended = subprocess.run(
        [sys.executable, "-I", "-c", STRANGER], stdout=subprocess.PIPE, check=True
    )
    assert ended.stdout == b"done"  # its end of the pipe, too, has ended
    monkeypatch.setattr(
        "beowire.conduct.others.time.monotonic", lambda: begun.at_s + 2.0
    )  # whatever it took
    cpus = looking.cpus()
    assert cpus is not None and cpus * 2.0 > 0.25  # ticks count it roughly
