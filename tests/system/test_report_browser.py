# SPDX-License-Identifier: BSD-3-Clause
"""The report as a browser shows it: everything is really drawn, and answers to a person."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from beowire.record import Result, read_record
from beowire.report import page as page_of_report
from beowire.report import write_report
from beowire.units import size_text, time_text
from system.browser import VARIABLE, Browser, BrowserError, find_browser
from unit.evaluator import synthetic_record

HOSTILE = (
    '<img id="pwned" src=x onerror=window.pwned=1></script><script>window.pwned=1</script>&amp;'
)
DRIVERS = ("beowire", "tcp-spin", "tcp", "packet", "memcpy", HOSTILE)

MANY = (
    *("memcpy", "shm", "tcp", "tcp-spin", "udp", "packet", "beowire", "fi-tcp", "tcp-nagle"),
    *("mpi:openmpi4/tcp", "mpi:openmpi4/beowire", "mpi:mpich/tcp", "mpi:mpich/beowire"),
)

#: For each trace of a chart: its name, how many of its marks and bars can be seen, the corners of
#: its line, and whether that can be seen.
TRACES = """(() => {
  const chart = document.querySelector('.chart[data-figure="%s"]');
  const seen = (element) => {
    const box = element.getBoundingClientRect();
    return box.width > 1 || box.height > 1;
  };
  return Array.from(chart.querySelectorAll('.scatterlayer .trace')).map((trace) => {
    const line = trace.querySelector('path.js-line');
    const count = (parts) => Array.from(trace.querySelectorAll(parts)).filter(seen).length;
    return {
      name: trace.__data__[0].trace.name,
      marks: count('.points path.point'),
      bars: count('.errorbars .errorbar path'),
      corners: line ? (line.getAttribute('d').match(/[ML]/g) || []).length : 0,
      seen: line !== null && line.getBoundingClientRect().width > 50,
    };
  });
})()"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as running:
        yield running


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("report")
    lines = synthetic_record.lines(DRIVERS, node=f"node0 {HOSTILE}")
    record = synthetic_record.write(directory / "record.jsonl", lines)
    write_report([read_record(record)], directory / "report.html")
    return directory / "report.html"


@dataclass
class Shown:
    """What the browser shows: a report as it was opened, or None if a test may have changed it."""

    untouched: Path | None = None

    def show(self, browser: Browser, report: Path, width: int = 1280, height: int = 900) -> Browser:
        """Opens the report, which takes seconds."""
        self.untouched = None
        browser.resize(width, height)
        browser.emulate()
        browser.open(report)
        return browser


@pytest.fixture(scope="module")
def shown() -> Shown:
    return Shown()


@pytest.fixture
def seen(browser: Browser, report: Path, shown: Shown) -> Browser:
    """The report as it is opened, for tests that only look: one shows it for those after it."""
    if shown.untouched != report:
        shown.show(browser, report)
        shown.untouched = report
    return browser


@pytest.fixture
def page(seen: Browser, shown: Shown) -> Browser:
    """The same for a test that does something to it."""
    shown.untouched = None
    return seen


