# SPDX-License-Identifier: BSD-3-Clause
"""Nodes of a Slurm allocation, as `scontrol` and `srun` know them.

(tests/system/test_slurm.py has a real Slurm.)
"""

import os
import shutil
import signal
import stat
from pathlib import Path

import pytest

from beowire.errors import BeowireError
from beowire.places.launch import slurm
from beowire.places.mpi.installation import Installation
from beowire.places.mpi.places import SlurmPlace, place_of
from beowire.places.mpi.ways import Way

#: Runs the step here, with a home for each node; says how it was called.
SRUN = """
echo "$@" >>{here}/calls
while [ "${{1#--}}" != "$1" ]; do
    case $1 in --nodelist=*) HOME={here}/home-${{1#--nodelist=}} ;; esac
    shift
done
export HOME
exec "$@"
"""

#: Ends as one does that is given nothing to read, else repeats what it was given.
ENGINE = '[ $# -gt 0 ] || exit 3; echo "$@"; exec cat'


@pytest.fixture(name="slurms")
def make_slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Programs of Slurm's names: `scontrol` names what the file `nodes` has, `srun` runs its
    command here."""
    (tmp_path / "nodes").write_text("alpha\nbeta\ngamma\n")
    (tmp_path / "engine" / "drivers").mkdir(parents=True)
    for name, text in (
        ("scontrol", f'[ "$*" = "show hostnames al[pha]" ] && cat {tmp_path}/nodes'),
        ("srun", SRUN.format(here=tmp_path)),
        ("engine/beowire-engine", ENGINE),
    ):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("SLURM_JOB_NODELIST", "al[pha]")
    monkeypatch.setenv("BEOWIRE_ENGINE_DIR", str(tmp_path / "engine"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "no-such"))
    monkeypatch.setattr(
        "beowire.places.launch.slurm.socket.gethostbyname", lambda name: f"10.0.0.{len(name)}"
    )
    return tmp_path


def engines(slurms: Path, node: str) -> list[Path]:
    return list((slurms / f"home-{node}" / ".cache" / "beowire").glob("*/beowire-engine"))


def test_nodes__are_those_of_the_allocation(slurms: Path) -> None:
    with slurm.SlurmLauncher("eth1") as launcher:
        assert [node.name for node in launcher.nodes] == ["alpha", "beta", "gamma"]
        assert [node.reach for node in launcher.nodes] == ["10.0.0.5", "10.0.0.4", "10.0.0.5"]
        assert {node.interface for node in launcher.nodes} == {"eth1"}
        assert launcher.describe_link() == {"kind": "hosts"}
    waits = (slurms / "calls").read_text().splitlines()[-1]
    assert waits.endswith("--nodelist=alpha,beta,gamma cat")


def test_nodes__whose_names_mean_nothing_are_where_slurm_reaches_them(
    slurms: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look_up(name: str) -> str:
        if name == "beta":
            return "127.0.1.1"
        if not name.startswith("10."):
            raise OSError(0, "unknown")
        return name

    (slurms / "scontrol").write_text(
        "#!/bin/sh\ncase $2 in hostnames) echo alpha beta;; *) echo NodeName=$3 NodeAddr=10.0.1.7;;"
        " esac\n"
    )
    monkeypatch.setattr("beowire.places.launch.slurm.socket.gethostbyname", look_up)
    with slurm.SlurmLauncher() as launcher:
        assert [node.reach for node in launcher.nodes] == ["10.0.1.7"] * 2


def test_enter__brings_the_engine_to_the_nodes_that_measure(slurms: Path) -> None:
    with slurm.SlurmLauncher():
        assert [len(engines(slurms, node)) for node in ("alpha", "beta", "gamma")] == [1, 1, 0]
    (first,) = engines(slurms, "beta")
    inode = first.stat().st_ino
    with slurm.SlurmLauncher(many=True):
        assert len(engines(slurms, "gamma")) == 1
        assert engines(slurms, "beta") == [first]
        assert first.stat().st_ino == inode


def test_enter__below_the_temporary_directory_where_there_is_no_home(
    slurms: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (slurms / "home-beta").write_text("in the way")
    monkeypatch.setenv("TMPDIR", str(slurms))
    for _ in range(2):  # and found again
        with slurm.SlurmLauncher() as launcher, launcher.start(launcher.nodes[1]) as process:
            process.communicate(timeout=60)
            assert process.returncode == 0
        (copy,) = slurms.glob(f"beowire-engine-{os.getuid()}.*")
        assert len(list(copy.glob("*/beowire-engine"))) == 1
        assert stat.S_IMODE(copy.stat().st_mode) == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="gives directories to another user")
def test_enter__names_that_others_have_taken_below_the_temporary_directory(
    slurms: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A link that leads elsewhere once it has been looked at, a directory, a file."""
    (slurms / "home-beta").write_text("in the way")
    monkeypatch.setenv("TMPDIR", str(slurms))
    ours = slurms / "ours"
    ours.mkdir(mode=0o700)
    named = slurms / f"beowire-engine-{os.getuid()}"
    links = [named, *(named.with_name(f"{named.name}.{end}") for end in ("aaaaaaaa", "ZZZZZZZZ"))]
    for link in links:
        link.symlink_to(ours)
        os.chown(link, 65534, 65534, follow_symlinks=False)
    (slurms / f"{named.name}.dir").mkdir()
    os.chown(slurms / f"{named.name}.dir", 65534, 65534)
    (slurms / f"{named.name}.file").write_text("in the way")
    with slurm.SlurmLauncher() as launcher:
        theirs = slurms / "theirs"
        shutil.copytree(ours, theirs)
        for copy in theirs.glob("*/beowire-engine"):
            copy.write_text(f"#!/bin/sh\ntouch {slurms}/stolen\n")
        for link in links:
            link.unlink()
            link.symlink_to(theirs)
        with launcher.start(launcher.nodes[1]) as process:
            process.communicate(timeout=60)
        assert process.returncode == 0
    assert not (slurms / "stolen").exists()
    assert list(ours.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="gives directories to another user")
