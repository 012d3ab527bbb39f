# SPDX-License-Identifier: BSD-3-Clause
"""A switch that flips bits, whatever Ethernet's check says: no program sees one of them, and it is
told which link that is. Without checksums of ours programs do see them, so the switch works."""

import contextlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

from beowire.places.lab import cluster, network
from beowire.places.lab.options import LabOptions
from beowire.places.lab.state import LabState
from system.conftest import ROOT, RunBeowire
from system.exchanges import introduce, start
from system.mpi_jobs import OPEN_MPI, Mpi
from system.test_mpi_openmpi import ONESIDED

FLIP_BITS = ROOT / "build" / "release" / "tests" / "system" / "flip_bits"

#: Each so many-th frame is damaged.
EVERY = 50

MESSAGES = 2000
PATIENCE_S = 100.0

#: Run in a node: what leaves it is whole, and no longer than the MTU.
_WITHOUT_OFFLOADS = """
from beowire.places.lab import kernel, network
for features in (network.SEGMENTATION, network.CHECKSUM_AND_VLAN):
    kernel.disable_features("eth0", features)
"""


def run_in(lab: LabState, node: str, *command: str) -> None:
    done = subprocess.run(
        cluster.command_in(cluster.node_of(lab, node), command, pin=False),
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr


@contextlib.contextmanager
def flipping(lab: LabState) -> Iterator[None]:
    """Has a bad switch in place of the lab's."""
    near = [network.near(index) for index in (0, 1)]
    for index in (0, 1):
        run_in(lab, network.node_name(index), sys.executable, "-c", _WITHOUT_OFFLOADS)
        run_in(lab, network.SWITCH, "ip", "link", "set", near[index], "nomaster")
    switch = cluster.node_of(lab, network.SWITCH)
    program = [str(FLIP_BITS), *near, str(EVERY)]
    with subprocess.Popen(
        cluster.command_in(switch, program, pin=False),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            yield
        finally:
            said, _ = process.communicate(timeout=PATIENCE_S)
            assert re.fullmatch(r"[1-9]\d* of \d+\n", said), said


@pytest.fixture(name="lab")
def bad_lab(monkeypatch: pytest.MonkeyPatch) -> Iterator[LabState]:
    """Two nodes, and between them a switch that flips bits."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "evaluator"))
    lab = cluster.up_ephemeral(LabOptions(link="switch"), "damage")
    try:
        with flipping(lab.state):
            yield lab.state
    finally:
        lab.close()


def exchange(lab: LabState) -> list[tuple[int, str, str]]:
    """Each end's exit status, and what it has said."""
    ends = [start(lab, f"node{i}", (1 + i, 2 - i, MESSAGES), ()) for i in (0, 1)]
    try:
        introduce(ends)
        said = [end.communicate(timeout=PATIENCE_S) for end in ends]
        return [(end.returncode, *words) for end, words in zip(ends, said, strict=True)]
    finally:
        for end in ends:
            end.kill()
            end.communicate()


@pytest.mark.parametrize("settings", ["", "bulk_by_packet=all"], ids=["cut frames", "frames"])
def test_flipped_bits__none_reaches_a_program(
    lab: LabState, monkeypatch: pytest.MonkeyPatch, settings: str
) -> None:
    monkeypatch.setenv("BEOWIRE_SETTINGS", settings)
    for status, out, error in exchange(lab):
        assert (status, error) == (0, "")
        counters = json.loads(out)
        assert counters["message_received"] == MESSAGES
        assert counters["message_protocol_errors"] == 0
        assert counters["dropped_damaged"] > 0


def test_flipped_bits__reach_programs_without_checksums(
    lab: LabState, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BEOWIRE_SETTINGS", "checksums=false,bulk_by_packet=all")
    ends = exchange(lab)
    assert any(status == 1 and "a byte is wrong" in error for status, _, error in ends), ends


def test_flipped_bits__the_link_is_named(lab: LabState, run_beowire: RunBeowire) -> None:
    ends = [start(lab, f"node{i}", (1 + i, 2 - i, MESSAGES, "hold"), ()) for i in (0, 1)]
    try:
        introduce(ends)
        for end in ends:
            assert end.stdout is not None
            assert json.loads(end.stdout.readline())["dropped_damaged"] > 0
        named = r"(packet|tso)/eth0 from 10\.77\.0\.2/\d+: \d+ frames came damaged"
        said = run_beowire("top", "--pid", str(ends[0].pid)).stdout
        assert re.search(named, said), said
        doctor = [str(ROOT / "beowire"), "doctor", "--interface", "lo"]
        there = cluster.command_in(cluster.node_of(lab, "node0"), doctor, pin=False)
        said = subprocess.run(there, capture_output=True, text=True, check=False).stdout
        assert re.search(r"BAD +damaged frames: come in over", said), said
    finally:
        for end in ends:
            end.kill()
            end.communicate()


def test_flipped_bits__an_mpi_program(
    run_beowire: RunBeowire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "evaluator"))
    up = run_beowire("lab", "up", "--link", "switch")
    assert up.returncode == 0, up.stderr
    try:
        with flipping(cluster.find()):
            mpi = Mpi(run_beowire, OPEN_MPI)
            mpi.check("pingpong", "collectives")
            mpi.check("onesided", environment=ONESIDED)
    finally:
        run_beowire("lab", "down", "--all")
