# SPDX-License-Identifier: BSD-3-Clause
"""How user-mode Linux is started: one machine, whose nodes are namespaces in it."""

import os
from collections.abc import Sequence

from beowire.places.lab.machines.parts import UmlParts

MEMORY_BYTES = 1 << 30

PORT = "/dev/ttyS0"
"""Of the agent, to the keeper."""


def command(parts: UmlParts, agent: Sequence[str], *, control: int) -> list[str]:
    """The command line. `control` is a descriptor that it inherits; its console is its output.

    It consists of many processes: in a process namespace of their own, all go with the first. That
    is a shell, since the first of a namespace cannot abort(), with which a kernel here panics.
    """
    program, *words = agent
    return [
        *("unshare", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"])),
        *("--mount-proc", "--pid", "--fork", "--kill-child", "--"),
        *("sh", "-c", '"$@"; exit "$?"', "sh"),
        str(parts.kernel.image),
        f"mem={MEMORY_BYTES >> 20}M",
        *("rootfstype=hostfs", "rootflags=/", "ro", "quiet", "panic=-1"),
        *("con=null", "con0=null,fd:1", "console=tty0", f"ssl0=fd:{control},fd:{control}"),
        f"init={program}",
        "--",
        *(f'"{word}"' if " " in word else word for word in words),
    ]