def test_enter__a_node_that_can_write_nowhere(
    slurms: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (slurms / "home-beta").write_text("in the way")
    shared = slurms / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    monkeypatch.setenv("TMPDIR", str(shared))
    with pytest.raises(BeowireError, match=r"^beta: .*shared belongs to another user") as raised:
        slurm.SlurmLauncher().__enter__()
    assert "\n" not in str(raised.value)


def test_enter__a_job_that_is_over(slurms: Path) -> None:
    (slurms / "srun").write_text(
        "#!/bin/sh\n"
        "echo 'srun: error: Unable to confirm allocation for job 7: Invalid job id' >&2\n"
        "echo 'srun: Check SLURM_JOB_ID environment variable.' >&2; exit 1\n"
    )
    said = (
        "alpha: srun starts nothing there: Unable to confirm allocation for job 7: Invalid job id"
    )
    with pytest.raises(BeowireError, match=said):
        slurm.SlurmLauncher().__enter__()


@pytest.mark.usefixtures("slurms")
def test_start__is_a_step_on_that_node(slurms: Path) -> None:
    with (
        slurm.SlurmLauncher() as launcher,
        launcher.start(launcher.nodes[1]) as process,
    ):
        said, _ = process.communicate(b"in\n", timeout=60)
        calls = (slurms / "calls").read_text().splitlines()
    assert said == launcher.marker + b"\n--cpu auto\nin\n"
    # The step that waits for the job's end is started first, and may note it last.
    (call,) = [one for one in calls if one.endswith("--cpu auto")]
    assert "--nodelist=beta " in call
    assert "--overlap" in call


def test_exit__ends_the_step_that_waits(slurms: Path) -> None:
    launcher = slurm.SlurmLauncher()
    with launcher:
        waiting = launcher._waiting
        assert waiting is not None
        assert waiting.poll() is None
    assert waiting.returncode == 0
    assert "cat" in (slurms / "calls").read_text()


@pytest.mark.usefixtures("slurms")
def test_watch__the_end_of_the_job_is_the_end_of_the_measurement(
    capfd: pytest.CaptureFixture[str],
) -> None:
    arrived: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: arrived.append(number))
    try:
        launcher = slurm.SlurmLauncher()
        with launcher:
            assert launcher._waiting is not None
            assert launcher._watch is not None
            launcher._waiting.kill()
            launcher._watch._thread.join(10)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert arrived == [signal.SIGTERM]
    assert "Slurm has ended the job's steps" in capfd.readouterr().err


def test_nodes__one_is_too_few(slurms: Path) -> None:
    (slurms / "nodes").write_text("alpha\n")
    with pytest.raises(BeowireError, match="has one node: ask for two"), slurm.SlurmLauncher():
        pass


@pytest.mark.usefixtures("slurms")
def test_nodes__no_allocation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLURM_JOB_ID")
    with pytest.raises(BeowireError, match=r"not in a Slurm allocation: .*salloc -N 2"):
        slurm.SlurmLauncher().__enter__()


def test_nodes__slurm_is_not_here(slurms: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (slurms / "srun").unlink()
    monkeypatch.setenv("PATH", str(slurms))
    with pytest.raises(BeowireError, match=r"srun is missing: .*slurm-client"):
        slurm.SlurmLauncher().__enter__()


def test_nodes__slurm_does_not_answer(slurms: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (slurms / "scontrol").write_text("#!/bin/sh\necho 'error: Invalid job id' >&2; exit 1\n")
    with pytest.raises(BeowireError, match="allocation's nodes: error: Invalid job id"):
        slurm.node_names()
    (slurms / "scontrol").unlink()
    monkeypatch.setenv("PATH", str(slurms))
    with pytest.raises(BeowireError, match="cannot ask Slurm for the allocation's nodes"):
        slurm.node_names()


@pytest.mark.parametrize(
    ("nodes", "task", "expected"),
    [("2", "0", (True, False)), ("2", "1", (True, True)), ("1", "1", (False, False))],
)
def test_is_step__its_first_task_measures(
    monkeypatch: pytest.MonkeyPatch, nodes: str, task: str, expected: tuple[bool, bool]
) -> None:
    monkeypatch.setenv("SLURM_STEP_NUM_NODES", nodes)
    monkeypatch.setenv("SLURM_PROCID", task)
    assert (slurm.is_step(), slurm.is_another_task()) == expected


@pytest.mark.usefixtures("slurms")
def test_place__launchers_find_the_nodes_by_themselves() -> None:
    with slurm.SlurmLauncher("eth1") as launcher:
        assert isinstance(place_of(launcher), SlurmPlace)
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
