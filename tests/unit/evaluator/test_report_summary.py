# SPDX-License-Identifier: BSD-3-Clause
"""The findings: computed, compared, and careful."""

import re
from html import unescape

import pytest

from beowire.record import Record, Result
from beowire.report.curves import curves
from beowire.report.summary import ratio, sentences, table
from unit.evaluator.test_report_curves import record, result, summary


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
        "The highest throughput is 1.05 GB/s (1.04–1.06 GB/s), over beowire with messages of"
        " 1 MiB: 87% of what the wire can carry (1.20 GB/s)."
    )
    assert count.startswith("4 cells")


def test_sentences__intervals_overlap__says_that_it_cannot_tell() -> None:
    lines = [*three(), result(8, summary(1505, 1480, 1530), driver="udp")]
    assert "overlaps that of udp: this run cannot tell them apart" in texts(record(*lines))[0]


def test_sentences__intervals_apart__claims_no_tie() -> None:
    assert "cannot tell" not in texts(record(*three()))[0]


def test_sentences__bounds_alone__win_nothing() -> None:
    lines = [line for line in three() if line.driver == "packet"]
    assert len(texts(record(*lines))) == 1


def test_sentences__cells_not_whole__are_counted() -> None:
    lines = [*three(), result(64, status="peer died", stopped_by="error")]
    assert texts(record(*lines))[-1].endswith("1 are not whole.")


def test_sentences__nothing_measured__says_so() -> None:
    assert texts(record()) == [
        "0 cells (driver × pattern × size × launch) were measured; 0 of them until they were"
        " precise, the others until their rounds or their time ran out."
    ]


def test_table__drivers__have_ratios_at_the_same_size() -> None:
    found = rows(record(*three()))
    assert found["beowire"][0].startswith("1.50 µs")
    assert found["beowire"][1].startswith("0.375 (0.363–0.387)")
    assert found["beowire"][2].startswith("1.50")
    assert found["tcp-spin"][1] == "1"
    assert found["packet"][2] == "1"


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
