# SPDX-License-Identifier: BSD-3-Clause
"""`beowire explain` on two nodes of a lab: layers, the time line, and what perf says or why not."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from system.conftest import RunBeowire, assert_refused

#: In the order in which a message meets them, at the end that sends it and at the one that has it.
_SENT = ["the application posts", "frames are made", "handed to the lane", "the lane has taken it"]
_HAD = ["a frame is seen", "matched, and copied", "accepted", "the application has it"]


def _places(found: Any, end: str) -> list[str]:
    return [step["place"] for step in found["time_line"]["steps"] if step["end"] == end]


@pytest.mark.timeout(200)
def test_explain__beowire_by_layers_and_in_its_code(
    run_beowire: RunBeowire, tmp_path: Path
) -> None:
    words = ("explain", "beowire", "--lab", "--size", "64", "--time", "3", "--trace", "--json")
    done = run_beowire(*words, "--out", str(tmp_path / "run"), timeout=180)
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert [one["driver"] for one in found["layers"]] == ["beowire", "packet", "memcpy"]
    assert [one["below"] for one in found["layers"]] == ["packet", "memcpy", None]
    assert found["layers"][1]["tax_ns"] > 0

    near, far = _places(found, "initiator"), _places(found, "responder")
    # A lane may have been told of what it has taken when the answer is here already.
    assert [place for place in near if place in _SENT[:3]] == _SENT[:3]
    assert [place for place in far if place in _HAD] == _HAD
    assert [place for place in near if place in _HAD] == _HAD
    times = [step["at_ns"] for step in found["time_line"]["steps"]]
    assert times[0] == 0
    assert times == sorted(times)
    assert times[-1] < found["time_line"]["round_trip_ns"]

    report = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "Layer tax" in report
    split = found["split"]
    if split is None:  # perf is not everywhere, and not always allowed
        assert found["why_not"]
        return
    assert shutil.which("perf")
    # What is left over is what the parts do not add up to: only they say anything.
    assert 0 < sum(split["parts_ns"].values()) < 2 * split["half_rtt_ns"]
    assert {"protocol", "system call"} <= split["parts_ns"].keys()
    assert split["samples"] > 100
    assert "Where the time goes" in report


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("nothing",), "no driver 'nothing'"),
        (("tcp", "--trace"), "Beowire's own drivers only, not with tcp"),
        (("tcp", "--size", "0"), "not a size"),
        (("tcp", "--mtu", "1500"), "add --lab"),
        (("tcp", "--lab", "--hosts", "a,b"), "exclude each other"),
        (("tcp", "--time", "0"), "--time is more than 0"),
    ],
)
def test_explain__what_cannot_be_is_refused(
    run_beowire: RunBeowire, tmp_path: Path, words: tuple[str, ...], reason: str
) -> None:
    done = run_beowire("explain", *words, "--out", str(tmp_path / "run"))
    assert_refused(done, reason)
    assert not (tmp_path / "run").exists()
