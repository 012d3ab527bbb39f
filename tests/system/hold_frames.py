# SPDX-License-Identifier: BSD-3-Clause
"""A process in a lab's node that holds a packet socket, its own or the broker's, and does with it
what it is told.

hold_frames.py USER [GROUP]
    becomes that user, without any privilege (0: stays root), with the group of the same number or
    that one, and reads commands, each a line with a
    list in JSON: the name of a function below that is in COMMANDS, and its arguments. Answers each
    with a line: {"ok": RESULT} or {"error": NAME}, the name of an errno.
"""

import array
import contextlib
import ctypes
import errno
import fcntl
import json
import mmap
import os
import socket
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

_BROKER = "/run/beowire/broker"
_QUESTION = struct.Struct("=IHH16s")
_ANSWER = struct.Struct("=IiHHII96s")
_BLOCK_BYTES = 1 << 18
_EVERYTHING = 3
_LONGEST = 4096

#: Below 4 GiB, and may be run.
_MAP_32BIT, _ALL_RIGHTS = 0x40, 7

#: For x86-64: `int $0x80` with number 366, setsockopt, and the five arguments of a function.
_CALL_OF_32_BITS = bytes.fromhex("5389fb4189c989f14489ce4489c7b86e010000cd805bc3")
_VALUE_AT = 64

#: Python's own sendto() takes no number of an interface.
_LIBRARY = ctypes.CDLL(None, use_errno=True)


class Held:
    """The socket, and what is needed to read what came through it."""

    def __init__(self) -> None:
        """Nothing yet."""
        self.socket: socket.socket | None = None
        self.ring: mmap.mmap | None = None
        self.slots: list[int] = []
        self.next = 0

    def hold(self, descriptor: int, blocks: int = 0, slot_bytes: int = 0) -> None:
        self.socket = socket.socket(fileno=descriptor)
        if blocks:
            self.ring = mmap.mmap(descriptor, blocks * _BLOCK_BYTES)
            within = range(0, _BLOCK_BYTES - slot_bytes + 1, slot_bytes)
            starts = range(0, blocks * _BLOCK_BYTES, _BLOCK_BYTES)
            self.slots = [start + at for start in starts for at in within]


HELD = Held()
CROWD: list[socket.socket] = []


def _held() -> socket.socket:
    assert HELD.socket is not None
    return HELD.socket


