# SPDX-License-Identifier: BSD-3-Clause
"""Which MPI is found, and what is said when there is none."""

from pathlib import Path

import pytest

from beowire import paths
from beowire.errors import BeowireError
from beowire.places.mpi import installation

OPEN_MPI_4 = "mpirun (Open MPI) 4.1.4"
DEBIANS_OPEN_MPI_4 = "mpirun.openmpi (OpenRTE) 4.1.4"
OPEN_MPI_5 = "mpirun (Open MPI) 5.0.11"
MPICH = "HYDRA build details:\n    Version:                                 5.0.2"
INTEL = "Intel(R) MPI Library for Linux* OS, Version 2021.18 Build 20260626"


def put_program(path: Path, says: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{says}'\n", encoding="ascii")
    path.chmod(0o755)
    return path


@pytest.fixture(name="machine")
def make_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine whose search path is its folder `bin`, and that has no MPI."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("I_MPI_ROOT", raising=False)
    monkeypatch.setattr(paths, "_PACKAGE", tmp_path / "checkout" / "evaluator" / "beowire")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "launcher", "says", "version"),
    [
        ("openmpi4", "mpirun", OPEN_MPI_4, "4.1.4"),
        ("openmpi4", "mpirun.openmpi", DEBIANS_OPEN_MPI_4, "4.1.4"),
        ("openmpi5", "mpirun", OPEN_MPI_5, "5.0.11"),
        ("mpich", "mpiexec.hydra", MPICH, "5.0.2"),
        ("intel", "mpiexec.hydra", INTEL, "2021.18"),
    ],
)
def test_find__in_the_search_path(
    machine: Path, name: str, launcher: str, says: str, version: str
) -> None:
    path = put_program(machine / "bin" / launcher, says)
    found = installation.find(name)
    assert (found.name, found.version, found.launcher) == (name, version, path)
    assert found.compiler is None
    assert found.prefix == machine


def test_version_in__what_another_hosts_launcher_says() -> None:
    assert installation.version_in(f"Welcome\n{MPICH}\n", "mpich") == "5.0.2"
    assert installation.version_in("sh: 1: /opt/mpiexec.hydra: not found", "mpich") == ""


def test_find__one_of_the_checkout_comes_first(machine: Path) -> None:
    put_program(machine / "bin" / "mpirun", OPEN_MPI_5)
    own = machine / "checkout" / "build" / "mpi" / "openmpi5" / "bin"
    put_program(own / "mpirun", OPEN_MPI_5)
    compiler = put_program(own / "mpicc")
    found = installation.find("openmpi5")
    assert found.launcher == own / "mpirun"
    assert installation.compiler_of(found) == compiler


def test_find__a_prefix_is_all_that_counts(machine: Path) -> None:
    put_program(machine / "bin" / "mpirun", OPEN_MPI_4)
    other = machine / "other"
    for version, debian in (("4", "12"), ("5", "13")):
        said = f"there is no Open MPI {version} in .*/other: install Debian {debian}'s openmpi-bin"
        with pytest.raises(BeowireError, match=said):
            installation.find(f"openmpi{version}", other)
    put_program(other / "bin" / "mpirun", OPEN_MPI_4)
    assert installation.find("openmpi4", other).prefix == other


def test_find__intel_says_where_it_is(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_program(machine / "intel" / "bin" / "mpiexec.hydra", INTEL)
    monkeypatch.setenv("I_MPI_ROOT", str(machine / "intel"))
    assert installation.find("intel").prefix == machine / "intel"


@pytest.mark.parametrize("says", [OPEN_MPI_5, MPICH, "what", ""])
def test_find__another_mpi_of_the_same_name_does_not_count(machine: Path, says: str) -> None:
    put_program(machine / "bin" / "mpirun", says)
    with pytest.raises(BeowireError, match="there is no Open MPI 4 here"):
        installation.find("openmpi4")


def test_find__one_that_cannot_run_does_not_count(machine: Path) -> None:
    path = put_program(machine / "bin" / "mpirun", OPEN_MPI_4)
    path.write_bytes(b"\x7fELF nonsense")
    with pytest.raises(BeowireError, match="there is no Open MPI 4 here"):
        installation.find("openmpi4")


def test_find__unknown_name(machine: Path) -> None:
    with pytest.raises(BeowireError, match=r"'lam'.*openmpi4, openmpi5, mpich, intel"):
        installation.find("lam")


def test_compiler_of__there_is_none(machine: Path) -> None:
    put_program(machine / "bin" / "mpirun", OPEN_MPI_4)
    with pytest.raises(BeowireError, match=r"Open MPI 4 4\.1\.4 has no mpicc .*libopenmpi-dev"):
        installation.compiler_of(installation.find("openmpi4"))


def test_find__what_an_mpich_was_built_for(machine: Path) -> None:
    launcher = machine / "bin" / "mpiexec.hydra"
    options = "    Configure options:     --prefix=/usr --with-device=ch4:ucx CFLAGS=-g"
    put_program(launcher, f"{MPICH}\n{options}")
    found = installation.find("mpich")
    assert (found.version, found.device, found.has_libfabric) == ("5.0.2", "ch4:ucx", False)
    put_program(launcher, MPICH)
    found = installation.find("mpich")
    assert (found.device, found.has_libfabric) == ("", True)
