# SPDX-License-Identifier: BSD-3-Clause
"""The Wireshark dissector says what is in frames that network cards cut, which look like TCP: made
by the code that makes them on the wire, joined and cut apart.
"""

from pathlib import Path

import pytest

from system.wireshark import WRONG, fields_of, samples, tshark

#: What frame_samples_cut.c puts into DATA that cards cut: destination, message, segments, offset.
DATA_SAMPLES = [
    ["4711", "0x00050006", "0", "0"],
    ["4711", "0x00050006", "1", "41"],
    ["4711", "0x00050006", "300000000", "12300000000"],
    ["4711", "0x00050006", "1", "41"],
    ["4711", "0x00050007", "0", "0"],
    ["4711", "0x00050007", "1,2,3", "41"],
    ["4711", "0x00050008", "4", "164"],
    ["80", "0x00050009", "0", "0"],
    ["80", "0x00050009", "1", "41"],
]
DATA_BYTES = [41, 41, 41, 41, 41, 119, 1, 41, 41]
HEADER_BYTES = 40

#: What frame_samples_cut.c puts into frames and messages that cards cut, as tshark shows it, joined
#: and then each by itself.
MORE = b"what follows is as long as EAGER was with its head."
PUT_INFO = "key=0x1122334455667788 address=0x7f0011223344 request=0x50006 length=3000 offset=1436"
FRAMES_INFO = [
    f"PUT 815 > 4711 seq=1000 ack=2000 {PUT_INFO} (first of 3 frames)",
    f"PUT 815 > 4711 seq=1000 ack=2000 {PUT_INFO}",
    f"PUT 815 > 4711 seq=1001 ack=2000 {PUT_INFO}",
    "DONE 815 > 4711 seq=1002 ack=2000 message=0x4030201",
]
EAGER_INFO = "EAGER 815 > 4711 seq=1000 ack=2000 tag=0x123456789abcdef0 length=3000"
FRAGMENT_INFO = "FRAGMENT > 4711 seq=1001 message=0x9 offset=5 length=51"
LAST_INFO = "FRAGMENT > 4711 seq=1002 message=0x9 offset=56 length=1"
MESSAGE_INFO = [
    f"{EAGER_INFO} (first of 3 frames)",
    EAGER_INFO,
    FRAGMENT_INFO,
    LAST_INFO,
    f"{FRAGMENT_INFO} (first of 2 frames)",
    FRAGMENT_INFO,
    LAST_INFO,
]
TYPES = ["21,21,19", "21", "21", "19", "16,17,17", "16", "17", "17", "17,17", "17", "17"]
PLAIN = "ip.dst == 239.193.136.181"
MESSAGE = "ip.dst == 239.194.136.181"

WHATEVER_TCP_DOES = [
    [],
    ["-2"],
    ["-o", "tcp.analyze_sequence_numbers:FALSE"],
    ["-o", "tcp.check_checksum:TRUE"],
    ["-o", "tcp.desegment_tcp_streams:FALSE"],
    ["-o", "tcp.try_heuristic_first:TRUE"],
]


def capture_only(capture: Path, kept: int) -> None:
    """Cuts packets of a capture to so many bytes."""
    whole = capture.read_bytes()
    cut, at = bytearray(whole[:24]), 24
    while at < len(whole):
        length = int.from_bytes(whole[at + 8 : at + 12], "little")
        left = min(kept, length)
        cut += whole[at : at + 8] + left.to_bytes(4, "little") + whole[at + 12 : at + 16 + left]
        at += 16 + length
    capture.write_bytes(cut)


def info_of(capture: Path, *words: str) -> list[str]:
    return [row[0] for row in fields_of(capture, ["_ws.col.Info"], *words)]


# ---- DATA ----------------------------------------------------------------------------------------


def test_dissector__shows_each_field_of_cut_data(tmp_path: Path) -> None:
    capture = samples(tmp_path, "tso")
    names = ["destination", "data.message", "data.segment", "data.offset"]
    assert fields_of(capture, [f"beowire.{name}" for name in names]) == DATA_SAMPLES
    same = ["_ws.col.Protocol", "beowire.type", "beowire.key", "beowire.data.segment_bytes"]
    shown = ["Beowire", "11", "0x11223344", "41"]
    assert fields_of(capture, same) == len(DATA_SAMPLES) * [shown]
    assert fields_of(capture, ["beowire.payload", "beowire.length"]) == [
        [(b"d" * count).hex(), str(HEADER_BYTES + count)] for count in DATA_BYTES
    ]


