# SPDX-License-Identifier: BSD-3-Clause
"""The page: one file, the same bytes for the same records, nothing from outside."""

import re
from dataclasses import replace
from html import escape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from beowire.analysis import advice
from beowire.analysis.curves import curves
from beowire.errors import BeowireError
from beowire.plan.patterns import DEFAULT, PATTERNS
from beowire.record.reader import Record, read_record
from beowire.show.html import write_report
from beowire.show.html.page import render
from beowire.sizes import schedule
from unit.evaluator import synthetic_record

SIZES = (8, 1024, 65536)
TEN = (
    *("beowire", "tcp-spin", "tcp", "fi-tcp", "udp", "packet", "shm", "memcpy"),
    *("mpi:openmpi4/tcp", "mpi:openmpi4/beowire"),
)


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


def sections(html: str) -> list[str]:
    """The folded ones, by their ids."""
    return re.findall(r'<details class="folded"><summary>[^<]*</summary><div id="([^"]*)"', html)


def test_render__elements__load_nothing(record: Record) -> None:
    html = render([record])
    assert all(link.startswith(("#", "data:")) for link in parse(html).loads)
    assert "default-src 'none'" in html
    assert "img-src data:;" in html or 'img-src data:"' in html


def test_render__ten_drivers_at_all_sizes__is_at_most_400_kilobytes() -> None:
    lines = synthetic_record.lines(TEN, sizes=tuple(schedule()), samples=60)
    html = render([synthetic_record.with_probes(synthetic_record.held(lines))])
    assert len(html.encode()) <= 400_000


def test_render__all_drivers_at_all_sizes__is_not_much_longer() -> None:
    many = ("beowire", "tcp-spin", "packet", "memcpy", *(f"mpi:mpich/{n}" for n in range(36)))
    sizes = tuple(schedule())
    assert len(sizes) == 122
    lines = synthetic_record.lines(many, sizes=sizes, samples=24, patterns=("pingpong",))
    html = render([synthetic_record.held(lines)])
    assert len(html.encode()) <= 500_000
    said = " ".join(parse(html).words)
    assert "of 40 drivers (report --drivers LIST)" in said
    assert re.search(rf"of {len(many) * len(sizes)} rows, at \d+ of 122 sizes", said)
    assert all(f"<td class=word>{name}</td>" in html for name in many)


def test_render__every_pattern__has_its_chart() -> None:
    lines = synthetic_record.lines(
        ("beowire", "tcp-spin"), sizes=(8, 1024), patterns=tuple(PATTERNS), samples=400
    )
    html = render([synthetic_record.held(lines)])
    words = " ".join(parse(html).words)
    for pattern in PATTERNS.values():
        assert pattern is DEFAULT or pattern.name in sections(html)
        assert f"{pattern.name}-cpu" in sections(html)
        assert pattern.title in words
    assert "Half round trip, or time" in words


def test_render__ids__are_each_there_once(record: Record) -> None:
    html = render([synthetic_record.with_probes(synthetic_record.with_load(record, "idle", 2))])
    found = re.findall(r' id="([^"]*)"', html)
    assert len(found) == len(set(found)) > 20


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


def test_render__record__folds_all_but_the_first_screen(record: Record) -> None:
    html = render([record])
    assert sections(html) == [
        *("summary", "pingpong-distribution", "layers", "pingpong-cpu", "stream", "stream-cpu"),
        *("found-0", "results", "probes", "skipped", "environment", "method"),
    ]
    first = html[: html.index('<details class="folded">')]
    assert '<section id="answer">' in first and '<section id="findings">' in first


def test_render__stream_only__begins_with_it(tmp_path: Path) -> None:
    lines = synthetic_record.lines(("tcp",), sizes=SIZES, patterns=("stream",))
    html = render([synthetic_record.held(lines)])
    assert '<section id="answer">' in html and "pingpong" not in " ".join(sections(html))
    assert "stream-cpu" in sections(html) and "stream" not in sections(html)


def test_render__nothing_measured__is_still_a_page() -> None:
    html = render([synthetic_record.held(synthetic_record.lines(()))])
    assert "<svg" not in html and "Nothing measured" in html


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
    """How many script elements a harmless page has."""
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


def test_render__probes__say_where_two_ways_differ(record: Record) -> None:
    html = render([synthetic_record.with_probes(record, differ=True)])
    assert "They differ by more than 5 % in" in " ".join(parse(html).words)


def test_render__idle_and_loaded__have_a_curve_each(record: Record) -> None:
    html = render([synthetic_record.with_load(record, "duty:30", 3.0)])
    words = " ".join(parse(html).words)
    assert "pingpong-load" in sections(html)
    assert "— </tspan>tcp-spin<" in html and "-- </tspan>tcp-spin +duty:30<" in html
    assert "With 30 % of every CPU computing, half a round trip" in words
    assert "3.00 times as long (p99 3.00 times)" in words
    assert "duty:30" in words


def test_findings__have_the_advice_of_the_terminal(record: Record) -> None:
    page = render([record]).replace("&nbsp;", " ")
    for pattern in ("pingpong", "stream"):
        found = curves([record], pattern)
        rows = advice.verdicts(found, PATTERNS[pattern], record.meta.drivers)
        assert rows
        assert escape(advice.title(found, PATTERNS[pattern])) in page
        for span, use, why, cpu in rows:
            row = "".join(f"<td>{escape(text)}</td>" for text in (use, why, cpu))
            assert f'<th scope="row">{escape(span)}</th>{row}' in page