def traces(page: Browser, chart: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = page.evaluate(TRACES % chart)
    return found


def chart(name: str) -> str:
    return f"document.querySelector('.chart[data-figure=\"{name}\"]')"


def trace_names(page: Browser, name: str) -> list[str]:
    return [trace["name"].split(" <i>")[0] for trace in traces(page, name)]


def legend_entry(name: str, driver: str) -> str:
    return (
        f"Array.from({chart(name)}.querySelectorAll('.legend .traces')).find((entry) =>"
        f" entry.querySelector('.legendtext').textContent.split(' (')[0] === '{driver}')"
        ".querySelector('.legendtoggle')"
    )


def test_console__page_opened_and_used__no_error_and_no_warning(page: Browser) -> None:
    page.hover(f"{chart('latency')}.querySelector('.points path.point')")
    page.wait(f"{chart('latency')}.querySelector('.hoverlayer .hovertext')")
    assert page.errors == []


def test_requests__page_opened__only_the_file_itself(seen: Browser, report: Path) -> None:
    outside = [url for url in seen.requests if not url.startswith(("data:", "blob:"))]
    assert outside == [report.resolve().as_uri()]


def test_fetch__from_the_page__is_refused(page: Browser, report: Path) -> None:
    result = page.evaluate("fetch('file:///etc/hostname').then(() => 'got', () => 'refused')")
    assert result == "refused"
    assert any("Content Security Policy" in error for error in page.errors)


@pytest.mark.parametrize("name", ["latency", "throughput", "stream"])
def test_curves__every_driver__has_a_line_through_every_size(seen: Browser, name: str) -> None:
    drawn = {trace["name"].split(" <i>")[0]: trace for trace in traces(seen, name)}
    expected = [driver for driver in DRIVERS if name != "stream" or driver != "memcpy"]
    assert len(drawn) == len(expected) + 1  # and the wire's line
    for driver in expected:
        trace = drawn[driver if driver != HOSTILE else escaped(HOSTILE)]
        assert trace["marks"] == len(synthetic_record.SIZES), driver
        assert trace["bars"] == len(synthetic_record.SIZES), driver
        assert trace["corners"] > 2, driver
        assert trace["seen"], driver


def escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def test_curves__emptied_chart__are_not_found(page: Browser) -> None:
    page.evaluate(f"Plotly.react({chart('latency')}, [], {{}}).then(() => 0)")
    assert traces(page, "latency") == []


@pytest.mark.parametrize("name", ["tails", "distribution", "cpu", "stream-cpu"])
def test_other_charts__opened__show_every_driver(seen: Browser, name: str) -> None:
    names = set(trace_names(seen, name))
    expected = [driver for driver in DRIVERS if name != "stream-cpu" or driver != "memcpy"]
    assert {escaped(driver) for driver in expected} <= names
    of_drivers = [one for one in traces(seen, name) if one["name"] != "the wire alone"]
    assert all(trace["marks"] or trace["corners"] > 2 for trace in of_drivers)
    assert ("the wire alone" in names) == (name in ("tails", "distribution"))


def test_cpu__both_ends__are_drawn(seen: Browser) -> None:
    names = trace_names(seen, "cpu")
    assert names.count("beowire") == 2
    assert names.count("memcpy") == 1


def test_legend__clicked__hides_and_shows_the_series(page: Browser) -> None:
    assert "tcp" in trace_names(page, "latency")
    page.click(legend_entry("latency", "tcp"))
    page.wait(f"{chart('latency')}.querySelectorAll('.scatterlayer .trace').length == 6")
    assert "tcp" not in trace_names(page, "latency")
    assert "tcp-spin" in trace_names(page, "latency")
    page.click(legend_entry("latency", "tcp"))
    page.wait(f"{chart('latency')}.querySelectorAll('.scatterlayer .trace').length == 7")
    assert "tcp" in trace_names(page, "latency")


def test_legend__hidden_series__stays_hidden_when_drawn_again(page: Browser) -> None:
    for name in ("latency", "distribution"):
        page.click(legend_entry(name, "tcp"))
        page.wait(f"{chart(name)}.data[2].visible === 'legendonly'")
    page.resize(900, 900)
    page.emulate(scheme="dark")
    page.wait(f"{chart('latency')}.querySelector('.main-svg').clientWidth < 900")
    box = "document.querySelector('select[data-chart=distribution]')"
    page.evaluate(f"{box}.value = '1048576'; {box}.dispatchEvent(new Event('change'))")
    page.wait(f"{chart('distribution')}.data[0].x[0] > 500")
    for name in ("latency", "distribution"):
        assert "tcp" not in trace_names(page, name)
        assert "tcp-spin" in trace_names(page, name)


def test_hover__on_a_point__shows_the_exact_figures(page: Browser, report: Path) -> None:
    result = cell(report, "tcp", 1024)
    half = result.half_rtt_ns
    assert half is not None and half.p99 is not None and half.ci95 is not None
    number = synthetic_record.SIZES.index(1024)
    point = f"{chart('latency')}.querySelectorAll('.scatterlayer .trace')[2]"
    page.hover(f"{point}.querySelectorAll('.points path.point')[{number}]")
    layer = f"{chart('latency')}.querySelector('.hoverlayer').textContent"
    page.wait(f"{layer}.includes('tcp, 1 KiB')")
    text = page.evaluate(layer)
    assert time_text(half.median) in text
    assert time_text(half.ci95[1]) in text
    assert time_text(half.p99) in text
    assert f"{result.n:,} messages" in text
    assert "stopped by" in text


def cell(report: Path, driver: str, size: int) -> Result:
    record = read_record(report.with_name("record.jsonl"))
    return next(
        result
        for result in record.results
        if (result.driver, result.pattern, result.size) == (driver, "pingpong", size)
    )


def test_size_box__another_size_chosen__draws_its_distributions(page: Browser) -> None:
    box = "document.querySelector('select[data-chart=distribution]')"
    sizes = page.evaluate(f"Array.from({box}.options).map((option) => option.textContent)")
    assert sizes == [size_text(size) for size in synthetic_record.SIZES]
    first_line = f"{chart('distribution')}.querySelector('.scatterlayer path.js-line')"
    small = page.evaluate(f"{chart('distribution')}.data[0].x.slice(-1)[0]")
    before = page.evaluate(f"{first_line}.getAttribute('d')")
    page.evaluate(f"{box}.value = '1048576'; {box}.dispatchEvent(new Event('change'))")
    page.wait(f"{chart('distribution')}.data[0].x.slice(-1)[0] > {small} * 10")
    assert page.evaluate(f"{first_line}.getAttribute('d')") != before
    assert len(traces(page, "distribution")) == len(DRIVERS) + 1  # and the wire's line


def test_table__heading_clicked_twice__sorts_up_then_down(page: Browser) -> None:
    sizes = "Array.from(document.querySelectorAll('#all-results tbody tr')).map((row) =>" \
        " Number(row.cells[2].textContent.replaceAll(',', '')))"  # fmt: skip
    heading = "document.querySelectorAll('#all-results thead button')[2]"
    page.click(heading)
    page.wait("document.querySelector('#all-results th[aria-sort=ascending]')")
    up = page.evaluate(sizes)
    assert up == sorted(up)
    page.click(heading)
    page.wait("document.querySelector('#all-results th[aria-sort=descending]')")
    assert page.evaluate(sizes) == sorted(up, reverse=True)


def test_hostile_text__everywhere__stays_text(seen: Browser) -> None:
    assert seen.evaluate("document.querySelectorAll('#pwned').length") == 0
    assert seen.evaluate("typeof window.pwned") == "undefined"
    legend = seen.evaluate(f"{chart('latency')}.querySelector('.legend').textContent")
    assert HOSTILE in legend
    assert HOSTILE in seen.evaluate("document.querySelector('.legend').textContent")
    assert HOSTILE in seen.evaluate("document.querySelector('#environment').textContent")


def test_buttons__of_a_chart__lead_nowhere_else(seen: Browser) -> None:
    titles = seen.evaluate(
        f"Array.from({chart('latency')}.querySelectorAll('.modebar-btn')).map((button) =>"
        " button.dataset.title)"
    )
    assert sorted(title.split()[0] for title in titles) == [
        "Download", "Pan", "Reset", "Zoom", "Zoom", "Zoom",
    ]  # fmt: skip
    assert seen.evaluate("document.querySelectorAll('a[href^=http]').length") == 0


def test_answer__is_on_the_first_screen_and_its_switch_changes_it(page: Browser) -> None:
    seen_views = (
        "Array.from(document.querySelectorAll('#answer figure')).filter((one) =>"
        " one.getBoundingClientRect().height > 100).map((one) => one.className)"
    )
    assert page.evaluate("document.querySelector('h1').textContent").endswith("(tcp-spin).")
    assert page.evaluate("document.querySelector('#answer').getBoundingClientRect().bottom") < 800
    assert page.evaluate(seen_views) == ["answer-relative"]
    page.evaluate("document.querySelector('#answer-rate').click()")
    assert page.evaluate(seen_views) == ["answer-rate"]
    values = page.evaluate("document.querySelector('.answer-rate title').textContent").split("\n")
    assert values[0] == "1 B" and re.match(r"beowire: [\d.]+ .?B/s \(.* to .*\)$", values[1])


def test_dark_scheme__switched_on__page_and_charts_follow(page: Browser) -> None:
    ink = f"getComputedStyle({chart('latency')}.querySelector('.legendtext')).fill"
    paper = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ink), page.evaluate(paper)
    page.emulate(scheme="dark")
    page.wait(f"{ink} !== '{light[0]}'")
    assert brightness(light[0]) < 60
    assert brightness(light[1]) > 200
    assert brightness(page.evaluate(ink)) > 200
    assert brightness(page.evaluate(paper)) < 60


