# SPDX-License-Identifier: BSD-3-Clause
"""Labs as the rest of the evaluator sees them: make, find, run something inside, remove."""

import os
import select
import signal
import struct
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from beowire import isolated, paths
from beowire.errors import BeowireError
from beowire.places.lab import network, processes, state
from beowire.places.lab.keeper import KeeperRequest
from beowire.places.lab.options import LabOptions
from beowire.places.lab.processes import Process
from beowire.places.lab.state import LabFiles, LabNode, LabState

DEFAULT_NAME = "lab"

_END_S = 15.0
_ENTER = Path(__file__).with_name("enter.py")

#: The module that is the keeper of each kind of lab.
_KEEPERS = {
    "namespaces": "beowire.places.lab.keeper",
    "vm": "beowire.places.lab.machines.keeper",
    "uml": "beowire.places.lab.machines.keeper",
}


@dataclass(frozen=True)
class RelayCounters:
    """What the relay has seen since the lab was made, in frames."""

    forwarded: int
    dropped: int
    """Frames that found its memory full."""

    refused: int
    """Frames that the kernel did not take: the loss asked for, or a shaper's full buffer."""


@dataclass
class EphemeralLab:
    """A lab that ends when `close` is called or this process ends, however that happens."""

    state: LabState
    lifeline: IO[bytes]
    keeper: "subprocess.Popen[bytes]"

    def close(self) -> None:
        """Ends the lab; returns when nothing of it is left. May be called twice."""
        self.lifeline.close()
        try:
            self.keeper.wait(timeout=_END_S)
        except subprocess.TimeoutExpired:
            self.keeper.kill()
            self.keeper.wait()
        with state.lock():
            _clean_if_dead(self.state.name)


def up(options: LabOptions, name: str = DEFAULT_NAME) -> LabState:
    """Makes a lab that stays until `down`; raises BeowireError when one of this name is there."""
    made = _make(options, name, ephemeral=False)
    made.lifeline.write(b"s")
    made.lifeline.close()
    made.keeper.returncode = 0  # it is nobody's child from now on: no warning that it still runs
    return made.state


def up_ephemeral(options: LabOptions, name: str) -> EphemeralLab:
    """Makes a lab that ends with this process."""
    return _make(options, name, ephemeral=True)


def find(name: str = DEFAULT_NAME) -> LabState:
    """The lab of this name; raises BeowireError when it is not there."""
    found = LabFiles.of(name).read()
    if found is None or not found.alive():
        raise BeowireError(f"there is no lab named {name}: make it with `{_up_command(name)}`")
    return found


def down(name: str) -> None:
    """Removes a lab, living or dead, and ends the programs in its nodes. One that is being made is
    waited for."""
    with state.making(name):
        files = LabFiles.of(name)
        found = files.read()
        if found is None and not files.state.exists():
            raise BeowireError(f"there is no lab named {name}: `beowire lab status` lists them")
        if found is not None and found.alive():
            _end_keeper(found)
        with state.lock():
            _clean_if_dead(name)


def every() -> tuple[list[LabState], list[str]]:
    """All labs of this user, and the names of dead ones, whose remains this has cleaned away."""
    living, cleaned = [], []
    with state.lock():
        for name in state.names():
            found = LabFiles.of(name).read()
            if found is not None and found.alive():
                living.append(found)
            elif _clean_if_dead(name):
                cleaned.append(name)
    return living, cleaned


def node_of(lab: LabState, name: str) -> LabNode:
    """A node by its name (`switch` is the middle of the link); raises BeowireError."""
    for node in (*lab.nodes, lab.switch):
        if node.name == name:
            if name == network.SWITCH and lab.options.backend == "vm":
                raise BeowireError(
                    f"nothing can be run in the switch of lab {lab.name}: it is no node"
                )
            return node
    known = f"{lab.nodes[0].name} to {lab.nodes[-1].name}"
    raise BeowireError(f"lab {lab.name} has no node {name!r}: it has {known}, and {network.SWITCH}")


def command_in(node: LabNode, command: Sequence[str], *, pin: bool, die_with: int = 0) -> list[str]:
    """The command line that runs a command inside a node.

    `pin`: on the node's core. `die_with`: the process that starts it, to end (SIGKILL) when that
    thread of it ends; 0 for none.
    """
    cpu = "-" if node.cpu is None or not pin else str(node.cpu)
    how = [cpu, str(die_with), str(Path.cwd())]
    if not node.machine:
        return [*enter(node), *how, *command]
    call = [*isolated.command("beowire.places.lab.machines.call"), node.channel, node.machine, *how]
    # What dies with somebody here dies with the call there.
    inside = [*enter(node), cpu, "0", how[2]] if node.nested else []
    return [*call, *inside, *command]


