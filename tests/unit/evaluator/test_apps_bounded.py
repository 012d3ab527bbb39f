# SPDX-License-Identifier: BSD-3-Clause
"""A command that ends in time, and leaves nothing behind."""

import os
import signal
import threading
from pathlib import Path

import pytest

from beowire.apps import bounded
from beowire.errors import BeowireError
from beowire.interrupts import Interrupts

LONG_S = 60.0


def run(script: str, seconds: float = LONG_S) -> bounded.Ended:
    return bounded.run(["sh", "-c", script], os.environ, seconds, Interrupts())


def test_run__what_it_says_and_its_status() -> None:
    ended = run("echo out; echo err >&2; exit 3")
    assert (ended.output, ended.errors, ended.status, ended.stopped) == ("out\n", "err\n", 3, "")


def test_run__a_signal() -> None:
    assert run("kill -KILL $$").status == 137


def test_run__has_no_input() -> None:
    assert run("cat").output == ""


def test_run__that_does_not_end(tmp_path: Path) -> None:
    ended = run(f"echo $$ > {tmp_path}/pid; exec sleep 1000", seconds=0.2)
    assert "within 0.2 s" in ended.stopped
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_run__that_prints_without_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded, "_MOST_BYTES", 1 << 16)
    monkeypatch.setattr(bounded, "_LOOK_S", 0.01)
    ended = run("exec yes")
    assert ended.stopped == "its output does not end"
    assert len(ended.output) == 1 << 16


def test_run__that_cannot_be_started() -> None:
    with pytest.raises(BeowireError, match="cannot start /nowhere"):
        bounded.run(["/nowhere"], os.environ, LONG_S, Interrupts())


def test_run__a_signal_ends_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "ready")

    def interrupt() -> None:
        (tmp_path / "ready").read_text()  # it is under way
        os.kill(os.getpid(), signal.SIGINT)

    sender = threading.Thread(target=interrupt)
    sender.start()
    with Interrupts() as interrupts, pytest.raises(KeyboardInterrupt):
        script = f"echo $$ > {tmp_path}/pid; echo > {tmp_path}/ready; exec sleep 1000"
        bounded.run(["sh", "-c", script], os.environ, LONG_S, interrupts)
    sender.join()
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_run__daemons_of_the_launcher_are_ours(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "go")
    os.mkfifo(tmp_path / "said")
    # The shell in brackets has ended when the next command begins.
    daemon = "read go < go; exec cut -d' ' -f4 /proc/self/stat > said"
    script = f'cd {tmp_path}; (sh -c "{daemon}" &); echo > go; cat said'
    ended = bounded.run(["sh", "-c", script], os.environ, LONG_S, Interrupts())
    assert (ended.status, ended.output.strip()) == (0, str(os.getpid()))


def test_run__a_daemon_that_ends_after_its_run_is_reaped_by_the_next(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "go")
    os.mkfifo(tmp_path / "pid")
    daemon = "echo \\$\\$ > pid; read go < go"
    # Its output is not the launcher's: nobody waits for it.
    ended = run(f'cd {tmp_path}; (sh -c "{daemon}" > /dev/null 2>&1 &); cat pid')
    daemon_pid = int(ended.output)
    (tmp_path / "go").write_text("\n")
    os.waitid(os.P_PID, daemon_pid, os.WEXITED | os.WNOWAIT)
    run(":")
    with pytest.raises(ProcessLookupError):
        os.kill(daemon_pid, 0)
