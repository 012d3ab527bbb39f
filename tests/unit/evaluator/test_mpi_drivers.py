# SPDX-License-Identifier: BSD-3-Clause
"""The names of the drivers over MPIs, and what they stand for."""

from pathlib import Path

import pytest

from beowire import paths
from beowire.errors import BeowireError
from beowire.mpi import drivers, openshmem
from beowire.places.mpi import compiling, installation
from beowire.places.mpi.installation import Installation

HERE = ("openmpi4", "mpich")


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with two of the MPIs."""

    def find(name: str, prefix: Path | None = None) -> Installation:
        del prefix
        if name not in HERE:
            raise BeowireError(f"there is no {name} here: get it")
        return Installation(name, "1.2", tmp_path / "bin" / "mpirun", tmp_path / "bin" / "mpicc")

    monkeypatch.setattr(installation, "find", find)
    monkeypatch.setattr(paths, "provider_directory", lambda: tmp_path)


def test_expanded__all_that_are_here_over_both() -> None:
    names, infos = drivers.expanded("tcp, mpi,beowire")
    of_mpis = ["mpi:openmpi4/tcp", "mpi:openmpi4/beowire", "mpi:mpich/tcp", "mpi:mpich/beowire"]
    assert names == ",".join(["tcp", *of_mpis, "beowire"])
    assert [info.name for info in infos] == of_mpis
    assert all(info.ready for info in infos)


def test_expanded__one_mpi_and_a_way_of_its_own_each_once() -> None:
    names, infos = drivers.expanded("mpi:openmpi4,mpi:openmpi4/tcp,mpi:openmpi4/shm")
    assert names == "mpi:openmpi4/tcp,mpi:openmpi4/beowire,mpi:openmpi4/shm"
    assert [info.placement for info in infos] == ["pair", "pair", "host"]
    assert infos[0].summary == "messages of Open MPI 1.2, over TCP; spins"


def test_expanded__without_an_mpi_nothing_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "find", None)
    assert drivers.expanded(None) == (None, [])
    assert drivers.expanded("tcp,udp") == ("tcp,udp", [])


def test_expanded__one_that_is_not_here_has_the_reason() -> None:
    _, (info,) = drivers.expanded("mpi:intel/tcp")
    assert (info.ready, info.reason) == (False, "there is no intel here: get it")
    with pytest.raises(BeowireError, match="--drivers mpi:intel: there is no intel here: get it"):
        drivers.expanded("mpi:intel")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("mpi:mpitch/tcp", "no MPI is called 'mpitch': there are openmpi4, "),
        ("mpi:mpich/tpc", "no way is called 'tpc': there are tcp, beowire, "),
        ("mpi:mpich/ucx-tcp", "mpich has one way over TCP: tcp"),
        ("mpi:/tcp", "no MPI is called ''"),
    ],
)
def test_expanded__what_means_nothing_says_so(name: str, reason: str) -> None:
    _, (info,) = drivers.expanded(name)
    assert not info.ready
    assert reason in info.reason


def test_driver__puts_of_open_mpi_4_over_beowire_need_its_btl() -> None:
    assert drivers.driver("mpi-put:openmpi4/beowire").way.variables["OMPI_MCA_btl"] == "ofi,self"
    assert "OMPI_MCA_btl" not in drivers.driver("mpi:openmpi4/beowire").way.variables
    assert "OMPI_MCA_btl" not in drivers.driver("mpi-put:mpich/beowire").way.variables


def test_driver__one_sided_operations_of_open_mpi_4_over_tcp_are_messages() -> None:
    assert drivers.driver("mpi-get-fence:openmpi4/tcp").way.variables["OMPI_MCA_osc"] == "pt2pt"
    assert drivers.driver("mpi:openmpi4/tcp").way.variables["OMPI_MCA_osc"] == "^ucx"
    assert "OMPI_MCA_osc" not in drivers.driver("mpi-put:mpich/tcp").way.variables


def test_driver__says_which_patterns_it_carries() -> None:
    messages, gets = (drivers.driver(f"{one}:mpich/tcp").info() for one in ("mpi", "mpi-get"))
    assert (messages.posts, messages.collective, messages.fixed) == (True, True, False)
    assert (gets.posts, gets.collective, gets.fixed) == (False, False, True)


def test_every__says_what_cannot_be_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    def compiled(_name: str, mpi: Installation, *_more: object) -> Path:
        if mpi.name == "mpich":
            raise BeowireError("mpicc fails: no")
        return Path("/x")

    def find(name: str) -> Installation:
        installation.find(name)
        raise BeowireError("there is no OpenSHMEM here")

    monkeypatch.setattr(compiling, "compiled", compiled)
    monkeypatch.setattr(openshmem, "find", find)
    found = {info.name: info.reason for info in drivers.every()}
    ready = {"openmpi4/tcp": "", "openmpi4/beowire": ""}
    absent = {
        "openmpi5": "there is no openmpi5 here: get it",
        "mpich": "mpicc fails: no",
        "intel": "there is no intel here: get it",
    }
    families = ("mpi", "mpi-put", "mpi-get", "mpi-put-fence", "mpi-get-fence")
    of_shmem = {"openmpi4": "there is no OpenSHMEM here", "openmpi5": absent["openmpi5"]}
    assert found == {
        f"{family}:{rest}": reason
        for family in families
        for rest, reason in {**ready, **absent}.items()
    } | {f"shmem-{what}:{mpi}": why for what in ("put", "get") for mpi, why in of_shmem.items()}


def test_sources__are_those_of_the_checkout() -> None:
    common = {"driver.h", "library.h", "spin.h"}
    names = {part: {file.name for file in drivers.sources(part)} for part in ("mpi", "shmem")}
    assert {"table.c", "rank.c", "rank.h", *common} <= names["mpi"]
    assert {"table.c", "pe.c", "put.c", "get.c", *common} <= names["shmem"]
    assert "rank.c" not in names["shmem"]
