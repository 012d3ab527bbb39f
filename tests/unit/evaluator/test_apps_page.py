# SPDX-License-Identifier: BSD-3-Clause
"""The report of a run of programs."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from beowire.apps.page import render, write_apps_report
from beowire.apps.record import Left
from beowire.errors import BeowireError
from unit.evaluator.apps_records import launch, launches, meta, record

WHOLE = record(
    meta("cg", "<b>"),
    *launches("cg", "tcp", [100.0] * 6),
    *launches("cg", "beowire", [125.0] * 6),
    launch("<b>", "tcp", 0, None, status="<script>"),
    skipped=[Left(mpi="intel", reason="absent & gone")],
)

_EMPTY = {"meta", "link", "line", "rect", "br"}


class Balanced(HTMLParser):
    """Fails where elements are not closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in _EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in _EMPTY:
            assert self.open.pop() == tag


def test_render__is_whole_and_loads_nothing() -> None:
    page = render(WHOLE)
    parser = Balanced()
    parser.feed(page)
    assert parser.open == []
    assert not re.search(r"(src|href)=\"?https?:", page)
    assert "<script" not in page


def test_render__shows_tables_bars_and_failures() -> None:
    page = render(WHOLE)
    assert "1.25 (1.25–1.25)" in page
    assert page.count("<rect") == 1
    assert "absent &amp; gone" in page
    assert "&lt;script&gt;" in page


def test_render__without_tcp_there_are_no_bars() -> None:
    page = render(record(meta("cg"), *launches("cg", "beowire", [1.0])))
    assert "Nothing was measured over TCP" in page


def test_render__the_same_again() -> None:
    assert render(WHOLE) == render(WHOLE)


def test_write__never_over_the_record(tmp_path: Path) -> None:
    path = tmp_path / "record.jsonl"
    path.touch()
    with pytest.raises(BeowireError, match="the record itself"):
        write_apps_report(record(meta("cg")).__class__(path, meta("cg")), path)
