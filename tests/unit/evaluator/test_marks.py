# SPDX-License-Identifier: BSD-3-Clause
"""What is said of losses, of figures beyond the wire, and of a machine that others used."""

from dataclasses import replace
from pathlib import Path

import pytest

from beowire.analysis import marks
from beowire.analysis.curves import curves
from beowire.record.lines import EnvironmentValue, Result
from beowire.record.reader import Record, read_record
from beowire.show import terminal
from beowire.show.html import summary
from unit.evaluator import synthetic_record

SIZES = (8, 1024, 65536)


def record(tmp_path: Path, *drivers: str) -> Record:
    lines = synthetic_record.lines(drivers, sizes=SIZES)
    return read_record(synthetic_record.write(tmp_path / "record.jsonl", lines))


def losing(found: Record, driver: str, size: int, share: float) -> Record:
    """The record, with so many messages of the driver's stream lost at a size."""

    def lost(one: Result) -> Result:
        if (one.driver, one.pattern, one.size) != (driver, "stream", size):
            return one
        return one.model_copy(update={"lost": round(one.n * share / (1 - share))})

    return replace(found, results=[lost(one) for one in found.results])


def test_loss__is_marked_in_the_table_and_warned_of_in_the_findings(tmp_path: Path) -> None:
    found = losing(record(tmp_path, "udp", "tcp", "tcp-spin"), "udp", 65536, 0.67)
    shown = terminal.render(found, width=160, colour=False)
    marked = [line for line in shown.splitlines() if "!" in line]
    assert any(line.split()[:2] == ["64", "KiB"] for line in marked)
    assert (
        "! messages were lost; rates count those that arrived: udp up to 67 % (at 64 KiB)" in shown
    )
    assert not any(line.split()[:2] == ["1", "KiB"] for line in marked)
    sentences = summary.sentences([found], curves([found], "pingpong"))
    (warned,) = (one for one in sentences if "Lost" in one)
    assert "udp up to 67 % (at 64 KiB)" in warned and "a stream" in warned


def test_loss__nothing_lost__no_mark(tmp_path: Path) -> None:
    found = record(tmp_path, "beowire", "tcp")
    assert "!" not in terminal.render(found, width=160, colour=False)
    assert "<b>Lost</b>" not in "".join(summary.sentences([found], curves([found], "pingpong")))
    assert marks.loss_text(curves([found], "stream")) == ""


@pytest.mark.parametrize(
    ("share", "text"), [(0.67, "67 %"), (0.001, "0.10 %"), (1e-6, "<0.01 %"), (0, "0 %")]
)
def test_percent_text(share: float, text: str) -> None:
    assert marks.percent_text(share) == text


def test_wire__what_is_faster_is_no_figure(tmp_path: Path) -> None:
    plain = record(tmp_path, "tcp", "tcp-spin")
    assert plain.meta.wire is not None
    (first, _) = curves([plain], "pingpong")
    fastest = max(cell.rate_bytes_per_s.median for cell in first.cells)
    wire = plain.meta.wire.model_copy(update={"payload_bytes_per_s": fastest / 2})
    # Without a burst nothing can be faster: it is not for us to hide it.
    slow = replace(plain, meta=plain.meta.model_copy(update={"wire": wire}))
    assert "^" not in terminal.render(slow, width=160, colour=False)
    link = plain.meta.link.model_copy(update={"burst_bytes": 50_000, "rate_bits_per_s": 1e9})
    meta = plain.meta.model_copy(update={"wire": wire, "link": link})
    bursting = replace(plain, meta=meta)
    shown = terminal.render(bursting, width=160, colour=False)
    rows = [line for line in shown.splitlines() if line.split()[:2] == ["64", "KiB"]]
    assert "^" in rows[0] and "^" in rows[1]
    assert "^ no figure of the wire: The lab's rate limit lets 50 kB pass at once" in shown
    best = summary.best_rate(curves([bursting], "pingpong")[0], bursting)
    assert best.rate_bytes_per_s.median < 1.01 * wire.payload_bytes_per_s


