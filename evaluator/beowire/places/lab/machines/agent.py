# SPDX-License-Identifier: BSD-3-Clause
"""The first process of a machine: makes it a node, and runs programs in it until its end.

    python3 -I isolated.py beowire.places.lab.machines.agent PORT [MODULES]

PORT is the device that leads to the keeper. MODULES, of user-mode Linux: the directory of its
kernel's modules; the root is then still the host's, and gets an overlay here, as the initramfs of
the others has given it one.

What the keeper sends it to be (SETUP), all of it optional:

- `hostname`;
- `modules`: names for modprobe; `tried`: those of which it does not matter if they are missing;
- `sysctls`: values by path below /proc/sys;
- `interface`: is waited for; `ip`: lines for `ip -batch`, after which it has to have a carrier;
- `congestion`: TCP's congestion control, null: the usual one;
- `commands`: for each module that was loaded, a command that sets it up.

The answer (READY) has `kernel`, `congestion`, `loaded`, or `error`.
"""

import contextlib
import json
import os
import platform
import resource
import signal
import socket
import subprocess
import sys
import termios
import time
import tty
from pathlib import Path
from typing import NoReturn

from beowire.errors import BeowireError
from beowire.places.lab import congestion, kernel, tools
from beowire.places.lab.machines import frames, program
from beowire.places.lab.machines.broker import OF_MACHINES, Broker
from beowire.places.lab.machines.call import IN_A_MACHINE
from beowire.places.lab.machines.frames import Link
from beowire.places.lab.machines.loop import Loop
from beowire.places.lab.machines.program import Program

_PATIENCE_S = 240.0
"""The keeper's is shorter, and it knows which machine it is that keeps it waiting."""

_CARD_S = 60.0

_MOUNTS = (
    ("proc", "/proc"),
    ("sysfs", "/sys"),
    ("devtmpfs", "/dev"),
    ("devpts", "/dev/pts"),
    ("tmpfs", "/dev/shm"),
    ("tmpfs", "/run"),
)
_LINKS = (("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2"))


def mount_all() -> None:
    """What every system has, which the host's own must not show through."""
    for kind, where in _MOUNTS:
        Path(where).mkdir(exist_ok=True)
        kernel.mount(kind, where, kind)
    for name, target in _LINKS:
        with contextlib.suppress(FileExistsError):
            Path("/dev", name).symlink_to(target)


def make_root_private(modules: Path) -> None:
    """Puts an overlay on the root, so that what is written here stays here, and puts the kernel's
    modules where they are looked for."""
    kernel.load_module(modules / "kernel/fs/overlayfs/overlay.ko")
    kernel.mount("tmpfs", "/mnt", "tmpfs")
    for name in ("upper", "work", "root"):
        Path("/mnt", name).mkdir()
    kernel.mount(
        "overlay", "/mnt/root", "overlay", "lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work"
    )
    os.chroot("/mnt/root")
    os.chdir("/")
    wanted = Path("/lib/modules", platform.release())
    wanted.parent.mkdir(parents=True, exist_ok=True)
    wanted.symlink_to(modules)


def configure(setup: dict[str, object]) -> dict[str, object]:
    """Does what SETUP says; returns what READY says. Raises BeowireError."""
    if name := setup.get("hostname"):
        socket.sethostname(str(name))
    loaded = [*_listed(setup, "modules")]
    for module in loaded:
        _load(module)
    for module in _listed(setup, "tried"):
        with contextlib.suppress(BeowireError):
            _load(module)
            loaded.append(module)
    sysctls = setup.get("sysctls")
    assert isinstance(sysctls, dict | None)
    for path, value in (sysctls or {}).items():
        with contextlib.suppress(OSError):  # a kernel without IPv6
            Path("/proc/sys", path).write_text(value, encoding="ascii")
    interface = str(setup.get("interface") or "")
    if interface:
        card = Path("/sys/class/net", interface)
        _wait_for(card, "", f"no driver has found the card {interface}", _CARD_S)
    tools.run_batch("ip", _listed(setup, "ip"), "", _PATIENCE_S)
    if interface:
        carrier = Path("/sys/class/net", interface, "carrier")
        _wait_for(carrier, "1", f"{interface} has no carrier", _CARD_S)
    used = ""
    if "congestion" in setup:
        asked = setup["congestion"]
        used = congestion.set_default(None if asked is None else str(asked))
    commands = setup.get("commands")
    assert isinstance(commands, dict | None)
    for module, command in (commands or {}).items():
        if module in loaded:
            _run(command)
    return {"kernel": platform.release(), "congestion": used, "loaded": loaded}


