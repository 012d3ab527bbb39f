# SPDX-License-Identifier: BSD-3-Clause
"""`beowire run`: native programs here, in a lab, over ssh and under the launchers of MPIs."""

import signal
import subprocess
from pathlib import Path

import pytest

from system.conftest import (
    PATIENCE_S,
    ROOT,
    RunBeowire,
    assert_refused,
    processes_of,
    wait_until,
)
from system.test_examples import LAUNCHERS, OPEN_MPI

EXAMPLES = ROOT / "build" / "release" / "examples"
PINGPONG = str(EXAMPLES / "pingpong")
HEAT = str(EXAMPLES / "heat")


def test_run__here(run_beowire: RunBeowire) -> None:
    done = run_beowire("run", "-n", "2", PINGPONG)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == 5


def test_run__label_says_who_printed_it(run_beowire: RunBeowire) -> None:
    script = "echo out $PMI_RANK; echo error $PMI_RANK >&2; printf end"
    done = run_beowire("run", "-n", "3", "--label", "--", "sh", "-c", script)
    assert done.returncode == 0
    expected = sorted(f"[{n}] {line}" for n in range(3) for line in (f"out {n}", "end"))
    assert sorted(done.stdout.splitlines()) == expected
    assert sorted(done.stderr.splitlines()) == [f"[{rank}] error {rank}" for rank in range(3)]


def test_run__input_is_for_rank_0(run_beowire: RunBeowire) -> None:
    done = run_beowire("run", "-n", "2", "--label", "cat", text="hello\n")
    assert (done.returncode, done.stdout) == (0, "[0] hello\n")


@pytest.mark.parametrize("nodes", ["2", "3"])
def test_run__across_a_lab(run_beowire: RunBeowire, nodes: str) -> None:
    lab = ("--lab", "--link", "switch", "--nodes", nodes)
    done = run_beowire("run", "-n", "4", *lab, HEAT)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("4 processes, 4000 cells")


def test_run__in_a_lab_that_is_there(run_beowire: RunBeowire) -> None:
    assert run_beowire("lab", "up", "--name", "stays").returncode == 0
    try:
        done = run_beowire("run", "-n", "2", "--lab-name", "stays", "--label", "hostname")
        assert sorted(done.stdout.splitlines()) == ["[0] node0", "[1] node1"]
        done = run_beowire("run", "-n", "2", "--lab-name", "stays", PINGPONG)
        assert (done.returncode, done.stderr) == (0, "")
    finally:
        assert run_beowire("lab", "down", "--name", "stays").returncode == 0


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_run__with_the_launcher_of_an_mpi(run_beowire: RunBeowire, launcher: str) -> None:
    words = ("run", "-n", "3", "--launcher", LAUNCHERS[launcher], "--label", HEAT)
    done = run_beowire(*words, environment=OPEN_MPI)
    assert (done.returncode, done.stderr) == (0, "")
    assert "3 processes, 3000 cells" in done.stdout
    assert not done.stdout.startswith("3 ")  # labelled, each in its way


def test_run__rank_that_fails_ends_the_others(run_beowire: RunBeowire) -> None:
    script = "[ $PMI_RANK = 1 ] && exit 5; exec sleep 600"
    assert_refused(
        run_beowire("run", "-n", "3", "--", "sh", "-c", script),
        "rank 1 ended with status 5",
        code=5,
    )


def test_run__rank_that_is_killed_ends_the_others(run_beowire: RunBeowire) -> None:
    script = "[ $PMI_RANK = 1 ] && kill -9 $$; exec sleep 600"
    assert_refused(
        run_beowire("run", "-n", "2", "--lab", "--", "sh", "-c", script),
        "rank 1 on node1 was ended by SIGKILL",
        code=137,
    )


def test_run__ranks_that_do_not_heed_sigterm(run_beowire: RunBeowire) -> None:
    script = "[ $PMI_RANK = 1 ] && exit 1; trap '' TERM; sleep 600; sleep 600"
    assert_refused(run_beowire("run", "-n", "2", "--", "sh", "-c", script), "rank 1", code=1)


def test_run__rank_that_does_not_meet_the_others(run_beowire: RunBeowire) -> None:
    script = f"[ $PMI_RANK = 1 ] && exit 0; exec {HEAT}"
    assert_refused(
        run_beowire("run", "-n", "2", "--", "sh", "-c", script),
        "rank 1 ended, but rank 0 waits for it",
        code=1,
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_run__ended_from_outside(leftovers: str, number: signal.Signals) -> None:
    with subprocess.Popen(
        [str(ROOT / "beowire"), "run", "-n", "2", "sleep", "600"], stderr=subprocess.DEVNULL
    ) as process:
        try:
            assert wait_until(
                lambda: sum("/sleep 600" in line for line in processes_of(leftovers)) == 2
            )
        except BaseException:
            process.kill()
            raise
        process.send_signal(number)
        assert process.wait(PATIENCE_S) == (-number if number == signal.SIGKILL else 130)
    # That no process is left is seen by the fixture.


def test_run__refused(run_beowire: RunBeowire, tmp_path: Path) -> None:
    assert_refused(run_beowire("run", "-n", "2", "no-such"), "no program no-such", code=127)
    (tmp_path / "data").touch()
    assert_refused(run_beowire("run", str(tmp_path / "data")), "it is no program", code=126)
    assert_refused(
        run_beowire("run", "--launcher", "no-mpiexec", "true"), "there is no launcher no-mpiexec"
    )
    assert_refused(run_beowire("run", "--lab-name", "none", "true"), "there is no lab named none")
    done = run_beowire("run", "--launcher", "mpiexec.hydra", "false")
    assert done.returncode != 0
    assert "mpiexec.hydra ended with status" in done.stderr.splitlines()[-1]
