# SPDX-License-Identifier: BSD-3-Clause
"""The Wireshark dissector says of frames what is in them: of one of each type, made by the code
that makes them on the wire, and of all that two processes sent each other across a lab.
"""

import json
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from beowire.places.lab import cluster, network
from beowire.places.lab.options import LabOptions
from beowire.places.lab.state import LabState
from system.conftest import wait_until
from system.exchanges import introduce
from system.wireshark import (
    DISSECTOR,
    PATIENCE_S,
    PROGRAMS,
    STRUCTS,
    TYPES,
    WRONG,
    fields_of,
    fields_of_struct,
    samples,
    tshark,
)

MESSAGES = 2000
TAG = 42
MARK = b"this is where the capture may end"

#: From here on types are of remote memory, which the exchange does not use.
FIRST_REMOTE_TYPE = 21

#: What frame_samples.c puts into the frames of these types by hand, as tshark shows it.
_BY_HAND: dict[str, dict[str, str]] = {
    "CONNECT": {
        "key": "0x00000000",
        "connect.incarnation": "0x0102030405060708",
        "connect.expected_incarnation": "0x2122232425262728",
        "connect.key": "0x55667788",
        "connect.echoed_key": "0x00000000",
        "connect.features.selective": "1",
        "connect.features.seal": "1",
        "connect.features.seal_wanted": "1",
        "connect.frame_bytes": "1500",
        "connect.job_key": "0x3132333435363738",
        "connect.nonce": b"0123456789abcdef".hex(),
        "connect.proof": b"ABCDEFGHIJKLMNOP".hex(),
        "address.rails": "2",
        "address.endpoint": "815",
        "address.ethertype": "0x88b5",
        "address.tso_rails": "0x02",
        "address.incarnation": "0x0102030405060708",
        "address.host": "0x1112131415161718",
        "address.process": "4242",
        "address.mac": "02:00:00:00:00:01,02:00:00:00:01:01",
        "address.port": "40001,40003",
        "address.ipv4": "10.77.0.1",
        "address.ipv6": "fd00::9",
    },
    "ACCEPT": {
        "key": "0x11223344",
        "connect.echoed_key": "0x11223344",
        "connect.features.seal": "1",
        "connect.features.seal_wanted": "0",
    },
    "RESET": {"reset.echoed_key": "0x11223344", "reset.reason": "6"},
    "CLOSE": {"flags.ack_request": "1", "flags.retransmitted": "0", "flags.leaving": "0"},
    "ACK": {
        "version_words": "0x37",
        "flags": "0x0000",
        "destination": "4711",
        "source": "815",
        "key": "0x11223344",
        "sequence": "1000",
        "acknowledgement": "2000",
        "credit": "2032",
        "window": "32",
        "payload_bytes": "0",
        "length": "28",
    },
    "SACK": {
        "sack.upto": "2011",
        "sack.probe": "3",
        "sack.received": "0702" + 60 * "0",
        "sack.here": "2001-2003, 2010",
        "sack.missing": "2000, 2004-2009",
    },
    "DATA": {
        "version_words": "0x34",
        "destination": "4711",
        "key": "0x11223344",
        "data.message": "0x00050006",
        "data.segment": "74565",
        "payload": b"some data, so much that nothing is padded".hex(),
        "length": "57",
    },
    "EAGER": {
        "eager.tag": "0x123456789abcdef0",
        "eager.immediate": "0xcafef00d",
        "eager.message_bytes": "3000",
        "eager.message": "0x0009",
        "payload": b"hello".hex(),
        "length": "51",
    },
    "FRAGMENT": {
        "fragment.message": "0x0009",
        "fragment.offset": "1454",
        "payload": b"more".hex(),
    },
    "BUNDLE": {
        "bundle.tag": "0x0000000000000064,0x0000000000000065,0x0000000000000066",
        "bundle.immediate": "0x000000c8,0x000000c9,0x000000ca",
        "bundle.bytes": "3,0,5",
        "bundle.data": f"{b'one'.hex()},{b'three'.hex()}",
    },
    "PUT": {
        "put.key": "0x1122334455667788",
        "put.address": "0x00007f0011223344",
        "put.request": "0x00050006",
        "put.immediate": "0x0000002b",
        "put.bytes": "3000",
        "put.offset": "1436",
        "put.flags": "0x0001",
        "payload": b"operands".hex(),
    },
    "ATOMIC": {"payload": b"operands".hex()},
    "RESULT": {
        "result.request": "0x00050006,0x00050007",
        "result.status": "0,3",
    },
    "REPLY": {"payload": b"operands".hex()},
}

#: What frame_samples.c lets count: the other types that have an operation header.
COUNTING = STRUCTS.keys() - (_BY_HAND.keys() - {"ATOMIC", "REPLY"})

