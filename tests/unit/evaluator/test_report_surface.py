# SPDX-License-Identifier: BSD-3-Clause
"""What load does, drawn."""

from pathlib import Path
from typing import Any

from beowire.record import Level, Line, Meta, Record, Result, Summary
from beowire.report import surface
from beowire.report.curves import curves
from beowire.report.page import render
from unit.evaluator import synthetic_record

LOADS = (None, "hog:0", "duty:25", "idle", "duty:75")


def loaded(*patterns: str, levels: bool = False) -> Record:
    """Each load makes everything as many times as slow as its place says."""
    lines: list[Line] = []
    for number, load in enumerate(LOADS, start=1):
        for line in synthetic_record.lines(("tcp", "udp"), sizes=(8, 1024), patterns=patterns):
            if isinstance(line, Meta) and number == 1:
                lines.append(line)
            if isinstance(line, Result):
                lines.append(_slower(line, number, load, levels=levels))
    meta, *results = lines
    assert isinstance(meta, Meta)
    found = [one for one in results if isinstance(one, Result)]
    return Record(Path("r.jsonl"), meta, found, [], None)


def _slower(line: Result, number: int, load: str | None, *, levels: bool) -> Result:
    time = line.time()
    changes: dict[str, Any] = {"load": load}
    if time is not None:
        field = "half_rtt_ns" if line.half_rtt_ns else "time_ns"
        changes[field] = _times(time, number)
        if levels:
            changes["levels"] = [
                Level(
                    share=share,
                    rate_messages_per_s=1e5 * share,
                    n=100,
                    lost=0,
                    late=0,
                    time_ns=_times(time, number * (1 + share)),
                )
                for share in (0.1, 0.5, 0.9)
            ]
    return line.model_copy(update=changes)


def _times(time: Summary, factor: float) -> Summary:
    return Summary(
        median=1000.0 * factor, ci95=None, p90=None, p99=2000.0 * factor, min=1.0, max=time.max
    )


def test_over_load__from_nothing_to_most() -> None:
    figure = surface.over_load(curves([loaded("pingpong")], "pingpong"))
    assert figure.choices is not None
    assert list(figure.choices) == ["8", "1024"]
    assert [trace["name"] for trace in figure.data] == ["tcp", "udp"]
    (tcp, _) = figure.data
    assert tcp["x"] == ["nothing", "idle", "duty:25", "duty:75", "hog:0"]
    assert tcp["y"] == [1.0, 4.0, 3.0, 5.0, 2.0]
    assert tcp["error_y"]["array"] == [1.0, 4.0, 3.0, 5.0, 2.0]  # type: ignore[index]


def test_over_load__rates_have_no_tail() -> None:
    figure = surface.over_load(curves([loaded("stream")], "stream"))
    assert "error_y" not in figure.data[0]
    assert len(figure.data[0]["x"]) == len(LOADS)  # type: ignore[arg-type]


def test_over_load__nothing_where_there_was_no_load() -> None:
    record = loaded("pingpong")
    idle = [one for one in record.results if one.load is None]
    found = curves([Record(record.path, record.meta, idle, [], None)], "pingpong")
    assert surface.over_load(found).data == []


def test_over_both__a_line_for_each_driver_and_load() -> None:
    figure = surface.over_both(curves([loaded("open-loop", levels=True)], "open-loop"))
    assert len(figure.data) == 2 * len(LOADS)
    by_name = {trace["name"]: trace for trace in figure.data}
    assert by_name["tcp"]["x"] == [1e4, 5e4, 9e4]
    assert by_name["tcp"]["y"] == [1.1, 1.5, 1.9]
    assert by_name["tcp +duty:75"]["y"] == [5.5, 7.5, 9.5]
    dashes = {trace["line"]["dash"] for trace in figure.data}  # type: ignore[index]
    assert len(dashes) == len(LOADS)


def test_report__has_the_charts() -> None:
    page = render([loaded("pingpong", "open-loop", levels=True)])
    for section in ('id="load"', 'id="open-loop-surface"', 'id="open-loop-load"'):
        assert section in page
    assert "Beside 25 % of every CPU computing" in page
    assert "Beside 75 % of every CPU computing" in page
