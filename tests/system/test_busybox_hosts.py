# SPDX-License-Identifier: BSD-3-Clause
"""Hosts over ssh that have BusyBox's tools and no others, and what is said of those that cannot
take the engine, or not run it."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from beowire import paths
from beowire.places.lab.options import LabOptions
from beowire.record.reader import read_record
from system.conftest import assert_refused
from system.test_ssh import HELLO, HOSTS, Hosts, cache_of, contents, copies, running

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0, reason="sshd lets only root log in others, and wants to be root"
)


@pytest.fixture(name="hosts")
def make_hosts(tmp_path: Path) -> Iterator[Hosts]:
    """Two, and what a login finds there is BusyBox."""
    tools = tmp_path / "tools"
    tools.mkdir()
    program = shutil.which("busybox")
    assert program is not None, "install the package busybox-static"
    subprocess.run([program, "--install", "-s", str(tools)], check=True)
    with running(tmp_path, LabOptions(), tools) as hosts:
        yield hosts


def test_start__brings_the_engine__once_and_again_if_it_is_damaged(hosts: Hosts) -> None:
    done = hosts.run(HELLO, ",".join(HOSTS), hosts.options())
    assert done.returncode == 0, done.stderr
    first, good = copies(hosts, 1), contents(hosts, 1)
    assert hosts.run(HELLO, ",".join(HOSTS), hosts.options()).returncode == 0
    assert copies(hosts, 1) == first
    (copy,) = cache_of(hosts, 1).iterdir()
    (copy / "beowire-engine").write_bytes(b"")
    done = hosts.run(HELLO, ",".join(HOSTS), hosts.options())
    assert (done.returncode, contents(hosts, 1)) == (0, good), done.stderr


def test_compare__between_them(hosts: Hosts, tmp_path: Path) -> None:
    out = tmp_path / "out"
    few = ("--drivers", "tcp,beowire", "--sizes", "8", "--time", "2", "--out", str(out))
    done = hosts.type_beowire("compare", *few)
    assert done.returncode == 0, done.stderr
    assert [one.status for one in read_record(out / "record.jsonl").results] == ["ok"] * 2


def test_setup__puts_its_files_there_and_takes_them_away(hosts: Hosts) -> None:
    done = hosts.type_beowire("setup", "--prefix", "~/beowire", "--apply")
    assert "cannot be written" not in done.stderr
    prefix = hosts.home(1) / "beowire"
    assert (prefix / "fabric" / "libbeowire-fi.so").is_file(), done.stderr
    done = hosts.type_beowire("setup", "--prefix", "~/beowire", "--undo")
    assert (done.returncode, prefix.exists()) == (0, False), done.stderr


@pytest.mark.parametrize(
    ("mounted", "words"),
    [
        ("size=1m", ["its disk is full", "make room there, or make ~/.cache/beowire a link"]),
        ("ro", [": Read-only file system", "mount it to be written"]),
        ("noexec", ["which is mounted noexec", "or make ~/.cache/beowire a link"]),
    ],
)
def test_enter__a_home_that_cannot_have_the_engine(
    hosts: Hosts, mounted: str, words: list[str]
) -> None:
    hosts.in_node(1, "mount", "-t", "tmpfs", "-o", mounted, "none", str(hosts.home(1)))
    try:
        done = hosts.run(HELLO, ",".join(HOSTS), hosts.options())
        assert_refused(done, HOSTS[1], str(hosts.home(1)), *words)
    finally:
        hosts.in_node(1, "umount", "-l", str(hosts.home(1)))


def test_enter__a_c_library_that_cannot_run_the_engine(hosts: Hosts, tmp_path: Path) -> None:
    """Of engines that are what they would be, but for the name of what they need."""
    real = (paths.engine_directory() / "beowire-engine").read_bytes()
    loader = next(one for one in (b"ld-linux-x86-64.so.2", b"ld-linux-aarch64.so.1") if one in real)
    for name, needs, words in (
        (
            "musl",
            (loader, loader[:-1] + b"9"),
            ["its C library is musl or another, and this engine", "build Beo"],
        ),
        ("new", (b"GLIBC_2.34\0", b"GLIBC_9.34\0"), ["C library is too old", "GLIBC_9.34"]),
    ):
        assert needs[0] in real
        directory = tmp_path / name
        (directory / "drivers").mkdir(parents=True)
        (directory / "beowire-engine").write_bytes(real.replace(*needs))
        done = hosts.run(HELLO, ",".join(HOSTS), hosts.options(), BEOWIRE_ENGINE_DIR=str(directory))
        assert_refused(done, *words)
