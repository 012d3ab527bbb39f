# SPDX-License-Identifier: BSD-3-Clause
"""The tables: every row, every reason, every difference."""

import re
from dataclasses import replace

from beowire.analysis.sheets import Sheet
from beowire.record.lines import Meta, NodeEnd, Skipped
from beowire.record.reader import Record
from beowire.show.html import tables
from unit.evaluator import synthetic_record
from unit.evaluator.test_curves import record, result, summary


def with_ends(*ends: NodeEnd) -> Record:
    found = record()
    meta = found.meta.model_copy(update={"ends": list(ends)})
    return Record(found.path, meta, [], [], None)


def test_results__every_line__is_a_row_with_sortable_values() -> None:
    lines = [result(1 << 20, summary(1234567, 1200000, 1300000)), result(8, driver="packet")]
    html = tables.results([record(*lines)])
    body = html[html.index("<tbody>") :]
    assert body.count("<tr>") == 2
    assert "<td>1,048,576</td>" in body
    assert "<td>1235</td>" in body
    assert "<td>–</td>" in body
    assert html.count("<th ") == body.split("</tr>")[0].count("<td")


def test_results__two_records__name_the_record_in_each_row() -> None:
    records = [record(result(), path=f"/{name}/record.jsonl") for name in ("one", "two")]
    html = tables.results(records)
    assert "<td class=word>one</td>" in html
    assert "<td class=word>two</td>" in html


def test_skipped__reasons__are_given_with_what_they_concern() -> None:
    found = record(result(8, status="peer died"))
    found.skipped.append(Skipped(driver="verbs", reason="no device"))
    found.skipped.append(Skipped(driver="udp", pattern="stream", size=1 << 20, reason="too long"))
    html = tables.skipped([found])
    assert "verbs</th><td>everything</td><td>no device" in html
    assert "udp</th><td>stream, 1 MiB</td><td>too long" in html
    assert "tcp</th><td>pingpong, 8 B</td><td>peer died" in html


def test_skipped__many_sizes_for_one_reason__are_one_row() -> None:
    found = record(result(8))
    for size in (65533, 65536, 4 << 20):
        found.skipped.append(
            Skipped(driver="udp", pattern="pingpong", size=size, reason="too long")
        )
    html = tables.skipped([found])
    assert html.count("too long") == 1
    assert "<td>pingpong, 65533 B to 4 MiB (3 sizes)</td>" in html


def test_skipped__nothing__says_so() -> None:
    assert "Everything was measured" in tables.skipped([record(result())])


def test_environments__rows_that_differ__are_marked_and_counted() -> None:
    html = tables.environments(
        with_ends(
            NodeEnd(node="a", environment={"kernel": "6.1", "cpus": 2, "offload": True}),
            NodeEnd(node="b", environment={"kernel": "6.18", "cpus": 2, "offload": None}),
        )
    )
    marked = re.findall(r'class=differs><th scope="row">(\w+) ', html)
    assert marked == ["node", "kernel", "offload"]
    assert "3 of 4 rows differ" in html
    assert "Unknown at both ends: address, interface, pinned to CPU." in html
    assert "<td>yes</td><td>–</td>" in html


def test_environments__fact_of_one_end_only__is_shown() -> None:
    html = tables.environments(
        with_ends(NodeEnd(node="a", environment={"only_here": 1.5}), NodeEnd(node="a"))
    )
    assert "only here" in html
    assert "<td>1.5</td><td>–</td>" in html


def test_every_table__html_in_the_record__is_escaped() -> None:
    evil = "<script>alert(1)</script>"
    found = record(result(driver=evil, status=evil))
    found.skipped.append(Skipped(driver=evil, reason=evil))
    end = NodeEnd(node=evil, environment={evil: evil})
    parts = [
        tables.results([found]),
        tables.skipped([found]),
        tables.environments(with_ends(end, end)),
    ]
    for html in parts:
        assert "<script" not in html
        assert "&lt;script&gt;" in html


def test_drivers__measured_ones__are_described_in_their_own_words() -> None:
    html = tables.drivers([record(result())])
    assert html.startswith('<dl class="drivers"><dt>tcp</dt><dd>TCP without delay')
    assert tables.drivers([record()]) == ""


