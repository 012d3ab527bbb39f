# SPDX-License-Identifier: BSD-3-Clause
"""Takes the port of a process as soon as that has ended, as any user of its host can.

take_port.py IP PORT
    says "ready", tries until the UDP port is free, for 30 seconds at most, takes it, and the TCP
    port of that number if that is free, and says "taken". Says nothing to anybody who asks there.
    At the end of its input says how many bytes have come.
"""

import contextlib
import ipaddress
import select
import socket
import sys
import time

_LONGEST_S = 30.0


def main() -> None:
    place = (sys.argv[1], int(sys.argv[2]))
    family = socket.AF_INET6 if ipaddress.ip_address(place[0]).version == 6 else socket.AF_INET
    end = time.monotonic() + _LONGEST_S
    got = 0
    with (
        socket.socket(family, socket.SOCK_DGRAM) as taken,
        socket.socket(family, socket.SOCK_STREAM) as listener,
    ):
        print("ready", flush=True)
        while time.monotonic() < end:
            with contextlib.suppress(OSError):
                taken.bind(place)
                break
        with contextlib.suppress(OSError):
            listener.bind(place)
            listener.listen()
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