def brightness(colour: str) -> float:
    parts = [float(part) for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    return sum(parts) / 3


@pytest.mark.parametrize("width", [800, 1280])
def test_width__narrow_and_wide__nothing_sticks_out(page: Browser, width: int) -> None:
    page.resize(width, 900)
    page.wait(f"{chart('latency')}.querySelector('.main-svg').clientWidth < {width}")
    assert page.evaluate("document.scrollingElement.scrollWidth") <= width


def test_phone__sentences_are_below_their_sizes_and_bars_have_room(page: Browser) -> None:
    page.resize(390, 800)
    page.wait(f"{chart('layers')}.querySelector('.ytick tspan.line')")
    lines = f"{chart('layers')}.querySelectorAll('.ytick tspan.line')"
    said = page.evaluate(f"Array.from({lines}, (one) => one.textContent)")
    assert said[said.index("beowire") + 1].startswith("over packet: ")
    display = "getComputedStyle(document.querySelector('.advice tbody td')).display"
    assert page.evaluate(display) == "block"
    assert page.evaluate("document.scrollingElement.scrollWidth") <= 390


def test_print__from_the_dark_scheme__is_dark_ink_on_light(page: Browser) -> None:
    page.emulate(scheme="dark")
    ink = f"getComputedStyle({chart('latency')}.querySelector('.legendtext')).fill"
    page.wait(f"/2[0-9][0-9]/.test({ink})")
    page.emulate(medium="print", scheme="dark")
    page.wait(f"!/2[0-9][0-9]/.test({ink})")
    assert brightness(page.evaluate(ink)) < 60


def test_print__two_charts_fit_a_page_and_nothing_is_wider(page: Browser) -> None:
    # Or all of it would be shrunk. So wide is a page of A4 between its margins; half of Letter's
    # height is for each chart, with its heading, its legend and what stands below.
    page.resize(718, 1000)
    page.evaluate(
        "document.querySelector('table.figures tbody td').textContent ="
        " '64 KiB to 96 KiB: +3.28 µs; '.repeat(20)"
    )
    page.emulate(medium="print")
    page.wait(f"{chart('latency')}.querySelector('.main-svg').clientWidth === 704")
    assert page.evaluate("document.scrollingElement.scrollWidth") <= 718
    sections = "Array.from(document.querySelectorAll('.chart'), (one) => one.closest('section'))"
    heights = page.evaluate(f"{sections}.map((one) => one.offsetHeight)")
    assert len(heights) > 3 and max(heights) <= 980 / 2


def test_several_records__in_one_report__overlay_by_driver_and_record(
    browser: Browser, shown: Shown, tmp_path: Path
) -> None:
    records = []
    for name, seed in (("before", 1), ("after", 2)):
        (tmp_path / name).mkdir()
        lines = synthetic_record.lines(("beowire", "tcp-spin"), seed=seed, launches=2)
        path = synthetic_record.write(tmp_path / name / "record.jsonl", lines)
        records.append(read_record(path))
    write_report(records, tmp_path / "both.html")
    shown.show(browser, tmp_path / "both.html")
    assert trace_names(browser, "latency")[:4] == [
        "beowire · before", "beowire · after", "tcp-spin · before", "tcp-spin · after",
    ]  # fmt: skip
    assert browser.errors == []


def test_find_browser__not_there__says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "/nowhere/chromium")
    with pytest.raises(BrowserError, match=r"no browser \(/nowhere/chromium\): apt-get install"):
        find_browser()


