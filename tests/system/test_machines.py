# SPDX-License-Identifier: BSD-3-Clause
"""Labs whose nodes are machines: a pair is booted, measured in and gone, however it ends."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from beowire import paths
from beowire.compare import run as running
from beowire.errors import BeowireError
from beowire.interrupts import Interrupts
from beowire.places.lab.cards import CARDS
from beowire.places.lab.machines import parts
from beowire.places.lab.options import read_lab_options
from beowire.places.launch.lab import LabLauncher
from beowire.places.launch.machines import MachinesLauncher
from beowire.record.reader import Record, read_record
from beowire.show import terminal
from system.conftest import (
    PATIENCE_S,
    ROOT,
    RunBeowire,
    assert_refused,
    processes_of,
    wait_until,
)

#: On a busy host without KVM.
BOOT_S = 240.0

CAUTION = "figures compare only with one another"
DRIVERS = ("tcp", "tipc", "tipc-seqpacket", "tipc-rdm")


@pytest.fixture(name="qemu")
def need_qemu() -> None:
    """scripts/install-packages has installed what it takes, wherever there are such packages."""
    try:
        parts.qemu_parts()
    except BeowireError as error:
        pytest.skip(str(error))


@pytest.fixture(name="uml")
def need_uml() -> None:
    try:
        parts.uml_parts()
    except BeowireError as error:
        pytest.skip(str(error))


def measured(launcher: LabLauncher, directory: Path, seconds: float) -> Record:
    """A few cells of TCP and TIPC."""
    request = running.Request(
        patterns=["pingpong"],
        sizes=[64, 16384],
        drivers=",".join(DRIVERS),
        seconds=seconds,
        directory=directory,
    )
    with Interrupts() as interrupts:
        outcome = running.run(launcher, request, interrupts)
    assert outcome.failures == []
    record = read_record(request.record)
    assert {(one.driver, one.size, one.status) for one in record.results} == {
        (driver, size, "ok") for driver in DRIVERS for size in (64, 16384)
    }
    first = terminal.render(record, width=100, colour=False, probes=False).splitlines()[0]
    assert CAUTION in first
    return record


@pytest.mark.timeout(600)
def test_vm__a_pair(run_beowire: RunBeowire, tmp_path: Path, leftovers: str, qemu: None) -> None:
    up = run_beowire("lab", "up", "--backend", "vm", timeout=BOOT_S)
    assert up.returncode == 0, up.stderr
    assert "card e1000" in up.stdout
    card = "basename $(readlink /sys/class/net/eth0/device/driver)"
    inside = run_beowire("lab", "exec", "node1", "--", "sh", "-c", f"hostname; {card}; exit 7")
    assert (inside.stdout.split(), inside.returncode) == (["node1", "e1000"], 7)
    record = measured(MachinesLauncher.attach("lab"), tmp_path / "out", 6.0)
    link = record.meta.link
    assert (link.kind, link.backend, link.nic, link.mtu) == ("lab", "vm", "e1000", 1500)
    assert {end.environment["kernel"] for end in record.meta.ends} == {link.kernel}
    panic = ("sh", "-c", "echo c >/proc/sysrq-trigger; sleep 60")
    assert_refused(
        run_beowire("lab", "exec", "node0", "--", *panic),
        "the lab lab is gone: node0: its kernel panicked",
        code=125,
    )
    assert wait_until(lambda: processes_of(leftovers) == [])
    assert run_beowire("lab", "status").stdout.startswith("no labs")


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("nic", list(CARDS))
def test_vm__any_card(tmp_path: Path, qemu: None, nic: str) -> None:
    options = read_lab_options(backend="vm", nic=nic)
    request = running.Request(
        patterns=["integrity", "pingpong"],
        sizes=[64, 1400, 16384],
        drivers="tcp,beowire-packet",
        seconds=30.0,
        directory=tmp_path / "out",
    )
    try:
        with Interrupts() as interrupts:
            outcome = running.run(MachinesLauncher(options), request, interrupts)
    except BeowireError as error:
        if f"this QEMU has no card {CARDS[nic].device}" in str(error):
            pytest.skip(str(error))
        raise
    assert outcome.failures == []
    results = read_record(request.record).results
    assert {one.status for one in results} == {"ok"}
    assert {one.driver for one in results if one.pattern == "integrity"} == {
        "tcp",
        "beowire-packet",
    }


#: Opens an endpoint over the RDMA device alone, and kills the process when the device knows of it.
KILLED_OVER_VERBS = """
{ echo open driver=beowire-verbs role=initiator max_size=64 interface=eth0; exec sleep 60; } |
    ENGINE & engine=$!
