# SPDX-License-Identifier: BSD-3-Clause
"""The Wireshark dissector shows frames that are sealed, and their seals: one of each type, made by
the code that makes them on the wire, and all that two processes sent each other across a lab where
they want that."""

from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from system.test_dissector import (
    SAMPLES,
    assert_shows,
    assert_shows_what_was_sent,
    captured_exchange,
    split,
)
from system.test_dissector_cut import capture_only
from system.wireshark import PATIENCE_S, TYPES, WRONG, fields_of, samples, tshark

SEAL_BYTES = 24

#: The types that have no seal, and those that have one, in the order of the capture of samples.
NEVER_SEALED = {1, 2, 3}
SEALED_TYPES = {number: name for number, name in TYPES.items() if number not in NEVER_SEALED}

RECEIVERS, SENDERS = "0", "1"


def expected_of(name: str) -> dict[str, Any]:
    """What is in a frame of that type, and how long it is, if it is sealed."""
    expected = dict(SAMPLES[name])
    if "length" in expected:
        expected["length"] = str(int(expected["length"]) + SEAL_BYTES)
    if "version_words" in expected:
        expected["version_words"] = hex(int(expected["version_words"], 16) + SEAL_BYTES // 4)
    return expected


def test_dissector__shows_each_field_of_each_sealed_type(tmp_path: Path) -> None:
    capture = samples(tmp_path, "sealed")
    found = [row[0] for row in fields_of(capture, ["beowire.type"])]
    assert [int(types) for types in found[:-1]] == 2 * list(SEALED_TYPES)
    for number, name in SEALED_TYPES.items():
        assert_shows(capture, number, expected_of(name))


def test_dissector__shows_seals(tmp_path: Path) -> None:
    capture = samples(tmp_path, "sealed")
    names = ["counter", "secret", "tag"]
    rows = fields_of(capture, [f"beowire.seal.{name}" for name in names])
    assert [row[:2] for row in rows[:-1]] == [
        [str(1 + i), RECEIVERS] for i in range(2 * len(SEALED_TYPES))
    ]
    assert rows[-1][:2] == ["1,2,3", ",".join(3 * [SENDERS])]
    tags = [tag for row in rows for tag in split(row[2])]
    whole = capture.read_bytes()
    assert len(set(tags)) == len(tags) == 2 * len(SEALED_TYPES) + 3
    for tag in tags:
        assert (len(tag), whole.count(bytes.fromhex(tag))) == (32, 1)


def test_dissector__a_train_of_sealed_frames(tmp_path: Path) -> None:
    """Sealed DATA does not say how long it is either."""
    capture = samples(tmp_path, "sealed")
    names = ["beowire.type", "beowire.length", "beowire.payload", "_ws.col.Info"]
    (types, lengths, payloads, info) = fields_of(capture, names)[-1]
    assert (types, lengths) == ("11,11,17", "81,81,68")
    data, fragment = SAMPLES["DATA"]["payload"], SAMPLES["FRAGMENT"]["payload"]
    assert payloads == f"{data},{data},{fragment}"
    assert info == "DATA > 4711 message=0x50006 segment=74565 seal=1 (first of 3 frames)"


def test_dissector__finds_nothing_wrong_with_sealed_ones(tmp_path: Path) -> None:
    capture = samples(tmp_path, "sealed")
    assert tshark(capture, "-Y", WRONG) == []
    assert len(tshark(capture, "-Y", "beowire.seal")) == 2 * len(SEALED_TYPES) + 1


def test_dissector__info_column_says_the_counter(tmp_path: Path) -> None:
    lines = [row[0] for row in fields_of(samples(tmp_path, "sealed"), ["_ws.col.Info"])]
    names = 2 * list(SEALED_TYPES.values())
    for number, (line, name) in enumerate(zip(lines, names, strict=False), 1):
        assert line.startswith(f"{name} "), line
        assert line.endswith(f" seal={number}"), line


def test_dissector__sealed_frames_that_the_capture_cut(tmp_path: Path) -> None:
    """Wherever it does: it is nobody's fault."""
    whole = samples(tmp_path, "sealed").read_bytes()
    capture = tmp_path / "cut.pcap"
    for kept in range(14 + 16, 14 + 28 + 20 + 8 + SEAL_BYTES + 4, 6):
        capture.write_bytes(whole)
        capture_only(capture, kept)
        assert tshark(capture, "-Y", "_ws.lua.error || beowire.problem") == []


@pytest.mark.timeout(4 * PATIENCE_S)
def test_dissector__of_a_lab_with_seals_it_shows_what_was_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BEOWIRE_SETTINGS", "authenticate=true")
    capture, numbers, counters = captured_exchange(tmp_path)
    assert_shows_what_was_sent(capture, numbers, counters)
    stranger = "beowire.key == 0xaaaa || beowire.reset.echoed_key == 0xaaaa"

    # What belongs together has one key; by each way it comes in the order in which it was sealed.
    come: dict[tuple[str, str], list[int]] = defaultdict(list)
    names = ["type", "seal.secret", "seal.counter", "key"]
    shown = ["udp.srcport", *(f"beowire.{name}" for name in names)]
    for row in fields_of(capture, shown, "-Y", f"beowire && !({stranger})"):
        way = "udp" if row[0] else "ethernet"
        types, secrets, sealed, keys = (split(cell) for cell in row[1:])
        if NEVER_SEALED & {int(word) for word in types}:
            assert (len(types), sealed) == (1, [])
            continue
        assert secrets == len(types) * [RECEIVERS]  # each has told the other its address
        for key, counter in zip(keys, sealed, strict=True):
            come[key, way].append(int(counter))
    assert {way for _, way in come} == {"udp", "ethernet"}
    for found in come.values():
        assert found == sorted(set(found))
    by_key: dict[str, list[int]] = defaultdict(list)
    for (key, _), found in come.items():
        by_key[key] += found
    assert len(by_key) == len(numbers) == 2
    for found in by_key.values():
        assert len(set(found)) == len(found)
        # It counts what it seals; what was lost before the port is few of them.
        assert len(found) > 0.9 * max(found)