@pytest.fixture(scope="module")
def report_of_many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("many")
    lines = synthetic_record.lines(MANY, sizes=(8, 1024), patterns=("pingpong",), samples=40)
    record = read_record(synthetic_record.write(directory / "record.jsonl", lines))
    write_report([synthetic_record.with_probes(record)], directory / "report.html")
    return directory / "report.html"


def test_chooser__many_drivers__the_usual_first_and_the_rest_a_click_away(
    browser: Browser, shown: Shown, report_of_many: Path
) -> None:
    shown.show(browser, report_of_many)
    first = set(trace_names(browser, "latency"))
    assert {"beowire", "packet", "mpi:openmpi4/tcp", "mpi:openmpi4/beowire"} <= first
    assert "tcp-nagle" not in first and "mpi:mpich/tcp" not in first
    # On its words, which take what a click does to them away if they are a form's control.
    browser.click("document.querySelector('.chooser summary span')")
    browser.click("document.querySelector('.chooser input[value=\"tcp-nagle\"]')")
    browser.wait(f"{chart('latency')}.textContent.includes('tcp-nagle')")
    assert set(trace_names(browser, "latency")) == first | {"tcp-nagle"}
    browser.click("document.querySelector('[data-choose=\"all\"]')")
    browser.wait(f"{chart('latency')}.textContent.includes('mpi:mpich/tcp')")
    assert set(MANY) <= set(trace_names(browser, "latency"))
    browser.click("document.querySelector('[data-choose=\"none\"]')")
    browser.wait("document.querySelector('.chooser summary span').textContent.startsWith('0 of')")
    assert not set(MANY) & set(trace_names(browser, "latency"))
    browser.click("document.querySelector('#only-chosen')")
    for table in ("#all-results", "#all-probes"):
        rows = f"document.querySelectorAll('{table} tbody tr:not([hidden])').length"
        assert browser.evaluate(rows) == 0
    assert browser.errors == []


