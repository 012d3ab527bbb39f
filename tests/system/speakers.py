# SPDX-License-Identifier: BSD-3-Clause
"""Frames as somebody makes them who has read docs/PROTOCOL.md, and says them in a lab's node."""

import contextlib
import hashlib
import json
import secrets
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from beowire.places.lab import cluster
from beowire.places.lab.state import LabState

CONNECT, ACCEPT, RESET, EAGER, PUT, GET = 1, 2, 3, 16, 21, 23

_HEADER = struct.Struct("<BBHHHIIIHHI")
_BODY = struct.Struct("<QQIIIHHQ16s16s128s")
_PROOF_AT = _HEADER.size + 56
_PLACE = struct.Struct("<BBHHBBQQI4s")
_RAIL = struct.Struct("<6sH16s")
_VERSION = 3
_ETHERTYPE = 0x88B5
_IPV4_MAPPED = bytes(10) + b"\xff\xff"
_ENDPOINT = 77


@dataclass(frozen=True)
class Place:
    """Where an endpoint is, and which it is: what anybody may know of its address."""

    mac: bytes
    ip: str
    port: int
    endpoint: int
    incarnation: int

    def packed(self) -> bytes:
        head = _PLACE.pack(
            _VERSION, 1, self.endpoint, _ETHERTYPE, 0, 0, self.incarnation, 0, 0, bytes(4)
        )
        rail = _RAIL.pack(self.mac, self.port, _IPV4_MAPPED + socket.inet_aton(self.ip))
        return (head + rail).ljust(128, b"\0")


def parse(address: str) -> tuple[Place, bytes]:
    """The place, and the secret, of an address as text with one rail."""
    _, _, _, endpoint, incarnation, _, _, secret, rail = address.strip().split(":")
    mac, ip, port = rail.split("/")
    where = socket.inet_ntoa(bytes.fromhex(ip[-8:]))
    place = Place(
        bytes.fromhex(mac), where, int(port[:4], 16), int(endpoint, 16), int(incarnation, 16)
    )
    return place, bytes.fromhex(secret)


def another(place: Place) -> Place:
    """Another endpoint, which is there as well."""
    return replace(place, incarnation=1 + secrets.randbelow(2**64 - 1))


def _header(kind: int, to: int, source: int, key: int = 0, payload: int = 0) -> bytes:
    first = _VERSION << 4 | _HEADER.size // 4
    return _HEADER.pack(first, kind, 0, to, source, key, 0, 0, 16, payload, 0)


def proof(frame: bytes, secret: bytes, asked: bytes = b"") -> bytes:
    """The proof that belongs into a CONNECT, or into the ACCEPT of one with the nonce `asked`."""
    end = _PROOF_AT + 16
    hashed = asked + frame[:_PROOF_AT] + bytes(16) + frame[end : _HEADER.size + _BODY.size]
    return hashlib.blake2b(hashed, key=secret, digest_size=16).digest()


def connect(
    source: Place, target: Place, secret: bytes, expected: int | None = None, to: int | None = None
) -> bytes:
    """A CONNECT with the proof of who knows that secret.

    `expected` is the incarnation that it means, `to` the endpoint's number; the target's own if
    they are not given.
    """
    size = 1400
    body = _BODY.pack(
        source.incarnation,
        target.incarnation if expected is None else expected,
        1 + secrets.randbelow(2**32 - 1),
        0,
        1,
        size,
        0,
        0,
        secrets.token_bytes(16),
        bytes(16),
        source.packed(),
    )
    frame = _header(CONNECT, target.endpoint if to is None else to, source.endpoint) + body
    frame = frame[:_PROOF_AT] + proof(frame, secret) + frame[_PROOF_AT + 16 :]
    return frame.ljust(size, b"\0")


def nonce_of(frame: bytes) -> bytes:
    """That of a CONNECT."""
    return frame[_PROOF_AT - 16 : _PROOF_AT]


def proof_of(frame: bytes) -> bytes:
    """That of a CONNECT or ACCEPT."""
    return frame[_PROOF_AT : _PROOF_AT + 16]


def operation(kind: int, source: Place, target: Place, data: bytes = b"") -> bytes:
    """A GET, PUT or EAGER with keys that are guessed."""
    body = {
        EAGER: struct.pack("<QIIH", 42, 0, len(data), 0),
        PUT: struct.pack("<QQIIIIHH", secrets.randbits(64), 4096, 1, 0, len(data), 0, 0, 0),
        GET: struct.pack("<QQQII", secrets.randbits(64), 4096, 64, 1, 0),
    }[kind]
    key = 1 + secrets.randbelow(2**32 - 1)
    return _header(kind, target.endpoint, source.endpoint, key, len(data)) + body + data


def ethernet(target: Place, source: bytes, frame: bytes) -> str:
    """A frame to `target` with the MAC address `source`, as a Speaker says it."""
    return (target.mac + source + struct.pack("!H", _ETHERTYPE) + frame).hex()


@dataclass(frozen=True)
class Heard:
    """A frame that has come to a host."""

    way: str
    frame: bytes

    @property
    def kind(self) -> int:
        return self.frame[1]


class Speaker:
    """speak_frames.py in a node of a lab."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        where = self._read()
        assert isinstance(where, dict)
        self.place = another(
            Place(
                bytes.fromhex(where["mac"].replace(":", "")),
                where["ip"],
                where["port"],
                _ENDPOINT,
                0,
            )
        )
        """Of an endpoint that is there."""

    def _read(self) -> object:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())

    def _ask(self, words: dict[str, object]) -> object:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(words) + "\n")
        self._process.stdin.flush()
        return self._read()

    def say_udp(self, target: Place, frames: Sequence[bytes]) -> None:
        """Sends these to the target's port, in datagrams."""
        self._ask({"datagrams": [(target.ip, target.port, frame.hex()) for frame in frames]})

    def say_ethernet(
        self, target: Place, frames: Sequence[bytes], source: bytes | None = None
    ) -> None:
        """Sends these to the target's MAC address, as if from another one if that is given."""
        by = self.place.mac if source is None else source
        self._ask({"frames": [ethernet(target, by, frame) for frame in frames]})

    def heard(self) -> list[Heard]:
        """What has come its way, in the order in which it came."""
        found = self._ask({"heard": True})
        assert isinstance(found, list)
        return [Heard(way, bytes.fromhex(data)) for way, data in found]


@contextlib.contextmanager
def speaking(lab: LabState, node: str) -> Iterator[Speaker]:
    """Somebody who speaks, in this node."""
    program = [sys.executable, str(Path(__file__).with_name("speak_frames.py"))]
    with subprocess.Popen(
        cluster.command_in(cluster.node_of(lab, node), program, pin=False),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield Speaker(process)
        finally:
            process.kill()
