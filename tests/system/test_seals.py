# SPDX-License-Identifier: BSD-3-Clause
"""Somebody on the path of an exchange says what it has seen again, as it was and altered, from
where it came: nothing comes of it if frames are sealed, and much if they are not."""

import contextlib
import json
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from beowire.places.lab import cluster, network
from beowire.places.lab.state import LabState
from system.conftest import wait_until
from system.test_protocol_document import crc_32c
from system.test_stillness import PATIENCE_S, states
from system.test_strangers import Exchange, exchanging

HEADER_BYTES, SEAL_BYTES = 28, 24
WITH_SEAL, WITHOUT = 0x3D, 0x37
CLOSE, DATA = 4, 11
CHECKED, CHECKSUM_AT = b"\x00\x01", 24
NEVER_SEALED = {1, 2, 3}
PADDED_BYTES = 46
ETHERNET_BYTES, UDP_BYTES = 14, 14 + 20 + 8
KEY_ENDS = 12  # of every frame; with a key that nobody has it would be somebody else's


class Watcher:
    """watch_frames.py at the port of node0."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "\n"

    def _ask(self, words: dict[str, object]) -> list[str]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(words) + "\n")
        self._process.stdin.flush()
        found: list[str] = json.loads(self._process.stdout.readline())
        return found

    def seen(self) -> list[bytes]:
        """What has gone to node0 of frames that may have a seal."""
        packets = [bytes.fromhex(packet) for packet in self._ask({"seen": True})]
        return [one for one in packets if frame_of(one)[1] not in NEVER_SEALED]

    def say(self, packets: Sequence[bytes]) -> None:
        self._ask({"packets": [packet.hex() for packet in packets]})


@contextlib.contextmanager
def watching(lab: LabState) -> Iterator[Watcher]:
    program = [sys.executable, str(Path(__file__).with_name("watch_frames.py")), "to-node0"]
    with subprocess.Popen(
        cluster.command_in(cluster.node_of(lab, network.SWITCH), program, pin=False),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield Watcher(process)
        finally:
            process.kill()


def is_udp(packet: bytes) -> bool:
    return packet[12:14] == b"\x08\x00"


def frame_of(packet: bytes) -> bytes:
    return packet[UDP_BYTES if is_udp(packet) else ETHERNET_BYTES :]


def altered(packet: bytes, dice: random.Random) -> bytes:
    """With one bit wrong, which may be any that does not say whose the frame is."""
    changed = bytearray(packet)
    first = (UDP_BYTES if is_udp(packet) else ETHERNET_BYTES) + KEY_ENDS
    changed[dice.randrange(first, len(packet))] ^= 1 << dice.randrange(8)
    return bytes(changed)


def closing(packet: bytes, with_seal: bool) -> bytes:
    """An Ethernet frame made into one that says that its sender closes; without a seal it has a
    right checksum, as whoever is on the path can make it."""
    frame = frame_of(packet)
    header = bytearray(frame[:HEADER_BYTES])
    header[0] = WITH_SEAL if with_seal else WITHOUT
    header[1] = CLOSE
    header[2:4] = header[22:24] = bytes(2)  # no flags, and no payload
    if not with_seal:
        header[2:4] = CHECKED
        header[CHECKSUM_AT:] = crc_32c(bytes(header[:CHECKSUM_AT])).to_bytes(4, "little")
    seal = frame[HEADER_BYTES : HEADER_BYTES + SEAL_BYTES] if with_seal else b""
    return packet[:ETHERNET_BYTES] + (bytes(header) + seal).ljust(PADDED_BYTES, b"\0")


def all_closing(packets: Sequence[bytes], with_seal: bool) -> list[bytes]:
    return [
        closing(packet, with_seal)
        for packet in packets
        if not is_udp(packet) and frame_of(packet)[1] != DATA
    ]


def dropped(exchange: Exchange) -> int:
    """What was not taken for what it says that it is, or for whom."""
    counters = exchange.snapshot().values("counters")
    return sum(value for name, value in counters.items() if name.startswith("dropped_"))


def of_both_lanes(packets: Sequence[bytes]) -> bool:
    """There are enough, over UDP and as Ethernet frames."""
    return len(packets) > 50 and {is_udp(packet) for packet in packets} == {False, True}


def repeated_and_altered(watcher: Watcher, dice: random.Random) -> int:
    """Says what has been seen again, as it was and altered; how many frames that were."""
    seen = watcher.seen()
    said = [
        *seen,
        *(altered(packet, dice) for packet in seen for _ in range(3)),
        *all_closing(seen, with_seal=True),
        *all_closing(seen, with_seal=False),
    ]
    watcher.say(said)
    return len(said)


def asked_for_seals(frames: int) -> int:
    """So many at least: a bit may have made a frame's length wrong, or a flag."""
    return frames * 8 // 10


@pytest.mark.timeout(5 * PATIENCE_S)
def test_sealed_frames_again_and_altered__change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BEOWIRE_SETTINGS", "authenticate=true")
    dice = random.Random(1)
    with exchanging(2) as exchange, watching(exchange.lab) as watcher:
        assert wait_until(lambda: of_both_lanes(watcher.seen()), PATIENCE_S)
        before = exchange.counter("dropped_seal")
        said = repeated_and_altered(watcher, dice)
        assert exchange.reaches("dropped_seal", before + asked_for_seals(said))
        exchange.finish()
        assert states(exchange.ends[0].pid) == ["connected"]

        # Nothing else is on its way any more: each of them can be found among what is dropped.
        before, all_before = exchange.counter("dropped_seal"), dropped(exchange)
        said = repeated_and_altered(watcher, dice)
        assert exchange.reaches("dropped_seal", before + asked_for_seals(said))
        assert wait_until(lambda: dropped(exchange) >= all_before + said, PATIENCE_S)
        assert states(exchange.ends[0].pid) == ["connected"]


@pytest.mark.timeout(5 * PATIENCE_S)
def test_frames_without_seals__whoever_knows_the_key_is_believed() -> None:
    with exchanging(2) as exchange, watching(exchange.lab) as watcher:
        assert wait_until(lambda: all_closing(watcher.seen(), with_seal=False), PATIENCE_S)
        exchange.finish()
        assert states(exchange.ends[0].pid) == ["connected"]
        watcher.say(all_closing(watcher.seen(), with_seal=False)[:1])
        assert wait_until(lambda: states(exchange.ends[0].pid) != ["connected"], PATIENCE_S)
