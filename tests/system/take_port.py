# SPDX-License-Identifier: BSD-3-Clause
"""Takes the port of a process as soon as that has ended, as any user of its host can.

take_port.py IP PORT
    says "ready", tries until the UDP port is free, for 30 seconds at most, takes it, and the TCP
    ports of that number and next to it, if they are free, and says "taken". Says nothing to anybody
    who asks there: not even the kernel does, unless who asks has a key (TCP_MD5SIG).
    At the end of its input says how many bytes have come.
"""

import contextlib
import ipaddress
import select
import socket
import struct
import sys
import time

_LONGEST_S = 30.0
_TCP_MD5SIG_EXT = 32
_HAS_PREFIX = 1


def keep_silent(family: int, place: tuple[str, int]) -> socket.socket:
    """Listens there, if it is free, and hears only who has a key that nobody has."""
    listener = socket.socket(family, socket.SOCK_STREAM)
    key = struct.pack("=H126xBBHi80s", family, _HAS_PREFIX, 0, 16, 0, b"nobody has this.")
    with contextlib.suppress(OSError):
        listener.setsockopt(socket.IPPROTO_TCP, _TCP_MD5SIG_EXT, key)
        listener.bind(place)
        listener.listen()
    return listener


def main() -> None:
    place = (sys.argv[1], int(sys.argv[2]))
    family = socket.AF_INET6 if ipaddress.ip_address(place[0]).version == 6 else socket.AF_INET
    end = time.monotonic() + _LONGEST_S
    got = 0
    with socket.socket(family, socket.SOCK_DGRAM) as taken, contextlib.ExitStack() as kept:
        print("ready", flush=True)
        while time.monotonic() < end:
            with contextlib.suppress(OSError):
                taken.bind(place)
                break
        for port in (place[1], place[1] ^ 1):
            kept.enter_context(keep_silent(family, (place[0], port)))
        print("taken", flush=True)
        while time.monotonic() < end:
            readable = select.select([sys.stdin, taken], [], [], 1.0)[0]
            if taken in readable:
                got += len(taken.recv(65536))
            if sys.stdin in readable:
                break
    print(got, flush=True)


if __name__ == "__main__":
    main()
