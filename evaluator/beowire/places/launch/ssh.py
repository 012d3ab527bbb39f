# SPDX-License-Identifier: BSD-3-Clause
"""Starts engines on real hosts over OpenSSH. Nothing has to be installed on them.

On entering, the engine and its drivers are copied to `~/.cache/beowire/HASH` on each host, where
HASH is that of their content: once, all of it or nothing. Each time it is used again its content is
compared with ours first, and replaced where it differs; a directory that another user owns or can
write to is refused. An engine's control channel is its ssh connection; when that ends, so does the
engine (end of input). Passwords are never asked for: a host that wants one is an error.

A login runs files of the user first, and these may print: what a host says counts from a random
marker on, which our own command prints.
"""

import hashlib
import os
import re
import secrets
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Self

from beowire import paths
from beowire.errors import BeowireError
from beowire.places.engine import MAXIMUM_NOISE_BYTES
from beowire.places.launch.base import Node, Starter
from beowire.places.launch.cache import (
    BASE,
    RemoteCache,
    engine_files,
    explain_engine,
    pack,
    refuse_foreign,
)
from beowire.places.launch.talk import TalksTooMuch, marked, talk

_CONNECT_S = 10
_COMMAND_S = 120.0
_ANSWER_BYTES = 64 << 10

#: What ssh says (its exit status is then 255), and what that means for the user.
_SSH_ERRORS = (
    (r"Could not resolve hostname|Name or service not known", "no host has this name"),
    (r"IDENTIFICATION HAS CHANGED", "its host key has changed: check with `ssh {host}`"),
    (
        r"Host key verification failed",
        "its host key is not known: connect once with `ssh {host}` and accept it",
    ),
    (
        r"Permission denied",
        "it refuses the key: `ssh {host}` must work without a password (ssh-copy-id, ssh-agent)",
    ),
    (r"Connection refused", "no ssh server answers there"),
    (r"timed out|Operation timed out", "it does not answer"),
    (r"No route to host|Network is unreachable", "there is no route to it"),
)


def check_host(host: str) -> None:
    """BeowireError if no host can be named so."""
    if not re.fullmatch(r"[^\s\-,][^\s,]*", host):
        raise BeowireError(f"no host can be named {host!r}: write HOST or USER@HOST")


class SshHosts:
    """Hosts that ssh reaches, each `HOST` or `USER@HOST`, and the options that it is given."""

    def __init__(self, hosts: Sequence[str], options: Sequence[str] = ()) -> None:
        """`options` are ssh_config(5) options for all of them, such as `Port=2222`."""
        for host in hosts:
            check_host(host)
        for option in options:
            if not re.match(r"[A-Za-z]\w*\s*[=\s]\s*\S", option):
                raise BeowireError(
                    f"{option!r} is not an option for ssh: write it as in ssh_config: Port=2222"
                )
        if shutil.which("ssh") is None:
            raise BeowireError("ssh is missing: install the package openssh-client")
        # All as `NAME=VALUE`: Open MPI takes options apart at blanks.
        written = [re.sub(r"\A(\w+)\s*[=\s]\s*", r"\1=", option) for option in options]
        self.options = [word for option in written for word in ("-o", option)]
        self.marker = secrets.token_hex(16)

    def command(self, host: str, script: str, forward: tuple[str, str] | None = None) -> list[str]:
        """A command line that runs one line of POSIX sh on the host, whatever the login shell is.

        `forward`: a unix socket on the host leads to one here. ssh takes the first value that it
        meets for an option: so BatchMode is ours, and the time limits are the user's to change.
        """
        assert "'" not in script and "\n" not in script and "!" not in script
        if forward is None:
            forwarding = ["-o", "ClearAllForwardings=yes"]
        else:
            forwarding = ["-o", "ExitOnForwardFailure=yes", "-R", ":".join(forward)]
        return [
            *("ssh", "-T", "-o", "BatchMode=yes", *self.options),
            *("-o", f"ConnectTimeout={_CONNECT_S}"),
            *("-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3"),
            *(*forwarding, "-o", "LogLevel=ERROR", "--", host),
            f"exec sh -c '{script}'",
        ]

    def marked(self, script: str) -> str:
        """The script, after a line that says where its output begins. It has no such line in it:
        a shell may repeat what it is told."""
        return marked(self.marker, script)

    def run(self, host: str, script: str, data: bytes = b"", wanted_status: int = 0) -> str:
        """Runs a script on the host, returns what it printed, or says what went wrong."""
        try:
            command = self.command(host, self.marked(script))
            done = talk(command, data, _ANSWER_BYTES + MAXIMUM_NOISE_BYTES, _COMMAND_S)
        except TalksTooMuch:
            raise BeowireError(
                f"{host}: the login's startup files there print without end"
            ) from None
        except subprocess.TimeoutExpired:
            raise BeowireError(f"{host}: it does not answer in {_COMMAND_S:.0f} s") from None
        noise, marker, answer = done.stdout.partition(self.marker.encode() + b"\n")
        if done.returncode == wanted_status and marker:
            return answer.decode(errors="replace")
        said = done.stderr.decode(errors="replace").strip()
        if done.returncode == 255:
            raise BeowireError(f"{host}: {_explain_ssh(host, said)}")
        if not marker:
            raise BeowireError(f"{host}: {_explain_login(noise.decode(errors='replace'), said)}")
        raise BeowireError(f"{host}: {explain_engine(said, done.returncode)}")


