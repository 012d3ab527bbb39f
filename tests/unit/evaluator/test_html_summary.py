# SPDX-License-Identifier: BSD-3-Clause
"""The findings: computed, compared, and careful."""

import re
from html import unescape

import pytest
from pydantic import JsonValue

from beowire.analysis.curves import curves, ratio
from beowire.analysis.marks import schedule_text, walk_text
from beowire.record.lines import Result
from beowire.record.reader import Record
from beowire.show.html.summary import sentences, table
from unit.evaluator.test_curves import record, result, summary


def plain(html: str) -> str:
    return unescape(re.sub(r"<[^>]+>", "", html))


def texts(found: Record) -> list[str]:
    return [plain(text) for text in sentences([found], curves([found], "pingpong"))]


def rows(found: Record) -> dict[str, list[str]]:
    html = table([found], curves([found], "pingpong"))
    lines = re.findall(r"<tr>(.*?)</tr>", html)[1:]
    cells = [[plain(cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", line)] for line in lines]
    return {line[0].split(" ")[0]: line[1:] for line in cells}


def three() -> list[Result]:
    return [
        result(8, summary(4000, 3900, 4100), driver="tcp-spin"),
        result(8, summary(1000, 990, 1010), driver="packet"),
        result(8, summary(1500, 1490, 1510), driver="beowire"),
        result(1 << 20, summary(1e6, 0.99e6, 1.01e6), driver="beowire"),
    ]


def test_sentences__fastest__is_compared_with_baseline_and_floor() -> None:
    latency, throughput, count = texts(record(*three()))
    assert latency == (
        "The smallest message (8 B) is fastest over beowire: half a round trip takes 1.50 µs"
        " (1.49–1.51 µs), 0.375 times tcp-spin (4.00 µs) and 1.50 times packet (1.00 µs)."
    )
    assert throughput == (
        "The highest throughput, by the lower end of its interval, is 1.05 GB/s (1.04–1.06 GB/s),"
        " over beowire with messages of 1 MiB: 87% of what the link can carry (1.20 GB/s)."
    )
    assert count.startswith("4 cells")


def test_sentences__faster_than_the_wire__says_why() -> None:
    found = record(result(8, summary(4, 3.9, 4.1)))
    link = found.meta.link.model_copy(update={"burst_bytes": 50_000})
    meta = found.meta.model_copy(update={"link": link})
    throughput = texts(Record(found.path, meta, found.results, [], None))[0]
    assert (
        "167% of what the link can carry (1.20 GB/s). The lab's rate limit lets 50 kB" in throughput
    )


def test_sentences__intervals_overlap__says_that_it_cannot_tell() -> None:
    lines = [*three(), result(8, summary(1505, 1480, 1530), driver="udp")]
    assert (
        "There is no significant difference from udp: the intervals overlap"
        in texts(record(*lines))[0]
    )


def test_sentences__intervals_apart__claims_no_tie() -> None:
    assert "cannot tell" not in texts(record(*three()))[0]


def test_sentences__bounds_alone__win_nothing() -> None:
    lines = [line for line in three() if line.driver == "packet"]
    assert len(texts(record(*lines))) == 1


def test_sentences__cells_not_whole__are_counted() -> None:
    lines = [*three(), result(64, status="peer died", stopped_by="error")]
    assert "1 are incomplete." in texts(record(*lines))[-1]


def test_sentences__precision__is_counted_as_shown_and_as_aimed_at() -> None:
    lines = [
        result(8, summary(1000, 999, 1001)),
        result(9, summary(1000, 960, 1040), stopped_by="time"),
        result(10, summary(1000, 900, 1100), stopped_by="time"),
    ]
    assert texts(record(*lines))[-1] == (
        "3 cells (driver × pattern × size × launch) were measured. In 2 of them the 95 % interval"
        " is within 5% of the median, and 1 met the goal (1%, and 5% for p99) in time. A longer run"
        " would be more precise."
    )


def test_sentences__best_throughput__is_not_a_lucky_cell() -> None:
    lines = [*three(), result(1 << 19, summary(1e4, 0.9e4, 1e7), driver="beowire")]
    assert "beowire with messages of 1 MiB" in texts(record(*lines))[1]


def test_schedule_text__sizes_left_out__says_how_long_all_takes() -> None:
    found = record(result(8))
    found.meta.options.update({"sizes": [8], "schedule_sizes": 3, "schedule_s": 197.2})
    assert schedule_text(found) == (
        "1 of the 3 sizes of the schedule were measured, because the time was short: --time 198"
        " measures all."
    )
    assert schedule_text(found) in sentences([found], [])


@pytest.mark.parametrize(
    "options",
    [{}, {"sizes": [8], "schedule_sizes": 1, "schedule_s": 1.0}, {"sizes": 8, "schedule_sizes": 9}],
)
def test_schedule_text__nothing_left_out__is_empty(options: dict[str, JsonValue]) -> None:
    found = record(result(8))
    found.meta.options.update(options)
    assert schedule_text(found) == ""


def test_sentences__nothing_measured__says_so() -> None:
    assert texts(record()) == ["No cell was measured."]


def test_table__drivers__have_ratios_at_the_same_size() -> None:
    found = rows(record(*three()))
    assert found["beowire"][0].startswith("1.50 µs")
    assert found["beowire"][1].startswith("0.375 (0.363–0.387)")
    assert found["beowire"][2].startswith("1.50")
    assert found["tcp-spin"][1] == "1"
    assert found["tcp-spin"][2].endswith("packet")
    assert found["packet"][2] == "–"


def test_table__baseline_not_measured_at_that_size__has_no_ratio() -> None:
    lines = [result(16, summary(4000), driver="tcp-spin"), result(8, driver="beowire")]
    found = rows(record(*lines))
    assert found["beowire"][0] == "8 B"
    assert found["beowire"][2] == "–"


def test_table__nothing_measured__is_absent() -> None:
    assert table([record()], []) == ""


def test_ratio__two_intervals__reaches_from_the_worst_to_the_best() -> None:
    quotient = ratio(summary(100, 90, 110), summary(200, 180, 220))
    assert quotient.value == 0.5
    assert quotient.low == pytest.approx(90 / 220)
    assert quotient.high == pytest.approx(110 / 180)


def test_ratio__an_interval_unknown__has_no_reach() -> None:
    quotient = ratio(summary(100), summary(200, 180, 220))
    assert (quotient.low, quotient.high) == (None, None)


@pytest.mark.parametrize(
    ("walk", "cache", "says"),
    [
        (64 << 20, 32 << 20, "64 MiB of memory at each end, twice the last-level cache (32 MiB)"),
        (64 << 20, 33 << 20, "64 MiB of memory at each end: less than twice the last-level cache"),
        (64 << 20, 0, "the kernel does not say how large the last-level cache is."),
        (None, None, ""),
    ],
)
def test_walk_text__says_whether_memory_was_cold(
    walk: int | None, cache: int | None, says: str
) -> None:
    line = result(8).model_copy(
        update={"pattern": "cold", "walk_bytes": walk, "cache_bytes": cache}
    )
    text = walk_text(curves([record(line)], "cold"))
    assert says in text
    assert bool(says) == bool(text)
