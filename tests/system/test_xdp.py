# SPDX-License-Identifier: BSD-3-Clause
"""The drivers over AF_XDP on the wires of a lab, whose frames the kernel's generic hook passes
over."""

import os
from pathlib import Path

import pytest

from beowire.record import read_record
from system.conftest import RunBeowire

DRIVERS = "xdp,xdp-poll"

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="it takes the host's own privileges")


def compare(run_beowire: RunBeowire, out: Path, *words: str) -> tuple[int, str]:
    """How it ended, and what it complained of."""
    done = run_beowire("compare", "--lab", "--drivers", DRIVERS, *words, "--out", str(out))
    if "is not ready" in done.stderr:
        pytest.skip(done.stderr)
    return done.returncode, done.stderr


def test_xdp__on_a_wire_with_a_rate_and_a_delay(run_beowire: RunBeowire, tmp_path: Path) -> None:
    wire = ("--rate", "1g", "--delay", "100us")
    words = ("--sizes", "8,4000", "--time", "2")
    assert compare(run_beowire, tmp_path / "o", *wire, *words) == (0, "")
    results = read_record(tmp_path / "o" / "record.jsonl").results
    assert {(one.driver, one.size) for one in results} == {
        (driver, size) for driver in DRIVERS.split(",") for size in (8, 4000)
    }
    for one in results:
        assert one.status == "ok" and one.n > 0
        assert one.half_rtt_ns is not None and one.half_rtt_ns.min >= 100_000


def test_xdp__frames_that_no_hook_takes__says_what_to_do(
    run_beowire: RunBeowire, tmp_path: Path
) -> None:
    words = ("--rate", "1g", "--mtu", "9000", "--sizes", "8", "--time", "1")
    status, said = compare(run_beowire, tmp_path / "o", *words)
    assert status == 1
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
    words = ("--pattern", "integrity,pingpong", "--sizes", "8,20000", "--time", "2")
    out = tmp_path / "o"
    done = run_beowire(
        "compare", "--lab", *wire, "--drivers", ",".join(names), *words, "--out", str(out)
    )
    assert (done.returncode, done.stderr) == (0, "")
    cells = {
        (one.driver, one.pattern, one.size, one.status)
        for one in read_record(out / "record.jsonl").results
    }
    assert cells == {
        (name, pattern, size, "ok")
        for name in names
        for pattern in ("integrity", "pingpong")
        for size in (8, 20000)
    }
