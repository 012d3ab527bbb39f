# SPDX-License-Identifier: BSD-3-Clause
"""Nodes of a Slurm allocation, as `scontrol` and `srun` know them."""

from pathlib import Path

import pytest

from beowire.errors import BeowireError
from beowire.launch import slurm
from beowire.mpi.installation import Installation
from beowire.mpi.places import SlurmPlace
from beowire.mpi.ways import Way


@pytest.fixture(name="slurms")
def make_slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Programs of Slurm's names: `scontrol` names what the file `nodes` has, `srun` says how it was
    called."""
    (tmp_path / "nodes").write_text("alpha\nbeta\ngamma\n")
    for name, text in (
        ("scontrol", f'[ "$*" = "show hostnames al[pha]" ] && cat {tmp_path}/nodes'),
        ("srun", 'echo "$@"; cat'),
    ):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "engine").mkdir()
    (tmp_path / "engine" / "beowire-engine").touch()
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("SLURM_JOB_NODELIST", "al[pha]")
    monkeypatch.setenv("BEOWIRE_ENGINE_DIR", str(tmp_path / "engine"))
    monkeypatch.setattr(
        "beowire.launch.slurm.socket.gethostbyname", lambda name: f"10.0.0.{len(name)}"
    )
    return tmp_path


@pytest.mark.usefixtures("slurms")
def test_nodes__are_those_of_the_allocation() -> None:
    with slurm.SlurmLauncher("eth1") as launcher:
        assert [node.name for node in launcher.nodes] == ["alpha", "beta", "gamma"]
        assert [node.reach for node in launcher.nodes] == ["10.0.0.5", "10.0.0.4", "10.0.0.5"]
        assert {node.interface for node in launcher.nodes} == {"eth1"}
        assert launcher.describe_link() == {"kind": "hosts"}


def test_nodes__whose_names_mean_nothing_are_where_slurm_reaches_them(
    slurms: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look_up(name: str) -> str:
        if not name.startswith("10."):
            raise OSError(0, "unknown")
        return name

    (slurms / "scontrol").write_text(
        "#!/bin/sh\ncase $2 in hostnames) echo alpha beta;; *) echo NodeName=$3 NodeAddr=10.0.1.7;;"
        " esac\n"
    )
    monkeypatch.setattr("beowire.launch.slurm.socket.gethostbyname", look_up)
    with slurm.SlurmLauncher() as launcher:
        assert [node.reach for node in launcher.nodes] == ["10.0.1.7"] * 2


@pytest.mark.usefixtures("slurms")
def test_start__is_a_step_on_that_node() -> None:
    with (
        slurm.SlurmLauncher() as launcher,
        launcher.start(launcher.nodes[1], cpu="auto") as process,
    ):
        said, _ = process.communicate(b"in\n", timeout=60)
    words, rest = said.decode().split("\n", 1)
    assert "--nodelist=beta" in words and "--overlap" in words
    assert words.endswith("beowire-engine --cpu auto")
    assert rest == "in\n"


def test_nodes__one_is_too_few(slurms: Path) -> None:
    (slurms / "nodes").write_text("alpha\n")
    with pytest.raises(BeowireError, match="has one node: ask for two"), slurm.SlurmLauncher():
        pass


def test_nodes__slurm_does_not_answer(slurms: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (slurms / "scontrol").write_text("#!/bin/sh\necho 'error: Invalid job id' >&2; exit 1\n")
    with pytest.raises(BeowireError, match="allocation's nodes: error: Invalid job id"):
        slurm.node_names()
    (slurms / "scontrol").unlink()
    monkeypatch.setenv("PATH", str(slurms))
    with pytest.raises(BeowireError, match="cannot ask Slurm for the allocation's nodes"):
        slurm.node_names()


@pytest.mark.usefixtures("slurms")
def test_place__launchers_find_the_nodes_by_themselves() -> None:
    with slurm.SlurmLauncher("eth1") as launcher:
        place = SlurmPlace(launcher)
        mpi = Installation("openmpi4", "4.1.4", Path("/usr/bin/mpirun"), None)
        way = Way("beowire", {"FI_PROVIDER_PATH": "/p"})
        with place.prepared(mpi, way, 6, ["./a"], []) as (command, environment):
            assert command == [
                *("/usr/bin/mpirun", "-n", "6", "--map-by", "ppr:2:node:OVERSUBSCRIBE", "./a")
            ]
            assert environment["FI_BEOWIRE_INTERFACE"] == "eth1"
            assert "FI_PROVIDER_PATH" in environment["OMPI_MCA_mca_base_env_list"]
        one = Way("shm", {}, one_node=True)
        mpich = Installation("mpich", "5", Path("/usr/bin/mpiexec"), None)
        with place.prepared(mpich, one, 2, ["./a"], []) as (command, _):
            assert command == ["/usr/bin/mpiexec", "-n", "2", "-ppn", "2", "./a"]