class SshLauncher(Starter):
    """Engines on two hosts (or more), each `HOST` or `USER@HOST`, as ssh understands them."""

    kind = "hosts"

    def __init__(
        self,
        hosts: str | Sequence[str],
        options: Sequence[str] = (),
        interface: str = "",
        *,
        many: bool = False,
    ) -> None:
        """`hosts` may be a text, `A,B`. `options` are ssh_config(5) options for both of them, such
        as `Port=2222`. `interface` is the one to measure on; "" follows the route. `many`: there
        may be more than two."""
        if isinstance(hosts, str):
            hosts = [host.strip() for host in hosts.split(",")]
        if many and (len(hosts) < 2 or len(set(hosts)) < len(hosts)):
            raise BeowireError("two or more different hosts are needed: --hosts A,B,C")
        if not many and (len(hosts) != 2 or hosts[0] == hosts[1]):
            raise BeowireError("two different hosts are needed: --hosts A,B")
        self.ssh = SshHosts(hosts, options)
        self.hosts = tuple(hosts)
        """As the user has written them."""
        self.interface = interface
        self.through: dict[str, str] = {}
        """By host: a program that starts the engine there, with a blank after it, as the far
        side's shell reads it (`beowire-frames`)."""
        self._hash = ""
        self._host_of: dict[str, str] = {}
        self.nodes: Sequence[Node] = ()

    def __enter__(self) -> Self:
        """Reaches both hosts, and brings the engine to where it is missing."""
        files = engine_files(paths.engine_directory())
        package = pack(files)
        self._hash = hashlib.sha256(package).hexdigest()[:16]
        cache = RemoteCache(self._hash, files)
        nodes = []
        for host in self.hosts:
            name = host.rpartition("@")[2]
            self._host_of[name] = host
            nodes.append(Node(name, self._address_of(host), "auto", self.interface))
        with ThreadPoolExecutor(len(self.hosts)) as pool:
            for done in [pool.submit(self._bring, host, cache, package) for host in self.hosts]:
                done.result()
        self.nodes = nodes
        return self

    @property
    def marker(self) -> bytes:
        """What an engine's output begins with."""
        return self.ssh.marker.encode()

    def __exit__(self, *exc: object) -> None:
        """Nothing to undo: the copies stay on the hosts for the next time."""

    def run(self, node: Node, script: str, data: bytes = b"") -> str:
        """Runs one line of POSIX sh on the host, with this input, and returns what it printed.
        BeowireError, with the host's name, if it fails."""
        return self.ssh.run(self._host_of[node.name], script, data)

    def _started(self, node: Node, options: Sequence[str]) -> subprocess.Popen[bytes]:
        host = self._host_of[node.name]
        program = f"{self.through.get(host, '')}{self._directory()}/beowire-engine"
        engine = f"exec {_settings()}{program} {shlex.join(options)}".rstrip()
        return subprocess.Popen(
            self.ssh.command(host, self.ssh.marked(engine)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def describe_link(self) -> dict[str, object]:
        """Which hosts it was; what joins them is not known."""
        return {"kind": self.kind}

    def _directory(self) -> str:
        """The copy's directory, as the far side's shell reads it."""
        return f'"{BASE}/{self._hash}"'

    def _address_of(self, host: str) -> str:
        """The address behind the name, which may be an alias in the user's ssh configuration."""
        told = subprocess.run(
            ["ssh", "-G", *self.ssh.options, "--", host],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if told.returncode != 0:
            said = told.stderr.strip().splitlines()
            raise BeowireError(f"ssh refuses its options: {said[-1] if said else host}")
        found = re.search(r"^hostname (.+)$", told.stdout, re.MULTILINE)
        return found[1] if found else host.rpartition("@")[2]

    def _bring(self, host: str, cache: RemoteCache, package: bytes) -> None:
        """Copies the engine if it is not there as it is here, and sees that it can run."""
        refuse_foreign(host, self.ssh.run(host, "uname -sm").strip())
        if self.ssh.run(host, cache.look()).strip() != "right":
            self.ssh.run(host, cache.fill(), package)
        self.ssh.run(host, cache.try_it(), wanted_status=3)


def _settings() -> str:
    """What `beowire tune` tries, for an engine on another host: settings, and no file."""
    words = ["BEOWIRE_CONFIG="] if os.environ.get("BEOWIRE_CONFIG") == "" else []
    settings = os.environ.get("BEOWIRE_SETTINGS")
    if settings is not None:
        if not re.fullmatch(r"[\w=,.+-]*", settings, re.ASCII):
            raise BeowireError("BEOWIRE_SETTINGS is key=value,key=value, without blanks")
        words.append(f"BEOWIRE_SETTINGS={settings}")
    return f"env {' '.join(words)} " if words else ""


def _explain_ssh(host: str, said: str) -> str:
    for pattern, meaning in _SSH_ERRORS:
        if re.search(pattern, said):
            return meaning.format(host=host)
    lines = said.splitlines()
    return lines[-1] if lines else "ssh cannot connect"


def _explain_login(noise: str, said: str) -> str:
    lines = [*noise.splitlines(), *said.splitlines()]
    last = f" (it says: {lines[-1]})" if lines else ""
    return f"its login runs no commands: `ssh HOST true` must work{last}"
