# SPDX-License-Identifier: BSD-3-Clause
from pathlib import Path

import pytest

from beowire import terminal
from beowire.record import Record, read_record
from unit.evaluator import synthetic_record


def _record(tmp_path: Path, *drivers: str, **options: object) -> Record:
    lines = synthetic_record.lines(drivers, **options)  # type: ignore[arg-type]
    return read_record(synthetic_record.write(tmp_path / "record.jsonl", lines))


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_render__tables_and_plot_fit_the_width(tmp_path: Path, width: int) -> None:
    record = _record(tmp_path, "beowire", "packet", "tcp-spin", "tcp", "udp", "shm", "memcpy")
    text = terminal.render(record, width=width, colour=False)
    table = text[: text.index("What to use")]
    too_wide = [line for line in table.splitlines() if len(line) > width]
    assert [line for line in too_wide if line.startswith(" ") or "│" in line] == []


def test_render__is_plain_without_colour(tmp_path: Path) -> None:
    record = _record(tmp_path, "beowire", "tcp-spin")
    text = terminal.render(record, width=80, colour=False)
    assert "\x1b" not in text
    assert "\x1b" in terminal.render(record, width=80, colour=True)


def test_render__shows_every_driver_and_size(tmp_path: Path) -> None:
    record = _record(tmp_path, "beowire", "tcp-spin", sizes=(8, 1024, 65536))
    text = terminal.render(record, width=100, colour=False)
    for word in ("beowire", "tcp-spin", "8 B", "1 KiB", "64 KiB"):
        assert word in text


def test_render__figures_are_the_records(tmp_path: Path) -> None:
    record = _record(tmp_path, "tcp-spin", sizes=(8,))
    half = record.results[0].half_rtt_ns
    assert half is not None
    assert f"{half.median / 1000:.3f} ±" in terminal.render(record, width=80, colour=False)


def test_render__a_long_schedule_is_selected_from_and_says_so(tmp_path: Path) -> None:
    sizes = tuple(range(1, 400, 3))
    record = _record(tmp_path, "tcp-spin", sizes=sizes)
    text = terminal.render(record, width=80, colour=False)
    assert f"of {len(sizes)} sizes are shown; all are in {record.path}" in text
    assert text.count(" B ") < 4 * 14


def test_render__advises_among_reliable_drivers_between_nodes(tmp_path: Path) -> None:
    record = _record(tmp_path, "beowire", "packet", "tcp-spin", "tcp", "shm", "memcpy")
    text = terminal.render(record, width=100, colour=False)
    advice = text[text.index("What to use") :].split("\n\n")[0]
    assert "beowire" in advice
    assert "times the floor (packet)" in advice
    assert "CPU" in advice
    for line in advice.splitlines()[1:]:
        assert not any(f" {name}:" in line for name in ("packet", "shm", "memcpy"))


def test_render__gives_no_advice_on_a_single_driver(tmp_path: Path) -> None:
    record = _record(tmp_path, "tcp")
    assert "What to use" not in terminal.render(record, width=80, colour=False)
