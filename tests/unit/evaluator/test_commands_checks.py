# SPDX-License-Identifier: BSD-3-Clause
"""Rules and Prometheus from outside: how `beowire report` and `compare` end, what they write."""

from pathlib import Path
from xml.etree import ElementTree

import pytest
import typer

from beowire.commands import compare, report
from beowire.errors import BeowireError
from unit.evaluator import synthetic_record
from unit.evaluator.fake_launcher import FakeLauncher


def _beowire(*words: str | Path) -> int:
    app = typer.Typer(rich_markup_mode=None)
    app.callback()(lambda: None)
    report.register(app)
    compare.register(app)
    return int(app([*map(str, words)], standalone_mode=False) or 0)


def _rules(tmp_path: Path, limit: str, driver: str = "tcp") -> Path:
    path = tmp_path / "rules.toml"
    path.write_text(f'[[rule]]\nname = "quick"\ndriver = "{driver}"\n{limit}\n')
    return path


@pytest.fixture
def record(tmp_path: Path) -> Path:
    lines = synthetic_record.lines(("tcp",), patterns=("pingpong",), sizes=(8,), samples=400)
    return synthetic_record.write(tmp_path / "record.jsonl", lines)


@pytest.mark.parametrize(
    ("limit", "driver", "status", "said"),
    [
        ('at_most = "1s"', "tcp", 0, "met"),
        ('at_most = "1ns"', "tcp", 1, "broken"),
        ('at_most = "1s"', "udp", 2, "not measured"),
    ],
)
def test_report__rules__decide_how_it_ends(
    record: Path,
    capsys: pytest.CaptureFixture[str],
    limit: str,
    driver: str,
    *,
    status: int,
    said: str,
) -> None:
    rules, junit = _rules(record.parent, limit, driver), record.parent / "rules.xml"
    assert _beowire("report", record, "--rules", rules, "--junit", junit) == status
    assert f"  {said:<13} quick" in capsys.readouterr().out
    suite = ElementTree.parse(junit).getroot()
    assert suite is not None
    assert suite.attrib["failures"] == ("1" if status == 1 else "0")
    assert suite.attrib["errors"] == ("1" if status == 2 else "0")


def test_report__rules__a_report_that_cannot_be_written_breaks_none(
    record: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (record.parent / "report.html").mkdir()  # in the way
    rules, junit = _rules(record.parent, 'at_most = "1s"'), record.parent / "rules.xml"
    with pytest.raises(BeowireError, match=r"cannot write .*report\.html") as caught:
        _beowire("report", record, "--rules", rules, "--junit", junit)
    assert caught.value.exit_code == 2
    assert "  met           quick" in capsys.readouterr().out
    assert junit.exists()


def test_report__prometheus__is_in_its_file(record: Path) -> None:
    path = record.parent / "beowire.prom"
    assert _beowire("report", record, "--prometheus", path) == 0
    assert "# TYPE beowire_time_seconds gauge\n" in path.read_text()


def test_report__csv_is_not_mixed_with_rules(
    record: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rules = _rules(record.parent, 'at_most = "1s"')
    assert _beowire("report", record, "--csv", "-", "--rules", rules) == 0
    said = capsys.readouterr()
    assert "Rules" not in said.out
    assert "  met           quick" in said.err


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--junit", "x.xml"), "--junit needs --rules FILE"),
        (("--rules", "none.toml"), "cannot read none.toml"),
    ],
)
def test_report__what_cannot_be_is_refused(
    record: Path, words: tuple[str, ...], reason: str
) -> None:
    with pytest.raises(BeowireError, match=reason) as caught:
        _beowire("report", record, *words)
    assert caught.value.exit_code == 2


def test_report__rules_are_of_one_record(record: Path) -> None:
    rules = _rules(record.parent, 'at_most = "1s"')
    with pytest.raises(BeowireError, match="take one record"):
        _beowire("report", record, record, "--rules", rules)


@pytest.mark.parametrize(("limit", "status"), [('at_most = "1s"', 0), ('at_most = "1ns"', 1)])
def test_compare__rules__decide_how_it_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, status: int
) -> None:
    monkeypatch.setattr("beowire.commands.options.LocalLauncher", FakeLauncher)
    words = ("--drivers", "steady", "--sizes", "8", "--time", "1", "--out", tmp_path / "new")
    assert _beowire("compare", *words, "--rules", _rules(tmp_path, limit, "steady")) == status


def test_compare__rules__what_fails_breaks_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = {"steady": {"fault": "die", "fault_run": 1}}
    monkeypatch.setattr(
        "beowire.commands.options.LocalLauncher", lambda: FakeLauncher(drivers=broken)
    )
    words = ("--drivers", "steady", "--sizes", "8", "--time", "1", "--out", tmp_path / "new")
    rules, junit = _rules(tmp_path, 'at_most = "1s"', "steady"), tmp_path / "rules.xml"
    with pytest.raises(BeowireError) as caught:
        _beowire("compare", *words, "--rules", rules, "--junit", junit)
    assert caught.value.exit_code == 2
    suite = ElementTree.parse(junit).getroot()
    assert suite is not None and suite.attrib["errors"] == "1"


def test_compare__against_and_rules__exclude_each_other(record: Path) -> None:
    rules = _rules(record.parent, 'at_most = "1s"')
    with pytest.raises(BeowireError, match="use one"):
        _beowire("compare", "--against", record, "--rules", rules)
