# SPDX-License-Identifier: BSD-3-Clause
"""The page: one file, the same bytes for the same records, nothing from outside."""

import base64
import gzip
import json
import re
from dataclasses import replace
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from beowire import advice
from beowire.errors import BeowireError
from beowire.patterns import DEFAULT, PATTERNS
from beowire.record import Record, read_record
from beowire.report import page, write_report
from beowire.report.curves import curves
from beowire.report.page import render
from beowire.sizes import schedule
from unit.evaluator import synthetic_record

SIZES = (8, 1024, 65536)


@pytest.fixture
def record(tmp_path: Path) -> Record:
    lines = synthetic_record.lines(("beowire", "tcp-spin", "packet"), sizes=SIZES, samples=400)
    return read_record(synthetic_record.write(tmp_path / "record.jsonl", lines))


class Links(HTMLParser):
    """Collects whatever an element would load, and the words between the elements."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.words: list[str] = []
        self._skip = False

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self._skip = tag in ("script", "style")
        for name, value in attributes:
            if name in ("src", "href", "data", "action", "srcset", "poster"):
                self.loads.append(value or "")

    def handle_endtag(self, tag: str) -> None:
        self._skip = False

    def handle_data(self, data: str) -> None:
        if not self._skip:
            self.words.append(data)


def parse(html: str) -> Links:
    links = Links()
    links.feed(html)
    return links


def figures(html: str) -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = json.loads(unpacked(html, "figures"))
    return found


def unpacked(html: str, name: str) -> str:
    """What the page's script finds in an element."""
    match = re.search(rf'<script type="text/plain" id="{name}">(.*?)</script>', html)
    assert match
    packed = match[1].translate(str.maketrans(",.:", "<>&"))
    return gzip.decompress(base64.b85decode(packed)).decode()


def test_render__elements__load_nothing(record: Record) -> None:
    html = render([record])
    assert all(link.startswith(("#", "data:")) for link in parse(html).loads)
    assert "default-src 'none'" in html
    assert "plotly.js v" in unpacked(html, "plotly")


def test_render__is_at_most_two_megabytes(record: Record) -> None:
    assert len(render([record]).encode()) < 1.3e6


def test_render__all_drivers_at_all_sizes__is_at_most_two_megabytes() -> None:
    many = ("beowire", "tcp-spin", "packet", "memcpy", *(f"mpi:mpich/{n}" for n in range(36)))
    sizes = tuple(schedule())
    assert len(sizes) == 122
    lines = synthetic_record.lines(many, sizes=sizes, samples=24, patterns=("pingpong",))
    html = render([synthetic_record.held(lines)])
    assert len(html.encode()) <= 2e6
    said = " ".join(parse(html).words)
    assert f"{len(many) * len(sizes)} rows are not here" in said
    # Nothing but what one cannot see together anyway is left out: each curve has all its points.
    drawn = figures(html)
    for name in ("latency", "throughput"):
        traces: Any = drawn[name]["data"]
        assert {len(one["x"]) for one in traces if "driver" in one["meta"]} == {122}
        assert {one["meta"].get("driver") for one in traces} >= set(many)
    for name in ("distribution", "tail", "layers"):
        choices: Any = drawn[name]["choices"]
        assert 24 <= len(choices) < 122
        assert {"1", "4194304"} <= set(choices)
        assert f"Drawn at {len(choices)} of 122 sizes" in said
        assert html.count(f'<option value="{min(map(int, choices))}">') >= 3


def test_render__room_for_words_alone__has_no_charts_and_says_so(
    record: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "MOST_BYTES", 80_000)
    html = render([record])
    assert len(html.encode()) <= 80_000
    assert figures(html) == {}
    said = " ".join(parse(html).words)
    assert "more charts would make this page larger" in said and "Latency" in said
    assert "Use beowire" in re.sub(r"\s+", " ", said)