def test_wire__its_share_stands_beside_the_rate(tmp_path: Path) -> None:
    found = record(tmp_path, "tcp", "memcpy")
    shown = terminal.render(found, width=160, colour=False)
    assert ", % of the wire" in shown
    (curve,) = (one for one in curves([found], "pingpong") if one.driver == "tcp")
    share = marks.of_wire(found, curve.cells[-1], curve)
    assert share is not None and f" {share:.0%}" in shown
    (memory,) = (one for one in curves([found], "pingpong") if one.driver == "memcpy")
    assert marks.of_wire(found, memory.cells[-1], memory) is None


def busy(
    found: Record,
    other_cpus: float | None,
    load: float | None = None,
    kind: str = "lab",
    accelerator: str | None = None,
    **more: float,
) -> str:
    assert found.end is not None
    facts: dict[str, EnvironmentValue] = {"load_1min": load, "cpus_online": 2}
    ends = [
        end.model_copy(update={"environment": {**end.environment, **facts}})
        for end in found.meta.ends
    ]
    link = found.meta.link.model_copy(update={"kind": kind, "accelerator": accelerator})
    meta = found.meta.model_copy(update={"ends": ends, "link": link})
    end = found.end.model_copy(update={"other_cpus": other_cpus, **more})
    return marks.busy_text(replace(found, meta=meta, end=end))


def test_busy__others_are_named(tmp_path: Path) -> None:
    found = record(tmp_path, "tcp")
    assert busy(found, 1.3).startswith("other programs used 1.3 of 2 CPUs of this machine")
    assert busy(found, 0.1, load=4.5) == ""
    assert "node0 had a load of 4.5 on 2 CPUs:" in busy(found, None, load=4.5)
    assert "node0 had a load of 4.5 on 2 CPUs and node1" in busy(found, None, 4.5, kind="hosts")
    assert busy(found, None, load=0.4) == ""
    assert busy(found, None) == ""
    # Machines of a lab have one CPU each, whatever they run on.
    assert busy(found, 1.3, accelerator="kvm").startswith("other programs used 1.3 CPUs of this m")
    assert busy(found, 0.1, accelerator="kvm") == ""


def test_busy__a_burst__is_named_with_its_length(tmp_path: Path) -> None:
    found = record(tmp_path, "tcp")
    said = busy(found, 0.14, elapsed_s=34.2, busy_s=12.1, busy_cpus=0.42)
    assert said.startswith("for 12 of 34 s other programs used 0.42 of 2 CPUs of this machine: exp")
    # A housekeeper's moment is none, and what lasts has no end.
    assert busy(found, 0.05, elapsed_s=60.0, busy_s=4.0, busy_cpus=0.4) == ""
    assert busy(found, 0.05, elapsed_s=60.0, busy_s=0.0, busy_cpus=0.0) == ""
    said = busy(found, 1.2, elapsed_s=60.0, busy_s=59.0, busy_cpus=1.25)
    assert said.startswith("other programs used 1.2 of 2 CPUs of this machine during the run")
    said = busy(found, 0.18, elapsed_s=60.0, busy_s=50.0, busy_cpus=0.21)
    assert said.startswith("other programs used 0.18 of 2 CPUs")
    # One that is much in the mean, too, has its length still.
    assert busy(found, 0.9, elapsed_s=60.0, busy_s=30.0, busy_cpus=1.8).startswith("for 30 of 60 s")
    # Where no piece was long enough, or an older version wrote it, the mean decides.
    assert busy(found, 0.3, elapsed_s=60.0).startswith("other programs used 0.30 of 2 CPUs")


def test_busy__is_said_in_table_and_findings(tmp_path: Path) -> None:
    found = record(tmp_path, "tcp", "tcp-spin")
    assert found.end is not None
    found = replace(found, end=found.end.model_copy(update={"other_cpus": 1.9}))
    shown = terminal.render(found, width=80, colour=False)
    assert "note: other programs used 1.9 CPUs of this machine during the run" in shown
    sentences = " ".join(summary.sentences([found], curves([found], "pingpong")))
    assert "<b>The machine was busy</b>: other programs used 1.9 CPUs" in sentences
