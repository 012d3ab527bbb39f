# SPDX-License-Identifier: BSD-3-Clause
"""A process of a comparison in a lab is killed, whichever it is and whenever: all that it had
started ends soon, other drivers go on, and what was measured is kept and says what it is.

The daemons of PVM, which are processes besides, are killed in test_pvm.py.
"""

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import psutil
import pytest

from beowire.places.lab import processes
from beowire.places.lab.state import LabFiles, LabState
from beowire.record.reader import read_record
from system.conftest import PATIENCE_S, ROOT, processes_of, wait_until
from system.mpi_jobs import OPEN_MPI

#: Within 5 s on an idle machine; here others may have taken all cores.
BOUND_S = 30.0

#: They are started in this order, by which their processes are told apart.
MPI = (f"mpi:{OPEN_MPI}/tcp", f"mpi:{OPEN_MPI}/beowire", f"mpi-put:{OPEN_MPI}/tcp")
DRIVERS = (*MPI, "tcp", "shm", "beowire")
ENGINE = str((ROOT / "build" / "engine" / "beowire-engine").resolve())


class Comparison:
    """`beowire compare --lab`, which would take a minute, and what it has started."""

    def __init__(self, directory: Path, mark: str, drivers: Sequence[str]) -> None:
        """Starts it."""
        self.record = directory / "record.jsonl"
        self._mark = mark
        self._lab: LabState | None = None
        self._held: list[int] = []
        words = ["--drivers", ",".join(drivers), "--sizes", "8,64,512", "--time", "60"]
        self.process = subprocess.Popen(
            [str(ROOT / "beowire"), "compare", "--lab", *words, "--out", str(directory)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    @property
    def lab(self) -> LabState | None:
        """Its lab, once that has been seen."""
        if self._lab is None:
            self._lab = LabFiles.of(f"run-{self.process.pid}").read()
            if self._lab is not None:
                self._hold(self._lab)
        return self._lab

    def _hold(self, lab: LabState) -> None:
        """Keeps the numbers of its namespaces from being given to those of another lab, as others
        make them meanwhile: what is in that would be taken for what is left of this."""
        for node in (*lab.nodes, lab.switch):
            for kind in ("net", "uts"):
                path = f"/proc/{node.holder.pid}/ns/{kind}"
                self._held.append(os.open(path, os.O_RDONLY | os.O_CLOEXEC))

    def close(self) -> None:
        """Ends it, if it has not ended."""
        self.process.kill()
        self.process.communicate()
        for handle in self._held:
            os.close(handle)
        self._held.clear()

    def inside(self) -> list[psutil.Process]:
        """The processes in the namespaces of its lab."""
        lab = self.lab
        found = []
        for one in processes.members(lab.namespaces()) if lab else []:
            try:
                found.append(psutil.Process(one.pid))
            except psutil.NoSuchProcess:
                continue
        return found

    def all_ended(self) -> bool:
        """Whether nothing is left of it, and nothing in its lab; itself may be there still."""
        itself = f"{self.process.pid}: "
        marked = [line for line in processes_of(self._mark) if not line.startswith(itself)]
        return not marked and not [one for one in self.inside() if is_there(one)]

    def lines(self) -> list[dict[str, object]]:
        """What is in the record but for its first line."""
        if not self.record.exists():
            return []
        whole = self.record.read_text(encoding="utf-8").rpartition("\n")[0]
        return [json.loads(line) for line in whole.split("\n")[1:]]

    def measured(self) -> set[object]:
        """The drivers of which something is in the record."""
        return {line["driver"] for line in self.lines() if "half_rtt_ns" in line}

    def reason(self, driver: str) -> str:
        """Why the driver was left out; empty while it is not."""
        for line in self.lines():
            status = str(line.get("status", line.get("reason", "ok")))
            if line.get("driver") == driver and line["type"] != "partial" and status != "ok":
                return status
        return ""


def is_there(process: psutil.Process) -> bool:
    """Whether a process has not ended."""
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


def matching(
    among: Sequence[psutil.Process], wanted: Callable[[psutil.Process], bool]
) -> list[psutil.Process]:
    """Those of them that are wanted, the oldest first; without those that end meanwhile."""
    found = []
    for one in among:
        try:
            if wanted(one):
                found.append((one.create_time(), one.pid, one))
        except psutil.Error:
            continue
    return [one for _, _, one in sorted(found, key=lambda item: item[:2])]


def engines(among: Sequence[psutil.Process], driver: str) -> list[psutil.Process]:
    """The engines in which the driver is, which is in a file of its own."""
    file = f"/beowire-driver-{driver}.so"
    return matching(among, lambda one: any(map.path.endswith(file) for map in one.memory_maps()))


def proxies(among: Sequence[psutil.Process]) -> list[psutil.Process]:
    """Those that stand for ranks: of each driver over MPI two."""
    return matching(among, lambda one: one.cmdline() == [ENGINE, "--proxy"])


def ranks(among: Sequence[psutil.Process], number: str) -> list[psutil.Process]:
    """Those of this number, of each driver over MPI one."""

    def wanted(one: psutil.Process) -> bool:
        of_mpi = one.cmdline()[:2] == [ENGINE, "--attach"]
        return of_mpi and one.environ()["OMPI_COMM_WORLD_RANK"] == number

    return matching(among, wanted)


def job(among: Sequence[psutil.Process], driver: str) -> list[psutil.Process]:
    """The launcher of a driver over MPI, its daemon on the other node, both ranks, both proxies."""
    number = MPI.index(driver)
    near, far = (ranks(among, rank)[number] for rank in ("0", "1"))
    launcher, daemon = near.parent(), far.parent()
    assert launcher is not None and daemon is not None
    return [launcher, daemon, near, far, *proxies(among)[2 * number :][:2]]


@contextmanager
def comparison(directory: Path, mark: str, drivers: Sequence[str]) -> Iterator[Comparison]:
    """One that has been started, and ends in any case."""
    running = Comparison(directory, mark, drivers)
    try:
        yield running
    finally:
        running.close()


def await_measuring(running: Comparison, drivers: Sequence[str]) -> None:
    """Until something is known of each driver."""
    assert wait_until(lambda: running.measured() >= set(drivers)), running.lines()


def ended(those: Sequence[psutil.Process]) -> bool:
    """Whether all of them have, in time."""
    return wait_until(lambda: not any(map(is_there, those)), BOUND_S)


def test_killed__each_kind_of_process_ends_its_driver_and_then_the_command_all(
    tmp_path: Path, leftovers: str
) -> None:
    with comparison(tmp_path / "out", leftovers, DRIVERS) as running:
        await_measuring(running, DRIVERS)
        kill_one_after_the_other(running)
    record = read_record(running.record)
    assert "cut short" in record.warnings[0]
    kept = {one.driver: one.status for one in record.results if one.rounds > 0}
    assert set(kept) == set(DRIVERS)
    # A size that was precise by then is whole.
    assert {kept["shm"], kept["beowire"]} <= {"ok", "the run was cut short"}
    assert kept["tcp"] == running.reason("tcp")


def kill_one_after_the_other(running: Comparison) -> None:
    """The command last."""
    before = running.inside()
    # What the launcher says of it besides may come too late on a busy machine.
    launcher, rank, proxy = 0, 3, 5  # those of job() that are killed
    for driver, those, victim, why in (
        ("tcp", engines(before, "tcp"), 1, "node1: the engine was killed by SIGKILL"),
        (MPI[0], job(before, MPI[0]), proxy, "node1: the engine was killed by SIGKILL"),
        (MPI[1], job(before, MPI[1]), launcher, "the rank has ended"),
        (MPI[2], job(before, MPI[2]), rank, "node1: the rank has ended"),
    ):
        assert all(map(is_there, those)), driver
        those[victim].kill()
        assert ended(those), [one for one in those if is_there(one)]
        assert wait_until(partial(running.reason, driver), BOUND_S), driver
        assert running.reason(driver).startswith("node"), running.reason(driver)
        assert why in running.reason(driver), running.reason(driver)
    others = [*engines(before, "shm"), *engines(before, "beowire")]
    assert len(others) == 4 and all(map(is_there, others))
    running.process.kill()
    assert wait_until(running.all_ended, BOUND_S), running.inside()


def test_interrupted__all_ends_and_the_record_says_so(tmp_path: Path, leftovers: str) -> None:
    drivers = (MPI[0], "tcp")
    with comparison(tmp_path / "out", leftovers, drivers) as running:
        await_measuring(running, drivers)
        running.process.send_signal(signal.SIGINT)
        assert wait_until(running.all_ended, BOUND_S), running.inside()
        _, said = running.process.communicate(timeout=PATIENCE_S)
    assert running.process.returncode == 130
    assert said == f"beowire: interrupted; what was measured is in {running.record}\n"
    record = read_record(running.record)
    assert record.end is not None and record.end.status == "interrupted"
    assert {one.driver for one in record.results} == set(drivers)
    assert "interrupted" in {one.status for one in record.results}


def test_killed__the_keeper_of_the_lab(tmp_path: Path, leftovers: str) -> None:
    with comparison(tmp_path / "out", leftovers, ("tcp",)) as running:
        await_measuring(running, ("tcp",))
        assert running.lab is not None
        psutil.Process(running.lab.keeper.pid).kill()
        assert wait_until(running.all_ended, BOUND_S), running.inside()
        _, said = running.process.communicate(timeout=PATIENCE_S)
    assert running.process.returncode == 130
    assert said == (
        "beowire: the lab's keeper was killed, and the lab with it\n"
        f"beowire: interrupted; what was measured is in {running.record}\n"
    )
    assert {one.driver for one in read_record(running.record).results} == {"tcp"}


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_killed__while_ranks_are_started(
    tmp_path: Path, leftovers: str, number: signal.Signals
) -> None:
    with comparison(tmp_path / "out", leftovers, MPI[:1]) as running:
        assert wait_until(lambda: len(proxies(running.inside())) == 2)
        running.process.send_signal(number)
        assert wait_until(running.all_ended, BOUND_S), running.inside()
        status = 130 if number == signal.SIGINT else -number
        assert running.process.wait(PATIENCE_S) == status