def ask(interface: str, ethertype: int = 0x88B5, number: int = 0) -> dict[str, Any]:
    """Has the broker give one: the endpoint's number and address, or why not."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as broker:
        broker.connect(_BROKER)
        with contextlib.suppress(BrokenPipeError):  # it refuses before it is asked
            broker.send(_QUESTION.pack(1, ethertype, number, interface.encode()))
        data, descriptors, _, _ = socket.recv_fds(broker, _ANSWER.size, 1)
    _, status, number, _, blocks, slot_bytes, why = _ANSWER.unpack(data)
    if status != 0:
        assert descriptors == []
        return {"why": why.split(b"\0")[0].decode()}
    HELD.hold(descriptors[0], blocks, slot_bytes)
    return {"number": number, "mac": _held().getsockname()[4].hex()}


def crowd(count: int) -> None:
    """Connects so often to the broker, and asks nothing."""
    for _ in range(count):
        CROWD.append(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
        CROWD[-1].connect(_BROKER)


def own(interface: str) -> str:
    """Opens one by itself, for all that passes; its address."""
    made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    made.bind((interface, _EVERYTHING))
    made.settimeout(0)
    HELD.hold(made.detach())
    _held().settimeout(0)
    return str(_held().getsockname()[4].hex())


def send(frame: str) -> int:
    """Sends it as it is."""
    return _held().send(bytes.fromhex(frame))


def send_by(frame: str, interface: int) -> int:
    """Sends it over the interface with that index."""
    address = struct.pack("=HHiHBB8s", socket.AF_PACKET, 0, interface, 0, 0, 6, b"")
    data = bytes.fromhex(frame)
    sent = _LIBRARY.sendto(_held().fileno(), data, len(data), 0, address, len(address))
    if sent < 0:
        raise OSError(ctypes.get_errno(), "sendto")
    return int(sent)


def send_with(frame: str, level: int, kind: int, value: str) -> int:
    """Sends it with a control message."""
    return _held().sendmsg([bytes.fromhex(frame)], [(level, kind, bytes.fromhex(value))])


def option(level: int, name: int, value: str) -> None:
    """setsockopt(2)."""
    _held().setsockopt(level, name, bytes.fromhex(value))


def option_of_32_bits(level: int, name: int, value: str) -> None:
    """setsockopt(2) as a program of 32 bits calls it, which BPF programs do not see."""
    low = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_32BIT, _ALL_RIGHTS)
    data = bytes.fromhex(value)
    low[: len(_CALL_OF_32_BITS)] = _CALL_OF_32_BITS
    low[_VALUE_AT : _VALUE_AT + len(data)] = data
    at = ctypes.addressof(ctypes.c_char.from_buffer(low))
    call = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_uint] * 5)(at)
    status = call(_held().fileno(), level, name, at + _VALUE_AT, len(data))
    if status < 0:
        raise OSError(-status, "setsockopt")


def filtered() -> None:
    """Has its own filter in place of the one that is there: it lets in everything."""
    code = array.array("B", struct.pack("=HBBI", 6, 0, 0, 0xFFFFFFFF))
    address, _ = code.buffer_info()
    _held().setsockopt(socket.SOL_SOCKET, 26, struct.pack("=HxxxxxxQ", 1, address))


def bind(protocol: int) -> None:
    """Names another protocol, on the same interface."""
    _held().bind((_held().getsockname()[0], protocol))


def control(request: int, argument: str) -> None:
    """ioctl(2)."""
    fcntl.ioctl(_held().fileno(), request, bytes.fromhex(argument))


def unmap() -> None:
    """Lets go of the ring's memory."""
    assert HELD.ring is not None
    HELD.ring.close()
    HELD.ring = None


def offer(path: str) -> None:
    """Passes the socket to who asks there, and closes it here."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(path)
        Path(path).chmod(0o777)
        listener.listen()
        print(json.dumps({"ok": "listening"}), flush=True)
        taker, _ = listener.accept()
        with taker:
            socket.send_fds(taker, [b"x"], [_held().fileno()])
    _held().close()


def take(path: str) -> None:
    """Takes what is offered there."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as giver:
        giver.connect(path)
        _, descriptors, _, _ = socket.recv_fds(giver, 1, 1)
    HELD.hold(descriptors[0])


def drop() -> None:
    """Closes it."""
    if HELD.ring is not None:
        HELD.ring.close()
    _held().close()


def arrived() -> list[str]:
    """The frames that have come since this was asked last."""
    found: list[str] = []
    while HELD.ring is not None:
        at = HELD.slots[HELD.next]
        status, _, bytes_here, start = struct.unpack_from("=IIIH", HELD.ring, at)
        if status & 1 == 0:
            return found
        found.append(HELD.ring[at + start : at + start + bytes_here].hex())
        struct.pack_into("=I", HELD.ring, at, 0)
        HELD.next = (HELD.next + 1) % len(HELD.slots)
    while True:
        try:
            data, where = _held().recvfrom(_LONGEST)
        except BlockingIOError:
            return found
        if where[2] != socket.PACKET_OUTGOING:
            found.append(data.hex())


COMMANDS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        ask,
        crowd,
        own,
        send,
        send_by,
        send_with,
        option,
        option_of_32_bits,
        filtered,
        bind,
        control,
        unmap,
        offer,
        take,
        drop,
        arrived,
    )
}


def main() -> None:
    user, group = int(sys.argv[1]), int(sys.argv[-1])
    if user != 0:
        os.setgroups([])
        os.setresgid(group, group, group)
        os.setresuid(user, user, user)
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        try:
            said = {"ok": COMMANDS[name](*arguments)}
        except OSError as error:
            said = {"error": errno.errorcode[error.errno or 0]}
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