#: Fields that the dissector calls otherwise than their struct.
_RENAMED = {
    ("OFFER", "remote_address"): "address",
    ("OFFER", "address"): "source_address",
    ("ATOMIC", "type"): "element",
}


def counted(name: str) -> dict[str, int]:
    """The operation header of a type as its struct has it, if its bytes are 1, 2, 3, ..."""
    found, at = {}, 0
    for field, length in fields_of_struct(STRUCTS[name]):
        shown = _RENAMED.get((name, field), field)
        counting = bytes(range(at + 1, at + 1 + length))
        found[f"{name.lower()}.{shown}"] = int.from_bytes(counting, "little")
        at += length
    return found


#: What is in the frame of each type: what a header says, or what is put in by hand.
SAMPLES: dict[str, dict[str, Any]] = {
    name: (counted(name) if name in COUNTING else {}) | _BY_HAND.get(name, {})
    for name in TYPES.values()
}


def assert_shows(capture: Path, number: int, expected: dict[str, Any]) -> None:
    """In both frames of a type: as Ethernet frame and as datagram."""
    fields = [f"beowire.{field}" for field in expected]
    for row in fields_of(capture, fields, "-Y", f"beowire.type == {number}")[:2]:
        shown = dict(zip(expected, row, strict=True))
        for field, value in expected.items():
            assert (int(shown[field], 0) if isinstance(value, int) else shown[field]) == value, (
                field
            )


#: What is wrong with each bad frame of frame_samples.c and frame_samples_cut.c.
PROBLEMS = [
    "version 2",
    "type 99 is not known",
    "a flag that is not understood",
    "shorter than it says: 51 bytes of 346",
    "a payload where none belongs",
    "it carries more than its message",
    "no payload",
    "frames are here of which nothing is known",
    "upto is not 1 to 256 after the acknowledgement",
    "key and incarnation must not be 0",
    "nothing is wanted",
    "segments of 0 bytes",
    "type 11 is not known, or has another header",
    "version 3, or a header of another length",
    "longer than it says",
    "RESET has a seal",
    "shorter than it says: 46 bytes of 52",
    "the offset is not a multiple of the segment length",
    "segments of 0 bytes",
    "no payload",
    "more segments than there can be",
    "an urgent pointer where none belongs",
    "segments that have no room for more than the head of EAGER",
]


# ---- one of each type ----------------------------------------------------------------------------


def test_dissector__shows_each_field_of_each_type(tmp_path: Path) -> None:
    capture = samples(tmp_path)
    found = fields_of(capture, ["beowire.type", "frame.protocols"])
    on_ethernet, on_udp, trains = found[: len(TYPES)], found[len(TYPES) : -3], found[-3:]
    assert [int(row[0]) for row in on_ethernet] == list(TYPES)
    assert [int(row[0]) for row in on_udp] == list(TYPES)
    assert all(row[1] == "eth:ethertype:beowire" for row in on_ethernet)
    assert all(row[1] == "eth:ethertype:ip:udp:beowire" for row in on_udp)
    # What segmentation offload has put into one datagram: DATA ends where another frame begins.
    assert [row[0] for row in trains] == ["11,17", "11,11,11", "17,17,17"]
    shown = fields_of(capture, ["beowire.data.segment", "beowire.length", "beowire.padding"])
    assert shown[-2] == ["70000,70001,70002", "57,57,53", ""]
    assert shown[-1] == ["", "70,71,72", "0000,00"]
    for number, name in TYPES.items():
        assert_shows(capture, number, SAMPLES[name])


def test_dissector__finds_nothing_wrong_with_good_ones(tmp_path: Path) -> None:
    capture = samples(tmp_path)
    assert tshark(capture, "-Y", WRONG) == []
    assert len(tshark(capture, "-Y", "beowire")) == 2 * len(TYPES) + 3


def test_dissector__info_column_says_what_happens(tmp_path: Path) -> None:
    lines = [row[0] for row in fields_of(samples(tmp_path), ["_ws.col.Info"])]
    for shown, name in zip(lines, TYPES.values(), strict=False):
        ends = "> 4711" if name == "DATA" else "815 > 4711"  # it does not say from whom
        assert shown.startswith(f"{name} {ends}"), shown
    assert "SACK 815 > 4711 ack=2000 upto=2011 missing=2000, 2004-2009" in lines
    assert "EAGER 815 > 4711 seq=1000 ack=2000 tag=0x123456789abcdef0 length=3000" in lines
    assert "DATA > 4711 message=0x50006 segment=74565" in lines
    assert "RESET 815 > 4711 key=0x11223344 (one end wants seals, the other has none)" in lines
    assert (
        "PULL 815 > 4711 ack=2000 message=0x4030201 over tso 6 more=2055"
        " offset=1157159078456920585 wanted=0x1817161514131211" in lines
    )
    assert lines[-3].endswith("(first of 2 frames)")
    assert all(line.endswith("(first of 3 frames)") for line in lines[-2:])


