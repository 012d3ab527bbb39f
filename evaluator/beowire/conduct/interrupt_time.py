# SPDX-License-Identifier: BSD-3-Clause
"""Whose time interrupts take: that of the process that they interrupt, or their own.

A kernel with IRQ_TIME_ACCOUNTING takes the time of interrupts, softirqs included, off that of
processes; one without leaves it there, although its columns of interrupts grow all the same, by
what it sees at its ticks. Its configuration is not always to be read, and switches at boot may
overrule it. So it is tried: a message to ourselves over the loopback device is received in a
softirq in the midst of the call that sends it, which takes a third of that call and more.
"""

import functools
import resource
import socket
import time

#: How long messages are sent at a time, short enough to be let alone even on a busy machine.
_TRY_NS = 1_000_000
_MESSAGES = 20

#: As many tries in which nobody else had the processor tell; and it is given up after so many.
_ENOUGH = 3
_MOST = 200

#: Of the time of such a try so much is missing in that of the process, if softirqs have their own.
_MISSING = 0.1


@functools.cache
def is_apart() -> bool | None:
    """Whether the time of interrupts is not in that of processes. None: it cannot be told."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.setblocking(False)
            sender.bind(("127.0.0.1", 0))
            missing = _shares_missing(sender)
    except OSError:
        return None  # no loopback device, or nothing may be sent
    return min(missing) > _MISSING if len(missing) == _ENOUGH else None


def _shares_missing(sender: socket.socket) -> list[float]:
    """Of up to _ENOUGH tries that were not disturbed."""
    found: list[float] = []
    for _ in range(_MOST):
        share = _share_missing(sender)
        if share is not None:
            found.append(share)
        if len(found) == _ENOUGH:
            break
    return found


def _share_missing(sender: socket.socket) -> float | None:
    """Which share of the time that passes while messages are sent is not the process's. None:
    somebody else had the processor meanwhile."""
    own = sender.getsockname()
    switches = _switches()
    wall_ns, used_ns = time.monotonic_ns(), time.thread_time_ns()
    while time.monotonic_ns() - wall_ns < _TRY_NS:
        for _ in range(_MESSAGES):  # what does not fit into the receive buffer is dropped
            sender.sendto(b"?", own)
    used_ns = time.thread_time_ns() - used_ns
    wall_ns = time.monotonic_ns() - wall_ns
    return 1 - used_ns / wall_ns if _switches() == switches else None


def _switches() -> int:
    used = resource.getrusage(resource.RUSAGE_THREAD)
    return used.ru_nvcsw + used.ru_nivcsw
