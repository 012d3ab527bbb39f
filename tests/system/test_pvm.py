# SPDX-License-Identifier: BSD-3-Clause
"""The drivers over PVM: its library can be started once in a process, so the engine tries them."""

import json
import subprocess
from pathlib import Path

import psutil
import pytest

from beowire.record.reader import read_record
from system.conftest import ROOT, RunBeowire, wait_until
from system.pvm_machines import NEEDS_PVM

pytestmark = NEEDS_PVM

ALL = ("pvm", "pvm-direct", "pvm-beowire")

#: What was started has to have ended so soon after whatever was killed: within 5 s on an idle
#: machine; here others may have taken all cores.
BOUND_S = 30.0


def _left() -> list[Path]:
    """Directories of daemons that drivers have started, without a daemon. Other tests, which may
    run meanwhile, have daemons, too."""
    used = set()
    for process in psutil.process_iter():
        try:
            if process.name() == "pvmd":
                used.add(process.environ().get("PVM_TMP"))
        except psutil.Error:
            continue
    return [path for path in Path("/tmp").glob("beowire-pvm-*") if str(path) not in used]


def _lines(record: Path) -> list[str]:
    """Results, and what was not measured."""
    return record.read_text(encoding="utf-8").splitlines()[1:] if record.exists() else []


@pytest.mark.parametrize(
    ("where", "sizes"), [(["--lab"], [100000]), ([], [1, 100000])], ids=["lab", "loopback"]
)
def test_every_byte_arrives__and_nothing_stays(
    run_beowire: RunBeowire, tmp_path: Path, where: list[str], sizes: list[int]
) -> None:
    before = set(_left())
    # A cell for which a busy machine has no time would be missing.
    words = ["--drivers", ",".join(ALL), "--time", str(2 * len(sizes))]
    words += ["--sizes", ",".join(str(size) for size in sizes)]
    words += ["--pattern", "integrity", "--offset", "3,65", "--out", str(tmp_path / "o")]
    done = run_beowire("compare", *where, *words)
    assert done.returncode == 0, done.stderr
    found = {(one.driver, one.size) for one in read_record(tmp_path / "o" / "record.jsonl").results}
    assert found == {(driver, size) for driver in ALL for size in sizes}
    assert wait_until(lambda: before.issuperset(_left()))  # that no process is: see `leftovers`


def _said(record: Path, driver: str) -> str:
    """Why a driver was left out; empty while it is not."""
    why = f"node1: {driver}: the daemon of this node that carries its messages has ended: "
    lines = [json.loads(line) for line in _lines(record) if line.endswith("}")]
    reasons = [str(one.get("status", one.get("reason", ""))) for one in lines]
    return next((reason for reason in reasons if reason.startswith(why)), "")


def test_killed__a_daemon_or_its_keeper_ends_its_driver_and_another_goes_on(tmp_path: Path) -> None:
    record = tmp_path / "o" / "record.jsonl"
    words = ["--drivers", "pvm,pvm-direct,tcp", "--sizes", "8,64,512", "--time", "60", "--out"]
    with subprocess.Popen(
        [str(ROOT / "beowire"), "compare", "--lab", *words, str(record.parent)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert wait_until(lambda: _lines(record))
            daemons = [
                one
                for one in psutil.Process(process.pid).children(recursive=True)
                if one.name() == "pvmd"
            ]
            directories = {Path(one.environ()["PVM_TMP"]) for one in daemons}
            assert len(daemons) == len(directories) == 4
            # Those of node1: their master has told them to stay with whoever starts them.
            slaves = [one for one in daemons if "-f" in one.cmdline()]
            first, second = sorted(slaves, key=lambda one: one.create_time())
            first.kill()
            assert wait_until(lambda: _said(record, "pvm"), BOUND_S)
            keeper = second.parent()
            assert keeper is not None
            keeper.kill()
            assert wait_until(lambda: _said(record, "pvm-direct"), BOUND_S)
            assert "dmesg" in _said(record, "pvm-direct")
            assert psutil.wait_procs(daemons, BOUND_S)[1] == []
            assert wait_until(lambda: not any(one.exists() for one in directories), BOUND_S)
            assert process.poll() is None
        finally:
            process.kill()