def test_dissector__works_from_the_folder_of_plugins(tmp_path: Path) -> None:
    capture = samples(tmp_path)
    plugins = tmp_path / ".local" / "lib" / "wireshark" / "plugins"
    plugins.mkdir(parents=True)
    for name in ("beowire.lua", "beowire_types.lua"):
        shutil.copy(DISSECTOR.parent / name, plugins)
    assert len(tshark(capture, "-Y", "beowire", script=None)) == 2 * len(TYPES) + 3


def test_dissector__says_why_a_frame_is_dropped(tmp_path: Path) -> None:
    capture = samples(tmp_path, "bad")
    assert len(tshark(capture, "-Y", "beowire.problem")) == len(PROBLEMS)
    said = [row[0] for row in fields_of(capture, ["_ws.expert.message"])]
    assert len(said) == len(PROBLEMS)
    for text, problem in zip(said, PROBLEMS, strict=True):
        assert problem in text


def test_dissector__other_datagrams_are_left_alone(tmp_path: Path) -> None:
    """Anything over UDP comes by it: what only resembles a frame is not one."""
    capture = samples(tmp_path)
    data = bytearray(capture.read_bytes())
    at, packets = 24, 0
    while at < len(data):
        length = int.from_bytes(data[at + 8 : at + 12], "little")
        if data[at + 16 + 12 : at + 16 + 14] == b"\x08\x00":  # in IP
            destination_at = at + 16 + 14 + 28 + 4
            data[destination_at : destination_at + 2] = b"\0\0"
            packets += 1
        at += 16 + length
    capture.write_bytes(data)
    assert packets == len(TYPES) + 3
    assert len(tshark(capture, "-Y", "udp && !beowire")) == packets


# ---- a capture of the lab ------------------------------------------------------------------------


def mix(x: int) -> int:
    """splitmix64, as exchange.c has it."""
    mask = (1 << 64) - 1
    x = (x + 0x9E3779B97F4A7C15) & mask
    x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & mask
    x = ((x ^ x >> 27) * 0x94D049BB133111EB) & mask
    return x ^ x >> 31


def length_of(seed: int, number: int) -> int:
    """Length of a message of exchange.c."""
    dice = mix(seed ^ mix(number))
    if dice % 2000 == 0:
        return 4 << 20
    kind = dice >> 32 & 63
    if kind == 0:
        return 0
    return (dice >> 40) % 65537 if kind <= 3 else 1 + (dice >> 40) % 4096


def start(lab: LabState, node: str, program: list[str]) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        cluster.command_in(cluster.node_of(lab, node), program, pin=False),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@contextmanager
def capturing(lab: LabState, port: str, capture: Path) -> Iterator[None]:
    """Captures all that passes a port of the switch, and fails if anything was missed.

    Not in the node: what bypasses its queues on the way out is not shown to captures there.
    """
    options = ["-q", "-B", "64", "-i", port, "-w", str(capture)]
    dump = start(lab, network.SWITCH, ["dumpcap", *options])
    try:
        # It writes the file's header when it has begun.
        assert wait_until(lambda: capture.exists() and capture.stat().st_size > 0)
        yield
        mark_the_end(lab)
        assert wait_until(lambda: MARK in capture.read_bytes(), PATIENCE_S)
        dump.send_signal(signal.SIGINT)
        _, said = dump.communicate(timeout=PATIENCE_S)
        assert re.search(rf"dropped on interface '{port}': \d+/0 ", said), said
    finally:
        dump.kill()
        dump.communicate()


def exchange(lab: LabState) -> tuple[list[int], list[dict[str, int]]]:
    """Two ends send each other messages, and one gets a frame of nobody's; their numbers, and what
    they count."""
    program = [str(PROGRAMS / "exchange"), "eth0"]
    ends = [
        start(lab, node, [*program, *seeds, str(MESSAGES), "hold"])
        for node, seeds in (("node0", ["1", "2"]), ("node1", ["2", "1"]))
    ]
    try:
        addresses = introduce(ends)
        counters = []
        for end in ends:
            assert end.stdout is not None
            counters.append(json.loads(end.stdout.readline()))
        numbers = [int(address.split(":")[3], 16) for address in addresses]
        send_as_a_stranger(lab, addresses[0])
        for end in ends:
            _, said = end.communicate(timeout=PATIENCE_S)
            assert (end.returncode, said) == (0, "")
    finally:
        for end in ends:
            end.kill()
            end.communicate()
    return numbers, counters


