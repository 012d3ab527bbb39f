# SPDX-License-Identifier: BSD-3-Clause
"""What is started, and what its end means."""

import os
import subprocess
from pathlib import Path

import pytest

from beowire.apps import hpl
from beowire.apps.bounded import Ended
from beowire.apps.catalogue import App, npb_app, user_app
from beowire.apps.programs import Program, make
from beowire.errors import BeowireError
from beowire.places.mpi.installation import Installation

OWN = (
    '{"seconds":0.5,"figure":10.0,"unit":"MOP/s","verified":%s,"check":"zeta is 3",'
    '"communication_share":0.1}\n'
)
CG = Program(App("cg", ""), ["/x/cg", "--class", "S"])


def ended(status: int = 0, output: str = "", errors: str = "", stopped: str = "") -> Ended:
    return Ended(status, output, errors, 1.5, stopped)


def test_read__a_result(tmp_path: Path) -> None:
    found = CG.read(ended(output=OWN % "true"), tmp_path)
    assert found.status == "ok"
    assert found.said is not None
    assert found.said.figure == 10.0


def test_read__not_verified(tmp_path: Path) -> None:
    found = CG.read(ended(1, OWN % "false"), tmp_path)
    assert found.status == "not verified: zeta is 3"
    assert found.said is not None
    assert not found.said.verified


def test_read__refused(tmp_path: Path) -> None:
    found = CG.read(ended(2, errors="cg: this class is too small\n"), tmp_path)
    assert (found.status, found.said) == ("this class is too small", None)


def test_read__verified_but_ended_badly(tmp_path: Path) -> None:
    assert CG.read(ended(134, OWN % "true", "MPI_Finalize failed\n"), tmp_path).status == (
        "MPI_Finalize failed"
    )


def test_read__nothing_said(tmp_path: Path) -> None:
    assert CG.read(ended(), tmp_path).status == "it printed no result"
    assert CG.read(ended(9), tmp_path).status == "it ended with status 9 and printed no reason"


def test_read__stopped(tmp_path: Path) -> None:
    assert CG.read(ended(143, OWN % "true", stopped="it hangs"), tmp_path).status == "it hangs"


def test_read__the_time_of_a_users_program(tmp_path: Path) -> None:
    program = make(
        user_app(["./mine", "1"]), MPI, letter="S", ranks=2, tree=None, words=["./mine", "1"]
    )
    assert program.command(tmp_path) == ["./mine", "1"]
    found = program.read(ended(), tmp_path)
    assert found.said is not None
    assert (found.status, found.said.figure, found.said.unit) == ("ok", 1.5, "s")
    assert program.read(ended(3, errors="no data\n"), tmp_path).status == "no data"


MPI = Installation("openmpi4", "4.1.4", Path("/usr/bin/mpirun"), Path("/usr/bin/mpicc"))


def test_make__npb_without_a_tree() -> None:
    with pytest.raises(BeowireError, match="--npb DIR"):
        make(npb_app("cg"), MPI, letter="S", ranks=2, tree=None, words=[])


def test_npb__writes_nothing_where_the_user_is(tmp_path: Path) -> None:
    app = npb_app("ft")
    command = Program(app, ["sh", "-c", "touch left-behind; pwd"]).command(tmp_path)
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd="/")
    assert Path(done.stdout.strip()) == tmp_path
    assert (tmp_path / "left-behind").exists()


@pytest.mark.parametrize("there", ["missing", "another user's"])
def test_npb__on_another_host_in_a_directory_that_is_nobody_elses(
    tmp_path: Path, there: str
) -> None:
    scratch, temporary = tmp_path / "scratch", tmp_path / "temporary"
    temporary.mkdir()
    if there != "missing":
        if os.geteuid() != 0:
            pytest.skip("gives directories to another user")
        scratch.mkdir()
        os.chown(scratch, 65534, 65534)
    words = ["sh", "-c", "pwd; stat -c %a .; touch left; cat; exit 7"]
    command = Program(npb_app("ft"), words).command(scratch)
    environment = {**os.environ, "TMPDIR": str(temporary)}
    done = subprocess.run(
        command, input=b"read", capture_output=True, check=False, env=environment, cwd="/"
    )
    place, mode, read = done.stdout.decode().split("\n")
    assert (Path(place).parent, mode, read, done.returncode) == (temporary, "700", "read", 7)
    assert list(temporary.iterdir()) == []


def test_npb__told_to_end__takes_its_directory_away(tmp_path: Path) -> None:
    words = ["sh", "-c", "trap 'exit 9' TERM; echo ready; while :; do sleep 0.01; done"]
    command = Program(npb_app("ft"), words).command(tmp_path / "missing")
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.terminate()
        assert process.wait(60) == 9
    assert list(tmp_path.iterdir()) == []


def test_hpcc__has_a_directory_of_its_own(tmp_path: Path) -> None:
    app = App("hpl", "", kind="hpl", arguments=("crout",))
    program = Program(app, ["hpcc"], [], hpl.input_file("S", 2, "crout"))
    assert program.command(tmp_path)[-2:] == [str(tmp_path), "hpcc"]
    assert (tmp_path / "hpccinf.txt").read_text().startswith("HPLinpack")
    assert program.read(ended(), tmp_path).status == "it wrote no hpccoutf.txt"


@pytest.mark.parametrize(("ranks", "grid"), [(1, "1\n1"), (2, "1\n2"), (8, "2\n4"), (12, "3\n4")])
def test_hpl_input__grid_uses_all_ranks(ranks: int, grid: str) -> None:
    lines = hpl.input_file("W", ranks, "left").splitlines()
    assert "\n".join(lines[10:12]) == grid
    assert lines[5] == "1000"


def test_hpl_program__of_another_mpi(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _name: "/usr/bin/hpcc")
    with pytest.raises(BeowireError, match="built for openmpi4"):
        hpl.program(Installation("mpich", "5", Path("/x/mpiexec"), None))
    monkeypatch.setattr("shutil.which", lambda _name: None)
    with pytest.raises(BeowireError, match="install Debian's package hpcc"):
        hpl.program(None)
