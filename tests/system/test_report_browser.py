# SPDX-License-Identifier: BSD-3-Clause
"""The report as a browser shows it: everything is really drawn, and answers to a person."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from beowire.record.reader import read_record
from beowire.show.html import write_report
from beowire.units import time_text
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

#: The figures of the first chart that can be seen: its titles, and how wide and high its lines are.
ANSWER = """Array.from(document.querySelectorAll('#answer figure')).filter((one) =>
  one.getBoundingClientRect().height > 100).map((one) => [one.querySelector('.soft').textContent,
  Array.from(one.querySelectorAll('polyline'), (line) => line.getBoundingClientRect().width)])"""

UNFOLD = "document.querySelectorAll('details').forEach((one) => one.open = true)"


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
        """Opens the report."""
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


def test_requests__page_opened__only_the_file_itself(seen: Browser, report: Path) -> None:
    outside = [url for url in seen.requests if not url.startswith("data:")]
    assert outside == [report.resolve().as_uri()]
    assert seen.evaluate("document.querySelectorAll('a[href^=http]').length") == 0
    assert seen.errors == []


def test_fetch__from_the_page__is_refused(page: Browser) -> None:
    result = page.evaluate("fetch('file:///etc/hostname').then(() => 'got', () => 'refused')")
    assert result == "refused"
    assert any("Content Security Policy" in error for error in page.errors)


def test_answer__is_on_the_first_screen_and_its_switch_changes_it(page: Browser) -> None:
    assert page.evaluate("document.querySelector('h1').textContent").endswith("(tcp-spin).")
    assert page.evaluate("document.querySelector('#answer').getBoundingClientRect().bottom") < 800
    ((title, widths),) = page.evaluate(ANSWER)
    assert title == "message size"
    assert len(widths) == 4 and all(width > 700 for width in widths)
    page.click("document.querySelector('[for=answer-2]')")
    ((_, widths),) = page.evaluate(ANSWER)
    # All drivers that have a rate, and the wire's limit.
    assert len(widths) == len(DRIVERS) + 1 and all(width > 700 for width in widths)
    assert page.errors == []


def test_hover__over_a_size__shows_the_records_figures(page: Browser, report: Path) -> None:
    half = next(
        one.half_rtt_ns
        for one in read_record(report.with_name("record.jsonl")).results
        if (one.driver, one.pattern, one.size) == ("tcp", "pingpong", 1024)
    )
    assert half is not None
    page.click("document.querySelector('[for=answer-1]')")
    number = synthetic_record.SIZES.index(1024)
    columns = "document.querySelectorAll('#answer figure')[1].querySelectorAll('.over')"
    page.hover(f"{columns}[{number}]")
    page.wait("!document.querySelector('#values').hidden")
    said = page.evaluate("document.querySelector('#values').textContent").split("\n")
    assert said[0] == "1 KiB"
    assert any(line.startswith(f"tcp: {time_text(half.median)} (") for line in said)
    assert any(line.startswith(f"{HOSTILE}: ") for line in said)
    page.hover("document.querySelector('h1')")
    page.wait("document.querySelector('#values').hidden")


def test_table__heading_clicked_twice__sorts_up_then_down(page: Browser) -> None:
    page.evaluate(UNFOLD)
    sizes = "Array.from(document.querySelectorAll('#all-results tbody tr')).map((row) =>" \
        " Number(row.cells[2].textContent.replaceAll(',', '')))"  # fmt: skip
    heading = "document.querySelectorAll('#all-results thead button')[2]"
    page.click(heading)
    page.wait("document.querySelector('#all-results th[aria-sort=ascending]')")
    up = page.evaluate(sizes)
    assert up == sorted(up) and up[0] < up[-1]
    page.click(heading)
    page.wait("document.querySelector('#all-results th[aria-sort=descending]')")
    assert page.evaluate(sizes) == sorted(up, reverse=True)


def test_hostile_text__everywhere__stays_text(seen: Browser) -> None:
    assert seen.evaluate("document.querySelectorAll('#pwned').length") == 0
    assert seen.evaluate("typeof window.pwned") == "undefined"
    for where in ("#answer", "#environment", "#all-results"):
        assert HOSTILE in seen.evaluate(f"document.querySelector('{where}').textContent")


def test_dark_scheme__switched_on__page_and_charts_follow(page: Browser) -> None:
    ink = "getComputedStyle(document.querySelector('.plot text')).fill"
    paper = "getComputedStyle(document.body).backgroundColor"
    assert brightness(page.evaluate(ink)) < 60 and brightness(page.evaluate(paper)) > 200
    page.emulate(scheme="dark")
    assert brightness(page.evaluate(ink)) > 200 and brightness(page.evaluate(paper)) < 60
    page.emulate(medium="print", scheme="dark")
    assert brightness(page.evaluate(ink)) < 60


def brightness(colour: str) -> float:
    parts = [float(part) for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    return sum(parts) / 3


@pytest.mark.parametrize("width", [390, 800, 1280])
def test_width__all_unfolded__nothing_sticks_out(
    browser: Browser, shown: Shown, report_of_many: Path, width: int
) -> None:
    shown.show(browser, report_of_many, width, 844)
    browser.evaluate(UNFOLD)
    assert browser.evaluate("document.scrollingElement.scrollWidth") <= width
    if width == 390:  # no column is hidden: each figure is on the screen, behind its heading
        cells = (
            "Array.from(document.querySelectorAll('table td, table tbody th'), (one) =>"
            " one.getBoundingClientRect()).filter((one) => one.width > 0)"
        )
        places = browser.evaluate(f"{cells}.map((one) => [one.left, one.right])")
        assert len(places) > 500 and all(left >= 0 and right <= 391 for left, right in places)
        before = "getComputedStyle(document.querySelector('#side-by-side td'), ':before').content"
        assert browser.evaluate(before) == '"Half round trip of 8 B"'


def test_print__all_is_unfolded_and_nothing_is_wider(page: Browser) -> None:
    # Or all of it would be shrunk. So wide is a page of A4 between its margins.
    page.resize(718, 1000)
    page.evaluate(
        "document.querySelector('table.figures tbody td').textContent ="
        " '64 KiB to 96 KiB: +3.28 µs; '.repeat(20)"
    )
    page.emulate(medium="print")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("document.querySelectorAll('details:not([open])').length") == 0
    assert page.evaluate("document.scrollingElement.scrollWidth") <= 718
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.evaluate("document.querySelectorAll('details[open]').length") == 0


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
    names = browser.evaluate(
        "Array.from(document.querySelector('#answer figure').querySelectorAll('.name'),"
        " (one) => one.textContent)"
    )
    assert {one[1:].lstrip("- ") for one in names} >= {
        *("beowire · before", "beowire · after", "tcp-spin · before", "tcp-spin · after")
    }
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