def test_dissector__cut_data_info_column_says_what_happens(tmp_path: Path) -> None:
    """And nothing of what TCP thinks of it."""
    lines = [row[0] for row in fields_of(samples(tmp_path, "tso"), ["_ws.col.Info"])]
    assert lines[0] == "DATA > 4711 message=0x50006 segment=0 length=41"
    assert lines[2] == "DATA > 4711 message=0x50006 segment=300000000 length=41"
    assert lines[5] == "DATA > 4711 message=0x50007 segment=1 length=119 (first of 3 frames)"
    assert all(line.startswith("DATA > ") for line in lines)


@pytest.mark.parametrize("options", WHATEVER_TCP_DOES, ids=" ".join)
def test_dissector__cut_data_is_shown_once_whatever_tcp_does(
    tmp_path: Path, options: list[str]
) -> None:
    capture = samples(tmp_path, "tso")
    assert fields_of(capture, ["beowire.type"], *options) == len(DATA_SAMPLES) * [["11"]]
    assert tshark(capture, *options, "-Y", WRONG) == []


def test_dissector__cut_data_of_which_headers_were_captured(tmp_path: Path) -> None:
    capture = samples(tmp_path, "tso")
    capture_only(capture, 14 + HEADER_BYTES)
    names = ["destination", "data.message", "data.segment", "data.offset"]
    assert fields_of(capture, [f"beowire.{name}" for name in names]) == DATA_SAMPLES
    lines = [row[0] for row in fields_of(capture, ["_ws.col.Info"])]
    assert all(line.endswith("(cut by the capture)") for line in lines)
    assert tshark(capture, "-Y", WRONG) == []


def test_dissector__other_tcp_is_left_alone(tmp_path: Path) -> None:
    """The source port is the EtherType that the group says, or this is somebody else's."""
    capture = samples(tmp_path, "tso")
    group, others = bytes([239, 192, 0x88, 0xB5]), bytes([239, 192, 0x88, 0xB6])
    whole = capture.read_bytes()
    assert whole.count(group) == len(DATA_SAMPLES)
    capture.write_bytes(whole.replace(group, others))
    assert len(tshark(capture, "-Y", "tcp && !beowire")) == len(DATA_SAMPLES)


# ---- frames, and messages ------------------------------------------------------------------------


def test_dissector__shows_each_field_of_cut_frames(tmp_path: Path) -> None:
    capture = samples(tmp_path, "tso_frames")
    names = ["_ws.col.Protocol", "beowire.type", "beowire.key", "beowire.destination"]
    for row, types in zip(fields_of(capture, names), TYPES, strict=True):
        frames = len(types.split(","))
        assert row == [
            "Beowire",
            types,
            ",".join(frames * ["0x11223344"]),
            ",".join(frames * ["4711"]),
        ]
    names = ["sequence", "source", "put.offset", "done.message", "length"]
    assert fields_of(capture, [f"beowire.{name}" for name in names], "-Y", PLAIN) == [
        ["1000,1001,1002", "815,815,815", "1436,1436", "0x04030201", "72,72,36"],
        ["1000", "815", "1436", "", "72"],
        ["1001", "815", "1436", "", "72"],
        ["1002", "815", "", "0x04030201", "36"],
    ]


def test_dissector__shows_each_field_of_a_cut_message(tmp_path: Path) -> None:
    capture = samples(tmp_path, "tso_frames")
    names = ["sequence", "eager.message", "fragment.message", "fragment.offset", "payload_bytes"]
    second, last = ["1001", "", "0x0009", "5", "51"], ["1002", "", "0x0009", "56", "1"]
    assert fields_of(capture, [f"beowire.{name}" for name in names], "-Y", MESSAGE) == [
        ["1000,1001,1002", "0x0009", "0x0009,0x0009", "5,56", "5,51,1"],
        ["1000", "0x0009", "", "", "5"],
        second,
        last,
        ["1001,1002", "", "0x0009,0x0009", "5,56", "51,1"],
        second,
        last,
    ]
    parts = [b"hello".hex(), MORE.hex(), b".".hex()]
    assert [row[0] for row in fields_of(capture, ["beowire.payload"], "-Y", MESSAGE)] == [
        ",".join(parts),
        *parts,
        ",".join(parts[1:]),
        *parts[1:],
    ]
    # What the head of EAGER says; a FRAGMENT here does not say from whom it is.
    names = ["source", "eager.tag", "eager.message_bytes", "length"]
    head = ["815", "0x123456789abcdef0", "3000", "51"]
    assert fields_of(capture, [f"beowire.{name}" for name in names], "-Y", MESSAGE) == (
        2 * [head] + 5 * [len(head) * [""]]
    )


