# SPDX-License-Identifier: BSD-3-Clause
"""What a person is told to do, and why."""

from dataclasses import replace
from pathlib import Path

from beowire.analysis import verdict
from beowire.analysis.curves import curves
from beowire.plan.patterns import PATTERNS
from beowire.record.lines import Meta, Result
from beowire.record.parts import Found, Link
from beowire.record.reader import Record, read_record
from beowire.show import terminal
from beowire.show.html import page
from beowire.show.html import summary as summary_of
from unit.evaluator import synthetic_record
from unit.evaluator.test_curves import record, result, summary
from unit.evaluator.test_html_summary import plain

PINGPONG = PATTERNS["pingpong"]

COALESCING = Found(
    nodes=["node0", "node1"],
    check="coalescing",
    state="worse",
    text="interrupts wait 50 µs for more frames",
    costs="up to 50 µs are added to each message that somebody waits for",
    do="ethtool -C enp1s0 adaptive-rx off rx-usecs 5",
)
MTU = Found(nodes=["node1"], check="MTU", state="note", text="1500", costs="9000 carries more")
FINE = Found(nodes=["node0", "node1"], check="clock", state="ok", text="tsc")


def with_findings(found: Record, *findings: Found) -> Record:
    meta = found.meta.model_copy(update={"findings": list(findings)})
    return replace(found, meta=meta)


def both(tcp_ns: float, beowire_ns: float, size: int = 8) -> list[Result]:
    return [
        result(size, summary(value, 0.99 * value, 1.01 * value), driver=driver)
        for driver, value in (("tcp", tcp_ns), ("beowire", beowire_ns))
    ]


def usable(*results: Result) -> Record:
    """Of drivers that can be used between two nodes."""
    whole = synthetic_record.lines(("tcp", "beowire"), sizes=(8,))[0]
    assert isinstance(whole, Meta)
    return replace(record(*results), meta=whole)


def said(*records: Record) -> list[str]:
    pingpong = curves(list(records), "pingpong")
    return [plain(text) for text in summary_of.costs(list(records), pingpong)]


def test_uses__where_one_is_beyond_the_wire__nothing_is_said_of_that_size() -> None:
    """Without beowire's own cell alone tcp would be told to be the faster there."""
    found = usable(*both(4000, 1500), *both(60_000, 20_000, 65536))
    link = Link(kind="lab", mtu=1500, rate_bits_per_s=1e10, burst_bytes=50_000)
    bursting = replace(found, meta=found.meta.model_copy(update={"link": link}))
    html = page.render([bursting]).replace("&nbsp;", " ")
    row = '<th scope="row">8 B</th><td>beowire</td><td>2.7 times as fast as tcp; 1.50 µs</td>'
    assert row in html and '<th scope="row">64 KiB</th>' not in html
    assert "Left out: 64 KiB, where a figure exceeds the limit of the link" in html
    shown = terminal.render(bursting, width=120, colour=False)
    advice = shown[shown.index("What to use") :]
    assert "64 KiB " not in advice.split("^")[0]
    assert "^ left out: 64 KiB, where a figure exceeds the limit of the link" in advice


def test_costs__each_with_what_to_type__and_those_that_are_fine_not() -> None:
    texts = said(with_findings(usable(), COALESCING, MTU, FINE))
    assert texts == [
        "coalescing: interrupts wait 50 µs for more frames. Up to 50 µs are added to each message"
        " that somebody waits for: ethtool -C enp1s0 adaptive-rx off rx-usecs 5",
        "MTU at node1: 1500. 9000 carries more.",
    ]


def test_costs__in_the_terminal__as_doctor_shows_them() -> None:
    found = with_findings(usable(*both(4, 3)), COALESCING, FINE)
    shown = terminal.render(found, width=90, colour=False)
    part = shown[shown.index("Settings of the nodes that cost time, and what to type") :]
    assert "slower   coalescing: interrupts wait 50 µs for more frames" in part
    assert "\n             ethtool -C enp1s0 adaptive-rx off rx-usecs 5" in part
    assert "clock" not in part
    nothing = terminal.render(with_findings(usable(*both(4, 3)), FINE), width=90, colour=False)
    assert "Settings of the nodes that cost time" not in nothing


def test_costs__what_a_record_says_is_no_markup() -> None:
    evil = COALESCING.model_copy(update={"text": "<script>", "do": "a & b", "costs": "<b>"})
    html = page.render([with_findings(usable(*both(4, 3)), evil)])
    assert "<code>a &amp; b</code>" in html
    assert "&lt;script&gt;. &lt;b&gt;" in html


def lab(directory: str, topology: str, mtu: int, *results: Result) -> Record:
    found = usable(*results)
    link = Link(kind="lab", topology=topology, mtu=mtu)
    meta = found.meta.model_copy(update={"link": link})
    return replace(found, path=Path(directory, "record.jsonl"), meta=meta)


def links(*records: Record) -> list[str]:
    return verdict.links(list(records), curves(list(records), "pingpong"))


def test_links__a_switch_beside_a_cable__adds_what_was_measured() -> None:
    cable = lab("cable", "direct", 1500, result(8, summary(1000, 990, 1010)))
    switch = lab("switch", "switch", 1500, result(8, summary(4100, 4000, 4200)))
    expected = (
        "The switch (switch) adds 3.10 µs (2.99–3.21 µs, 310%) to half a round trip of 8 B over tcp"
    )
    assert links(cable, switch) == links(switch, cable) == [expected]
    assert said(cable, switch)[-1] == f"{expected}."


def test_links__a_shorter_mtu__costs_what_was_measured() -> None:
    long = lab("long", "direct", 9000, result(1 << 20, summary(1e6, 0.99e6, 1.01e6)))
    short = lab("short", "direct", 1500, result(1 << 20, summary(1.09e6, 1.08e6, 1.1e6)))
    assert links(short, long) == [
        "An MTU of 1500, not 9000, adds 90.0 µs (70.0–110 µs, 9%) to half a round trip of 1 MiB"
        " over tcp"
    ]


def test_links__that_cannot_be_told_apart__are_not() -> None:
    cable = lab("cable", "direct", 1500, result(8, summary(1000, 900, 1100)))
    switch = lab("switch", "switch", 1500, result(8, summary(1050, 950, 1150)))
    assert "makes no significant difference" in links(cable, switch)[0]


def test_links__what_differs_in_more__or_has_no_interval__or_is_no_lab__is_not_said() -> None:
    cell = result(8, summary(1000, 990, 1010))
    cable = lab("cable", "direct", 1500, cell)
    assert links(cable, lab("other", "switch", 9000, cell)) == []
    assert links(cable, lab("other", "switch", 1500, result(8, summary(4000)))) == []
    assert links(cable, lab("other", "switch", 1500, result(64))) == []
    hosts = replace(cable, meta=cable.meta.model_copy(update={"link": Link(kind="hosts")}))
    assert links(hosts, lab("other", "switch", 1500, cell)) == []


def test_record__findings_are_read_again(tmp_path: Path) -> None:
    lines = synthetic_record.lines(("tcp",), sizes=(8,))
    lines[0] = lines[0].model_copy(update={"findings": [COALESCING, FINE]})
    found = read_record(synthetic_record.write(tmp_path / "record.jsonl", lines))
    assert found.meta.findings == [COALESCING, FINE]
    assert verdict.costly(found) == [COALESCING]
