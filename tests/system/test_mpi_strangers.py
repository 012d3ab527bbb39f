# SPDX-License-Identifier: BSD-3-Clause
"""MPI jobs beside a host that lies to kernels about the way, or takes addresses at the switch."""

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from beowire.lab import network
from system.conftest import PATIENCE_S, ROOT, RunBeowire
from system.mpi_jobs import OPEN_MPI, Endless, Mpi
from system.test_mpi_stillness import assert_goes_on

STRANGER = network.node_name(2)


@pytest.fixture(name="mpi")
def make_lab(run_beowire: RunBeowire) -> Iterator[Mpi]:
    """Debian's Open MPI, in a lab of two nodes and a stranger."""
    done = run_beowire("lab", "up", "--link", "switch", "--nodes", "3")
    assert done.returncode == 0, done.stderr
    try:
        yield Mpi(run_beowire, OPEN_MPI)
    finally:
        run_beowire("lab", "down", "--all")


@contextlib.contextmanager
def stranger(program: str, *words: str) -> Iterator["subprocess.Popen[str]"]:
    """A program beside this file, in the third node, that is ready."""
    path = Path(__file__).with_name(program)
    with subprocess.Popen(
        [ROOT / "beowire", "lab", "exec", STRANGER, "--", sys.executable, path, *words],
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


def udp_port(mpi: Mpi, node: int) -> str:
    """Where the endpoint of a node's rank is: of all ports the one that has the node's address."""
    address = bytes(map(int, network.node_address(node).split(".")))[::-1].hex().upper()
    places = [words[1].split(":") for words in seen(mpi, node, "/proc/net/udp")[1:]]
    (port,) = {place[1] for place in places if place[0] == address}
    return str(int(port, 16))


def fragments_made(mpi: Mpi, node: int) -> int:
    names, values = (words for words in seen(mpi, node, "/proc/net/snmp") if words[0] == "Ip:")
    return int(values[names.index("FragCreates")])


def test_ways_are_said_to_be_narrow__the_job_goes_on(mpi: Mpi, tmp_path: Path) -> None:
    job = Endless(mpi, tmp_path / "output", environment={"FI_BEOWIRE_LANES": "udp"})
    try:
        ends = [(network.node_address(node), udp_port(mpi, node)) for node in (0, 1)]
        words = []
        for (source, source_port), (target, target_port) in (ends, ends[::-1]):
            words += [source, target, source_port, target_port]
        with stranger("forge_lengths.py", *words):
            assert_goes_on(job)
        assert [fragments_made(mpi, node) for node in (0, 1)] == [0, 0]
    finally:
        job.end()


def test_addresses_are_stolen_for_a_while__a_sealed_job_goes_on(mpi: Mpi, tmp_path: Path) -> None:
    sealed = {"BEOWIRE_SETTINGS": "authenticate=true"}
    job = Endless(mpi, tmp_path / "output", environment=sealed)
    try:
        with stranger("steal_place.py", network.node_mac(0), network.node_mac(1)) as thief:
            read, _ = thief.communicate("now\n", timeout=PATIENCE_S)
        assert int(read) > 0
        assert_goes_on(job)
    finally:
        job.end()