def run_in_node1(lab: LabState, program: str) -> None:
    done = start(lab, "node1", ["python3", "-c", "import socket\n" + program])
    _, said = done.communicate(timeout=PATIENCE_S)
    assert (done.returncode, said) == (0, "")


def mark_the_end(lab: LabState) -> None:
    """Sends frames of another EtherType: when one is in the capture, all before it is.

    Several, for this wire loses some.
    """
    run_in_node1(
        lab,
        "s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)\n"
        "s.bind(('eth0', 0))\n"
        "for _ in range(10):\n"
        f"    s.send(b'\\xff' * 6 + s.getsockname()[4] + b'\\x88\\xb6' + {MARK!r})\n",
    )


def send_as_a_stranger(lab: LabState, address: str) -> None:
    """Sends an ACK with a key that nobody has, which is answered with RESET; waits for that.

    Again if nothing comes: this wire loses the question or the answer once in 25 times.
    """
    words = address.strip().split(":")
    number, mac = int(words[3], 16), words[8].split("/")[0]
    frame = bytes([0x37, 5, 0, 0]) + number.to_bytes(2, "little") + b"\x01\0\xaa\xaa" + bytes(18)
    run_in_node1(
        lab,
        "s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)\n"
        "s.bind(('eth0', 0x88B5))\n"
        "s.settimeout(1)\n"
        "own = s.getsockname()[4]\n"
        f"ask = bytes.fromhex({mac!r}) + own + b'\\x88\\xb5' + bytes.fromhex({frame.hex()!r})\n"
        "for _ in range(20):\n"
        "    try:\n"
        "        s.send(ask)\n"
        "        while s.recv(2048)[15] != 3:\n"
        "            pass\n"
        "        break\n"
        "    except TimeoutError:\n"
        "        pass\n"
        "else:\n"
        "    raise SystemExit('no RESET came')\n",
    )


def split(cell: str) -> list[str]:
    return [word for word in cell.split(",") if word]


def captured_exchange(tmp_path: Path) -> tuple[Path, list[int], list[dict[str, int]]]:
    """What passes node0's port while it exchanges messages with node1, over a wire that loses some;
    the numbers of both ends, and what they count."""
    capture = tmp_path / "lab.pcapng"
    tmp_path.chmod(0o755)
    lab = cluster.up_ephemeral(LabOptions(loss=0.01), "dissector")
    try:
        with capturing(lab.state, "to-node0", capture):
            numbers, counters = exchange(lab.state)
    finally:
        lab.close()
    return capture, numbers, counters


def assert_shows_what_was_sent(
    capture: Path, numbers: list[int], counters: list[dict[str, int]]
) -> None:
    # Endpoint numbers are random: one may be a TCP port of somebody's, who is not asked first here.
    # What a closed socket's host quotes of a late frame (ICMP) is not the whole of it.
    wrong = f"({WRONG}) && !icmp"
    assert tshark(capture, "-o", "tcp.try_heuristic_first:TRUE", "-Y", wrong) == []
    # Nothing else is on this wire but what the kernel says of itself.
    assert (
        tshark(capture, "-Y", "!beowire && !arp && !icmpv6 && !igmp && !icmp && eth.type != 0x88b6")
        == []
    )

    rows = fields_of(capture, ["beowire.type"], "-Y", "beowire")
    seen = {int(word) for row in rows for word in split(row[0])}
    messages_only = {name for number, name in TYPES.items() if number < FIRST_REMOTE_TYPE}
    assert {TYPES[number] for number in seen} == messages_only

    # node0 sent with seed 2. All that it sent is in the capture, also what was lost behind it.
    sent = ["-Y", f"beowire.source == {numbers[0]}"]
    messages: dict[int, int] = {}
    for kind, length in (
        ("eager", "message_bytes"),
        ("announce", "message_bytes"),
        ("bundle", "bytes"),
    ):
        names = [f"beowire.{kind}.{field}" for field in ("immediate", length, "tag")]
        for row in fields_of(capture, names, *sent):
            immediates, lengths, tags = (split(cell) for cell in row)
            assert {int(tag, 16) for tag in tags} <= {TAG}
            for immediate, bytes_ in zip(immediates, lengths, strict=True):
                messages[int(immediate, 16)] = int(bytes_)
    assert messages == {number: length_of(2, number) for number in range(MESSAGES)}

    again = fields_of(capture, ["beowire.flags.retransmitted"], *sent)
    repeated = sum(word == "1" for row in again for word in split(row[0]))
    assert repeated >= counters[0]["flow_retransmitted_frames"] > 0


@pytest.mark.timeout(4 * PATIENCE_S)
def test_dissector__of_a_lossy_lab_it_shows_what_was_sent(tmp_path: Path) -> None:
    assert_shows_what_was_sent(*captured_exchange(tmp_path))
