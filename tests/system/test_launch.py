# SPDX-License-Identifier: BSD-3-Clause
"""Launchers start engines where they say, and leave nothing. (Over ssh: test_ssh.py.)"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from beowire.errors import BeowireError
from beowire.places.lab import cluster
from beowire.places.lab.options import LabOptions
from beowire.places.launch.base import Launcher
from beowire.places.launch.lab import LabLauncher
from beowire.places.launch.local import LocalLauncher
from beowire.places.mpi import in_lab as mpirun
from beowire.places.mpi import installation, launch
from beowire.record.reader import read_record
from system.conftest import ROOT, processes_of, wait_until
from system.mpi_jobs import OPEN_MPI


def hello(process: "subprocess.Popen[bytes]") -> dict[str, Any]:
    """The engine's answer; it then ends, as it does when its input ends: with status 3."""
    out, errors = process.communicate(b"hello\n", timeout=60)
    assert process.returncode == 3, errors
    answer: dict[str, Any] = json.loads(out.splitlines()[0])
    return answer


@pytest.mark.parametrize("make", [LocalLauncher, lambda: LabLauncher(LabOptions())])
def test_start__on_the_nodes_core_or_another(make: Any) -> None:
    cores = sorted(os.sched_getaffinity(0))
    launcher: Launcher
    with make() as launcher:
        assert len(launcher.nodes) == 2
        for node, core in zip(launcher.nodes, cores, strict=False):
            expected = core if len(cores) >= 2 else None
            assert hello(launcher.start(node))["cpu"] == expected
            assert hello(launcher.start(node, cpu=str(cores[-1])))["cpu"] == cores[-1]


def test_lab__is_there_between_enter_and_exit() -> None:
    launcher = LabLauncher(LabOptions(mtu=9000, rate_bits_per_s=10**9))
    with pytest.raises(BeowireError, match="enter the launcher first"):
        _ = launcher.nodes
    with launcher:
        assert [node.reach for node in launcher.nodes] == ["10.77.0.1", "10.77.0.2"]
        assert hello(launcher.start(launcher.nodes[1]))["hostname"] == "node1"
        (living,), cleaned = cluster.every()
        assert (living.options.mtu, living.ephemeral, cleaned) == (9000, True, [])
        assert launcher.describe_link()["burst_bytes"] == 50_000
    assert cluster.every() == ([], [])


def test_lab__goes_when_the_work_in_it_fails() -> None:
    with pytest.raises(ZeroDivisionError), LabLauncher(LabOptions()):
        _ = 1 / 0
    assert cluster.every() == ([], [])


def test_attach__uses_a_lab_and_leaves_it() -> None:
    with pytest.raises(BeowireError, match="make it with `beowire lab up --name mine`"):
        LabLauncher.attach("mine")
    cluster.up(LabOptions(nodes=3, link="switch", congestion="reno"), "mine")
    with LabLauncher.attach("mine") as launcher:
        assert launcher.describe_link()["topology"] == "switch"
        assert launcher.describe_link()["congestion_control"] == "reno"
        assert hello(launcher.start(launcher.nodes[0]))["hostname"] == "node0"
    assert cluster.find("mine").alive()
    cluster.down("mine")


@pytest.mark.parametrize("kind", ["lab.LabLauncher(LabOptions())", "local.LocalLauncher()"])
def test_engine__dies_with_its_killed_starter(kind: str, leftovers: str) -> None:
    script = (
        "import time\n"
        "from beowire.places.lab.options import LabOptions\n"
        "from beowire.places.launch import lab, local\n"
        f"with {kind} as launcher:\n"
        "    engines = [launcher.start(node) for node in launcher.nodes]\n"
        "    for engine in engines:\n"
        "        engine.stdin.write(b'hello\\n')\n"
        "        engine.stdin.flush()\n"
        "        engine.stdout.readline()\n"
        "    print('ready', flush=True)\n"
        "    time.sleep(600)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(ROOT / "evaluator")},
        stdout=subprocess.PIPE,
    ) as starter:
        assert starter.stdout is not None
        assert starter.stdout.readline() == b"ready\n"
        assert sum("beowire-engine" in line for line in processes_of(leftovers)) == 2
        starter.kill()
    assert wait_until(lambda: processes_of(leftovers) == [])


def test_mpirun__measures_between_hosts_that_it_alone_reaches(tmp_path: Path) -> None:
    mpi = installation.find(OPEN_MPI, None)
    lab = cluster.up_ephemeral(LabOptions(), "mpirun")
    try:
        agent = tmp_path / "agent"
        nodes = lab.state.nodes
        kept = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
        agent.write_text(mpirun.agent_script(nodes, kept, pin=False), encoding="utf-8")
        agent.chmod(0o700)
        words = ["--hosts", ",".join(node.address for node in nodes), "--launcher"]
        words += [str(mpi.launcher), "--drivers", "tcp", "--pin", "0,1", "--sizes", "8"]
        command = [str(ROOT / "beowire"), "compare", *words, "--time", "1", "--out"]
        done = subprocess.run(
            cluster.command_in(nodes[0], [*command, str(tmp_path / "out")], pin=False),
            env={
                **{**os.environ, **kept, **launch.environment(mpi)},
                **{
                    "OMPI_MCA_plm_rsh_agent": str(agent),
                    "PRTE_MCA_plm_ssh_agent": str(agent),
                    "OMPI_MCA_orte_remote_tmpdir_base": str(tmp_path),
                },
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
    finally:
        lab.close()
    assert (done.returncode, done.stderr) == (0, "")
    found = read_record(tmp_path / "out" / "record.jsonl")
    assert [one.status for one in found.results] == ["ok"]
    hostnames = [end.environment.get("hostname") for end in found.meta.ends]
    assert hostnames == ["node0", "node1"]
    assert len(list((tmp_path / ".cache" / "beowire").glob("*/beowire-engine"))) == 1