def enter(node: LabNode) -> list[str]:
    """The words that enter a node's namespaces where these are; what enter.py takes follows."""
    holder = [str(node.holder.pid), str(node.holder.start_time)]
    return [*isolated.interpreter(), "-S", str(_ENTER), *holder]


def relay_counters(lab: LabState) -> RelayCounters | None:
    """What the lab's relay has counted; None when it has no relay."""
    try:
        data = LabFiles.of(lab.name).counters.read_bytes()
        return RelayCounters(*struct.unpack_from("=QQQ", data))
    except (OSError, struct.error):
        return None


def _make(options: LabOptions, name: str, *, ephemeral: bool) -> EphemeralLab:
    with state.making(name):
        files = LabFiles.of(name)
        found = files.read()
        if found is not None and found.alive():
            raise BeowireError(
                f"a lab named {name} is there: use it, choose another --name, or remove it with"
                f" `{_down_command(name)}`"
            )
        with state.lock():
            _clean_if_dead(name)
        request = KeeperRequest(name, options, ephemeral, _cores(options.nodes), _relay_path())
        keeper = _start_keeper(request)
        assert keeper.stdin is not None and keeper.stdout is not None
        try:
            answer = keeper.stdout.readline().decode(errors="replace").rstrip("\n")
            if answer != "ready":
                _raise_refusal(answer)
            made = files.read()
            if made is None:
                raise BeowireError(
                    f"the state of lab {name} cannot be read back from {files.state}"
                )
        except BaseException:  # an interrupt as well: nothing may stay
            keeper.kill()
            keeper.wait()
            keeper.stdin.close()
            keeper.stdout.close()
            files.remove()
            raise
        keeper.stdout.close()
        return EphemeralLab(made, keeper.stdin, keeper)


def _start_keeper(request: KeeperRequest) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [*isolated.command(_KEEPERS[request.options.backend]), request.to_json()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        # A session of its own: Ctrl-C at the terminal is for the command, which ends the lab.
        start_new_session=True,
        cwd="/",
    )


def _raise_refusal(answer: str) -> None:
    kind, _, rest = answer.partition(" ")
    code, _, message = rest.partition(" ")
    if kind != "error":
        raise BeowireError("the lab's keeper died while it made the lab", exit_code=1)
    raise BeowireError(message, exit_code=int(code))


def _cores(nodes: int) -> tuple[int | None, ...]:
    allowed = sorted(os.sched_getaffinity(0))
    return tuple(allowed[:nodes]) if len(allowed) >= nodes else (None,) * nodes


def _relay_path() -> str:
    try:
        relay = paths.engine_directory() / "beowire-relay"
    except BeowireError:  # a lab can be made without the engine
        return ""
    return str(relay.resolve()) if relay.is_file() else ""


def _end_keeper(lab: LabState) -> None:
    try:
        handle = os.pidfd_open(lab.keeper.pid)
    except ProcessLookupError:
        return
    try:
        if lab.keeper.alive():
            signal.pidfd_send_signal(handle, signal.SIGTERM)
            poller = select.poll()
            poller.register(handle, select.POLLIN)
            if not poller.poll(_END_S * 1000):
                signal.pidfd_send_signal(handle, signal.SIGKILL)
                poller.poll(_END_S * 1000)
    except ProcessLookupError:
        pass
    finally:
        os.close(handle)


def _clean_if_dead(name: str) -> bool:
    """Removes what a dead lab has left; returns whether there was something. Needs the lock."""
    files = LabFiles.of(name)
    if not files.state.exists():
        return False
    found = files.read()
    if found is not None:
        if found.alive():
            return False
        if found.boot_id == processes.boot_id():
            processes.end(_left_in(found), grace_s=2.0)
    files.remove()
    return True


def _left_in(lab: LabState) -> list[Process]:
    """The processes in the namespaces of a dead lab. Once nobody is in these, their numbers may be
    given to those of another lab, which has its holder there: that is left alone."""
    own = {node.holder for node in (*lab.nodes, lab.switch)}
    left = []
    for one in set(lab.namespaces()):
        members = processes.members([one])
        if not any(_is_keeper(process) for process in members if process not in own):
            left += members
    return left


def _is_keeper(process: Process) -> bool:
    """A keeper of a lab, or one of its holders."""
    try:
        words = Path(f"/proc/{process.pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return _KEEPERS["namespaces"].encode() in words


def _up_command(name: str) -> str:
    return "beowire lab up" + ("" if name == DEFAULT_NAME else f" --name {name}")


def _down_command(name: str) -> str:
    return "beowire lab down" + ("" if name == DEFAULT_NAME else f" --name {name}")
