# SPDX-License-Identifier: BSD-3-Clause
"""Runs ip, tc and nft, and says in one line what to do when they refuse."""

import os
import shutil
import subprocess
from collections.abc import Sequence

from beowire.errors import BeowireError

_PACKAGES = {
    "ip": "iproute2",
    "tc": "iproute2",
    "nft": "nftables",
    "tipc": "iproute2",
    "rdma": "iproute2",
    "modprobe": "kmod",
}
_DEADLINE_S = 60.0


def find_tool(name: str) -> str:
    """The program's path; /usr/sbin is looked into as well, which users often lack in PATH."""
    # An empty part of PATH, or a relative one, would be the working directory, or be in it.
    parts = [part for part in os.environ.get("PATH", "").split(os.pathsep) if part.startswith("/")]
    found = shutil.which(name, path=os.pathsep.join([*parts, "/usr/sbin", "/sbin"]))
    if found is None:
        raise BeowireError(f"{name} is missing: install the package {_PACKAGES[name]}")
    return found


def run_batch(
    tool: str, lines: Sequence[str] | str, advice: str = "", deadline_s: float = _DEADLINE_S
) -> None:
    """Has ip, tc or nft carry out lines of commands in this process's network namespace.

    `advice` follows the tool's own first line in the error when it fails.
    """
    text = lines if isinstance(lines, str) else "".join(f"{line}\n" for line in lines)
    if not text:
        return
    option = "-f" if tool == "nft" else "-batch"
    done = attempt([find_tool(tool), option, "-"], text, deadline_s)
    if done.returncode != 0:
        said = [line for line in done.stderr.splitlines() if line.strip()]
        # `ip -batch` says the reason first, and then only which line it was.
        reason = said[0] if said else f"exit status {done.returncode}"
        raise BeowireError(f"{tool}: {reason}{advice and f' ({advice})'}")


def attempt(
    command: Sequence[str], text: str = "", deadline_s: float = _DEADLINE_S
) -> subprocess.CompletedProcess[str]:
    """Runs a command with some input; its exit status is the caller's to look at."""
    return subprocess.run(
        command, input=text, capture_output=True, text=True, check=False, timeout=deadline_s
    )
