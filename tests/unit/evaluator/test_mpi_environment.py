# SPDX-License-Identifier: BSD-3-Clause
"""What an MPI is told, so that it uses Beowire or TCP."""

from dataclasses import replace
from pathlib import Path

import pytest

from beowire import paths
from beowire.errors import BeowireError
from beowire.places.mpi.environment import caution, overruled, variables
from beowire.places.mpi.installation import KINDS, Installation


@pytest.fixture(name="provider", autouse=True)
def make_provider(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "engine" / "fabric"
    (directory / "direct").mkdir(parents=True)
    (directory.parent / "beowire-engine").touch()
    (directory / "libbeowire-fi.so").touch()
    (directory / "direct" / "libfabric.so.1").touch()
    monkeypatch.setenv("BEOWIRE_ENGINE_DIR", str(directory.parent))
    for name in ("OMPI_MCA_mca_base_env_list", "LD_LIBRARY_PATH"):
        monkeypatch.delenv(name, raising=False)
    return directory.resolve()


def mpi(name: str) -> Installation:
    return Installation(name, "5.0.10", Path("/opt/mpi/bin/mpirun"), None)


@pytest.mark.parametrize("name", KINDS)
def test_beowire__the_provider_is_found_and_chosen(name: str, provider: Path) -> None:
    told = variables(mpi(name), "beowire")
    assert told["FI_PROVIDER_PATH"] == str(provider)
    assert "beowire" in told.values()


@pytest.mark.parametrize("name", KINDS)
def test_tcp__knows_nothing_of_us(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BEOWIRE_ENGINE_DIR", "/nowhere")
    told = variables(mpi(name), "tcp")
    assert "beowire" not in " ".join(told.values())
    assert "tcp" in ",".join(told.values())


@pytest.mark.parametrize("name", ["openmpi4", "openmpi5"])
def test_open_mpi__takes_no_other_way(name: str) -> None:
    told = variables(mpi(name), "beowire")
    assert (told["OMPI_MCA_pml"], told["OMPI_MCA_mtl"]) == ("cm", "ofi")
    # Its launcher hands over no others.
    places = ["FI_PROVIDER_PATH", "LD_LIBRARY_PATH"]
    assert told["OMPI_MCA_mca_base_env_list"] == ";".join(places)
    assert all(word.startswith("OMPI_") or word in places for word in told)


@pytest.mark.parametrize("name", ["openmpi4", "openmpi5", "mpich"])
def test_libfabric__ours_in_front_over_beowire_alone(
    name: str, provider: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = f"{provider}/direct"
    assert variables(mpi(name), "beowire")["LD_LIBRARY_PATH"] == ours
    assert "LD_LIBRARY_PATH" not in variables(mpi(name), "tcp")
    # What the user has stays, once is enough, and TCP takes the system's again.
    for known in ("/mine:/its", f"{ours}:/mine:/its"):
        monkeypatch.setenv("LD_LIBRARY_PATH", known)
        assert variables(mpi(name), "beowire")["LD_LIBRARY_PATH"] == f"{ours}:/mine:/its"
    assert variables(mpi(name), "tcp")["LD_LIBRARY_PATH"] == "/mine:/its"


@pytest.mark.parametrize(("name", "folder"), [("openmpi5", "openmpi"), ("mpich", "mpich")])
def test_libfabric__one_beside_the_mpi_stays(
    name: str, folder: str, provider: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "lib" / folder / "libfabric.so.1"
    own.parent.mkdir(parents=True)
    own.touch()
    wheel = replace(mpi(name), launcher=tmp_path / "bin" / "mpirun")
    told = variables(wheel, "beowire")
    # Open MPI ends if what it is to hand over is not set.
    assert "LD_LIBRARY_PATH" not in [*told, *told.get("OMPI_MCA_mca_base_env_list", "").split(";")]
    monkeypatch.setenv("LD_LIBRARY_PATH", f"{provider}/direct:/mine")
    assert variables(wheel, "beowire")["LD_LIBRARY_PATH"] == "/mine"


def test_open_mpi_4__is_not_asked_for_atomic_operations_that_end_it() -> None:
    assert variables(mpi("openmpi4"), "beowire")["OMPI_MCA_osc_rdma_acc_use_amo"] == "0"
    assert not any("osc_rdma" in name for name in variables(mpi("openmpi5"), "beowire"))


@pytest.mark.parametrize("over", ["beowire", "tcp"])
def test_open_mpi_4__has_windows_between_hosts__unless_the_user_chooses(
    over: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OMPI_MCA_osc", raising=False)
    assert variables(mpi("openmpi4"), over)["OMPI_MCA_osc"] == "^ucx"
    assert "OMPI_MCA_osc" not in variables(mpi("openmpi5"), over)
    monkeypatch.setenv("OMPI_MCA_osc", "rdma")
    assert variables(mpi("openmpi4"), over)["OMPI_MCA_osc"] == "rdma"


def test_open_mpi_5__has_windows_between_hosts__unless_the_user_chooses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OMPI_MCA_btl", raising=False)
    told = variables(mpi("openmpi5"), "beowire")
    assert (told["OMPI_MCA_pml"], told["OMPI_MCA_btl"]) == ("cm", "^uct,tcp")
    # pml/ob1 prepares there what osc/rdma needs, and loses against pml/cm.
    told = variables(replace(mpi("openmpi5"), version="5.0.7"), "beowire")
    assert (told["OMPI_MCA_pml"], told["OMPI_MCA_btl"]) == ("^ucx", "^uct,tcp")
    # And has MPI_Init fail if the provider cannot be used, as pml=cm does.
    assert int(told["OMPI_MCA_mpi_add_procs_cutoff"]) > 10000
    assert "OMPI_MCA_btl" not in variables(mpi("openmpi4"), "beowire")
    monkeypatch.setenv("OMPI_MCA_btl", "self,sm")
    assert variables(mpi("openmpi5"), "beowire")["OMPI_MCA_btl"] == "self,sm"


def test_mpich__lets_the_provider_choose_keys_of_memory() -> None:
    name = "MPIR_CVAR_CH4_OFI_ENABLE_MR_PROV_KEY"
    assert variables(mpi("mpich"), "beowire")[name] == "1"
    assert name not in variables(mpi("mpich"), "tcp")


def test_intel__uses_its_own_libfabric() -> None:
    for over in ("beowire", "tcp"):
        told = variables(mpi("intel"), over)
        assert (told["I_MPI_ROOT"], told["LD_LIBRARY_PATH"]) == ("/opt/mpi", "/opt/mpi/lib")


def test_intel__memory_within_a_node_is_its_own_unless_the_user_says_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("I_MPI_FABRICS", raising=False)
    assert variables(mpi("intel"), "beowire")["I_MPI_FABRICS"] == "shm:ofi"
    monkeypatch.setenv("I_MPI_FABRICS", "ofi")
    assert variables(mpi("intel"), "beowire")["I_MPI_FABRICS"] == "ofi"


def test_unknown_transport() -> None:
    with pytest.raises(BeowireError, match=r"'gamma'.*beowire, tcp"):
        variables(mpi("mpich"), "gamma")


def test_provider_not_built(provider: Path) -> None:
    (provider / "libbeowire-fi.so").unlink()
    with pytest.raises(BeowireError, match=r"provider is not built: .*libfabric-dev"):
        paths.provider_directory()
    with pytest.raises(BeowireError, match="provider is not built"):
        variables(mpi("mpich"), "beowire")


@pytest.mark.parametrize("name", KINDS)
def test_caution__of_open_mpi_over_beowire_alone(name: str) -> None:
    told = caution(mpi(name), "beowire")
    assert (told is not None) == name.startswith("openmpi")
    assert caution(mpi(name), "tcp") is None


@pytest.mark.parametrize("name", ["openmpi4", "openmpi5"])
def test_open_mpi__what_the_user_hands_over_stays(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMPI_MCA_mca_base_env_list", "OMP_NUM_THREADS;SEED=7")
    told = variables(mpi(name), "beowire")
    places = "FI_PROVIDER_PATH;LD_LIBRARY_PATH"
    assert told["OMPI_MCA_mca_base_env_list"] == f"OMP_NUM_THREADS;SEED=7;{places}"
    # What `eval` has set is not there twice the next time.
    monkeypatch.setenv("OMPI_MCA_mca_base_env_list", told["OMPI_MCA_mca_base_env_list"])
    assert variables(mpi(name), "beowire") == told


@pytest.mark.parametrize("device", ["ch4:ucx", "ch3:nemesis"])
def test_mpich__without_libfabric_cannot_use_us(device: str) -> None:
    without = replace(mpi("mpich"), device=device)
    with pytest.raises(BeowireError, match=f"is built for {device}, without libfabric"):
        variables(without, "beowire")
    for able in ("", "ch4", "ch4:ofi", "ch4:ofi,ucx"):
        variables(replace(without, device=able), "beowire")


def test_overruled__what_the_user_has_set_otherwise_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = variables(mpi("openmpi4"), "beowire")
    monkeypatch.setenv("OMPI_MCA_pml", "ob1")
    monkeypatch.setenv("OMPI_MCA_mtl", "^ofi x")
    said = overruled(told, "beowire")
    assert said is not None
    assert said.startswith("--over beowire replaces OMPI_MCA_pml=ob1 OMPI_MCA_mtl='^ofi x' of")
    assert said.endswith("-- env OMPI_MCA_pml=ob1 OMPI_MCA_mtl='^ofi x' PROGRAM")


def test_overruled__what_agrees_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in variables(mpi("intel"), "beowire").items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("LD_LIBRARY_PATH", "/opt/mine")
    assert overruled(variables(mpi("intel"), "beowire"), "beowire") is None
