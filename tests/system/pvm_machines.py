# SPDX-License-Identifier: BSD-3-Clause
"""Virtual machines of PVM, of the stock daemons, on this host alone."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from system.conftest import ROOT, wait_until

PROGRAM = ROOT / "build" / "release" / "tests" / "system" / "pvm_tasks"
LIBRARY = ROOT / "build" / "release" / "pvm" / "libbeowire-pvm.so"
DROP_IN = ROOT / "build" / "engine" / "pvm" / "drop-in"

#: Where libgpvm3's server of groups is.
_SERVERS = "/usr/bin"

#: The host that every virtual machine has.
_HOST = "127.0.0.1"


def needs(program: str, package: str) -> pytest.MarkDecorator:
    """A mark: these tests are skipped, with a line that says why, where this is not installed."""
    reason = f"no {program} (Debian 12: {package}; Debian 13 has no PVM)"
    return pytest.mark.skipif(shutil.which(program) is None, reason=reason)


NEEDS_PVM = needs("pvmd", "pvm, pvm-dev")


def preloaded(**more: str) -> dict[str, str]:
    """Variables of a program whose tasks all use Beowire."""
    names = ":".join(["LD_PRELOAD", *more])
    return {"LD_PRELOAD": str(LIBRARY), "PVM_EXPORT": names, **more}


def found_first(**more: str) -> dict[str, str]:
    """The same by LD_LIBRARY_PATH."""
    names = ":".join(["LD_LIBRARY_PATH", *more])
    return {"LD_LIBRARY_PATH": str(DROP_IN), "PVM_EXPORT": names, **more}


class Machine:
    """A daemon, and programs that are tasks of its."""

    def __init__(self, directory: Path) -> None:
        self.place = directory
        listed = directory / "hosts"
        listed.write_text(f"{_HOST} ep={_SERVERS}\n", encoding="ascii")
        # A daemon closes as many descriptors as there may be.
        limited = ["sh", "-c", 'ulimit -n 1024; exec "$@"', "sh"]
        self.daemon = subprocess.Popen(
            [*limited, "/usr/bin/pvmd", f"-n{_HOST}", str(listed)],
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            assert wait_until(lambda: any(f.stat().st_size for f in self.place.glob("pvmd.*")))
        except BaseException:
            self.end()
            raise

    def environment(self) -> dict[str, str]:
        """Of programs."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PVM")}
        return {**kept, "PVM_TMP": str(self.place), "PVM_ALLOW_ROOT": "1"}

    def start(
        self,
        *words: str,
        variables: Mapping[str, str] | None = None,
        stdin: int = subprocess.DEVNULL,
    ) -> "subprocess.Popen[str]":
        """A program."""
        return subprocess.Popen(
            words,
            env={**self.environment(), **(variables or {})},
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(
        self, *words: str, variables: Mapping[str, str] | None = None, timeout: float = 60.0
    ) -> "subprocess.CompletedProcess[str]":
        """A program, to its end."""
        with self.start(*words, variables=variables) as process:
            try:
                out, err = process.communicate(timeout=timeout)
            except BaseException:
                process.kill()
                raise
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    def end(self) -> None:
        """Ends the daemon, and what it has started."""
        self.daemon.terminate()
        try:
            self.daemon.wait(timeout=5.0)
        except subprocess.TimeoutExpired:
            self.daemon.kill()
            self.daemon.wait()
