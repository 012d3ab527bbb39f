# SPDX-License-Identifier: BSD-3-Clause
"""Virtual machines of PVM across the nodes of a lab, of the stock daemons.

The nodes share the host's /tmp, in which each daemon of a user has a file of the same name: so the
daemon of each node has a directory of its own, `LAB.pvm/NODE` beside the lab's state, and programs
that are started in the node get its name in PVM_TMP. It goes with the virtual machine, or with the
lab. The daemon of the first node starts the others by a remote shell, which is a script here that
enters their nodes; hosts that are added later (`pvm_addhosts()`, the console's `add`) are started
in the same way.
"""

import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from beowire.errors import BeowireError
from beowire.places.lab import cluster, processes
from beowire.places.lab.processes import Process
from beowire.places.lab.state import LabFiles, LabNode, LabState

_PROGRAMS = ("pvmd", "/usr/lib/pvm3/lib/pvmd", "/usr/share/pvm3/lib/pvmd", "/usr/local/bin/pvmd")

#: Where daemons look for what they are told to start: PVM's own programs, such as that of groups.
_SERVERS = "/usr/bin"

_UP_S = 15.0
_DOWN_S = 2.0

#: PVM's names of files in a directory have no more room than this and some 24 bytes.
_PATH_MAX = 80

#: A daemon closes as many descriptors as there may be whenever it starts something.
_FILES = 1024


def up(lab: LabState) -> tuple[str, ...]:
    """Starts a virtual machine in a lab that has none; returns the names of its hosts."""
    program = next(filter(None, map(shutil.which, _PROGRAMS)), None)
    if program is None:
        raise BeowireError("there is no PVM daemon here: install it (Debian: pvm)")
    directory = LabFiles.of(lab.name).machine
    if _daemons(lab):
        raise BeowireError(
            f"lab {lab.name} has a virtual machine: use it, or end it with `{_down_command(lab)}`"
        )
    if len(str(directory)) > _PATH_MAX:
        raise BeowireError(
            f"PVM has no room for names as long as {directory}: set BEOWIRE_RUNTIME_DIR to a"
            " shorter one before `beowire lab up`"
        )
    shutil.rmtree(directory, ignore_errors=True)
    for node in lab.nodes:
        _place(lab, node).mkdir(mode=0o700, parents=True)
    try:
        _start(lab, program, directory)
    except BaseException:  # an interrupt as well: nothing may stay
        _end(lab)
        raise
    return tuple(node.address for node in lab.nodes)


def down(lab: LabState) -> None:
    """Ends a lab's virtual machine, its tasks included."""
    if not LabFiles.of(lab.name).machine.exists():
        raise BeowireError(
            f"lab {lab.name} has no virtual machine: start one with `beowire lab pvm up`"
        )
    _end(lab)


def variables(lab: LabState, node: LabNode) -> dict[str, str]:
    """What programs in a node need to find its daemon; nothing if there is no virtual machine."""
    place = _place(lab, node)
    return _environment(place) if place.is_dir() else {}


def agent_script(nodes: Mapping[str, LabNode], places: Mapping[str, Path]) -> str:
    """The remote shell of the daemons: `AGENT HOST [-l USER] COMMAND`."""
    lines = ["#!/bin/sh", "# Enters a node of a lab in place of rsh.", "host=$1", "shift"]
    lines += ['[ "$1" = -l ] && shift 2', 'case "$host" in']
    for name, node in nodes.items():
        inside = cluster.command_in(node, ["sh", "-c"], pin=True)
        place = shlex.quote(str(places[name]))
        lines.append(
            f'{name}|{node.address}) exec env PVM_TMP={place} {shlex.join(inside)} "$*" ;;'
        )
    lines += ["esac", 'echo "beowire: this lab has no node $host" >&2', "exit 255", ""]
    return "\n".join(lines)


def _environment(place: Path) -> dict[str, str]:
    return {"PVM_TMP": str(place), "PVM_ALLOW_ROOT": "1"}


def _place(lab: LabState, node: LabNode) -> Path:
    return LabFiles.of(lab.name).machine / node.name


def _start(lab: LabState, program: str, directory: Path) -> None:
    agent = directory / "agent"
    nodes = {node.name: node for node in lab.nodes}
    agent.write_text(
        agent_script(nodes, {name: _place(lab, node) for name, node in nodes.items()}),
        encoding="utf-8",
    )
    agent.chmod(0o700)
    hosts = directory / "hosts"
    lines = [f"{node.address} dx={program} ep={_SERVERS}\n" for node in lab.nodes]
    hosts.write_text("".join(lines), encoding="ascii")
    first = lab.nodes[0]
    words = [program, f"-n{first.address}", str(hosts)]
    limited = ["prlimit", f"--nofile={_FILES}:", "--", *words]
    kept = {
        name: value for name, value in os.environ.items() if name not in ("PVMSOCK", "PVM_VMID")
    }
    log = directory / "log"
    with log.open("wb") as output:
        master = subprocess.Popen(
            cluster.command_in(first, limited, pin=True),
            env={**kept, **_environment(_place(lab, first)), "PVM_RSH": str(agent)},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            cwd="/",
        )
    deadline = time.monotonic() + _UP_S
    while not all(_takes_tasks(_place(lab, node)) for node in lab.nodes):
        if master.poll() is not None or time.monotonic() > deadline:
            raise BeowireError(f"PVM's daemons do not start: {_last_line(lab, log)}", exit_code=1)
        time.sleep(0.01)
    master.returncode = 0  # it is nobody's child from now on: no warning that it still runs


def _takes_tasks(place: Path) -> bool:
    """Whether a daemon has written where it is reached."""
    return any(file.stat().st_size > 0 for file in place.glob("pvmd.*"))


def _last_line(lab: LabState, log: Path) -> str:
    """What the daemons have said last: in their own logs, or where they were started."""
    for path in (*_place(lab, lab.nodes[0]).glob("pvml.*"), log):
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
        said = [line.strip() for line in lines if line.strip()]
        if said:
            return said[-1]
    return "they say nothing"


def _daemons(lab: LabState) -> list[Process]:
    """Processes in the lab that have a directory of its virtual machine: daemons, and tasks."""
    mark = f"PVM_TMP={LabFiles.of(lab.name).machine}/".encode()
    found = []
    for process in processes.members(lab.namespaces()):
        try:
            words = Path(f"/proc/{process.pid}/environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if any(word.startswith(mark) for word in words):
            found.append(process)
    return found


def _end(lab: LabState) -> None:
    processes.end(_daemons(lab), _DOWN_S)
    processes.end(_daemons(lab), 0.0)  # what they have started meanwhile
    shutil.rmtree(LabFiles.of(lab.name).machine, ignore_errors=True)


def _down_command(lab: LabState) -> str:
    name = "" if lab.name == cluster.DEFAULT_NAME else f" --name {lab.name}"
    return f"beowire lab pvm down{name}"
