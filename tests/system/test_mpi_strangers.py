# SPDX-License-Identifier: BSD-3-Clause
"""MPI jobs beside a host that lies to kernels about the way and takes addresses at the switch, and
beside a user who takes the port of a rank that ends; jobs that fork, and whose provider is replaced
while they run."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from beowire.places.lab import network
from system.conftest import PATIENCE_S, ROOT, RunBeowire, wait_until
from system.mpi_jobs import ALONE, OPEN_MPI, Endless, Mpi
from system.test_mpi_stillness import assert_goes_on


@pytest.fixture(name="library")
def debians_open_mpi(run_beowire: RunBeowire) -> Mpi:
    """Debian's Open MPI; `make mpi-test` tries others."""
    return Mpi(run_beowire, OPEN_MPI)


@pytest.fixture(name="mpi")
def make_lab(library: Mpi) -> Iterator[Mpi]:
    """The MPI, in a lab of two nodes and a stranger."""
    done = library.run_beowire("lab", "up", "--link", "switch", "--nodes", "3")
    assert done.returncode == 0, done.stderr
    try:
        yield library
    finally:
        library.run_beowire("lab", "down", "--all")


@contextlib.contextmanager
def stranger(node: str, program: str, *words: str) -> Iterator["subprocess.Popen[str]"]:
    """A program beside this file, in a node, that is ready."""
    path = Path(__file__).with_name(program)
    with subprocess.Popen(
        [ROOT / "beowire", "lab", "exec", node, "--", sys.executable, path, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as started:
        assert started.stdout is not None
        try:
            assert started.stdout.readline() == "ready\n"
            yield started
        finally:
            started.communicate(timeout=PATIENCE_S)


def seen(mpi: Mpi, node: int, path: str) -> list[list[str]]:
    """The words of the lines of a file, as a node has it."""
    done = mpi.run_beowire("lab", "exec", network.node_name(node), "--", "cat", path)
    assert done.returncode == 0, done.stderr
    return [line.split() for line in done.stdout.splitlines()]


def udp_ports(mpi: Mpi, node: int) -> list[str]:
    """Ports of the endpoints of a node's rank: those that have the node's address. Open MPI 5 has a
    second endpoint, for one-sided operations."""
    address = bytes(map(int, network.node_address(node).split(".")))[::-1].hex().upper()
    places = [words[1].split(":") for words in seen(mpi, node, "/proc/net/udp")[1:]]
    return sorted({str(int(place[1], 16)) for place in places if place[0] == address})


def fragments_made(mpi: Mpi, node: int) -> int:
    names, values = (words for words in seen(mpi, node, "/proc/net/snmp") if words[0] == "Ip:")
    return int(values[names.index("FragCreates")])


def test_strangers_attack_one_after_the_other__a_sealed_job_goes_on_until_a_rank_ends(
    mpi: Mpi, tmp_path: Path
) -> None:
    environment = {
        **ALONE,
        "FI_BEOWIRE_LANES": "udp",
        "BEOWIRE_SETTINGS": "authenticate=true",
        "FI_BEOWIRE_PEER_TIMEOUT": "4",
    }
    job = Endless(mpi, tmp_path / "output", environment=environment)
    try:
        ends = [
            [(network.node_address(node), port) for port in udp_ports(mpi, node)] for node in (0, 1)
        ]
        words = []
        for sources, targets in (ends, ends[::-1]):
            for (source, source_port), (target, target_port) in product(sources, targets):
                words += [source, target, source_port, target_port]
        assert words
        with stranger("node2", "forge_lengths.py", *words):
            assert_goes_on(job)
        assert [fragments_made(mpi, node) for node in (0, 1)] == [0, 0]
        macs = [network.node_mac(node) for node in (0, 1)]
        with stranger("node2", "steal_place.py", *macs) as thief:
            read, _ = thief.communicate("now\n", timeout=PATIENCE_S)
        assert int(read) > 0
        assert_goes_on(job)
        with stranger("node1", "take_port.py", *ends[1][0]) as taker:
            os.kill(job.processes()[1], signal.SIGKILL)
            assert taker.stdout is not None
            assert taker.stdout.readline() == "taken\n"
            assert wait_until(lambda: job.launcher.poll() is not None, PATIENCE_S), job.said()
        assert job.launcher.returncode != 0
    finally:
        job.end()


def test_ranks_fork__children_end_as_they_like(mpi: Mpi) -> None:
    mpi.check("forking", environment=ALONE)


def test_the_provider_is_replaced_while_a_job_runs__it_goes_on(mpi: Mpi, tmp_path: Path) -> None:
    """As dpkg replaces files: by a rename."""
    engine = tmp_path / "engine"
    shutil.copytree(ROOT / "build" / "engine", engine)
    provider = engine / "fabric" / "libbeowire-fi.so"
    environment = {**ALONE, "BEOWIRE_ENGINE_DIR": str(engine)}
    job = Endless(mpi, tmp_path / "output", environment=environment)
    try:
        for file in engine.rglob("*"):
            if file.is_file():
                new = file.with_name(f"{file.name}.dpkg-new")
                new.write_bytes(b"another version")
                new.replace(file)
        for process in job.processes().values():
            maps = Path(f"/proc/{process}/maps").read_text(encoding="utf-8")
            assert f"{provider} (deleted)" in maps
        assert_goes_on(job)
        for process in job.processes().values():
            os.kill(process, signal.SIGTERM)
        assert wait_until(lambda: job.launcher.poll() is not None, PATIENCE_S), job.said()
    finally:
        job.end()
