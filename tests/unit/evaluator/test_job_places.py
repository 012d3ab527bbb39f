# SPDX-License-Identifier: BSD-3-Clause
import os
import subprocess
import sys
from pathlib import Path

import pytest

from beowire.errors import BeowireError
from beowire.places.job.places import HerePlace, Task, _remote_command, _remote_script


def task(*command: str, rank: int = 1) -> Task:
    return Task(rank, 3, command, {"BEOWIRE_INTERFACE": "e0"}, piped=True)


def test_here__the_process_learns_who_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PMIX_RANK", "9")  # of another job
    program = (
        "import os; e = os.environ.get;"
        "print(e('PMI_RANK'), e('PMI_SIZE'), e('BEOWIRE_INTERFACE'), e('PMIX_RANK'));"
        "os.write(int(e('PMI_FD')), b'x')"
    )
    started = HerePlace().start(task(sys.executable, "-c", program))
    with started.channel:
        out, _ = started.process.communicate(timeout=60)
        assert out == b"1 3 e0 None\n"
        assert started.channel.recv(10) == b"x"
        assert started.channel.recv(10) == b""  # this program keeps no end of it


def run_script(script: str) -> "subprocess.CompletedProcess[str]":
    """As the far end of ssh runs it. Its input ends at once where there is none."""
    return subprocess.run(
        ["sh", "-c", _remote_command("/nonexistent")],
        input=script + "\n",
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_remote_script__words_arrive_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BEOWIRE_LANES", "udp' ; false")
    words = ["a b", "$HOME", "it's", "", "!x", "*", 'q"q', "back\\slash"]
    script = _remote_script(task("printf", "[%s]\\n", *words), "/nonexistent")
    # With its input held open, or the watcher would end the program.
    with subprocess.Popen(
        ["sh", "-c", _remote_command("/nonexistent")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(script + "\n")
        process.stdin.flush()
        assert process.stdout.read().splitlines() == [f"[{word}]" for word in words]
        assert process.wait(60) == 0
    assert "BEOWIRE_JOB_SOCKET=/nonexistent" in script
    assert "PMI_RANK=1" in script


def test_remote_script__ends_with_the_connection_and_leaves_no_socket(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    path.touch()
    done = run_script(_remote_script(task("sleep", "600"), str(path)))
    assert done.returncode == 128 + 15
    assert not path.exists()


def test_remote_script__nobody_hears_that_the_program_was_ended(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    path.touch()
    reading, writing = os.pipe()
    os.close(reading)
    # "Terminated", as the shell says, meets a broken pipe.
    done = subprocess.run(
        ["sh", "-c", _remote_command(str(path))],
        input=_remote_script(task("sleep", "600"), str(path)).encode() + b"\n",
        stdout=writing,
        stderr=writing,
        check=False,
        timeout=60,
        restore_signals=True,
    )
    os.close(writing)
    assert done.returncode == 128 + 15
    assert not path.exists()


def test_remote_command__nothing_is_to_be_run(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    path.touch()
    done = subprocess.run(
        ["sh", "-c", _remote_command(str(path))], input=b"", check=False, timeout=60
    )
    assert done.returncode == 0
    assert not path.exists()


def test_remote_script__line_break() -> None:
    with pytest.raises(BeowireError, match="line break"):
        _remote_script(task("echo", "a\nb"), "/nonexistent")


def test_here__no_such_program() -> None:
    with pytest.raises(BeowireError, match="there is no program") as caught:
        HerePlace().start(task("no-such-program"))
    assert caught.value.exit_code == 127
    assert os.environ.get("PMI_FD") is None
