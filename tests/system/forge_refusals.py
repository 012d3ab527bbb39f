# SPDX-License-Identifier: BSD-3-Clause
"""Forges ICMP "port unreachable", as a host can that knows of a connection only who has it.

forge_refusals.py FROM TO FROM_PORT TO_PORT
    tells TO, as if it were FROM, that nobody is at FROM_PORT, to which TO_PORT has sent; until its
    input ends, or for half a minute. Says "ready" when it has told so once.
"""

import select
import socket
import struct
import sys
import time

_PAUSE_S = 0.002
_LONGEST_S = 30.0
_ICMP, _UDP = 1, 17
_UNREACHABLE, _PORT = 3, 3


def _checksum(data: bytes) -> int:
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total & 0xFFFF) + (total >> 16)
    return ~(total + (total >> 16)) & 0xFFFF


def _ip(source: str, target: str, protocol: int, body: bytes) -> bytes:
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(body), 0, 0, 64, protocol, 0)
    head += socket.inet_aton(source) + socket.inet_aton(target)
    return head[:10] + struct.pack("!H", _checksum(head)) + head[12:] + body


def refusal(source: str, target: str, source_port: int, target_port: int, quote: bytes) -> bytes:
    """What `source` would say to `target` if it refused a datagram that began so."""
    datagram = struct.pack("!HHHH", target_port, source_port, 8 + len(quote), 0) + quote
    body = bytes(4) + _ip(target, source, _UDP, datagram)
    head = struct.pack("!BB", _UNREACHABLE, _PORT)
    sum_of_all = _checksum(head + bytes(2) + body)
    return _ip(source, target, _ICMP, head + struct.pack("!H", sum_of_all) + body)


def main() -> None:
    source, target = sys.argv[1:3]
    ports = int(sys.argv[3]), int(sys.argv[4])
    # A PROBE with a key that is wrong, and what all routers quote at least.
    probe = bytes([0x27, 6]) + bytes(6) + b"\x01\x02\x03\x04" + bytes(20)
    packets = [refusal(source, target, *ports, quote) for quote in (probe, b"", bytes(500))]
    end = time.monotonic() + _LONGEST_S
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW) as forger:
        told = False
        while time.monotonic() < end and not select.select([sys.stdin], [], [], _PAUSE_S)[0]:
            for packet in packets:
                forger.sendto(packet, (target, 0))
            if not told:
                print("ready", flush=True)
                told = True


if __name__ == "__main__":
    main()
