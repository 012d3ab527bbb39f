# SPDX-License-Identifier: BSD-3-Clause
"""`beowire setup` and `beowire doctor` on three hosts behind a switch, each with an sshd, where
something is in the way; where nothing is: test_cluster_document.py."""

import grp
import json
import os
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from beowire.places.lab.options import LabOptions
from system.conftest import ROOT, RunBeowire, assert_refused, processes_of, wait_until
from system.test_ssh import Hosts, running

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0, reason="sshd lets only root log in others, and only root gives capabilities"
)

GROUP = "daemon"
NOBODY = 65534


@pytest.fixture(name="hosts", scope="module")
def make_hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    """Three, for all tests of this module: none changes them for the next."""
    runtime = tmp_path_factory.mktemp("runtime")
    runtime.chmod(0o700)
    before = {name: os.environ.get(name) for name in ("BEOWIRE_RUNTIME_DIR", "BEOWIRE_TEST_MARK")}
    mark = uuid.uuid4().hex
    os.environ |= {"BEOWIRE_RUNTIME_DIR": str(runtime), "BEOWIRE_TEST_MARK": mark}
    try:
        with running(tmp_path_factory.mktemp("hosts"), LabOptions(nodes=3, link="switch")) as hosts:
            yield hosts
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
    assert wait_until(lambda: not processes_of(mark)), processes_of(mark)


def there(hosts: Hosts, index: int) -> set[str]:
    prefix = hosts.home(index) / "beowire"
    return {str(path.relative_to(prefix)) for path in prefix.rglob("*") if path.is_file()}


def test_setup__one_host_that_cannot__none_is_changed(hosts: Hosts) -> None:
    (hosts.home(2) / "closed").write_bytes(b"")
    try:
        done = hosts.type_beowire("setup", "--prefix", "~/closed/beowire", "--apply")
    finally:
        (hosts.home(2) / "closed").unlink()
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("beowire: nothing was changed: root@10.77.0.3: ")
    assert there(hosts, 0) == set()
    done = hosts.type_beowire("setup", "--prefix", "~/closed/beowire", "--undo")
    assert done.returncode == 0
    done = hosts.type_beowire("setup", "--prefix", "~/beowire", "--group", "no-such", "--apply")
    assert (done.returncode, there(hosts, 0)) == (1, set())
    assert "nothing was changed: root@10.77.0.1: there is no group no-such" in done.stderr


def test_setup__several_interfaces__tries_the_one_of_the_route(hosts: Hosts) -> None:
    named = ("--prefix", "~/beowire", "--interface", "eth0,enp1s0")
    done = hosts.type_beowire("setup", *named, among=2)
    assert done.returncode == 0, done.stderr
    assert "full frames: half a round trip of" in done.stdout


def test_doctor__finds_what_stops_frames(hosts: Hosts) -> None:
    rules = (
        "add table netdev closed; add chain netdev closed ingress"
        " { type filter hook ingress device eth0 priority 0; };"
        " add rule netdev closed ingress ether type 0x88b5 drop"
    )
    hosts.in_node(1, "nft", rules)
    try:
        done = hosts.type_beowire("doctor", "--json", among=2)
    finally:
        hosts.in_node(1, "nft", "delete table netdev closed")
    assert done.returncode == 1, (done.stdout, done.stderr)
    said: dict[str, Any] = json.loads(done.stdout)
    assert [one["host"] for one in said["hosts"]] == ["10.77.0.1", "10.77.0.2"]
    assert all(one["interface"] == "eth0" for one in said["hosts"])
    (pair,) = said["pairs"]
    tried = {name: way["half_rtt_ns"] is not None for name, way in pair["ways"].items()}
    assert tried == {"frames": False, "cut frames": False, "UDP": True, "full frames": True}
    found = {one["check"]: one for one in said["between"]}
    assert found["frames"]["state"] == "bad"
    assert "0x88B5" in found["frames"]["do"]
    assert found["UDP"]["state"] in ("ok", "worse")  # the hosts share processors


def test_direct__finds_the_provider_in_the_prefix(run_beowire: RunBeowire, tmp_path: Path) -> None:
    """Also if FI_PROVIDER_PATH is not set."""
    prefix = tmp_path / "beowire"
    done = run_beowire("setup", "--prefix", str(prefix), "--apply")
    assert done.returncode == 0, done.stderr
    library = prefix / "direct" / "libfabric.so.1"
    ask = "lib.fi_getparams(*map(byref, (c_void_p(), n := c_int()))); print(n.value)"
    words = [sys.executable, "-c", f"from ctypes import *; lib = CDLL({str(library)!r}); {ask}"]
    said = subprocess.run(words, env={}, capture_output=True, text=True, check=True)
    assert int(said.stdout) > 0  # those of the provider


