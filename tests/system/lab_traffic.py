# SPDX-License-Identifier: BSD-3-Clause
"""What the lab's tests run inside nodes; needs nothing but Python. Says what it did in JSON.

lab_traffic.py send COUNT BYTES [BYPASS]   raw frames to every other node, at most 20,000 a second
lab_traffic.py receive                     counts them until the sender says that it was all
lab_traffic.py flood SECONDS BYTES         as many frames as go out, qdisc bypassed
lab_traffic.py echo                        UDP echo on port 7000 until its input ends
lab_traffic.py ask ADDRESS COUNT BYTES     round trips to that echo
lab_traffic.py serve                       sends a digest of what one TCP connection brought
lab_traffic.py push ADDRESS BYTES          sends bytes to that, and compares the digest
"""

import contextlib
import hashlib
import json
import random
import socket
import sys
import time
from pathlib import Path

_ETHERTYPE = 0x88B5
_ALL_PROTOCOLS = 3
_SOL_PACKET = 263
_PACKET_QDISC_BYPASS = 20
_PACKET_AUXDATA = 8
_FRAMES_PER_S = 20_000
_HEADER = bytes.fromhex("ffffffffffff") + bytes.fromhex("02be0e000099") + bytes.fromhex("88b5")
#: Number of a frame that says so; of so many, one arrives whatever is lost.
_LAST = (1 << 64) - 1
_LAST_FRAMES = 50
#: How long nothing may come before that counts as all, in seconds.
_PATIENCE_S = 20.0
_TAGGED = _HEADER[:12] + bytes.fromhex("8100 0123") + _HEADER[12:]


def _packet_socket(protocol: int) -> socket.socket:
    frames = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    frames.bind(("eth0", protocol))
    return frames


def send(count: int, size: int, bypass: int = 0) -> dict[str, object]:
    with _packet_socket(0) as frames:
        if bypass:
            frames.setsockopt(_SOL_PACKET, _PACKET_QDISC_BYPASS, 1)
        start = time.monotonic()
        for number in range(count):
            # Slow enough that nothing gets lost for want of a buffer on a busy machine.
            early_s = start + number / _FRAMES_PER_S - time.monotonic()
            if early_s > 0.002:
                time.sleep(early_s)
            frames.send(_HEADER + number.to_bytes(8, "big") + bytes(size - 8))
        for _ in range(_LAST_FRAMES):
            frames.send(_HEADER + _LAST.to_bytes(8, "big") + bytes(size - 8))
    return {"sent": count}


def receive() -> dict[str, object]:
    """`numbers` counts distinct frames, `ordered` tells whether none was overtaken. One that comes
    after the last is missing."""
    seen: set[int] = set()
    frames_count, newest, ordered = 0, -1, True
    with _packet_socket(_ETHERTYPE) as frames:
        with contextlib.suppress(OSError):  # SO_RCVBUFFORCE, where it is allowed
            frames.setsockopt(socket.SOL_SOCKET, 33, 256 << 20)
        print("ready", flush=True)
        frames.settimeout(_PATIENCE_S)
        with contextlib.suppress(TimeoutError):
            while (number := int.from_bytes(frames.recv(65536)[14:22], "big")) != _LAST:
                ordered = ordered and number > newest
                newest = number
                seen.add(number)
                frames_count += 1
    return {"received": frames_count, "numbers": len(seen), "ordered": ordered}


def flood(seconds: float, size: int) -> dict[str, object]:
    sent = 0
    with _packet_socket(0) as frames:
        frames.setsockopt(_SOL_PACKET, _PACKET_QDISC_BYPASS, 1)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            with contextlib.suppress(OSError):
                frames.send(_HEADER + bytes(size))
                sent += 1
    return {"sent": sent}


def echo() -> dict[str, object]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as port:
        port.bind(("0.0.0.0", 7000))
        print("ready", flush=True)
        port.settimeout(30.0)
        while True:
            data, sender = port.recvfrom(65536)
            if not data:
                return {}
            port.sendto(data, sender)


def ask(address: str, count: int, size: int) -> dict[str, object]:
    shortest_ns, answers = 1 << 62, 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as port:
        port.connect((address, 7000))
        port.settimeout(1.0)
        for number in range(count):
            data = random.Random(number).randbytes(size)
            start = time.monotonic_ns()
            with contextlib.suppress(TimeoutError):
                port.send(data)
                assert port.recv(65536) == data
                shortest_ns = min(shortest_ns, time.monotonic_ns() - start)
                answers += 1
        port.send(b"")
    return {"answers": answers, "shortest_ns": shortest_ns}


def serve() -> dict[str, object]:
    digest = hashlib.sha256()
    with socket.create_server(("", 7001)) as server:
        print("ready", flush=True)
        connection, _ = server.accept()
        with connection:
            while data := connection.recv(1 << 16):
                digest.update(data)
            connection.sendall(digest.digest())
    return {}


def push(address: str, size: int) -> dict[str, object]:
    data = random.Random(size).randbytes(size)
    with socket.create_connection((address, 7001)) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        answer = connection.makefile("rb").read()
    return {"intact": answer == hashlib.sha256(data).digest()}


def tagged(count: int) -> dict[str, object]:
    with _packet_socket(0) as frames:
        for number in range(count):
            frames.send(_TAGGED + number.to_bytes(8, "big") + bytes(100))
    return {"sent": count}


def receive_tagged(count: int) -> dict[str, object]:
    """Takes frames of VLAN 0x123: the kernel keeps the tag beside the frame."""
    numbers: list[int] = []
    with _packet_socket(_ALL_PROTOCOLS) as frames:
        frames.setsockopt(_SOL_PACKET, _PACKET_AUXDATA, 1)
        frames.settimeout(20.0)
        print("ready", flush=True)
        while len(numbers) < count:
            frame, beside, _, _ = frames.recvmsg(2048, 256)
            # struct tpacket_auxdata: the tag is its second last 16-bit number
            tag = int.from_bytes(beside[0][2][16:18], sys.byteorder) if beside else 0
            if tag == 0x123:
                numbers.append(int.from_bytes(frame[14:22], "big"))
    return {"numbers": numbers}


def received_bytes() -> dict[str, object]:
    text = Path("/sys/class/net/eth0/statistics/rx_bytes").read_text(encoding="ascii")
    return {"bytes": int(text), "at_ns": time.monotonic_ns()}


def main() -> None:
    words: list[int | float | str] = []
    for word in sys.argv[2:]:
        words.append(int(word) if word.isdecimal() else float(word) if _is_number(word) else word)
    print(json.dumps(globals()[sys.argv[1]](*words)), flush=True)


def _is_number(word: str) -> bool:
    return word.count(".") == 1 and word.replace(".", "").isdecimal()


if __name__ == "__main__":
    main()
