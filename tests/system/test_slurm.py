# SPDX-License-Identifier: BSD-3-Clause
"""`beowire compare` between the nodes of an allocation of a real Slurm, in three nodes of a lab."""

import os
import signal
import subprocess
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from beowire.record.reader import read_record
from system.conftest import ROOT, assert_refused, processes_of, wait_until
from system.slurm_nodes import Slurm, running

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0, reason="slurmd and munged are root's: they start what others ask for"
)

BEOWIRE = str(ROOT / "beowire")
#: All nodes are on this machine, so each would choose the same core for its engine.
COMPARE = (BEOWIRE, "compare", "--pin", "0,1", "--sizes", "8", "--out")

#: Whatever is cancelled has ended by then.
BOUND_S = 5.0


@pytest.fixture(name="slurm", scope="module")
def make_slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    """For all tests of this module: each has jobs of its own."""
    runtime = tmp_path_factory.mktemp("runtime")
    runtime.chmod(0o700)
    before = {name: os.environ.get(name) for name in ("BEOWIRE_RUNTIME_DIR", "BEOWIRE_TEST_MARK")}
    mark = uuid.uuid4().hex
    os.environ |= {"BEOWIRE_RUNTIME_DIR": str(runtime), "BEOWIRE_TEST_MARK": mark}
    try:
        with running(tmp_path_factory.mktemp("slurm")) as slurm:
            yield slurm
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
    assert wait_until(lambda: not processes_of(mark)), processes_of(mark)


def of_driver(mark: str, driver: str) -> list[int]:
    """Process ids of the engines in which a driver is."""
    found = []
    for line in processes_of(mark):
        number, _, words = line.partition(": ")
        if words.endswith("beowire-engine --cpu 0") or words.endswith("beowire-engine --cpu 1"):
            maps = Path("/proc", number, "maps").read_text(encoding="utf-8")
            found += [int(number)] if f"beowire-driver-{driver}.so" in maps else []
    return found


def has_results(record: Path, driver: str) -> bool:
    return record.exists() and f'"driver":"{driver}","pattern"' in record.read_text("utf-8")


def test_srun__one_task_measures_and_goes_on_without_an_engine_that_is_killed(
    slurm: Slurm, tmp_path: Path, leftovers: str
) -> None:
    words = ("srun", "--quiet", "-N", "2", "-w", "node0,node1", *COMPARE, str(tmp_path / "out"))
    with subprocess.Popen(
        slurm.command(*words, "--drivers", "tcp,udp", "--time", "3"),
        env=slurm.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as step:
        record = tmp_path / "out" / "record.jsonl"
        assert wait_until(lambda: has_results(record, "tcp") or step.poll() is not None, 30.0)
        ours = of_driver(leftovers, "tcp")
        assert len(ours) == 2, (processes_of(leftovers), step.poll())
        os.kill(ours[0], signal.SIGKILL)
        said, complaints = step.communicate(timeout=60)
    assert step.returncode == 1, complaints
    (line,) = [line for line in complaints.splitlines() if line.startswith("beowire: ")]
    assert line.startswith("beowire: tcp failed on node")
    assert "was killed by SIGKILL" in line
    found = read_record(record)
    assert [end.node for end in found.meta.ends] == ["node0", "node1"]
    assert found.meta.link.kind == "hosts"
    (udp,) = [one for one in found.results if one.driver == "udp"]
    assert udp.status == "ok"
    assert udp.half_rtt_ns is not None
    assert said.count("record: ") == 1  # the other task has said nothing


def test_salloc__nothing_is_installed_there__cancelled_all_ends_and_the_record_is_kept(
    slurm: Slurm, tmp_path: Path, leftovers: str
) -> None:
    words = ("salloc", "--quiet", "--job-name=measured", "-w", "node0,node2", *COMPARE)
    with subprocess.Popen(
        slurm.command(*words, str(tmp_path / "out"), "--slurm", "--drivers", "tcp", "--time", "60"),
        env=slurm.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as job:
        record = tmp_path / "out" / "record.jsonl"
        assert wait_until(lambda: has_results(record, "tcp") or job.poll() is not None, 30.0)
        assert job.poll() is None, job.communicate()
        begun = time.monotonic()
        assert slurm.run("scancel", "--name=measured").returncode == 0
        _, complaints = job.communicate(timeout=60)
        assert wait_until(lambda: not processes_of(leftovers))
        assert time.monotonic() - begun < BOUND_S
    lines = [line for line in complaints.splitlines() if line.startswith("beowire: ")]
    assert len(lines) == 2, complaints
    assert "Slurm has ended the job's steps" in lines[0]
    # Whether the engine or what waits beside it was ended first is chance; so is how much of the
    # table and report is written before Slurm's signal comes.
    ends = ("interrupted", "tcp failed on node")
    assert lines[1].removeprefix("beowire: ").startswith(ends)
    found = read_record(record)
    assert [end.node for end in found.meta.ends] == ["node0", "node2"]
    assert found.end is not None
    assert found.end.status.startswith(ends)
    (tcp,) = found.results
    assert tcp.n > 0


#: What a user's profile may have set, for srun, for shells and for their tools.
HOSTILE = {
    "SLURM_LABELIO": "1",
    "SLURM_STDOUTMODE": "none",
    "SLURM_STDINMODE": "none",
    "SLURM_EXPORT_ENV": "NONE",
    "SLURM_NTASKS": "7",
    "SLURM_CPU_BIND": "verbose",
    "SLURM_UNBUFFEREDIO": "1",
    "SLURM_WAIT": "1",
    "CDPATH": "/:/usr",
    "POSIXLY_CORRECT": "1",
    "LC_ALL": "de_DE.UTF-8",
    "TAR_OPTIONS": "-v",
    "GREP_OPTIONS": "--color=always",
    "ENV": "/no/such",
    "BASH_ENV": "/no/such",
    "PYTHONPATH": "/no/such",
}


def test_salloc__whose_environment_is_hostile(slurm: Slurm, tmp_path: Path) -> None:
    words: tuple[str, ...] = ("salloc", "--quiet", "-w", "node0,node2", "env")
    words += tuple(f"{name}={value}" for name, value in HOSTILE.items())
    more = (str(tmp_path / "out"), "--slurm", "--drivers", "tcp", "--time", "2")
    done = slurm.run(*words, *COMPARE, *more)
    assert done.returncode == 0, done.stderr
    (tcp,) = read_record(tmp_path / "out" / "record.jsonl").results
    assert tcp.status == "ok"


def test_compare__where_it_cannot_be(slurm: Slurm, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    words = (*COMPARE, out, "--slurm", "--drivers", "tcp")
    assert_refused(slurm.run(*words), "not in a Slurm allocation", "salloc -N 2")
    two = ("salloc", "--quiet", "-w", "node0,node2")
    sealed = str(slurm.directory / "sealed")
    done = slurm.run(*two, *words, HOME=sealed, TMPDIR=sealed)
    assert_refused(done, "node2: mkdir: ", "Read-only file system")
    done = slurm.run("salloc", "--quiet", "-N", "1", *words)
    assert_refused(done, "has one node: ask for two")
    assert_refused(slurm.run(*words, "--lab"), "--lab and --slurm exclude each other")
    assert not Path(out).exists()