def test_page__too_long_for_its_rows_and_sizes__draws_what_is_left(
    browser: Browser, shown: Shown, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = synthetic_record.lines(MANY, sizes=(8, 64, 1024), patterns=("pingpong",), samples=40)
    record = read_record(synthetic_record.write(tmp_path / "record.jsonl", lines))
    monkeypatch.setattr(page_of_report, "MOST_BYTES", 920_000)
    write_report([record], tmp_path / "report.html")
    shown.show(browser, tmp_path / "report.html")
    assert browser.errors == []
    assert trace_names(browser, "latency")
    words = browser.evaluate("document.body.innerText")
    assert "rows are not here" in words and "Drawn at 2 of 3 sizes" in words


def test_page__many_drivers_on_a_narrow_screen__fits(
    browser: Browser, shown: Shown, report_of_many: Path
) -> None:
    shown.show(browser, report_of_many, 390, 800)
    assert browser.evaluate("document.documentElement.scrollWidth") <= 390
    grid = f"{chart('latency')}.querySelector('.gridlayer').getBoundingClientRect().height"
    assert browser.evaluate(grid) > 200


def test_probes__many_drivers_on_a_narrow_screen__whose_they_are_stays_in_sight(
    browser: Browser, shown: Shown, report_of_many: Path
) -> None:
    shown.show(browser, report_of_many, 390, 800)
    left, share, moved = browser.evaluate(
        "(() => { const table = document.querySelector('#probes details[open] table');"
        " const box = table.parentElement; box.scrollLeft = 1000;"
        " const name = table.tBodies[0].rows[1].cells[0].getBoundingClientRect();"
        " return [name.left - box.getBoundingClientRect().left,"
        " name.width / box.clientWidth, box.scrollLeft]; })()"
    )
    assert moved > 50
    assert abs(left) < 1
    assert share < 0.5