def test_dissector__cut_frames_info_column_says_what_happens(tmp_path: Path) -> None:
    assert info_of(samples(tmp_path, "tso_frames")) == FRAMES_INFO + MESSAGE_INFO


@pytest.mark.parametrize("options", WHATEVER_TCP_DOES, ids=" ".join)
def test_dissector__cut_frames_are_shown_once_whatever_tcp_does(
    tmp_path: Path, options: list[str]
) -> None:
    capture = samples(tmp_path, "tso_frames")
    assert fields_of(capture, ["beowire.type"], *options) == [[types] for types in TYPES]
    assert tshark(capture, *options, "-Y", WRONG) == []


def test_dissector__sequences_and_offsets_of_a_cut_message_go_far(tmp_path: Path) -> None:
    """The sequence may wrap around in the middle of a message."""
    capture = samples(tmp_path, "tso_frames")
    whole = capture.read_bytes()
    at_51, acknowledged = (51).to_bytes(4, "big"), (1000).to_bytes(4, "big")
    far = 0xFFFFFFFF // 51 * 51
    moved = whole.replace(
        at_51 + acknowledged, far.to_bytes(4, "big") + (0xFFFFFFFF).to_bytes(4, "big")
    )
    assert moved != whole
    capture.write_bytes(moved)
    index = far // 51
    names = ["beowire.sequence", "beowire.fragment.offset"]
    assert fields_of(capture, names, "-Y", MESSAGE)[4] == [
        f"{index - 1},{index}",
        f"{far - 46},{far + 51 - 46}",
    ]


def test_dissector__cut_frames_that_the_capture_cut(tmp_path: Path) -> None:
    """Wherever it does: it is nobody's fault, and each FRAGMENT's place is known anyway."""
    whole = samples(tmp_path, "tso_frames").read_bytes()
    capture = tmp_path / "cut.pcap"
    for kept in range(14 + HEADER_BYTES, 14 + HEADER_BYTES + 180, 17):
        capture.write_bytes(whole)
        capture_only(capture, kept)
        assert tshark(capture, "-Y", f"({WRONG}) || !beowire") == []
        for length, info in fields_of(capture, ["ip.len", "_ws.col.Info"]):
            is_cut = 14 + int(length) > kept
            assert info.count("(cut by the capture)") == is_cut, (kept, info)
        shown = fields_of(capture, ["beowire.fragment.offset"], "-Y", MESSAGE)
        assert [row[0] for row in shown] == ["5,56", "", "5", "56", "5,56", "5", "56"]


def test_dissector__cut_frames_of_which_headers_were_captured(tmp_path: Path) -> None:
    capture = samples(tmp_path, "tso_frames")
    capture_only(capture, 14 + HEADER_BYTES)
    lines = info_of(capture)
    assert lines[0] == "frames > 4711 seq=1000 (first of 3 frames) (cut by the capture)"
    assert lines[4] == "EAGER > 4711 seq=1000 (first of 3 frames) (cut by the capture)"
    assert lines[6] == f"{FRAGMENT_INFO} (cut by the capture)"


def test_dissector__says_why_one_of_cut_frames_is_dropped(tmp_path: Path) -> None:
    """Each has the segment to itself."""
    capture = samples(tmp_path, "tso_frames")
    whole = capture.read_bytes()
    # The first PUT says that it is longer, the second has another version.
    put = bytes([0x37, 21]) + bytes(2) + (4711).to_bytes(2, "little")
    second = whole.index(put, whole.index(put) + 1)
    spoilt = bytearray(whole)
    spoilt[second] = 0x27
    spoilt[second - 72 + 22] += 1
    capture.write_bytes(spoilt)
    said = fields_of(capture, ["_ws.expert.message"], "-Y", "beowire.problem && frame.number == 1")
    assert len(said) == 1
    for text in (
        "shorter than it says: 72 bytes of 73",
        "version 2, or a header of another length",
    ):
        assert text in said[0][0]
    assert fields_of(capture, ["beowire.type"])[0] == ["21,21,19"]


@pytest.mark.parametrize("kind", [195, 191, 196])
def test_dissector__other_kinds_are_left_alone(tmp_path: Path, kind: int) -> None:
    capture = samples(tmp_path, "tso_frames")
    whole = capture.read_bytes()
    for ours in (193, 194):
        whole = whole.replace(bytes([239, ours, 0x88, 0xB5]), bytes([239, kind, 0x88, 0xB5]))
    capture.write_bytes(whole)
    assert len(tshark(capture, "-Y", "tcp && !beowire")) == len(TYPES)
