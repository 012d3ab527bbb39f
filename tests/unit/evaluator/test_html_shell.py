# SPDX-License-Identifier: BSD-3-Clause
"""What all pages have in common."""

from pathlib import Path

import pytest

from beowire.errors import BeowireError
from beowire.show.html import shell

PARTS = {
    "bars": "BARS",
    "tables": "TABLES",
    "skipped": "SKIPPED",
    "environments": "ENDS",
    "command": "COMMAND",
}


def made(**changes: str) -> str:
    return shell.page(
        "apps.html",
        PARTS,
        nav={"speedup": "Speed & more"},
        title="a < b",
        heading="<b>a</b>",
        lede=["one", "two"],
        warnings=["<3"],
        **changes,
    )


def test_page__parts__are_where_they_belong() -> None:
    html = made()
    assert html.startswith("<!DOCTYPE html>") and html.endswith("</html>\n")
    assert "<title>a &lt; b</title>" in html and "<h1><b>a</b></h1>" in html
    assert "<p class=lede>one</p><p class=lede>two</p>" in html
    assert "<li>&lt;3</li>" in html
    assert '<a href="#speedup">Speed &amp; more</a>' in html
    assert all(part in html for part in PARTS.values())


def test_page__without_scripts__allows_none() -> None:
    assert "script-src" not in made()
    html = made(scripts="<script>1</script>")
    assert "script-src 'unsafe-inline'" in html and "<script>1</script>" in html


def test_write__a_record__is_refused(tmp_path: Path) -> None:
    record = tmp_path / "record.jsonl"
    record.write_text("kept")
    with pytest.raises(BeowireError, match="is the record itself"):
        shell.write("page", record, [record])
    assert record.read_text() == "kept"


def test_write__nowhere__is_one_line(tmp_path: Path) -> None:
    with pytest.raises(BeowireError, match="cannot write"):
        shell.write("page", tmp_path / "none" / "page.html", [])
