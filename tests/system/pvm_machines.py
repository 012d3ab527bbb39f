# SPDX-License-Identifier: BSD-3-Clause
"""Virtual machines of PVM, of the stock daemons, each in directories of its own."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import IO

from system.conftest import ROOT, wait_until

PROGRAM = ROOT / "build" / "release" / "tests" / "system" / "pvm_tasks"
LIBRARY = ROOT / "build" / "release" / "pvm" / "libbeowire-pvm.so"

#: Where libgpvm3's server of groups is.
_SERVERS = "/usr/bin"


def preloaded(**more: str) -> dict[str, str]:
    """Variables of a program whose tasks all use Beowire."""
    names = ":".join(["LD_PRELOAD", *more])
    return {"LD_PRELOAD": str(LIBRARY), "PVM_EXPORT": names, **more}


class Machine:
    """Daemons, and programs that are tasks of theirs. `before` are the words that run a program on
    a host, and each host has its address."""

    def __init__(
        self,
        directory: Path,
        hosts: Sequence[tuple[str, Sequence[str]]] = (("127.0.0.1", ()),),
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self.hosts = hosts
        self._directory = directory
        self._variables = dict(variables or {})
        self._daemons: list[subprocess.Popen[str]] = []
        try:
            self._start()
        except BaseException:
            self.end()
            raise

    def environment(self, host: int = 0) -> dict[str, str]:
        """Of the programs of a host."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PVM")}
        place = self._directory / f"host{host}"
        place.mkdir(exist_ok=True)
        return {**kept, "PVM_TMP": str(place), "PVM_ALLOW_ROOT": "1"}

    def _daemon(self, host: int, words: Sequence[str]) -> "subprocess.Popen[str]":
        daemon = subprocess.Popen(
            [*self.hosts[host][1], "/usr/bin/pvmd", *words],
            env={**self.environment(host), **self._variables},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._daemons.append(daemon)
        return daemon

    def _start(self) -> None:
        lines = [f"{self.hosts[0][0]} ep={_SERVERS}"]
        lines += [f"{address} so=ms ep={_SERVERS}" for address, _ in self.hosts[1:]]
        listed = self._directory / "hosts"
        listed.write_text("\n".join(lines) + "\n", encoding="utf-8")
        master = self._daemon(0, [f"-n{self.hosts[0][0]}", str(listed)])
        for host in range(1, len(self.hosts)):
            # It says what to start by hand, and is told what that says.
            words = _line_of(master.stdout, "pvmd ").split()[1:]
            slave = self._daemon(host, ["-f", *words])
            assert master.stdin is not None
            master.stdin.write(_line_of(slave.stdout, "ddpro"))
            master.stdin.flush()
        for host in range(len(self.hosts)):
            assert wait_until(partial(_takes_tasks, self._directory / f"host{host}"))

    def run(
        self, *words: str, variables: Mapping[str, str] | None = None, timeout: float = 60.0
    ) -> "subprocess.CompletedProcess[str]":
        """A program on the first host."""
        return subprocess.run(
            [*self.hosts[0][1], *words],
            env={**self.environment(), **(variables or {})},
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout,
        )

    def end(self) -> None:
        """Ends all daemons, and what they have started."""
        for daemon in self._daemons:
            daemon.terminate()
        for daemon in self._daemons:
            try:
                daemon.communicate(timeout=5.0)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.communicate()


def _takes_tasks(place: Path) -> bool:
    """Whether a daemon has written where it is reached."""
    return any(file.stat().st_size > 0 for file in place.glob("pvmd.*"))


def _line_of(stream: IO[str] | None, beginning: str) -> str:
    assert stream is not None
    said = []
    for line in stream:
        if line.startswith(beginning):
            return line
        said.append(line)
    raise AssertionError(f"a daemon has ended, and said: {said}")
