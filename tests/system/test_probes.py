# SPDX-License-Identifier: BSD-3-Clause
"""`beowire load`, and probes and loads of `beowire compare`, with the real engine."""

import os
import signal
import subprocess
from functools import partial
from pathlib import Path

import pytest

from system.conftest import PATIENCE_S, ROOT, RunBeowire, wait_until
from system.time_enough import compare_in_time

BEOWIRE = str(ROOT / "beowire")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_load__ends_well_when_told_to(number: signal.Signals, tmp_path: Path) -> None:
    said = tmp_path / "said"
    with said.open("w") as output:
        process = subprocess.Popen(
            [BEOWIRE, "load", "idle"], stdout=output, stderr=output, start_new_session=True
        )
    assert wait_until(lambda: " s  " in said.read_text())
    os.killpg(process.pid, number)  # the engine, too, as a terminal does
    assert process.wait(PATIENCE_S) == 0
    assert said.read_text().splitlines()[-1].startswith("in all ")


def test_load__ends_with_its_parent(tmp_path: Path) -> None:
    """That nothing is left is seen by the fixture of all system tests."""
    said = tmp_path / "said"
    begun = f'until grep -q "share" "{said}"; do sleep 0.05; done'
    script = f'"{BEOWIRE}" load hog:19 > "{said}" 2>&1 & {begun}'
    subprocess.run(["bash", "-c", script], check=True, timeout=PATIENCE_S)
    assert wait_until(lambda: "in all " in said.read_text())


def test_load__a_duty_and_memory__on_one_cpu(run_beowire: RunBeowire) -> None:
    cpu = str(min(os.sched_getaffinity(0)))
    done = run_beowire("load", "duty:20", "--cpus", cpu, "--time", "1.2")
    assert (done.returncode, done.stderr) == (0, "")
    share = float(done.stdout.splitlines()[-1].split("%")[0].split()[-1])
    assert 0 < share < 30
    done = run_beowire("load", "memory:19", "--cpus", cpu, "--time", "0.3")
    assert (done.returncode, done.stderr) == (0, "")
    assert "B/s)" in done.stdout.splitlines()[-1]


def test_compare__probes_and_load__in_one_run(run_beowire: RunBeowire, tmp_path: Path) -> None:
    words = "--drivers tcp,tcp-spin,memcpy --sizes 8 --probes all --load hog:19"
    done, record = compare_in_time(
        partial(run_beowire, "compare", *words.split()),
        tmp_path / "out",
        4,
        lambda record: all(one.probed_rounds for one in record.results),
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "What probes counted at 8 B" in done.stdout
    cells = {(one.driver, one.load): one for one in record.results}
    assert set(cells) == {(name, load) for name in ("tcp", "tcp-spin", "memcpy")
                          for load in (None, "hog:19")}  # fmt: skip
    known = {info.name for info in record.meta.probes if not any(info.reasons)}
    for (driver, load), one in cells.items():
        ends = 1 if driver == "memcpy" else 2
        assert len(one.probes) == len(one.cpu) == ends
        for end in range(ends):
            figures = one.figures(end)
            assert figures["interrupts"] > 0
            assert figures["taken_ns"] > 0
            if "syscalls" in known and driver != "memcpy":
                # One to send, one to receive: blocking no more, spinning no less.
                assert figures["syscalls"] == pytest.approx(2, rel=0.1) or driver == "tcp-spin"
                assert figures["syscalls"] > 1.8
        assert one.probed_rounds >= 1
        # A container does not see the kernel's threads, whose time is a part of it.
        assert (one.cpu_methods is not None) == ("softirq_ns" in known), (driver, load)
        assert one.service_demand_us_per_kb is None or one.service_demand_us_per_kb > 0
