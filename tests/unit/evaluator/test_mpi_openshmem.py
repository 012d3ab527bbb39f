# SPDX-License-Identifier: BSD-3-Clause
"""OpenSHMEM, which comes with an MPI: found, and the names of its drivers."""

from pathlib import Path

import pytest

from beowire.errors import BeowireError
from beowire.mpi import drivers, openshmem
from beowire.places.mpi import installation
from beowire.places.mpi.installation import Installation


@pytest.fixture(name="folder", autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with an Open MPI 4 that has OpenSHMEM, and with an MPICH."""

    def find(name: str, prefix: Path | None = None) -> Installation:
        del prefix
        if name not in ("openmpi4", "mpich"):
            raise BeowireError(f"there is no {name} here: get it")
        return Installation(name, "1.2", tmp_path / "mpirun.openmpi", tmp_path / "mpicc.openmpi")

    monkeypatch.setattr(installation, "find", find)
    for name in ("oshrun", "oshcc"):
        (tmp_path / name).touch()
    return tmp_path


def test_find__its_own_launcher_and_wrapper(folder: Path) -> None:
    found = openshmem.find("openmpi4")
    assert (found.launcher, found.compiler) == (folder / "oshrun", folder / "oshcc")
    assert (found.name, found.version, found.part) == ("openmpi4", "1.2", "shmem")
    assert drivers.file(found) == "beowire-driver-shmem.so"


@pytest.mark.parametrize("missing", ["oshrun", "oshcc"])
def test_find__one_that_was_built_without(folder: Path, missing: str) -> None:
    (folder / missing).unlink()
    with pytest.raises(BeowireError, match=f"has no OpenSHMEM here: there is no .*/{missing} "):
        openshmem.find("openmpi4")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("shmem-put:mpich/tcp", "MPICH has no OpenSHMEM: there is that of openmpi4, openmpi5"),
        ("shmem-put:openmpi5/tcp", "there is no openmpi5 here: get it"),
        ("shmem-get:openmpi4/beowire", "go over UCX, which has no way beowire: there are tcp, shm"),
        ("shmem-get:openmpi4/tpc", "no way is called 'tpc'"),
    ],
)
def test_expanded__what_cannot_be_says_why(name: str, reason: str) -> None:
    _, (info,) = drivers.expanded(name)
    assert not info.ready
    assert reason in info.reason


def test_expanded__over_tcp_unless_another_way_is_named() -> None:
    names, infos = drivers.expanded("openshmem,shmem-put:openmpi4/shm")
    assert names == "shmem-put:openmpi4/tcp,shmem-get:openmpi4/tcp,shmem-put:openmpi4/shm"
    assert [info.placement for info in infos] == ["pair", "pair", "host"]
    assert infos[0].summary == "OpenSHMEM puts of Open MPI 1.2, over TCP; spins"
    assert all(info.ready and info.fixed and not info.posts for info in infos)


def test_expanded__an_mpi_without__says_so() -> None:
    with pytest.raises(BeowireError, match="--drivers shmem-put:mpich: MPICH has no OpenSHMEM"):
        drivers.expanded("shmem-put:mpich")


def test_way__only_what_is_meant() -> None:
    found = openshmem.find("openmpi4")
    assert openshmem.way(found, "tcp").variables["UCX_TLS"] == "tcp,self"
    assert "tcp" not in openshmem.way(found, "shm").variables["UCX_TLS"]
