# SPDX-License-Identifier: BSD-3-Clause
"""Where ranks run."""

import os
import subprocess
from pathlib import Path

import pytest

from beowire.errors import BeowireError
from beowire.places.launch.ssh import SshLauncher
from beowire.places.mpi.installation import Installation
from beowire.places.mpi.places import HostsPlace, pinned
from beowire.places.mpi.ways import Way


@pytest.mark.parametrize("variable", ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"])
def test_pinned__each_rank_on_the_core_of_its_number(variable: str) -> None:
    core = max(os.sched_getaffinity(0))
    command = pinned(["sh", "-c", 'taskset -cp $$; echo "$1"', "x", "a b"], [0, core])
    environment = {"PATH": os.environ["PATH"], variable: "1", "LC_ALL": "C"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[0].endswith(f": {core}")
    assert done.stdout.splitlines()[1] == "a b"


def test_hosts__are_reached_as_the_user_writes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    place = HostsPlace(SshLauncher("me@alpha,beta", ["Port=2222"], "eth1"))
    mpi = Installation("mpich", "5", Path("/usr/bin/mpiexec"), None)
    with place.prepared(mpi, Way("tcp", {}), 4, ["./program"], []) as (command, _):
        hosts = Path(command[command.index("-f") + 1])
        assert hosts.read_text() == "alpha:2\nbeta:2\n"
        agent = (hosts.parent / "agent").read_text()
        assert "alpha) host=me@alpha" in agent
        assert "-o Port=2222" in agent
        assert command[-1] == "./program"
    assert not hosts.exists()


def test_hosts__open_mpi_is_told_ssh_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its daemons on other hosts look for what reaches them, and have no file of ours."""
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    place = HostsPlace(SshLauncher("me@alpha,beta", ["Port=2222"], "eth1"))
    mpi = Installation("openmpi4", "4.1.4", Path("/usr/bin/mpirun"), None)
    way = Way("tcp", {"OMPI_MCA_pml": "ob1"})
    with place.prepared(mpi, way, 4, ["./program"], []) as (command, environment):
        hosts = Path(command[command.index("--hostfile") + 1])
        assert hosts.read_text() == "me@alpha slots=2\nbeta slots=2\n"
        words = command[command.index("plm_rsh_agent") + 1].split()
        assert (words[0], words[-2:]) == ("ssh", ["-o", "Port=2222"])
        assert environment["OMPI_MCA_btl_tcp_if_include"] == "eth1"
    place = HostsPlace(SshLauncher("alpha,beta", ["ProxyCommand=ssh gate nc %h 22"]))
    with (
        pytest.raises(BeowireError, match=r"put it into ~/.ssh/config"),
        place.prepared(mpi, way, 4, ["./program"], []),
    ):
        pass


@pytest.mark.parametrize(("transports", "named"), [("tcp,self", "eth1"), ("shm,self", None)])
def test_hosts__ucx_goes_over_the_interface_only(
    monkeypatch: pytest.MonkeyPatch, transports: str, named: str | None
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    monkeypatch.delenv("UCX_NET_DEVICES", raising=False)
    place = HostsPlace(SshLauncher("alpha,beta", [], "eth1"))
    mpi = Installation("openmpi4", "4.1.4", Path("/usr/bin/oshrun"), None, "shmem")
    way = Way("tcp", {"UCX_TLS": transports})
    with place.prepared(mpi, way, 2, ["./program"], []) as (_, environment):
        assert environment.get("UCX_NET_DEVICES") == named
        handed_over = environment["OMPI_MCA_mca_base_env_list"].split(";")
        assert ("UCX_NET_DEVICES" in handed_over, "UCX_TLS" in handed_over) == (bool(named), True)


def test_hosts__a_program_is_brought_past_links_that_others_have_put_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program, own = tmp_path / "program", tmp_path / "own"
    program.write_bytes(b"right")
    own.write_bytes(b"own")
    (tmp_path / "program.new").symlink_to(own)

    def run(_: object, __: str, script: str, data: bytes = b"") -> str:
        if "cmp" in script:
            program.write_bytes(b"wrong")
        # As of BusyBox before 1.34.
        script = f'mv() {{ case $1 in -*T*) exit 9 ;; esac; command mv "$@"; }}; {script}'
        done = subprocess.run(["sh", "-c", script], input=data, capture_output=True, check=True)
        return done.stdout.decode()

    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr("beowire.places.launch.ssh.SshHosts.run", run)
    place = HostsPlace(SshLauncher("alpha,beta"))
    mpi = Installation("mpich", "5", Path("/usr/bin/mpiexec.hydra"), None)
    with place.prepared(mpi, Way("tcp", {}), 2, ["x"], [program]):
        pass
    assert (program.read_bytes(), own.read_bytes()) == (b"right", b"own")
    assert os.access(program, os.X_OK)
    assert {path.name for path in tmp_path.iterdir()} == {"program", "own", "program.new"}


@pytest.mark.skipif(os.geteuid() != 0, reason="gives directories to another user")
@pytest.mark.parametrize("there", ["missing", "same"])
def test_hosts__no_program_is_brought_to_a_directory_of_another_user(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, there: str
) -> None:
    """Its directory is ours here, and there somebody else's, who could exchange it."""
    folder = tmp_path / "folder"
    folder.mkdir()
    program = folder / "program"
    program.write_bytes(b"right")

    def run(_: object, name: str, script: str, data: bytes = b"") -> str:
        os.chown(folder, 65534, 65534)
        if there == "missing":
            program.unlink(missing_ok=True)
        done = subprocess.run(["sh", "-c", script], input=data, capture_output=True, check=False)
        if done.returncode != 0:
            raise BeowireError(f"{name}: {done.stderr.decode().strip()}")
        return done.stdout.decode()

    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr("beowire.places.launch.ssh.SshHosts.run", run)
    place = HostsPlace(SshLauncher("alpha,beta"))
    mpi = Installation("mpich", "5", Path("/usr/bin/mpiexec.hydra"), None)
    with (
        pytest.raises(
            BeowireError, match=f"^alpha: {folder} belongs to another user there"
        ) as told,
        place.prepared(mpi, Way("tcp", {}), 2, ["x"], [program]),
    ):
        pass
    assert "\n" not in str(told.value)
    assert program.exists() == (there == "same")


@pytest.mark.skipif(os.geteuid() != 0, reason="gives files to another user")
def test_hosts__a_program_below_a_directory_of_everybody(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As /tmp is. What somebody else could change is replaced there, though it is the same now."""
    tmp_path.chmod(0o1777)
    program = tmp_path / "program"
    program.write_bytes(b"right")
    owners = []

    def run(_: object, __: str, script: str, data: bytes = b"") -> str:
        owners.append(program.stat().st_uid)
        if len(owners) == 1:
            os.chown(program, 65534, 65534)
        done = subprocess.run(["sh", "-c", script], input=data, capture_output=True, check=True)
        return done.stdout.decode()

    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr("beowire.places.launch.ssh.SshHosts.run", run)
    place = HostsPlace(SshLauncher("alpha,beta"))
    mpi = Installation("mpich", "5", Path("/usr/bin/mpiexec.hydra"), None)
    with place.prepared(mpi, Way("tcp", {}), 1, ["x"], [program]):
        pass
    assert (owners, program.stat().st_uid) == ([0, 65534], 0)


def test_hosts__nothing_is_put_into_a_directory_of_the_programs_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "program"
    program.write_bytes(b"right")

    def run(_: object, __: str, script: str, data: bytes = b"") -> str:
        if "mktemp" not in script:
            program.unlink()
            program.mkdir()
        done = subprocess.run(["sh", "-c", script], input=data, capture_output=True, check=False)
        if "mktemp" in script and done.returncode != 0:
            raise BeowireError(done.stderr.decode())
        return done.stdout.decode()

    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr("beowire.places.launch.ssh.SshHosts.run", run)
    mpi = Installation("mpich", "5", Path("/usr/bin/mpiexec.hydra"), None)
    place = HostsPlace(SshLauncher("alpha,beta"))
    with (
        pytest.raises(BeowireError, match="directory"),
        place.prepared(mpi, Way("tcp", {}), 2, ["x"], [program]),
    ):
        pass
    assert list(tmp_path.iterdir()) == [program] and not list(program.iterdir())


def test_hosts__memory_is_that_of_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    place = HostsPlace(SshLauncher("alpha,beta"))
    mpi = Installation("mpich", "5", Path("/usr/bin/mpiexec.hydra"), None)
    with place.prepared(mpi, Way("shm", {}, one_node=True), 2, ["x"], []) as (command, _):
        assert Path(command[command.index("-f") + 1]).read_text() == "alpha:2\n"
        assert "-localhost" not in command
