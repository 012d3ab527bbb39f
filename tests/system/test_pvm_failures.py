# SPDX-License-Identifier: BSD-3-Clause
"""What PVM programs over Beowire get when something fails: PVM's own errors, soon, and a line that
says what to do."""

import os
import shutil
import socket
import struct
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from system.pvm_machines import LIBRARY, NEEDS_PVM, PROGRAM, Machine, preloaded

pytestmark = NEEDS_PVM

#: Errors of PVM's are there so soon: within 5 s on an idle machine; here others may have taken all
#: cores.
BOUND_S = 30.0

OURS = preloaded(BEOWIRE_LANES="shm")
SYSTEM_ERROR = -14
NOBODY = 65534

#: Of a message from a daemon, and from its task: to, from, bytes, flags; and what begins it.
_FRAME = struct.Struct(">IIIB3x")
_HEAD_BYTES = 32
_DAEMON = 0x80000000
_WHOLE = 3


def _refused(directory: Path) -> list[str]:
    """What a program says for want of a daemon over Beowire, soon, and with PVM's own error. What
    it makes of that itself is the same without."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PVM")}
    environment |= {"PVM_TMP": str(directory), "PVM_ALLOW_ROOT": "1", "PVM_TASKS_SPEAK": "1"}
    done = subprocess.run(
        [str(PROGRAM)],
        env={**environment, **OURS},
        capture_output=True,
        text=True,
        check=False,
        timeout=BOUND_S,
    )
    assert done.returncode == 1
    assert "pvm_mytid() > 0" in done.stdout
    lines = done.stderr.splitlines()
    assert any("pvm_mytid(): Can't contact local daemon" in line for line in lines), lines
    return [line for line in lines if line.startswith("libpvm: ")]


def test_no_daemon(tmp_path: Path) -> None:
    (line,) = _refused(tmp_path)
    assert str(tmp_path) in line
    assert "start one with `pvm`" in line


def test_a_daemon_that_has_ended(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    file = tmp_path / f"pvmd.{os.geteuid()}"
    file.write_text(f"7f000001:{port:04x}\n", encoding="ascii")
    (line,) = _refused(tmp_path)
    assert "remove that file and start it again with `pvm`" in line
    assert str(file) in line


def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    """The owner of all files may read all: it is a link that leads in a circle."""
    file = tmp_path / f"pvmd.{os.geteuid()}"
    file.symlink_to(file)
    (line,) = _refused(tmp_path)
    assert "set PVM_TMP to a directory of your own" in line


@contextmanager
def _other_version(directory: Path) -> Iterator[None]:
    """A daemon that speaks another version of its protocol with tasks."""
    server = socket.create_server(("127.0.0.1", 0))

    def answer() -> None:
        while True:
            try:
                link, _ = server.accept()
            except OSError:
                return
            with link:
                head = link.recv(_FRAME.size, socket.MSG_WAITALL)
                if len(head) < _FRAME.size:  # it was only looked whether somebody listens
                    continue
                rest = link.recv(_FRAME.unpack(head)[2], socket.MSG_WAITALL)
                body = rest[:_HEAD_BYTES] + struct.pack(">ii", 999, 1)
                link.sendall(_FRAME.pack(0, _DAEMON, len(body), _WHOLE) + body)
                link.recv(1)  # until the task closes it

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        file = directory / f"pvmd.{os.geteuid()}"
        file.write_text(f"7f000001:{server.getsockname()[1]:04x}\n", encoding="ascii")
        yield
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join()


def test_a_daemon_of_another_version(tmp_path: Path) -> None:
    with _other_version(tmp_path):
        (line,) = _refused(tmp_path)
    assert "if it is of another version of PVM" in line


def test_the_daemon_is_killed__calls_fail_soon(tmp_path: Path) -> None:
    """A message waits for its receiver then; PVM's own library gives the same errors."""
    machine = Machine(tmp_path)
    try:
        with machine.start(str(PROGRAM), "lost", variables=OURS) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "lost: ready\n"
            machine.daemon.kill()
            start = time.monotonic()
            lines = process.stdout.read().splitlines()
            assert time.monotonic() - start < BOUND_S
    finally:
        machine.end()
    assert lines == [f"lost: {call} {SYSTEM_ERROR}" for call in ("pvm_recv", "pvm_send")] + [
        f"lost: pvm_exit {SYSTEM_ERROR}",
        f"lost: pvm_mytid {SYSTEM_ERROR}",
    ]


@pytest.mark.long  # libpvm tries for a quarter of a minute
@pytest.mark.skipif(os.geteuid() != 0, reason="starts a program as another user")
def test_tasks_of_another_user__are_no_tasks_of_this_machine() -> None:
    """He says that its daemon is his, and is not let in."""
    shared = Path(tempfile.mkdtemp(prefix="beowire-test-", dir="/tmp"))
    shared.chmod(0o1777)
    machine = Machine(shared)
    try:
        program, library = (Path(shutil.copy(one, shared)) for one in (PROGRAM, LIBRARY))
        named = Path(shutil.copyfile(shared / "pvmd.0", shared / f"pvmd.{NOBODY}"))
        os.chown(named, NOBODY, NOBODY)
        user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        done = subprocess.run(
            [*user, program],
            env={"PVM_TMP": str(shared), "LD_PRELOAD": str(library), "BEOWIRE_LANES": "shm"},
            capture_output=True,
            text=True,
            check=False,
            timeout=BOUND_S,
        )
        assert (done.returncode, "pvm_mytid() > 0" in done.stdout) == (1, True), done.stdout
        assert "Permission denied" in done.stderr
        assert machine.run(str(PROGRAM), variables=OURS).returncode == 0
    finally:
        machine.end()
        shutil.rmtree(shared)
