# SPDX-License-Identifier: BSD-3-Clause
"""Runs the scripts of a setup on hosts: over ssh, or by the shell of this one."""

import re
import socket
import subprocess
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from beowire.errors import BeowireError
from beowire.places.launch.cache import explain_engine
from beowire.places.launch.ssh import SshHosts

_SCRIPT_S = 120.0

#: What sudo says where it does not do it, and what that means for the user.
_SUDO_ERRORS = (
    (
        r"sudo: (a password is required|a terminal is required|no tty present|sorry, you must)",
        "sudo asks for a password: there type `sudo visudo -f /etc/sudoers.d/beowire-setup`, write"
        " `{user} ALL=(root) NOPASSWD: ALL`, and remove that file when setup is done",
    ),
    (r"not in the sudoers file|not allowed to execute|may not run sudo", "{user} may not use sudo"),
    (r"sudo: (command )?not found", "sudo is missing: install it, or name the host as root@HOST"),
)


class Hosts(Protocol):
    """Several hosts, or this one."""

    names: Sequence[str]

    def run(self, name: str, script: str, data: bytes = b"") -> str:
        """Runs one line of sh there, and returns what it printed. BeowireError, with the name."""
        ...


class BySudo:
    """The same hosts, where sudo makes a user root. It never waits for a password."""

    def __init__(self, hosts: Hosts) -> None:
        self.names = hosts.names
        self._hosts = hosts

    def run(self, name: str, script: str, data: bytes = b"") -> str:
        """Runs it there as root."""
        quoted = re.sub(r'([\\"$`])', r"\\\1", script)
        try:
            return self._hosts.run(name, f'LC_ALL=C exec sudo -n sh -c "{quoted}"', data)
        except BeowireError as error:
            raise BeowireError(self._explain(name, str(error)), exit_code=1) from None

    def _explain(self, name: str, said: str) -> str:
        for pattern, meaning in _SUDO_ERRORS:
            if re.search(pattern, said):
                user = self._hosts.run(name, "id -un").strip()
                return f"{name}: {meaning.format(user=user)}"
        return said


class ThisHost:
    """The one that this is typed on."""

    def __init__(self) -> None:
        self.names: Sequence[str] = [socket.gethostname()]

    def run(self, name: str, script: str, data: bytes = b"") -> str:
        """Runs it here."""
        try:
            done = subprocess.run(
                ["/bin/sh", "-c", script],
                input=data,
                capture_output=True,
                check=False,
                timeout=_SCRIPT_S,
            )
        except subprocess.TimeoutExpired:
            raise BeowireError(
                f"{name}: not finished in {_SCRIPT_S:.0f} s: is a file system stuck?",
                exit_code=1,
            ) from None
        if done.returncode != 0:
            said = done.stderr.decode(errors="replace").strip()
            raise BeowireError(f"{name}: {explain_engine(said, done.returncode)}", exit_code=1)
        return done.stdout.decode(errors="replace")


class OverSsh:
    """Those that ssh reaches."""

    def __init__(self, names: Sequence[str], options: Sequence[str]) -> None:
        self.names = names
        self._ssh = SshHosts(names, options)

    def run(self, name: str, script: str, data: bytes = b"") -> str:
        """Runs it there."""
        return self._ssh.run(name, script, data)


def on_all(hosts: Hosts, work: Callable[[str], str]) -> dict[str, str | BeowireError]:
    """Does the work for each host, at the same time: what came of it, or what went wrong."""

    def one(name: str) -> str | BeowireError:
        try:
            return work(name)
        except BeowireError as error:
            return error

    with ThreadPoolExecutor(len(hosts.names)) as pool:
        return dict(zip(hosts.names, pool.map(one, hosts.names), strict=True))