def test_doctor__here_changes_nothing(run_beowire: RunBeowire) -> None:
    done = run_beowire("doctor", "--interface", "lo")
    assert done.returncode in (0, 1), done.stderr
    assert done.stdout.splitlines()[-1].endswith("nothing was changed")
    assert_refused(run_beowire("doctor", "--interface", "no0"), "there is no interface no0")


# ---- the program that hands on a capability ------------------------------------------------------


@pytest.fixture(name="frames")
def make_frames() -> Iterator[Path]:
    """A copy where other users can reach it, with its capability."""
    directory = Path(tempfile.mkdtemp(prefix="beowire-test-", dir="/tmp"))
    try:
        directory.chmod(0o755)
        program = directory / "beowire-frames"
        shutil.copy(ROOT / "build" / "engine" / "beowire-frames", program)
        os.chown(program, 0, grp.getgrnam(GROUP).gr_gid)
        program.chmod(0o750)
        subprocess.run(
            ["setcap", "cap_net_raw=ep", str(program)],
            check=True,
            env={"PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"},
        )
        yield program
    finally:
        shutil.rmtree(directory)


def as_nobody(
    *words: str, group: str = GROUP, **environment: str
) -> "subprocess.CompletedProcess[str]":
    user = ["setpriv", "--reuid", str(NOBODY), "--regid", str(grp.getgrnam(group).gr_gid)]
    return subprocess.run(
        # By a shell: what setpriv itself starts is still opened with root's rights.
        [*user, "--clear-groups", "sh", "-c", 'exec "$0" "$@"', *words],
        env={"PATH": "/usr/bin:/bin", **environment},
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


SHOW = 'sed -n "s/^CapAmb:.//p; s/^CapEff:.//p" /proc/self/status; echo "$LD_LIBRARY_PATH $TMPDIR"'


def test_frames__the_program_may_and_has_its_environment(frames: Path) -> None:
    done = as_nobody(str(frames), "sh", "-c", SHOW, LD_LIBRARY_PATH="/opt/x", TMPDIR="/t")
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["0000000000002000", "0000000000002000", "/opt/x /t"]


def test_frames__without_proc__says_which_variables_are_lost(frames: Path) -> None:
    hidden = 'mount -t tmpfs none /proc && exec "$0" "$@"'
    user = ["setpriv", "--reuid", str(NOBODY), "--regid", str(grp.getgrnam(GROUP).gr_gid)]
    shell = ["--clear-groups", "sh", "-c", 'exec "$0" "$@"', str(frames)]
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", hidden, *user, *shell, "sh", "-c", "echo $KEPT"],
        env={"PATH": "/usr/bin:/bin", "LD_LIBRARY_PATH": "/opt/x", "KEPT": "kept"},
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (0, "kept\n")
    assert done.stderr.startswith("beowire-frames: /proc/self/environ cannot be read, so LD_LIB")
    assert done.stderr.count("\n") == 1


def test_frames__only_for_its_group(frames: Path) -> None:
    done = as_nobody(str(frames), "true", group="nogroup")
    assert done.returncode != 0
    assert "ermission denied" in done.stderr


def test_frames__a_copy_gives_nothing_and_says_so_once_a_host(frames: Path) -> None:
    copy = frames.with_name("copy")
    shutil.copy(frames, copy)
    copy.chmod(0o755)
    done = as_nobody(str(copy), "sh", "-c", SHOW, MPI_LOCALRANKID="0")
    assert done.stdout.splitlines()[0] == "0000000000000000"
    assert done.stderr.startswith("beowire-frames: ")
    assert "gives no cap_net_raw here" in done.stderr
    assert done.stderr.count("\n") == 1
    assert as_nobody(str(copy), "true", MPI_LOCALRANKID="1").stderr == ""


def test_frames__what_cannot_be_run(frames: Path) -> None:
    for words, status, said in (
        ((), 2, "usage: beowire-frames PROGRAM"),
        (("/no/such",), 127, "/no/such cannot be run: No such file"),
        (("/etc/passwd",), 126, "/etc/passwd cannot be run: Permission denied"),
    ):
        done = as_nobody(str(frames), *words)
        assert (done.returncode, done.stdout) == (status, "")
        assert said in done.stderr
