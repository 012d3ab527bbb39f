# SPDX-License-Identifier: BSD-3-Clause
"""Hosts over ssh whose C library is musl: each is a directory with BusyBox, musl and nothing else,
which a login's commands are run in."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from beowire.places.lab.options import LabOptions
from beowire.record.reader import read_record
from system.conftest import ROOT
from system.test_ssh import Hosts, running

ENGINES = ROOT / "build" / "musl-engine"

#: Makes the directory a host, in a mount namespace.
MAKE = """
mkdir -p "$1"/bin "$1"/lib "$1"/dev "$1"/proc "$1"/sys "$1"/tmp "$1"/root
cp "$(command -v busybox)" "$1/bin/busybox"
busybox chroot "$1" /bin/busybox --install -s /bin
cp "$2"/ld-musl-* "$1/lib"
for each in dev proc sys; do mount --rbind /$each "$1/$each"; done
"""


@pytest.fixture(name="built", scope="module")
def build() -> None:
    """All is compiled without a warning."""
    done = subprocess.run(
        [ROOT / "scripts" / "build-musl"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if "left out: nothing" in done.stdout:
        pytest.skip(done.stdout)
    assert done.returncode == 0, done.stdout


@pytest.fixture(name="hosts")
def make_hosts(tmp_path: Path, built: None) -> Iterator[Hosts]:
    del built
    if os.geteuid() != 0:
        pytest.skip("sshd lets only root log in others, and wants to be root")
    root = tmp_path / "musl"
    change = shutil.which("chroot", path=f"{os.environ['PATH']}:/usr/sbin")
    environment = "/bin/env HOME=/root PATH=/bin"
    inside = f'exec {change} {root} {environment} /bin/sh -c "$SSH_ORIGINAL_COMMAND"'
    with running(tmp_path, LabOptions(), command=inside) as hosts:
        for index in range(2):
            hosts.in_node(index, "sh", "-ec", MAKE, "sh", str(root), str(ENGINES))
        yield hosts


@pytest.mark.timeout(300)
def test_compiles(built: None) -> None:
    del built
    engine = (ENGINES / "beowire-engine").read_bytes()
    assert b"/lib/ld-musl-" in engine and b"GLIBC_" not in engine
    assert b"\0libc.so\0" in engine  # which engine and drivers share


@pytest.mark.timeout(300)
def test_compare__between_them(hosts: Hosts, tmp_path: Path) -> None:
    out = tmp_path / "out"
    drivers = ("tcp", "udp", "packet", "beowire")
    few = ("--drivers", ",".join(drivers), "--sizes", "8", "--time", "3", "--out", str(out))
    done = hosts.type_beowire(
        "compare", *few, environment={"BEOWIRE_ENGINE_DIR": str(ENGINES)}, timeout=120
    )
    assert done.returncode == 0, done.stderr
    record = read_record(out / "record.jsonl")
    assert [one.status for one in record.results] == ["ok"] * len(record.results)
    assert {one.driver for one in record.results} == set(drivers)
    assert [end.environment["libc"] for end in record.meta.ends] == ["not glibc"] * 2
    (copy,) = (tmp_path / "musl" / "root" / ".cache" / "beowire").iterdir()
    assert (copy / "beowire-engine").read_bytes() == (ENGINES / "beowire-engine").read_bytes()
    assert shutil.which("ls", path=str(tmp_path / "musl" / "bin")) is not None