def test_results__overlap__has_columns_only_where_it_was_measured() -> None:
    plain = result(8)
    assert "Overlap" not in tables.results([record(plain)])
    measured = result(64).model_copy(update={"overlap_send": 0.25, "overlap_receive": 1.0})
    html = tables.results([record(plain, measured)])
    assert "Overlap sender <small>%</small>" in html
    assert "<td>25.00</td><td>100.0</td>" in html


def test_results__load__has_a_column_only_where_something_ran_besides() -> None:
    plain, share = result(8), {"overlap_send": 0.25, "overlap_receive": 1.0}
    assert ">Load<" not in tables.results([record(plain)])
    loaded = plain.model_copy(update={"load": "hog:19", "service_demand_us_per_kb": 1.5, **share})
    html = tables.results([record(plain, loaded)])
    for heading in ("Load", "Overlap sender", "Service demand"):
        assert html.count(f'<button type="button">{heading}') == 1
    assert "<td class=word>nothing</td>" in html and "<td class=word>hog:19</td>" in html
    assert "<td>1.500</td>" in html and "<td>25.00</td>" in html


def test_drivers__many__are_folded() -> None:
    for count, folded in ((3, False), (20, True)):
        names = tuple(f"driver-{number}" for number in range(count))
        meta = synthetic_record.lines(names)[0]
        assert isinstance(meta, Meta)
        lines = [result(8, driver=name) for name in names]
        html = tables.drivers([replace(record(*lines), meta=meta)])
        assert html.startswith("<details>") == folded
        assert all(f"<dt>{name}</dt>" in html for name in names)


def test_sheet__is_a_table_with_its_notes() -> None:
    one = Sheet("Pairs <of> nodes", ["", "n0"], [["n1", "5 & 6"]], ["Slow: n0 – n1"])
    html = tables.sheet("pairs", one)
    assert 'aria-label="Pairs &lt;of&gt; nodes"' in html
    assert '<th scope="row">n1</th><td>5 &amp; 6</td>' in html
    assert html.endswith('<p class="note">Slow: n0 – n1</p>')


def test_sheet__a_column_of_words_may_be_broken() -> None:
    rows = [["tcp", "none", "1"], ["udp", "1 KiB to 1.5 KiB: +849 ns; " * 3, "2"]]
    html = tables.sheet("x", Sheet("Steps", ["driver", "steps", "slope"], rows, []))
    assert html.count("<td class=words>") == html.count("<td>") == 2


def test_sheet__more_rows_than_a_page_takes__says_so() -> None:
    rows = [[f"n{number}", "1"] for number in range(tables.MOST_ROWS + 5)]
    html = tables.sheet("x", Sheet("Pairs", ["", "n0"], rows, []))
    assert html.count('<th scope="row">') == tables.MOST_ROWS
    assert f"{tables.MOST_ROWS} of {tables.MOST_ROWS + 5} rows" in html


def test_table__headings__are_before_the_figures_on_a_phone_and_cannot_leave_the_style() -> None:
    html = tables.table("x", "X", ["<b>Driver</b>", "&lt;/style>"], "", "cards", not_printed=[2])
    assert '#x td:nth-child(1):before{content:"Driver"}' in html
    assert html.count("</style>") == 1
    assert "@media print{#x tr>:nth-child(2){display:none}}" in html


def test_results__more_rows_than_a_page_takes__has_the_same_sizes_of_each_driver() -> None:
    sizes = range(1, 201)
    lines = [result(size, driver=driver) for driver in ("tcp", "packet") for size in sizes]
    html = tables.results([record(*lines)])
    (shown, every, kept, of) = re.findall(r"(\d+) of (\d+) rows, at (\d+) of (\d+) sizes", html)[0]
    assert (int(every), int(of)) == (400, 200)
    assert html.count("<td class=word>tcp</td>") == html.count("<td class=word>packet</td>")
    assert html.count("<tr>") - 1 == int(shown) == 2 * int(kept) <= tables.MOST_ROWS
    assert "<td>200</td>" in html