def test_render__with_more_than_fits__says_where_the_rows_are(
    record: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = render([record])
    assert 'id="all-results"' in whole
    monkeypatch.setattr(page, "MOST_BYTES", len(whole.encode()) - 1)
    cut = render([record])
    assert 'id="all-results"' not in cut
    assert len(cut.encode()) < len(whole.encode())
    said = " ".join(parse(cut).words)
    assert f"{len(record.results)} rows are not here" in said
    assert "beowire report RECORD --csv FILE" in said


def test_render__every_pattern__has_its_chart(tmp_path: Path) -> None:
    lines = synthetic_record.lines(
        ("beowire", "tcp-spin"), sizes=(8, 1024), patterns=tuple(PATTERNS), samples=400
    )
    found = read_record(synthetic_record.write(tmp_path / "record.jsonl", lines))
    html = render([found])
    drawn = figures(html)
    words = " ".join(parse(html).words)
    for pattern in PATTERNS.values():
        name = "latency" if pattern is DEFAULT else pattern.name
        cpu = "cpu" if pattern is DEFAULT else f"{pattern.name}-cpu"
        assert drawn[name]["data"] and drawn[cpu]["data"]
        assert f'<section id="{name}">' in html
        assert pattern.title in words
    assert "Half round trip, or time" in words


def test_render__a_shaped_lab__says_what_may_pass_the_line(record: Record) -> None:
    link = record.meta.link.model_copy(update={"burst_bytes": 50_000})
    shaped = replace(record, meta=record.meta.model_copy(update={"link": link}))
    assert "50 kB pass at once" not in " ".join(parse(render([record])).words)
    assert "50 kB pass at once" in " ".join(parse(render([shaped])).words)


def test_write_report__twice_and_from_elsewhere__gives_the_same_bytes(
    record: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_report([record], tmp_path / "one.html")
    (tmp_path / "deep").mkdir()
    monkeypatch.chdir(tmp_path)
    again = read_record(Path("record.jsonl"))
    write_report([again], tmp_path / "deep" / "two.html")
    one = (tmp_path / "one.html").read_bytes()
    assert one == (tmp_path / "deep" / "two.html").read_bytes()


def test_write_report__whole__leaves_no_other_file(record: Record, tmp_path: Path) -> None:
    write_report([record], tmp_path / "report.html")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["record.jsonl", "report.html"]


def test_write_report__onto_its_record__is_refused(record: Record) -> None:
    before = record.path.read_bytes()
    with pytest.raises(BeowireError, match="is the record itself"):
        write_report([record], record.path)
    assert record.path.read_bytes() == before


def test_write_report__no_such_directory__is_one_line(record: Record, tmp_path: Path) -> None:
    with pytest.raises(BeowireError, match=r"cannot write .*: No such file") as caught:
        write_report([record], tmp_path / "nowhere" / "report.html")
    assert caught.value.exit_code == 1


def test_write_report__name_of_a_directory__leaves_nothing_behind(
    record: Record, tmp_path: Path
) -> None:
    (tmp_path / "report.html").mkdir()
    with pytest.raises(BeowireError, match="cannot write"):
        write_report([record], tmp_path / "report.html")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["record.jsonl", "report.html"]


def test_render__record__shows_what_where_when_and_how(record: Record) -> None:
    text = " ".join(parse(render([record])).words)
    for words in (
        "node0 ⇄ node1 · virtual cluster (switch link), MTU 1500, 10 Gbit/s,"
        " congestion control cubic ·",
        "2026-11-20 15:04 UTC · 112 s · Beowire 0.1.0",
        "beowire compare --lab --drivers beowire,tcp-spin,packet --out 'my run'",
        "no RDMA device",
        "AMD EPYC",
    ):
        assert words in text


def test_render__record__has_every_chart(record: Record) -> None:
    html = render([record])
    found = figures(html)
    assert list(found) == [
        "latency", "throughput", "tails", "distribution", "tail", "layers", "cpu", "stream",
        "stream-cpu",
    ]  # fmt: skip
    for name in found:
        assert f'data-figure="{name}"' in html
        assert found[name]["data"]


def test_render__stream_only__has_only_its_charts(tmp_path: Path) -> None:
    lines = synthetic_record.lines(("tcp",), sizes=SIZES, patterns=("stream",))
    path = synthetic_record.write(tmp_path / "record.jsonl", lines)
    assert list(figures(render([read_record(path)]))) == ["stream", "stream-cpu"]


def test_render__nothing_measured__is_still_a_page(tmp_path: Path) -> None:
    lines = synthetic_record.lines(())
    path = synthetic_record.write(tmp_path / "record.jsonl", lines)
    html = render([read_record(path)])
    assert figures(html) == {}
    assert "Nothing measured" in html


def test_render__record_cut_short__warns(record: Record) -> None:
    content = record.path.read_bytes()
    record.path.write_bytes(content[:-30])
    html = render([read_record(record.path)])
    assert "cut short in line" in html
    assert str(record.path.parent) not in html


def test_render__hostile_text__cannot_leave_its_place(tmp_path: Path) -> None:
    evil = "</script><script>alert(1)</script><!--"
    lines = synthetic_record.lines((evil,), sizes=(8,), node=evil)
    path = synthetic_record.write(tmp_path / "record.jsonl", lines)
    html = render([read_record(path)])
    assert "<script>alert" not in html
    assert html.count("<script") == render_count(tmp_path)
    assert evil in "".join(parse(html).words)


def render_count(tmp_path: Path) -> int:
    """How many script elements (and mentions in plotly) a harmless page has."""
    lines = synthetic_record.lines(("tcp",), sizes=(8,))
    path = synthetic_record.write(tmp_path / "harmless.jsonl", lines)
    return render([read_record(path)]).count("<script")


def test_render__several_records__each_has_its_name_and_environment(
    record: Record, tmp_path: Path
) -> None:
    (tmp_path / "second").mkdir()
    lines = synthetic_record.lines(("beowire",), sizes=SIZES, seed=2, node="node7")
    other = read_record(synthetic_record.write(tmp_path / "second" / "record.jsonl", lines))
    html = render([record, other])
    assert "<h3>second</h3>" in html
    assert "initiator: node7" in html
    assert "beowire · second" in html


def test_render__no_record__is_a_mistake() -> None:
    with pytest.raises(ValueError, match="needs a record"):
        render([])


def test_render__probes__have_charts(record: Record) -> None:
    html = render([synthetic_record.with_probes(record, differ=True)])
    drawn = figures(html)
    assert all(drawn[name]["data"] for name in ("interrupts", "demand", "stream-demand"))
    assert "they differ by more than 5 % in" in " ".join(parse(html).words)


def test_render__idle_and_loaded__have_a_curve_each(record: Record) -> None:
    html = render([synthetic_record.with_load(record, "duty:30", 3.0)])
    words = " ".join(parse(html).words)
    traces: Any = figures(html)["latency"]["data"]
    dashes = {trace["name"]: trace["line"]["dash"] for trace in traces}
    assert dashes["tcp-spin"] == "solid" and dashes["tcp-spin +duty:30"] == "dash"
    assert "Beside 30 % of every CPU computing, half a round trip" in words
    assert "3.00 times as long (p99 3.00 times)" in words
    assert "duty:30" in words


def test_findings__have_the_advice_of_the_terminal(record: Record) -> None:
    page = render([record])
    for pattern in ("pingpong", "stream"):
        found = curves([record], pattern)
        rows = advice.verdicts(found, PATTERNS[pattern], record.meta.drivers)
        assert rows
        assert escape(advice.title(found, PATTERNS[pattern])) in page
        for span, use, why, cpu in rows:
            row = "".join(f"<td>{escape(text)}</td>" for text in (use, why, cpu))
            assert f'<th scope="row">{escape(span)}</th>{row}' in page
