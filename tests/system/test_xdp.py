# SPDX-License-Identifier: BSD-3-Clause
"""The drivers over AF_XDP on the wires of a lab, whose frames the kernel's generic hook passes
over."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from beowire.record.reader import Record
from system.conftest import RunBeowire
from system.time_enough import compare_in_time

DRIVERS = "xdp,xdp-poll"

#: Seconds of a run: enough on an idle machine; on one whose cores are taken, each round of a driver
#: over AF_XDP may wait seconds for the kernel to attach it, and an answer that takes longer than
#: 20 ms counts as lost.
SECONDS = 2

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="it takes the host's own privileges")


def compare(run_beowire: RunBeowire, *words: str) -> "subprocess.CompletedProcess[str]":
    """Compares in a lab, if the drivers are ready here."""
    done = run_beowire("compare", "--lab", *words)
    if DRIVERS in words and "is not ready" in done.stderr:
        pytest.skip(done.stderr)
    return done


@pytest.fixture(autouse=True)
def go_first() -> Iterator[None]:
    """What the tests start gets its core before others: it has 20 ms for an answer."""
    before = os.getpriority(os.PRIO_PROCESS, 0)
    with suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, -15)
    yield
    os.setpriority(os.PRIO_PROCESS, 0, before)


def measure_all(run_beowire: RunBeowire, directory: Path, *words: str) -> Record:
    """The record of a run in which there was time for everything."""
    done, record = compare_in_time(partial(compare, run_beowire, *words), directory / "o", SECONDS)
    assert (done.returncode, done.stderr) == (0, "")
    return record


def test_xdp__on_a_wire_with_a_rate_and_a_delay(run_beowire: RunBeowire, tmp_path: Path) -> None:
    words = ("--drivers", DRIVERS, "--rate", "1g", "--delay", "100us", "--sizes", "8,4000")
    results = measure_all(run_beowire, tmp_path, *words).results
    assert {(one.driver, one.size) for one in results} == {
        (driver, size) for driver in DRIVERS.split(",") for size in (8, 4000)
    }
    for one in results:
        assert one.status == "ok" and one.n > 0
        assert one.half_rtt_ns is not None and one.half_rtt_ns.min >= 100_000


def test_xdp__frames_that_no_hook_takes__says_what_to_do(
    run_beowire: RunBeowire, tmp_path: Path
) -> None:
    words = ("--drivers", DRIVERS, "--rate", "1g", "--mtu", "9000", "--sizes", "8", "--time", "1")
    done = compare(run_beowire, *words, "--out", str(tmp_path / "o"))
    said = done.stderr
    assert done.returncode == 1
    assert len(said.splitlines()) == 1
    for driver in DRIVERS.split(","):
        assert f"{driver} failed on node" in said
    assert "use --mtu 3000 or less" in said


@pytest.mark.parametrize("wire", [(), ("--rate", "1g", "--mtu", "9000")])
def test_beowire_xdp__beside_tcp(
    run_beowire: RunBeowire, tmp_path: Path, wire: tuple[str, ...]
) -> None:
    """The second wire has long frames, and its hook is not asked for any."""
    names = ("beowire-xdp", "tcp")
    words = ("--drivers", ",".join(names), "--pattern", "integrity,pingpong", "--sizes", "8,20000")
    record = measure_all(run_beowire, tmp_path, *wire, *words)
    cells = {(one.driver, one.pattern, one.size, one.status) for one in record.results}
    assert cells == {
        (name, pattern, size, "ok")
        for name in names
        for pattern in ("integrity", "pingpong")
        for size in (8, 20000)
    }