def _listed(setup: dict[str, object], name: str) -> list[str]:
    found = setup.get(name) or []
    assert isinstance(found, list)
    return found


def _load(module: str) -> None:
    done = tools.attempt([tools.find_tool("modprobe"), module], "", _PATIENCE_S)
    if done.returncode != 0:
        said = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        reason = said[-1].removeprefix("modprobe: FATAL: ").removeprefix("modprobe: ERROR: ")
        raise BeowireError(f"the kernel has no module {module} that it can load: {reason}")


def _run(command: list[str]) -> None:
    done = tools.attempt([tools.find_tool(command[0]), *command[1:]], "", _PATIENCE_S)
    if done.returncode != 0:
        said = (done.stderr + done.stdout).strip().splitlines()
        raise BeowireError(f"{' '.join(command)}: {said[0] if said else done.returncode}")


def _wait_for(path: Path, content: str, failure: str, limit_s: float) -> None:
    """Until the file is there and says this: "": anything."""
    deadline = time.monotonic() + limit_s
    while True:
        with contextlib.suppress(OSError):
            if not content and path.exists():
                return
            if content and path.read_text(encoding="ascii").strip() == content:
                return
        if time.monotonic() > deadline:
            raise BeowireError(f"{failure} after {limit_s:.0f} s")
        time.sleep(0.01)


class Agent:
    """The machine, as its keeper sees it."""

    def __init__(self, port: int, channel: Path = IN_A_MACHINE) -> None:
        """`port` leads to the keeper; `channel`: the socket for programs in the machine."""
        self._loop = Loop()
        self._programs: dict[int, Program] = {}
        self._link = Link(self._loop, port, self._arrived, self._lost)
        self._broker = Broker(self._loop, lambda _: self._link, OF_MACHINES)
        self._channel = channel
        self._link.send(0, frames.HELLO)

    def serve(self) -> NoReturn:
        """Until the machine is switched off."""
        while True:
            self._loop.step()

    def _arrived(self, link: Link, session: int, kind: int, data: bytes) -> None:
        if kind == frames.SETUP:
            self._set_up(json.loads(data))
        elif session >= OF_MACHINES:
            self._broker.pass_on(link, session, kind, data)
        elif kind == frames.START:
            started = program.start(self._loop, link, session, json.loads(data))
            if started is not None:
                self._programs[session] = started
        elif session in self._programs:
            self._programs[session].arrived(kind, data)
            self._forget_if_over(session)

    def _set_up(self, setup: dict[str, object]) -> None:
        try:
            answer = configure(setup)
        except (BeowireError, OSError, subprocess.SubprocessError) as error:
            answer = {"error": str(error)}
        # From here on all that ends is waited for in one place.
        self._loop.watch_signals([signal.SIGCHLD], lambda _: self._reap())
        self._broker.listen(self._channel)
        self._link.send(0, frames.READY, json.dumps(answer, allow_nan=False).encode())

    def _reap(self) -> None:
        """The first process inherits all orphans."""
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return
                for session, one in list(self._programs.items()):
                    if one.pid == pid and one.running:
                        one.ended(status)
                        self._forget_if_over(session)

    def _forget_if_over(self, session: int) -> None:
        if self._programs[session].over:
            del self._programs[session]

    def _lost(self, link: Link) -> None:
        del link
        raise BeowireError("the port to the keeper has closed")


def _open_port(path: Path) -> int:
    _wait_for(path, "", f"{path} is not there", _CARD_S)
    port = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    if os.isatty(port):
        tty.setraw(port)
        termios.tcflush(port, termios.TCIFLUSH)
    return port


def main() -> None:
    """The life of the machine."""
    try:
        if len(sys.argv) > 2:
            kernel.mount("proc", "/proc", "proc")
            make_root_private(Path(sys.argv[2]))
        mount_all()
        os.environ["PATH"] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (-1, -1))
        Agent(_open_port(Path(sys.argv[1]))).serve()
    except BaseException as error:
        print(f"\nbeowire: the machine's agent failed: {error!r}", flush=True)
        os.sync()
        kernel.power_off()


if __name__ == "__main__":
    main()
