# SPDX-License-Identifier: BSD-3-Clause
"""Drivers are compiled on another host: its scripts are run here, with a home of their own."""

import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from beowire.errors import BeowireError
from beowire.mpi import drivers, remote
from beowire.places.engine import EngineError
from beowire.places.launch.base import Node
from beowire.places.mpi.installation import Installation

NODE = Node("beta", "10.0.0.2")


class FakeHost:
    """In place of an SshLauncher."""

    def __init__(self, home: Path) -> None:
        (home / ".cache" / "beowire").mkdir(parents=True)
        self.home = home

    def run(self, node: Node, script: str, data: bytes = b"") -> str:
        assert not set("'\n!") & set(script)
        # As of BusyBox before 1.34.
        script = f'mv() {{ case $1 in -*T*) exit 9 ;; esac; command mv "$@"; }}; {script}'
        environment = {**os.environ, "HOME": str(self.home)}
        done = subprocess.run(
            ["sh", "-c", script], env=environment, input=data, capture_output=True, check=False
        )
        if done.returncode != 0:
            raise BeowireError(f"{node.name}: {done.stderr.decode()}")
        return done.stdout.decode()


@pytest.fixture(name="host")
def make_host(tmp_path: Path) -> Any:
    return FakeHost(tmp_path / "home")


def mpi(tmp_path: Path, compiles: str, version: str = "4.1.4") -> Installation:
    launcher, wrapper = tmp_path / "mpirun", tmp_path / "mpicc"
    launcher.write_text(f"#!/bin/sh\necho 'mpirun (Open MPI) {version}'\n")
    wrapper.write_text(f"#!/bin/sh\necho call >>{tmp_path}/calls\n{compiles}\n")
    for file in (launcher, wrapper):
        file.chmod(0o755)
    return Installation("openmpi4", "4.1.4", launcher, wrapper)


def test_compiled__once_and_for_nobody_else_to_change(tmp_path: Path, host: Any) -> None:
    compiles = 'ls mpi/table.c driver.h >/dev/null && for last; do :; done; echo >"$last"'
    there = mpi(tmp_path, compiles)
    folder = remote.compiled(host, NODE, there)
    assert (folder / drivers.file(there)).is_file()
    assert folder.parent == tmp_path / "home" / ".cache" / "beowire"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert remote.compiled(host, NODE, there) == folder
    assert (tmp_path / "calls").read_text() == "call\n"
    assert [one.name for one in folder.parent.iterdir()] == [folder.name]


def test_compiled__again_when_the_wrapper_there_has_changed(tmp_path: Path, host: Any) -> None:
    compiles = 'for last; do :; done; echo >"$last"'
    first = remote.compiled(host, NODE, mpi(tmp_path, compiles))
    assert remote.compiled(host, NODE, mpi(tmp_path, f"{compiles} # newer")) != first


def test_compiled__what_another_has_made_meanwhile_is_taken(tmp_path: Path, host: Any) -> None:
    made = tmp_path / "made"
    other = f'while read -r file; do mkdir "${{file%/*}}"; echo other >"$file"; done <{made}'
    there = mpi(tmp_path, f'for last; do :; done; echo >"$last"; [ ! -e {made} ] || {other}')
    folder = remote.compiled(host, NODE, there)
    folder.rename(tmp_path / "first")
    made.write_text(f"{folder / drivers.file(there)}\n")
    assert remote.compiled(host, NODE, there) == folder
    assert (folder / drivers.file(there)).read_text() == "other\n"
    assert [one.name for one in folder.parent.iterdir()] == [folder.name]


def test_compiled__what_comes_with_the_mpi_beside_it(tmp_path: Path, host: Any) -> None:
    there = mpi(tmp_path, 'ls */table.c | grep . && for last; do :; done; echo >"$last"')
    other = remote.compiled(host, NODE, replace(there, part="shmem"))
    assert other != remote.compiled(host, NODE, there)
    assert (other / "beowire-driver-shmem.so").is_file()
    assert (other / "shmem" / "table.c").is_file()


def test_compiled__a_wrapper_that_fails_is_quoted(tmp_path: Path, host: Any) -> None:
    there = mpi(tmp_path, "echo 'table.c:9: error: no mpi.h' >&2; exit 1")
    with pytest.raises(EngineError, match=r"/mpicc fails: table\.c:9: error: no mpi\.h$") as caught:
        remote.compiled(host, NODE, there)
    assert caught.value.node == "beta"
    assert list((tmp_path / "home" / ".cache" / "beowire").iterdir()) == []


def test_compiled__another_version_there(tmp_path: Path, host: Any) -> None:
    there = mpi(tmp_path, ":", version="4.0.1")
    with pytest.raises(EngineError, match=r"^Open MPI 4\.0\.1 is at .* Open MPI 4\.1\.4 here: "):
        remote.compiled(host, NODE, there)
    there.launcher.unlink()
    with pytest.raises(EngineError, match=r"^nothing of the kind is at .*: install the same"):
        remote.compiled(host, NODE, there)
