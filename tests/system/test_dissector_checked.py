# SPDX-License-Identifier: BSD-3-Clause
"""The Wireshark dissector shows checksums, and compares them: one of each type that has one, made
by the code that makes them on the wire, and the same damaged; and those of a lab."""

from pathlib import Path

import pytest

from system.test_dissector import SAMPLES, captured_exchange
from system.wireshark import PATIENCE_S, TYPES, WRONG, fields_of, samples, tshark

#: The types that have none, and those that have one, in the order of the capture of samples.
PROVEN = {1, 2}
CHECKED_TYPES = {number: name for number, name in TYPES.items() if number not in PROVEN}
CHECKED = "beowire.flags.checked == 1 || beowire.data.checksum"
COMPARED = ("-o", "beowire.checksums:TRUE")

#: Frames of a lab that are looked at: comparing takes a while.
ENOUGH = ("-c", "3000")


def test_dissector__shows_checksums(tmp_path: Path) -> None:
    capture = samples(tmp_path, "checked")
    names = ["type", "flags.checked", "checksum", "data.checksum", "payload"]
    rows = fields_of(capture, [f"beowire.{name}" for name in names])
    whole = rows[: len(CHECKED_TYPES)]
    assert [int(row[0]) for row in whole] == list(CHECKED_TYPES)
    for number, checked, checksum, of_data, payload in whole:
        name = TYPES[int(number)]
        if name in ("DATA", "EAGER"):
            assert payload == SAMPLES[name]["payload"], name
        if name == "DATA":
            assert (checked, checksum) == ("", "")
            assert int(of_data, 16) != 0
        else:
            assert (checked, of_data) == ("1", "")
            assert int(checksum, 16) != 0


def test_dissector__finds_those_that_were_damaged(tmp_path: Path) -> None:
    capture = samples(tmp_path, "checked")
    damaged = {int(row[0]) for row in fields_of(capture, ["frame.number"], *COMPARED, "-Y", WRONG)}
    count = len(CHECKED_TYPES)
    assert damaged == set(range(count + 1, 2 * count + 1))
    said = fields_of(capture, ["_ws.expert.message"], *COMPARED, "-Y", "beowire.problem")
    assert all("it was damaged" in row[0] for row in said)
    assert tshark(capture, *COMPARED, "-Y", "_ws.lua.error") == []
    assert tshark(capture, "-Y", WRONG) == []  # nobody has asked


@pytest.mark.timeout(4 * PATIENCE_S)
def test_dissector__of_a_lab_ethernet_frames_have_right_checksums(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BEOWIRE_SETTINGS", "bulk_by_packet=all")
    capture, _, _ = captured_exchange(tmp_path)
    stranger = "beowire.key == 0xaaaa || beowire.reset.echoed_key == 0xaaaa"
    assert tshark(capture, *ENOUGH, *COMPARED, "-Y", f"({WRONG}) && !({stranger}) && !icmp") == []
    ours = "eth.type == 0x88b5 && beowire.type > 3"
    assert len(tshark(capture, *ENOUGH, "-Y", f"({ours}) && ({CHECKED})")) > 100
    assert tshark(capture, "-Y", f"({ours}) && !({CHECKED}) && !({stranger})") == []
    assert tshark(capture, "-Y", f"udp && beowire && ({CHECKED})") == []
