# SPDX-License-Identifier: BSD-3-Clause
"""`beowire tune`: a configuration that the transport accepts, and the line that it does not.

What tune measures in its time is too little where others take the cores away: then it has more.
"""

import os
import subprocess
from pathlib import Path

import pytest

from system.conftest import RunBeowire, assert_refused
from system.test_ssh import HOSTS, Hosts, make_hosts

__all__ = ["make_hosts"]


def tuned(run_beowire: RunBeowire, path: Path) -> "subprocess.CompletedProcess[str]":
    """`beowire tune`, with more time where there was none."""
    for seconds in (5, 40, 80):
        words = ("tune", "--lab", "--time", str(seconds), "--out", str(path))
        done = run_beowire(*words, timeout=300)
        if done.returncode == 0 or "there was no time to measure" not in done.stderr:
            break
    return done


@pytest.mark.timeout(400)
def test_tune__writes_what_the_transport_accepts(run_beowire: RunBeowire, tmp_path: Path) -> None:
    path = tmp_path / "beowire.conf"
    done = tuned(run_beowire, path)
    assert (done.returncode, done.stderr) == (0, "")
    lines = path.read_text(encoding="utf-8").splitlines()
    keys = [line.partition(" =")[0] for line in lines if line and not line.startswith("#")]
    assert keys == [
        "spin_ns",
        "burst_frames",
        "eager_cut_frames",
        "eager_bytes",
        "bundle_bytes",
        "read_bytes",
    ]
    done = run_beowire("tune", "--check", str(path))
    assert (done.returncode, done.stdout) == (0, f"{path} is right\n")
    # And a program that is started with it runs.
    words = ("compare", "--lab", "--drivers", "beowire", "--sizes", "8,64KiB", "--time", "2")
    environment = {"BEOWIRE_CONFIG": str(path)}
    done = run_beowire(*words, "--out", str(tmp_path / "run"), environment=environment)
    assert done.returncode == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="as in test_ssh.py")
@pytest.mark.long
@pytest.mark.timeout(200)
def test_tune__over_ssh(hosts: Hosts, tmp_path: Path) -> None:
    environment = {"XDG_CONFIG_HOME": str(tmp_path)}
    done = hosts.type_beowire("tune", timeout=180, environment=environment)
    assert (done.returncode, done.stderr) == (0, "")
    path = tmp_path / "beowire" / "beowire.conf"
    assert f"written: {path}" in done.stdout
    assert f"copy it to each of {','.join(HOSTS)}" in done.stdout.splitlines()[-1]
    first = path.read_text(encoding="utf-8").splitlines()[0]
    assert f"Measured between {','.join(HOSTS)}." in first


def test_tune__configuration_that_is_wrong(run_beowire: RunBeowire, tmp_path: Path) -> None:
    path = tmp_path / "beowire.conf"
    path.write_text("# mine\neager_bytes = many\n", encoding="ascii")
    said = f"{path}:2: eager_bytes is a number from 0 to 1048576"
    assert_refused(run_beowire("tune", "--check", str(path)), said)
    assert_refused(run_beowire("tune", "--check", "/nonexistent"), "/nonexistent: No such file")
    # Whoever opens an endpoint with it hears the same.
    words = ("compare", "--lab", "--drivers", "beowire", "--sizes", "8", "--time", "1")
    done = run_beowire(
        *words, "--out", str(tmp_path / "run"), environment={"BEOWIRE_CONFIG": str(path)}
    )
    assert done.returncode != 0
    assert said in done.stderr


def test_tune__refused(run_beowire: RunBeowire, tmp_path: Path) -> None:
    assert_refused(run_beowire("tune"), "--hosts A,B, or --lab")
    assert_refused(run_beowire("tune", "--lab", "--hosts", "a,b"), "--hosts A,B, or --lab")
    assert_refused(run_beowire("tune", "--lab", "--time", "0"), "--time is more than 0")
    assert_refused(run_beowire("tune", "--hosts", "a,b", "--mtu", "9000"), "--mtu describes a lab")
    assert_refused(run_beowire("tune", "--lab", "--ssh-option", "Port=1"), "--ssh-option needs")
    home = {"XDG_CONFIG_HOME": str(tmp_path)}
    assert_refused(run_beowire("tune", "--lab", environment=home), "with --out FILE")
    assert not list(tmp_path.iterdir())
    path = tmp_path / "beowire.conf"
    path.write_text("spin_ns = 9000\n", encoding="ascii")
    assert_refused(run_beowire("tune", "--lab", "--out", str(path)), "choose another --out")
