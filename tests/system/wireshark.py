# SPDX-License-Identifier: BSD-3-Clause
"""For the tests of the Wireshark dissector: captures of samples, and what tshark says of them."""

import os
import re
import subprocess
from itertools import takewhile
from pathlib import Path

from system.conftest import ROOT

PROGRAMS = ROOT / "build" / "release" / "tests" / "system"
DISSECTOR = ROOT / "tools" / "wireshark" / "beowire.lua"
PATIENCE_S = 60

#: A filter: packets with which something is wrong, or that the dissector fails at.
WRONG = "beowire.problem || _ws.malformed || _ws.lua.error"

#: Columns, by the names of their fields, as the preferences have them.
COLUMNS = {"_ws.col.Protocol": '"Protocol","%p"', "_ws.col.Info": '"Info","%i"'}

_HEADER = (ROOT / "transport" / "frame" / "frame.h").read_text(encoding="utf-8")
_ROW = re.compile(r"TYPE\((\d+), (\w+), \w+, (?:sizeof\(struct (\w+)\)|0),")

#: Names of types by number, and the structs of their operation headers: FRAME_TYPE_LIST.
TYPES = {int(number): name for number, name, _ in _ROW.findall(_HEADER)}
STRUCTS = {name: struct for _, name, struct in _ROW.findall(_HEADER) if struct}

_BOOLEAN = re.compile(r"(?<![^,])(True|False)(?![^,])")


def tshark(capture: Path, *words: str, script: Path | None = DISSECTOR) -> list[str]:
    """Lines that tshark prints of a capture, with the dissector and nothing of the user's."""
    loaded = [] if script is None else ["-X", f"lua_script:{script}"]
    # As root, tshark 4.4 loads no scripts. In a user namespace it is nobody, and reads what root
    # may.
    nobody = ["unshare", "--user"] if os.geteuid() == 0 else []
    done = subprocess.run(
        [*nobody, "tshark", "-n", *loaded, "-r", str(capture), *words],
        env={**os.environ, "HOME": str(capture.parent), "XDG_CONFIG_HOME": str(capture.parent)},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr
    assert "lua" not in done.stderr.lower(), done.stderr
    return done.stdout.splitlines()


def fields_of(capture: Path, names: list[str], *words: str) -> list[list[str]]:
    """A row for each packet: its fields, several of one name separated by commas; flags as 0 or 1,
    which tshark 4.4 shows in words. Columns (of COLUMNS) as they are printed: tshark 4.4 fills the
    fields of these names before it calls post-dissectors, which may change a column."""
    shown: dict[str, list[str]] = {}
    fields = [name for name in names if name not in COLUMNS]
    columns = [name for name in names if name in COLUMNS]
    if fields:
        asked = [word for name in fields for word in ("-e", name)]
        shown |= _by_name(fields, tshark(capture, *words, "-T", "fields", *asked))
    if columns:
        asked = ["-o", "gui.column.format:" + ",".join(COLUMNS[name] for name in columns)]
        shown |= _by_name(columns, tshark(capture, *words, "-T", "tabs", *asked))
    rows = zip(*(shown[name] for name in names), strict=True)
    return [[_BOOLEAN.sub(_digit, cell) for cell in row] for row in rows]


def _by_name(names: list[str], lines: list[str]) -> dict[str, list[str]]:
    rows = [line.split("\t") for line in lines]
    return {name: [row[number] for row in rows] for number, name in enumerate(names)}


def _digit(shown: re.Match[str]) -> str:
    return "1" if shown[0] == "True" else "0"


def fields_of_struct(name: str) -> list[tuple[str, int]]:
    """Names and bytes of the numbers that a struct of frame.h begins with."""
    body = _HEADER.partition(f"struct {name} {{\n")[2].partition("\n};")[0]
    declared = re.findall(r"^    (uint8_t|le16|le32|le64)\s+(\w+)([;[])", body, re.MULTILINE)
    numbers = takewhile(lambda one: one[2] == ";", declared)
    lengths = {"uint8_t": 1, "le16": 2, "le32": 4, "le64": 8}
    return [(field, lengths[kind]) for kind, field, _ in numbers]


def samples(tmp_path: Path, *words: str) -> Path:
    capture = tmp_path / "samples.pcap"
    with capture.open("wb") as file:
        subprocess.run([str(PROGRAMS / "frame_samples"), *words], stdout=file, check=True)
    return capture
