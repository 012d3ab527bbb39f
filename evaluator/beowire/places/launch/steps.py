# SPDX-License-Identifier: BSD-3-Clause
"""Engines on nodes that something else reaches: a program that starts a process on a node it is
told, hands it what it is given to read, and hands back what it says (srun, mpirun).

Nothing has to be installed there: on entering, the engine and its drivers are copied to each node,
as over ssh (places/launch/cache.py), below the home directory or, where that cannot be written, in
a directory with a random name below TMPDIR or /tmp, which is found again. Nodes that share a home
share the copy.
"""

import hashlib
import secrets
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
from beowire.places.launch.talk import TalksTooMuch, in_pieces, marked, talk

_STEP_S = 120.0
_ANSWER_BYTES = 64 << 10

#: Where the copies are, `$root` for the scripts of RemoteCache. What somebody else has made under
#: such a name is passed over.
_ROOT = (
    f'{RemoteCache.prelude()} umask 077; root="{BASE}";'
    ' { enter "$root" yes && [ -w . ]; } || case $refused in shared*) ;; *)'
    ' root="${TMPDIR:-/tmp}"; [ -d "$root" ] || root=/tmp; copies=;'
    ' cd "$root" && for each in "beowire-engine-$uid".*; do [ -d "$root/$each" ] || continue;'
    ' if enter "$root/$each" && [ -O . ]; then copies=$(pwd -P); break; fi; done;'
    ' [ -n "$copies" ] || { cd "$root" &&'
    ' copies=$(mktemp -d "./beowire-engine-$uid.XXXXXXXX" 2>&1) || {'
    ' echo "mkdir: $root/beowire-engine-$uid: ${copies##*: }" >&2; exit 1; };'
    " copies=$(pwd -P)/${copies#./}; }; root=$copies ;; esac;"
)


class StepLauncher(Starter):
    """What all of them have; each says which nodes there are, and how one of them is reached."""

    kind = "hosts"
    title = ""
    """What starts processes, as people call it."""
    at_once = 16
    """So many nodes are made ready at a time."""
    in_pieces = False
    """What starts processes loses input, unless little of it is under way (see talk())."""

    def __init__(self, interface: str = "", *, many: bool = False) -> None:
        """`interface`: the nodes' network interface; "": by the route. `many`: engines may be
        started on all nodes, not on the first two alone."""
        self.interface = interface
        self._many = many
        self._marker = secrets.token_hex(16)
        self._nodes: list[Node] = []
        self._copies: dict[str, str] = {}

    def find_nodes(self) -> list[Node]:
        """The nodes that there are, two or more. BeowireError."""
        raise NotImplementedError

    def step(self, node: str) -> list[str]:
        """The words before those of a command that is to run on the node."""
        raise NotImplementedError

    def said_there(self, lines: Sequence[str]) -> list[str]:
        """Of the lines of standard error those of the process, without what says it has failed."""
        raise NotImplementedError

    def cause(self, lines: Sequence[str]) -> str:
        """Of the lines (one or more) of standard error, why nothing was started."""
        raise NotImplementedError

    @property
    def marker(self) -> bytes:
        """What an engine's output begins with: what prepares a process there may print, too."""
        return self._marker.encode()

    @property
    def nodes(self) -> Sequence[Node]:
        """All that there are, in their order."""
        return self._nodes

    def __enter__(self) -> Self:
        """Reaches the nodes, and brings the engine to where it is missing."""
        self._nodes = self.find_nodes()
        files = engine_files(paths.engine_directory())
        package = pack(files)
        cache = RemoteCache(hashlib.sha256(package).hexdigest()[:16], files, "$root")
        used = self._nodes if self._many else self._nodes[:2]
        with ThreadPoolExecutor(min(len(used), self.at_once)) as pool:
            for done in [pool.submit(self._bring, node, cache, package) for node in used]:
                done.result()
        return self

    def __exit__(self, *exc: object) -> None:
        """Nothing to undo: the copies stay for the next time."""

    def describe_link(self) -> dict[str, object]:
        """What joins the nodes is not known."""
        return {"kind": self.kind}

    def run(self, node: Node, script: str, data: bytes = b"", wanted_status: int = 0) -> str:
        """Runs one line of POSIX sh on the node, with this input, and returns what it printed.
        BeowireError, with the node's name, if it fails."""
        inside, taken = marked(self._marker, script), ""
        if self.in_pieces:
            taken = f"{self._marker}-taken"
            inside = in_pieces(taken, inside, data)
        command = [*self.step(node.name), "sh", "-c", inside]
        try:
            done = talk(command, data, _ANSWER_BYTES + MAXIMUM_NOISE_BYTES, _STEP_S, taken)
        except TalksTooMuch:
            raise BeowireError(f"{node.name}: the command there prints without end") from None
        except subprocess.TimeoutExpired:
            raise BeowireError(f"{node.name}: it does not answer in {_STEP_S:.0f} s") from None
        except OSError as error:
            raise self._missing(command[0], error) from None
        said = done.stdout.replace(f"{taken}\n".encode(), b"") if taken else done.stdout
        _, marker, answer = said.partition(self.marker + b"\n")
        if done.returncode == wanted_status and marker:
            return answer.decode(errors="replace")
        # PRRTE ends what it says with a zero.
        errors = done.stderr.decode(errors="replace").replace("\0", "")
        lines = [line for line in errors.splitlines() if line.strip()]
        if not marker:
            why = self.cause(lines) if lines else f"it ends with status {done.returncode}"
            raise BeowireError(f"{node.name}: {self.title} starts nothing there: {why}")
        causes = "\n".join(self.said_there(lines))
        raise BeowireError(f"{node.name}: {explain_engine(causes, done.returncode)}")

    def _bring(self, node: Node, cache: RemoteCache, package: bytes) -> None:
        """Copies the engine if it is not there as it is here, and sees that it can run."""
        said = self.run(node, f'{_ROOT} uname -sm; {cache.look()}; echo "$dir"').splitlines()
        machine, state, copy = [*said, "", "", ""][:3]
        refuse_foreign(node.name, machine)
        made, data = ("", b"") if state == "right" else (f"{_ROOT} {cache.fill()};", package)
        self.run(node, f"{made or _ROOT} {cache.try_it()}", data, wanted_status=3)
        self._copies[node.name] = copy

    def _started(self, node: Node, options: Sequence[str]) -> "subprocess.Popen[bytes]":
        engine = f"{self._copies[node.name]}/beowire-engine"
        script = marked(self._marker, 'exec "$0" "$@"')
        return self.started([*self.step(node.name), "sh", "-c", script, engine, *options])

    def started(self, command: Sequence[str]) -> "subprocess.Popen[bytes]":
        """Starts what reaches a node, in a session of its own: Ctrl-C is for us, who then end it by
        its input. BeowireError."""
        try:
            return subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise self._missing(command[0], error) from None

    @staticmethod
    def _missing(program: str, error: OSError) -> BeowireError:
        return BeowireError(f"cannot start {program}: {error.strerror}", 1)
