# SPDX-License-Identifier: BSD-3-Clause
"""What a page leaves out: tables first, then sizes of charts, long parts, and charts at last; never
more than it has to."""

from collections.abc import Sequence

from beowire.report.axes import Figure, Trace
from beowire.report.draft import Chart, Draft, Press, fitted

SIZES = [1 << power for power in range(20)]
#: What a chart takes at each size, with its figures for each.
AT_A_SIZE = 1000


def figure() -> Figure:
    choices: dict[str, list[Trace]] = {str(size): [{"x": [1.0]}] for size in SIZES}
    return Figure(choices["1"], {}, choices)


def table(rows: int) -> str:
    return "<table>" + "<tr><th>head</th></tr>" + "<tr><td>a row</td></tr>" * rows + "</table>"


def draft(**parts: str) -> Draft:
    held = {"findings": "use X", "only": "a box", "results": table(300), "probes": "none", **parts}
    sheets = ["<section><h2>Short</h2>" + table(3) + "</section>"]
    return Draft(held, sheets, [Chart(f"c{i}", f"Chart {i}", "", figure()) for i in range(8)])


def scripts(charts: Sequence[Chart]) -> str:
    return "s" * sum(AT_A_SIZE * len(chart.figure.choices or ()) for chart in charts)


def page(one: Draft, drawn: str) -> str:
    return "\n".join([*one.parts.values(), *one.sheets, one.left_out, notes(one), drawn])


def notes(one: Draft) -> str:
    return "".join(chart.note for chart in one.charts)


def made(one: Draft, most_bytes: int) -> str:
    html = fitted(one, Press(scripts, page, most_bytes))
    assert len(html) <= most_bytes
    return html


def test_fitted__fits__has_everything() -> None:
    one = draft()
    assert made(one, 200_000) == page(one, scripts(one.charts))


def test_fitted__too_long__loses_the_rows_and_no_drawing() -> None:
    html = made(draft(probes=table(100)), 165_000)
    assert "300 rows are not here" in html and "report RECORD --csv FILE" in html
    assert "a box" not in html
    assert table(100) in html and table(3) in html
    assert html.count("s" * 160_000) == 1


def test_fitted__a_long_sheet__is_left_out_and_keeps_its_title() -> None:
    one = draft()
    long = "<section><h2>Long</h2>" + table(4000) + "</section>"
    html = made(Draft(one.parts, [*one.sheets, long], one.charts), 200_000)
    assert "<section><h2>Long</h2><p>4000 rows are not here" in html
    assert "report RECORD --text" in html
    assert table(300) in html


def test_fitted__too_long_without_rows__draws_at_as_many_sizes_as_fit() -> None:
    # 16 of 20 sizes take 128,000, and the next step, 8, takes 64,000.
    html = made(draft(), 130_000)
    assert html.count("s" * 128_000) == 1
    assert html.count("Drawn at 16 of 20 sizes") == 8
    assert "use X" in html
    assert "s" * 64_000 in (less := made(draft(), 127_000)) and "s" * 65_000 not in less


def test_fitted__long_parts__go_before_charts() -> None:
    html = made(draft(advice="a" * 7_000, skipped="k" * 9_000, commands="c" * 500), 25_000)
    assert "k" * 9_000 not in html and "a" * 7_000 in html and "c" * 500 in html
    assert "is in the record, and not on this page" in html
    assert html.count("s" * 16_000) == 1  # 8 charts at 2 sizes


def test_fitted__many_short_sheets__go_before_charts() -> None:
    one = draft()
    sheets = [f"<section><h2>Table {i}</h2>{table(1_000)}</section>" for i in range(60)]
    html = made(Draft(one.parts, sheets, one.charts), 400_000)
    assert sheets[0] in html and sheets[59] not in html
    assert "<section><h2>Table 59</h2><p>What belongs here is in the record" in html
    assert "more charts" not in html and "use X" in html


def test_fitted__hardly_any_room__charts_go_and_are_named() -> None:
    html = made(draft(), 10_000)
    assert "4 more charts" in html and "Chart 4, Chart 5, Chart 6, Chart 7" in html
    assert html.count("s" * 8_000) == 1
    assert "8 more charts" in made(draft(), 1_500)
    fewer = draft()
    assert "1 more chart would" in made(Draft(fewer.parts, [], fewer.charts[:1]), 1_500)
    assert "use X" in made(draft(), 1_500)


def test_fitted__findings__are_the_last_to_go() -> None:
    one = draft(findings="f" * 9_000, advice="a" * 4_000, skipped="k" * 3_000)
    html = made(one, 15_000)
    assert "f" * 9_000 in html and "a" * 4_000 in html
    assert "8 more charts" in html and "k" * 3_000 not in html
    html = made(one, 6_000)
    assert "f" * 9_000 not in html and "a" * 4_000 in html
