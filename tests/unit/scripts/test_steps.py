# SPDX-License-Identifier: BSD-3-Clause
"""Steps run side by side; a failure is shown whole; whatever ends them leaves nothing running."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.steps import FAILED, NOT_RUN, PASSED, Runner, Step

ROOT = Path(__file__).resolve().parents[3]


def shell(name: str, script: str, *after: str) -> Step:
    return Step(name, ("sh", "-c", script), after)


def states(steps: list[Step], logs: Path, cores: int = 2) -> dict[str, str]:
    return {one.name: one.state for one in Runner(steps, cores, logs).run()}


def test_run__side_by_side(tmp_path: Path) -> None:
    for name in ("there", "back"):
        os.mkfifo(tmp_path / name)
    # Each end of a pipe is opened only when somebody opens the other.
    steps = [
        shell("a", f": >{tmp_path}/there; : <{tmp_path}/back"),
        shell("b", f": <{tmp_path}/there; : >{tmp_path}/back"),
    ]
    assert states(steps, tmp_path / "logs") == {"a": PASSED, "b": PASSED}


def test_run__one_more_than_there_are_cores(tmp_path: Path) -> None:
    # Each takes one of the two places; a third at the same time finds none.
    place = "if mkdir {0}/{1} 2>&-; then sleep 0.01; exec rmdir {0}/{1}; fi"
    busy = "; ".join(place.format(tmp_path, number) for number in (1, 2)) + "; exit 1"
    steps = [shell(str(number), busy) for number in range(8)]
    assert set(states(steps, tmp_path / "logs", cores=1).values()) == {PASSED}


def test_run__a_failure_is_shown_whole_and_keeps_back_what_needs_it(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    steps = [
        shell("bad", "echo out; echo error >&2; exit 3"),
        shell("needs bad", "true", "bad"),
        shell("needs that", "true", "needs bad"),
        shell("good", "echo silence"),
    ]
    assert states(steps, tmp_path / "logs") == {
        "bad": FAILED,
        "needs bad": NOT_RUN,
        "needs that": NOT_RUN,
        "good": PASSED,
    }
    said = capfd.readouterr().out
    assert f"out\nerror\n---- bad ended with status 3; this is in {tmp_path}/logs/bad.log\n" in said
    assert "needs bad: it needs bad\n" in said
    assert "silence" not in said
    assert (tmp_path / "logs" / "good.log").read_text() == "silence\n"


def test_run__a_need_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="step b"):
        Runner([shell("b", "true", "a")], 2, tmp_path)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_run__ended_from_outside_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    up = tmp_path / "up"
    os.mkfifo(up)
    step = (
        f"exec 3>{up}; trap 'echo tidied; exit 1' TERM;"
        " setpriv --pdeathsig TERM sh -c 'echo up >&3; exec sleep 600' & wait"
    )
    script = (
        "import sys\n"
        f"sys.path.insert(0, {str(ROOT)!r})\n"
        "from pathlib import Path\n"
        "from scripts.steps import Runner, Step\n"
        f"steps = [Step(name, ('bash', '-c', {step!r})) for name in ('one', 'two')]\n"
        f"Runner(steps, 2, Path({str(tmp_path)!r})).run()\n"
    )
    with (
        subprocess.Popen(
            [sys.executable, "-I", "-c", script], cwd=ROOT, stderr=subprocess.DEVNULL
        ) as process,
        up.open() as pipe,
    ):
        assert [pipe.readline(), pipe.readline()] == ["up\n", "up\n"]
        process.send_signal(number)
        process.wait()
        if number != signal.SIGKILL:  # it has waited for them
            for name in ("one", "two"):
                assert (tmp_path / f"{name}.log").read_text() == "tidied\n"
        assert pipe.read() == ""  # all that had it open have ended