pairs() { rdma resource show qp | grep -c 'type UD'; }
for _ in $(seq 600); do [ "$(pairs)" = 0 ] || break; sleep 0.1; done
echo "with $(pairs)"
kill -KILL $engine
for _ in $(seq 600); do [ "$(pairs)" != 0 ] || break; sleep 0.1; done
echo "without $(pairs), $(rdma resource show mr | grep -c comm)"
"""


@pytest.mark.long
@pytest.mark.timeout(900)
def test_vm__datagrams_of_an_rdma_device(
    run_beowire: RunBeowire, tmp_path: Path, qemu: None
) -> None:
    up = run_beowire("lab", "up", "--backend", "vm", "--module", "rdma_rxe", timeout=BOOT_S)
    assert up.returncode == 0, up.stderr
    request = running.Request(
        patterns=["integrity", "pingpong"],
        sizes=[64, 1400, 65536],
        drivers="beowire-verbs",
        seconds=30.0,
        directory=tmp_path / "out",
    )
    with Interrupts() as interrupts:
        outcome = running.run(MachinesLauncher.attach("lab"), request, interrupts)
    assert outcome.failures == []
    results = read_record(request.record).results
    assert [(one.driver, one.status) for one in results] == [("beowire-verbs", "ok")] * 6
    engine = paths.engine_directory().resolve() / "beowire-engine"
    script = KILLED_OVER_VERBS.replace("ENGINE", str(engine))
    killed = run_beowire("lab", "exec", "node1", "--", "sh", "-c", script, timeout=BOOT_S)
    assert killed.stdout.splitlines()[-2:] == ["with 1", "without 0, 0"]
    script = f"rdma link delete rxe0; echo drivers interface=eth0 | {engine}"
    absent = run_beowire("lab", "exec", "node1", "--", "sh", "-c", script, timeout=BOOT_S)
    (driver,) = (
        one for one in json.loads(absent.stdout)["drivers"] if one["name"] == "beowire-verbs"
    )
    assert "no RDMA device over Ethernet" in driver["reason"]
    assert run_beowire("lab", "down").returncode == 0


@pytest.mark.parametrize("victim", ["command", "keeper"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_vm__ended_while_it_boots(
    leftovers: str, qemu: None, victim: str, number: signal.Signals
) -> None:
    process = subprocess.Popen(
        [ROOT / "beowire", "lab", "up", "--backend", "vm"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    found: list[str] = []

    def booting() -> bool:
        found[:] = processes_of(leftovers)
        return sum("qemu-system" in line for line in found) == 2

    assert wait_until(booting, 60.0)
    if victim == "command":
        os.killpg(process.pid, number)
    else:
        (keeper,) = (line for line in found if "machines.keeper" in line)
        os.kill(int(keeper.partition(":")[0]), number)
    assert process.wait(timeout=PATIENCE_S) != 0
    assert wait_until(lambda: processes_of(leftovers) == [])


@pytest.mark.timeout(300)
def test_uml__a_pair(run_beowire: RunBeowire, tmp_path: Path, uml: None) -> None:
    up = run_beowire("lab", "up", "--backend", "uml", timeout=BOOT_S)
    assert up.returncode == 0, up.stderr
    inside = run_beowire("lab", "exec", "node1", "--", "sh", "-c", "hostname; exit 7")
    assert (inside.stdout, inside.returncode) == ("node1\n", 7)
    record = measured(LabLauncher.attach("lab"), tmp_path / "out", 6.0)
    assert (record.meta.link.backend, record.meta.link.accelerator) == ("uml", "uml")
    assert run_beowire("lab", "down").returncode == 0
