# SPDX-License-Identifier: BSD-3-Clause
"""Which congestion control TCP has in a node: what decides how fast it moves long messages.

A new network namespace takes over the host's default, which differs from host to host: with `bbr`,
which paces, TCP moves 1 MiB through a lab four to five times more slowly than with `cubic`. So
that labs are comparable, every node has the kernel's usual one unless the user names another.

Nobody, root included, can set in a namespace of his own what tcp_allowed_congestion_control does
not name, or have a module loaded for it.
"""

import contextlib
from collections.abc import Sequence
from pathlib import Path

from beowire.errors import BeowireError

USUAL = ("cubic", "reno")
"""What is taken unless the user names one: the first of these that the kernel allows."""

_SYSCTLS = Path("/proc/sys/net/ipv4")


def choose(asked: str | None, allowed: Sequence[str]) -> str | None:
    """The one to set, None to leave what is there; BeowireError if what is asked cannot be had."""
    if asked is None:
        return next((name for name in USUAL if name in allowed), None)
    if asked not in allowed:
        raise BeowireError(
            f"a lab cannot have the congestion control {asked!r}: this kernel allows"
            f" {', '.join(sorted(allowed)) or 'none to be set'}"
            " (sysctl net.ipv4.tcp_allowed_congestion_control)"
        )
    return asked


def set_default(asked: str | None, sysctls: Path = _SYSCTLS) -> str:
    """Sets it in this process's network namespace; the name of the one that is used from now on.

    "" if that cannot be read. What nobody asked for is left as it is where it cannot be set.
    """
    allowed = _read(sysctls / "tcp_allowed_congestion_control").split()
    chosen = choose(asked, allowed)
    used = sysctls / "tcp_congestion_control"
    if chosen is not None and _read(used) != chosen:
        try:
            used.write_text(chosen, encoding="ascii")
        except OSError as error:  # a container's /proc/sys can be read-only
            if asked is not None:
                raise BeowireError(
                    f"the congestion control of a node cannot be set here ({error.strerror}):"
                    f" leave out --congestion {asked}"
                ) from None
    return _read(used)


def _read(path: Path) -> str:
    with contextlib.suppress(OSError):
        return path.read_text(encoding="ascii").strip()
    return ""
